"""A network backend for httpcore, designed for many small concurrent calls on an event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpcore

__all__ = ["LoopBackend"]

UNSENT_BYTES = 1 << 16
"""Maximum total size of buffered request parts; when it is exceeded, they are sent immediately."""
AHEAD_BYTES = 1 << 18
"""Maximum amount of unread response data; when it is exceeded, receiving is paused."""


class LoopBackend(httpcore.AsyncNetworkBackend):
    """Opens connections directly with asyncio, and sends a small request in one piece.

    httpcore's own backend sends head and body separately, and uses anyio, whose cancel scopes
    account for a third of a call's time. That backend is still used on event loops other than
    asyncio's.
    """

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Open a connection.

        Raises:
            httpcore.ConnectTimeout: the server took too long.
            httpcore.ConnectError: the server cannot be reached.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            other = httpcore.AnyIOBackend()
            return await other.connect_tcp(host, port, timeout, local_address, socket_options)
        local = None if local_address is None else (local_address, 0)
        with _translated_failures(httpcore.ConnectTimeout, httpcore.ConnectError):
            async with asyncio.timeout(timeout):
                transport, stream = await asyncio.get_running_loop().create_connection(
                    _Stream, host, port, local_addr=local
                )
        for option in socket_options or ():
            transport.get_extra_info("socket").setsockopt(*option)
        return stream

    async def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        await asyncio.sleep(seconds)


class _Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """A connection that buffers written data until the next read or until there is enough data."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._received = bytearray()
        self._ended = False
        self._failure: Exception | None = None
        self._paused = False
        self._woken: asyncio.Future[None] | None = None

    # Callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > AHEAD_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, failure: Exception | None) -> None:
        self._ended = True
        self._failure = failure
        self._wake()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._wake()

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def _wait(self) -> None:
        self._woken = asyncio.get_running_loop().create_future()
        try:
            await self._woken
        finally:
            self._woken = None

    # Methods called by httpcore.

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _translated_failures(httpcore.ReadTimeout, httpcore.ReadError):
            async with asyncio.timeout(timeout):
                self._flush()
                while not self._received and not self._ended:
                    await self._wait()
            if self._failure is not None and not self._received:
                raise self._failure
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if not self._ended and len(self._received) <= AHEAD_BYTES:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unsent.append(buffer)
        self._unsent_bytes += len(buffer)
        if self._unsent_bytes <= UNSENT_BYTES:
            return
        with _translated_failures(httpcore.WriteTimeout, httpcore.WriteError):
            async with asyncio.timeout(timeout):
                self._flush()
                while self._paused and not self._ended:
                    await self._wait()
            if self._ended:
                raise self._failure or ConnectionResetError("the server closed the connection")

    def _flush(self) -> None:
        if self._unsent:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()
            self._unsent_bytes = 0

    async def aclose(self) -> None:
        self._transport.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        with _translated_failures(httpcore.ConnectTimeout, httpcore.ConnectError):
            async with asyncio.timeout(timeout):
                transport = await asyncio.get_running_loop().start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname
                )
        if transport is None:
            raise httpcore.ConnectError("the server closed the connection")
        self._transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # if readable while idle, the server has closed the connection
            return bool(self._received) or self._ended or self._transport.is_closing()
        name = {"client_addr": "sockname", "server_addr": "peername"}.get(info, info)
        return self._transport.get_extra_info(name)


@contextmanager
def _translated_failures(
    timeout_type: type[Exception], error_type: type[Exception]
) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise timeout_type(str(error)) from error
    except OSError as error:
        raise error_type(str(error)) from error
