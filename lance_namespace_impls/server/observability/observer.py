"""Observes requests: metrics, access log and traces."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ...core.identifiers import DEFAULT_DELIMITER
from ...core.instrumentation import UPSTREAM_OBSERVER, UpstreamCall
from ..execution.context import Call
from ..execution.limits import Pools
from .metrics import Metrics
from .tracing import Tracing, find_tracing

__all__ = ["REQUESTS", "Observer", "Outcome", "log_requests"]

REQUESTS = "lance_namespace_impls.server.requests"
"""Logger that logs one line of JSON per request, at level INFO."""
requests = logging.getLogger(REQUESTS)

OK = "ok"
# The client disconnected before the response was sent, or the response is incomplete.
GONE, CUT = "gone", "cut"
UNKNOWN = "unknown"
LONGEST_NAME = 500
WRITE_SECONDS, MOST_LINES = 0.1, 10_000

_to_json = json.JSONEncoder(separators=(",", ":")).encode


def log_requests() -> None:
    """Write the lines of `REQUESTS` to standard error only."""
    requests.handlers = [_Batches()]
    requests.setLevel(logging.INFO)
    requests.propagate = False


class _Batches(logging.Handler):
    """A log handler that writes lines to standard error in batches, outside the event loop.

    Writing blocks if the reader of the log is slow; the event loop waits for it only if the queue
    is very long.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._is_due = False
        self._writing = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line of a record."""
        self.queue_line(record.getMessage())

    def queue_line(self, text: str) -> None:
        """Queue a line, to be written soon."""
        self._lines.append(text)
        if self._is_due and len(self._lines) < MOST_LINES:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        if self._is_due:
            self.flush()
            return
        self._is_due = True
        loop.call_later(WRITE_SECONDS, loop.run_in_executor, None, self.flush)

    def flush(self) -> None:
        """Write all queued lines."""
        with self._writing:
            self._is_due = False
            lines, self._lines = self._lines, []
            if lines:
                sys.stderr.write("\n".join([*lines, ""]))
                sys.stderr.flush()


class Outcome:
    """The outcome of a request."""

    __slots__ = ("code", "sent", "started", "status", "whole")

    def __init__(self) -> None:
        self.status: int | None = None
        """HTTP status; None if the client disconnected before the response was sent."""
        self.code: int | None = None
        """The protocol's error code of a failure."""
        self.sent = 0
        """Number of bytes of the response body that were sent."""
        self.whole = False
        """Whether the response was sent completely."""
        self.started = time.perf_counter()


class _Figures(NamedTuple):
    """The metrics of one operation. They are cached, because looking up a metric by label acquires
    a lock.
    """

    seconds: Any
    received: Any
    sent: Any


class Observer:
    """Counts, logs and traces requests.

    Args:
        pools: the server's pools.
    """

    def __init__(self, pools: Pools) -> None:
        self.metrics = Metrics()
        self._tracing: Tracing | None = find_tracing()
        self._operations: dict[str, _Figures] = {}
        self._codes: dict[tuple[str, str], Any] = {}
        for name, pool in pools.items():
            self.metrics.pool_places.labels(name).set(pool.size)
            calls = self.metrics.pool_calls
            pool.running, pool.waiting = (
                calls.labels(name, "running"),
                calls.labels(name, "waiting"),
            )

    def close(self) -> None:
        """Write the queued lines."""
        for handler in requests.handlers:
            handler.flush()

    def begin(self, call: Call) -> None:
        """Record the arrival of a request."""
        if self._tracing is not None:
            call.span = self._tracing.begin(call.endpoint.operation.name, call.headers)

    @contextmanager
    def working(self, call: Call) -> Iterator[None]:
        """Observe the catalog calls made in this context on behalf of a request."""
        token = UPSTREAM_OBSERVER.set(self._upstream)
        try:
            if self._tracing is None or call.span is None:
                yield
            else:
                with call.span.current(), self._tracing.catalog(call.endpoint.operation.name):
                    yield
        finally:
            UPSTREAM_OBSERVER.reset(token)

    @contextmanager
    def _upstream(self, system: str, name: str) -> Iterator[UpstreamCall]:
        call = UpstreamCall()
        started = time.perf_counter()
        try:
            if self._tracing is None or not self._tracing.is_on():
                yield call
            else:
                with self._tracing.upstream(system, name, call):
                    yield call
        finally:
            self.metrics.upstream.labels(system, name, call.result).inc()
            self.metrics.upstream_seconds.labels(system, name).observe(
                time.perf_counter() - started
            )

    @contextmanager
    def open_query(self) -> Iterator[None]:
        """Count a response whose rows are being sent in this context."""
        with self.metrics.open_queries.track_inprogress():
            yield

    def completed(self, call: Call | None, outcome: Outcome, received: int) -> None:
        """Record the outcome of a request.

        Args:
            call: the request; None if it did not call an operation.
            outcome: its outcome.
            received: number of bytes of the body that were received.
        """
        seconds = time.perf_counter() - outcome.started
        name = UNKNOWN if call is None else call.endpoint.operation.name
        code = outcome.code
        if outcome.status is None:
            result = GONE
        elif code is not None:
            result = str(int(code))
        else:
            result = OK if outcome.whole else CUT
        self._count(name, result, received, outcome.sent, seconds)
        if call is not None and call.span is not None:
            call.span.end(
                http__response__status_code=outcome.status,
                lance_namespace__code=None if code is None else int(code),
                lance_namespace__request_id=call.id,
            )
        if requests.isEnabledFor(logging.INFO):
            caller = None if call is None else call.caller
            _log(
                request_id=None if call is None else call.id,
                principal=None if caller is None else caller.name[:LONGEST_NAME],
                operation=name,
                id=None if call is None else _identifier(call),
                status=outcome.status,
                result=result if code is None else "error",
                code=None if code is None else int(code),
                ms=round(seconds * 1e3, 3),
                received_bytes=received,
                sent_bytes=outcome.sent,
                address=None if call is None else call.address,
            )

    def _count(self, name: str, result: str, received: int, sent: int, seconds: float) -> None:
        found = self._operations.get(name)
        if found is None:
            metrics = self.metrics
            found = self._operations[name] = _Figures(
                metrics.seconds.labels(name),
                metrics.received.labels(name),
                metrics.sent.labels(name),
            )
        counter = self._codes.get((name, result))
        if counter is None:
            counter = self._codes[name, result] = self.metrics.requests.labels(name, result)
        counter.inc()
        found.seconds.observe(seconds)
        if received:
            found.received.inc(received)
        if sent:
            found.sent.inc(sent)


def _log(**line: Any) -> None:
    _write(_to_json({"time": round(time.time(), 3), **line}))


def _write(text: str) -> None:
    handlers = requests.handlers
    if len(handlers) == 1 and type(handlers[0]) is _Batches and not requests.propagate:
        handlers[0].queue_line(text)  # has the same effect as emitting a record
        return
    # Unlike `info`, `makeRecord` skips the slow lookup of the caller's file and line.
    record = requests.makeRecord(REQUESTS, logging.INFO, "", 0, "%s", (text,), None)
    requests.handle(record)


def _identifier(call: Call) -> list[str] | None:
    """Return the identifier in a request if it is known; shorten it if it is very long."""
    found = call.identifier
    if found is None and "id" in call.endpoint.operation.path_fields:
        found = call.identifier_of_path(DEFAULT_DELIMITER)
    return None if found is None else [str(name)[:LONGEST_NAME] for name in found[:20]]
