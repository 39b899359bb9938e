"""Extends uvicorn's HTTP protocol with limits on connections and headers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError, ThrottlingError

from ..execution.context import ABORT, CERTIFICATE, network_of
from ..execution.limits import RETRY_SECONDS, HeadersTooLargeError, Limits
from .responses import Reply, error_reply

__all__ = ["bounded_protocol"]


_END_OF_HOST = re.compile(rb"[/?#]")


class _HeadersTooLateError(InvalidInputError):
    http_status = 408


def bounded_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """Return an HTTP protocol class that enforces limits."""
    return type("Protocol", (_Bounded,), {"limits": limits})


class _Bounded(HttpToolsProtocol):
    limits: Limits

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
        if len(self.connections) > self.limits.connections and not self._close_idle_connection():
            self._refuse(
                ThrottlingError(
                    "the server has reached its maximum number of connections; try again later",
                    retry_after=RETRY_SECONDS,
                )
            )
            return
        self._expect_headers()

    def _close_idle_connection(self) -> bool:
        """Close an idle connection of the network with the most connections, unless that is this
        client's network.
        """
        connections: set[Any] = self.connections  # all connections are instances of this class
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
        """Return whether no request is active; the headers of a request may be arriving."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_received()
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
        # Trailers also arrive here, long after the headers; they count toward the same limit.
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > self.limits.header_bytes:
            raise ValueError("too large")  # uvicorn responds with 400 and closes the connection

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._headers_received()
        if not self.url.startswith(b"/"):
            self._use_host_of_target()
        # Set the key before the application sees the scope.
        scope: Any = self.scope
        scope[ABORT] = self.transport.abort
        secured = self.transport.get_extra_info("ssl_object")
        if secured is not None:
            scope[CERTIFICATE] = secured.getpeercert()
        super().on_headers_complete()

    def _use_host_of_target(self) -> None:
        """Replace the Host header with the host of an absolute URI, as RFC 9112 (3.2.2) requires."""
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

    def _headers_received(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            seconds = self.limits.header_seconds
            self._refuse(_HeadersTooLateError(f"no request arrived within {seconds:g} seconds"))

    def _refuse(self, error: LanceNamespaceError) -> None:
        """Respond with an error to an incomplete request, and close the connection."""
        self._headers_received()
        response: Reply = error_reply(error, [(b"connection", b"close")])
        status = HTTPStatus(response.status)
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode("ascii"))]
        lines += [name + b": " + value for name, value in response.headers]
        self.transport.write(b"\r\n".join([*lines, b"", response.body]))
        self.transport.close()
