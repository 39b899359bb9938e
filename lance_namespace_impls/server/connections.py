"""Bounds on connections and on the headers that come in over them, which uvicorn does not have."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError, ThrottlingError

from .answers import Reply, error_reply
from .call import ABORT, CERTIFICATE
from .limits import RETRY_SECONDS, HeadersTooLargeError, Limits

__all__ = ["bounded_protocol"]


class _HeadersTooLateError(InvalidInputError):
    http_status = 408


def bounded_protocol(limits: Limits) -> type[HttpToolsProtocol]:
    """Return the HTTP protocol of a server with these limits."""
    return type("Protocol", (_Protocol,), {"limits": limits})


class _Protocol(HttpToolsProtocol):
    limits: Limits

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header_bytes = self._unread_bytes = 0
        self._in_head = True
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(
                ThrottlingError(
                    "the server has as many connections open as it takes; try again later",
                    retry_after=RETRY_SECONDS,
                )
            )
            return
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_came()
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
        # Trailers come here as well, long after the headers.
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > self.limits.header_bytes:
            raise ValueError("too large")  # the parser's user answers 400 and closes

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._headers_came()
        # In place before the application gets to see it.
        scope: Any = self.scope
        scope[ABORT] = self.transport.abort
        secured = self.transport.get_extra_info("ssl_object")
        if secured is not None:
            scope[CERTIFICATE] = secured.getpeercert()
        super().on_headers_complete()

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
            self._refuse(_HeadersTooLateError(f"no request came within {seconds:g} seconds"))

    def _refuse(self, error: LanceNamespaceError) -> None:
        """Answer before there is a request, and close."""
        self._headers_came()
        answer: Reply = error_reply(error, [(b"connection", b"close")])
        status = HTTPStatus(answer.status)
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode("ascii"))]
        lines += [name + b": " + value for name, value in answer.headers]
        self.transport.write(b"\r\n".join([*lines, b"", answer.body]))
        self.transport.close()
