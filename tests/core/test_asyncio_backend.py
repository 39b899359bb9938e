"""Connections on an event loop: buffering, backpressure, and the exception for each failure."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import httpcore
import pytest

from lance_namespace_impls.core.asyncio_backend import LoopBackend

MUCH = b"0123456789abcdef" * (1 << 21)
"""More data than the socket buffers of both ends of a connection can hold."""

Talk = Callable[[Any, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def talk(of: Talk, **options: Any) -> None:
    """Open a connection and call ``of`` with the client's stream and the server's two streams.

    The call must finish within a minute.
    """

    async def main() -> None:
        accepted: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def accept(*streams: Any) -> None:
            accepted.set_result(streams)

        async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            stream = await LoopBackend().connect_tcp("127.0.0.1", port, 60, **options)
            reader, writer = await accepted
            try:
                await of(stream, reader, writer)
            finally:
                writer.close()
                await stream.aclose()

    asyncio.run(asyncio.wait_for(main(), 60))


async def turns(count: int = 20) -> None:
    """Let the event loop run its pending tasks."""
    for _ in range(count):
        await asyncio.sleep(0.001)


def reset(writer: asyncio.StreamWriter) -> None:
    """Reset a connection, as a killed server does."""
    made = writer.get_extra_info("socket")
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def test_small_writes_are_sent_with_the_next_read() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        await stream.write(b"head ")
        await stream.write(b"body")
        early = asyncio.create_task(reader.read(100))
        await turns()
        assert not early.done()
        answer = asyncio.create_task(stream.read(3, 60))
        assert await early == b"head body"
        writer.write(b"answer")
        assert [await answer, await stream.read(100, 60)] == [b"ans", b"wer"]

    talk(of)


def test_a_write_waits_for_the_server_to_read() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        sent = asyncio.create_task(stream.write(MUCH, 60))
        await turns()
        assert not sent.done()
        assert await reader.readexactly(len(MUCH)) == MUCH
        await sent
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(MUCH, 0.05)

    talk(of)


def test_only_the_part_of_a_response_that_is_read_is_received() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        writer.write(MUCH)
        drained = asyncio.create_task(writer.drain())
        found = bytearray()
        for _ in range(300):
            found += await stream.read(1, 60)
            await asyncio.sleep(0)
        assert not drained.done()
        while len(found) < len(MUCH):
            found += await stream.read(1 << 20, 60)
        assert found == MUCH
        await drained
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(1, 0.05)

    talk(of)


def test_a_response_ends_when_the_server_closes() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        assert not stream.get_extra_info("is_readable")
        waiting = asyncio.create_task(stream.read(100, 60))
        await turns()
        writer.close()
        assert await waiting == b""
        assert stream.get_extra_info("is_readable")

    talk(of)


def test_a_reset_connection_raises_the_error_of_the_current_call() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        waiting = asyncio.create_task(stream.read(100, 60))
        await turns()
        reset(writer)
        with pytest.raises(httpcore.ReadError):
            await waiting
        with pytest.raises(httpcore.WriteError):
            await stream.write(MUCH, 60)

    talk(of)


def test_a_waiting_write_fails_when_the_connection_is_reset() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        waiting = asyncio.create_task(stream.write(MUCH, 60))
        await turns()
        reset(writer)
        with pytest.raises(httpcore.WriteError):
            await waiting

    talk(of)


def test_a_waiting_write_fails_when_the_server_sends_eof() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        waiting = asyncio.create_task(stream.write(MUCH, 30))
        await turns()
        writer.write_eof()
        with pytest.raises(httpcore.WriteError):
            await waiting

    talk(of)


def test_the_local_address_and_socket_options_are_applied() -> None:
    async def of(stream: Any, reader: Any, writer: Any) -> None:
        made = stream.get_extra_info("socket")
        assert stream.get_extra_info("client_addr") == writer.get_extra_info("peername")
        assert stream.get_extra_info("client_addr")[0] == "127.0.0.2"
        assert stream.get_extra_info("server_addr") == writer.get_extra_info("sockname")
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)

    keep = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    talk(of, local_address="127.0.0.2", socket_options=[keep])


def test_an_unreachable_server_raises_a_connect_error() -> None:
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(httpcore.ConnectError):
            asyncio.run(LoopBackend().connect_tcp("127.0.0.1", taken.getsockname()[1], 60))


def test_a_failed_handshake_raises_a_connect_error() -> None:
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def silent(stream: Any, reader: Any, writer: Any) -> None:
        with pytest.raises(httpcore.ConnectTimeout):
            await stream.start_tls(trusting, "localhost", 0.05)

    async def other(stream: Any, reader: Any, writer: Any) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        with pytest.raises(httpcore.ConnectError):
            await stream.start_tls(trusting, "localhost", 60)

    for way in (silent, other):
        talk(way)


def test_without_asyncio_the_anyio_backend_opens_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def connect(self: Any, *given: Any) -> Any:
        return given

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect)
    given: Any = ("host", 1, 2.0, "127.0.0.2", [(1, 2, 3)])
    opening = LoopBackend().connect_tcp(*given)
    with pytest.raises(StopIteration) as opened:
        opening.send(None)
    assert opened.value.value == given
