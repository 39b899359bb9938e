"""Sees what the server does: figures, a line a request, and traces."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from ...core.identifiers import DEFAULT_DELIMITER
from ...core.instrumentation import UPSTREAM_OBSERVER, UpstreamCall
from ..execution.context import Call, new_id
from ..execution.limits import Pools
from .metrics import Metrics
from .tracing import Tracing, find_tracing

__all__ = ["REQUESTS", "Observer", "Outcome", "log_requests"]

REQUESTS = "lance_namespace_impls.server.requests"
"""The logger that gets a line of JSON for each request, at level INFO."""
requests = logging.getLogger(REQUESTS)

OK = "ok"
# No client waited for the answer, or it was cut before its end.
GONE, CUT = "gone", "cut"
UNKNOWN = "unknown"
LONGEST_NAME = 500
WRITE_SECONDS, MOST_LINES = 0.1, 10_000

_to_json = json.JSONEncoder(separators=(",", ":")).encode
_quoted = lru_cache(1024)(_to_json)


def log_requests() -> None:
    """Write the lines of `REQUESTS` to standard error, and nowhere else."""
    requests.handlers = [_Batches()]
    requests.setLevel(logging.INFO)
    requests.propagate = False


class _Batches(logging.Handler):
    """Writes lines to standard error many at a time, and not from the event loop.

    Writing waits where whoever reads them is slow. The loop waits only where very many are unwritten.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []
        self._is_due = False
        self._writing = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Take the line of a record."""
        self.take(record.getMessage())

    def take(self, text: str) -> None:
        """Take a line; it is written soon."""
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
        """Write what there is."""
        with self._writing:
            self._is_due = False
            lines, self._lines = self._lines, []
            if lines:
                sys.stderr.write("\n".join([*lines, ""]))
                sys.stderr.flush()


class Outcome:
    """How a request ends."""

    __slots__ = ("code", "sent", "started", "status", "whole")

    def __init__(self) -> None:
        self.status: int | None = None
        """The status of HTTP; None where its client went before it was answered."""
        self.code: int | None = None
        """The protocol's code of a failure."""
        self.sent = 0
        """Bytes of the answer's body that went out."""
        self.whole = False
        """Whether the answer came to its end."""
        self.started = time.perf_counter()


class _Figures(NamedTuple):
    """The figures of one operation; looking them up by label takes a lock each time."""

    seconds: Any
    received: Any
    sent: Any


class Observer:
    """Counts, logs and traces requests.

    Args:
        pools: the places of the server.
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
        """Write the lines that are not written yet."""
        for handler in requests.handlers:
            handler.flush()

    def begin(self, call: Call) -> None:
        """Note that a request has come."""
        if self._tracing is not None:
            call.span = self._tracing.begin(call.endpoint.operation.name, call.headers)

    @contextmanager
    def working(self, call: Call) -> Iterator[None]:
        """See the calls of the catalog that are made in this context for a request."""
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
        """Count an answer whose rows are being sent in this context."""
        with self.metrics.open_queries.track_inprogress():
            yield

    def answered(self, call: Call | None, outcome: Outcome, received: int) -> None:
        """Note how a request ended.

        Args:
            call: the request; None where it is to no operation.
            outcome: how it ended.
            received: bytes of its body that came in.
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

    def noting(self, call: Call, outcome: Outcome, received: int) -> Callable[[str, float], None]:
        """Return what notes that the very same request was answered again in the same way.

        It takes the address that the request came from, and how many seconds that took.
        """
        name, sent = call.endpoint.operation.name, outcome.sent
        given = call.given_id
        given_id = _to_json(given) if given else None
        known = _to_json(
            {
                "principal": None if call.caller is None else call.caller.name[:LONGEST_NAME],
                "operation": name,
                "id": _identifier(call),
                "status": outcome.status,
                "result": OK,
                "code": None,
                "received_bytes": received,
                "sent_bytes": sent,
            }
        )[1:-1]

        def note(address: str, seconds: float) -> None:
            self._count(name, OK, received, sent, seconds)
            if requests.isEnabledFor(logging.INFO):
                _write(
                    f'{{"time":{time.time():.3f},"request_id":{given_id or _to_json(new_id())},'
                    f'{known},"ms":{seconds * 1e3:.3f},"address":{_quoted(address)}}}'
                )

        return note

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
        handlers[0].take(text)  # which is all that a record would come to
        return
    # Where in this file it comes from is not looked for.
    record = requests.makeRecord(REQUESTS, logging.INFO, "", 0, "%s", (text,), None)
    requests.handle(record)


def _identifier(call: Call) -> list[str] | None:
    """Return what a request is about, as far as that is known, cut where it is very long."""
    found = call.identifier
    if found is None and "id" in call.endpoint.operation.path_fields:
        found = call.identifier_of_path(DEFAULT_DELIMITER)
    return None if found is None else [str(name)[:LONGEST_NAME] for name in found[:20]]
