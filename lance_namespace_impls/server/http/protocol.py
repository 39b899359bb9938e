"""Extensions of uvicorn's HTTP protocol: limits on connections and headers, and cached responses."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError, ThrottlingError

from ..execution.context import ABORT, CERTIFICATE, network_of
from ..execution.limits import RETRY_SECONDS, HeadersTooLargeError, Limits
from ..workers.dispatcher import Intake
from .response_cache import END_OF_HEAD, KEEP, MAX_REQUEST_BYTES, Repeat, Repeats, may_repeat
from .responses import Reply, error_reply

__all__ = ["bounded_protocol"]


_END_OF_HOST = re.compile(rb"[/?#]")


class _HeadersTooLateError(InvalidInputError):
    http_status = 408


def bounded_protocol(limits: Limits, intake: Intake | None = None) -> type[HttpToolsProtocol]:
    """Return the HTTP protocol class of a server with these limits.

    Args:
        limits: the limits.
        intake: source of the connections, notified when one ends; None if the server accepts them
            itself.
    """
    own = {"limits": limits, "repeats": Repeats(), "intake": intake}
    return type("Protocol", (_Protocol,), own)


class _Bounded(HttpToolsProtocol):
    limits: Limits
    intake: Intake | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_bytes = self._unread_bytes = 0
        self._in_head = True
        self._network = ""
        """Network of the client, if its connections are counted."""
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._network = network_of(self.client[0]) if self.client else ""
        if len(self.connections) > self.limits.connections and not self._make_room():
            self._refuse(
                ThrottlingError(
                    "the server has reached its maximum number of connections; try again later",
                    retry_after=RETRY_SECONDS,
                )
            )
            return
        self._expect_headers()

    def _make_room(self) -> bool:
        """Close an idle connection of the network with the most, unless that is this network."""
        connections: set[Any] = self.connections  # all are instances of this class
        counts = Counter(each._network for each in connections)
        most, count = counts.most_common(1)[0]
        if count <= counts[self._network]:
            return False
        for other in connections:
            if other._network == most and other.is_idle() and not other.transport.is_closing():
                other.transport.close()
                return True
        return False

    def is_idle(self) -> bool:
        """Return whether no request is active, although the headers of one may be arriving."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_came()
        if self.intake is not None:
            self.intake.ended()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_head:
            self._unread_bytes += len(data)
            if self._unread_bytes > self.limits.header_bytes and not self.transport.is_closing():
                self._refuse(
                    HeadersTooLargeError(
                        f"the headers are larger than {self.limits.header_bytes} bytes"
                    )
                )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._header_bytes = self._unread_bytes = 0
        self._in_head = True
        if self._late is None:
            self._expect_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers also arrive here, long after the headers.
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > self.limits.header_bytes:
            raise ValueError("too large")  # uvicorn answers 400 and closes

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._headers_came()
        if not self.url.startswith(b"/"):
            self._take_host_of_target()
        # Set it before the application sees the scope.
        scope: Any = self.scope
        scope[ABORT] = self.transport.abort
        secured = self.transport.get_extra_info("ssl_object")
        if secured is not None:
            scope[CERTIFICATE] = secured.getpeercert()
        super().on_headers_complete()

    def _take_host_of_target(self) -> None:
        """Replace the Host header by the host of an absolute URI, as RFC 9112 (3.2.2) requires."""
        _, absolute, rest = self.url.partition(b"://")
        if not absolute:
            return
        host = _END_OF_HOST.split(rest, 1)[0]
        self.headers[:] = [
            (name, host if name == b"host" else value) for name, value in self.headers
        ]
        if all(name != b"host" for name, _ in self.headers):
            self.headers.append((b"host", host))

    def _expect_headers(self) -> None:
        self._late = self.loop.call_later(self.limits.header_seconds, self._too_late)

    def _headers_came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            seconds = self.limits.header_seconds
            self._refuse(_HeadersTooLateError(f"no request arrived within {seconds:g} seconds"))

    def _refuse(self, error: LanceNamespaceError) -> None:
        """Answer with an error before there is a request, and close the connection."""
        self._headers_came()
        answer: Reply = error_reply(error, [(b"connection", b"close")])
        status = HTTPStatus(answer.status)
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode("ascii"))]
        lines += [name + b": " + value for name, value in answer.headers]
        self.transport.write(b"\r\n".join([*lines, b"", answer.body]))
        self.transport.close()


class _Protocol(_Bounded):
    """HTTP protocol that looks requests up in the response cache before parsing them.

    It stores nothing for a connection whose client certificate identifies the caller.
    """

    repeats: Repeats

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_anybody = True
        self._address = ""
        self._begun = self._ended = 0
        """Number of requests that have begun, and of those that have been received completely."""
        self._held = b""
        """Head of a request with a cached response, until its body arrives."""
        self._raw: bytes | None = None
        """Bytes received since the connection was idle, as long as they may be a single request."""
        self._number = 0
        """Number of that request on the connection."""
        self._whole: tuple[int, bytes] | None = None
        """The last request that arrived alone, with its number."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        secured = transport.get_extra_info("ssl_object")
        self._is_anybody = secured is None or not secured.getpeercert()

    def data_received(self, data: bytes) -> None:
        if self._is_idle():
            if self._held:
                data, self._held = self._held + data, b""
            if self._answer_again(data):
                return
            if self.repeats.is_head(data):
                self._held = data
                if self._late is None:
                    self._expect_headers()
                return
            self._raw, self._number = data, self._begun + 1
        elif self._raw is not None:
            long = len(self._raw) + len(data) > MAX_REQUEST_BYTES
            self._raw = None if long else self._raw + data
        super().data_received(data)
        if self._begun > self._number:
            self._raw = None
        elif self._ended == self._number and self._raw is not None:
            self._whole, self._raw = (self._number, self._raw), None

    def _is_idle(self) -> bool:
        """Return whether the connection is idle, so that the next bytes begin a request."""
        return (
            self._is_anybody
            and self._begun == self._ended
            and (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _answer_again(self, request: bytes) -> bool:
        """Send the cached response to a request; return False if none is cached or it is stale."""
        found = self.repeats.find(request)
        if found is None:
            return False
        started = time.perf_counter()
        if not found.is_true():
            self.repeats.forget(request)
            return False
        self._headers_came()
        own = b"".join([b"%s: %s\r\n" % each for each in self.server_state.default_headers])
        self.transport.write(STATUS_LINE[found.answer.status] + own + found.raw)
        self.on_response_complete()
        found.note(self._address, time.perf_counter() - started)
        return True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun += 1

    def on_headers_complete(self) -> None:
        if self._raw is not None and may_repeat(self.parser.get_http_version(), self.headers):
            head = self._raw[: self._raw.find(END_OF_HEAD) + len(END_OF_HEAD)]
            if self.repeats.seen.before(head):
                # Set it before the application sees the scope.
                scope: Any = self.scope
                scope[KEEP] = partial(self._keep, self._begun)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._ended += 1

    def _keep(self, number: int, repeat: Repeat) -> None:
        if self._whole is not None and self._whole[0] == number:
            self.repeats.put(self._whole[1], repeat)
