"""Receives request bodies on the event loop."""

from __future__ import annotations

import asyncio
import io
import threading
from collections import deque
from typing import Any

from starlette.types import Receive

from lance_namespace_client.errors import InvalidInputError

from ..execution.limits import Limits, Meter, TooSlowError

__all__ = ["BodyTooLargeError", "ClientDisconnectedError", "Incoming", "Rows"]

# Number of bytes to buffer while an upload waits for a slot; once it has one, more are buffered.
READY_BYTES = 64 << 10
BUFFERED_BYTES = 4 << 20


class ClientDisconnectedError(ConnectionError):
    """Raised if the client closes the connection before the request is complete."""


class BodyTooLargeError(InvalidInputError):
    """Raised if a JSON body is too large for the server (code 13, HTTP status 413)."""

    http_status = 413


class Incoming:
    """The body of one request.

    Args:
        receive: returns the next part of the body.
        may_wait: whether the client may be waiting for permission to send its body (``Expect``).
    """

    def __init__(self, receive: Receive, *, may_wait: bool = False) -> None:
        self._receive = receive
        self._unasked = may_wait
        self.ended = False
        self.bytes = 0
        """Number of bytes received."""

    async def part(self) -> bytes:
        """Wait for the next part, which may be empty; only `ended` marks the end of the body.

        Raises:
            ClientDisconnectedError: the client has disconnected.
        """
        self._unasked = False
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.ended = True
            raise ClientDisconnectedError(
                "the client closed the connection before the end of the request body"
            )
        self.ended = not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        self.bytes += len(part)
        return part

    async def read(self, limit: int, seconds: float) -> bytes:
        """Read the entire body.

        Args:
            limit: maximum number of bytes.
            seconds: maximum duration.

        Raises:
            BodyTooLargeError: code 13, the body is larger than `limit`.
            TooSlowError: code 13, the body does not arrive within `seconds`.
            ClientDisconnectedError: the client has disconnected.
        """
        body = b""
        try:
            async with asyncio.timeout(seconds):
                while not self.ended:
                    part = await self.part()
                    body = body + part if body else part
                    if len(body) > limit:
                        raise BodyTooLargeError(f"the body is larger than {limit} bytes")
        except TimeoutError:
            raise TooSlowError(f"the body did not arrive within {seconds:g} seconds") from None
        return body

    async def drain(self, limit: int, seconds: float) -> bool:
        """Discard the rest of the body if it arrives in time; return whether the body has ended.

        Args:
            limit: maximum number of bytes to discard.
            seconds: maximum duration.
        """
        if self._unasked:
            return False
        try:
            async with asyncio.timeout(seconds):
                while not self.ended and limit > 0:
                    limit -= len(await self.part())
        except (TimeoutError, ClientDisconnectedError):
            pass  # only the end of the body matters
        return self.ended


class Rows(io.RawIOBase):
    """A request body as a file object: the event loop receives it, and a worker thread reads it.

    At most a few megabytes are buffered; if the reader is slower than the client, backpressure is
    applied.

    Args:
        incoming: the body.
        limits: minimum rate and maximum duration.
    """

    def __init__(self, incoming: Incoming, limits: Limits) -> None:
        self._incoming = incoming
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Event()
        self._started = asyncio.Event()
        self._changed = threading.Condition()
        # Both threads access the following attributes under the condition's lock.
        self._parts: deque[memoryview] = deque()
        self._buffered = 0
        self._most = READY_BYTES
        self._failure: Exception | None = None
        self._ended = False

    async def fill(self) -> None:
        """Receive the body on the event loop, until it ends or the task is canceled."""
        failure: Exception | None = ClientDisconnectedError("the server aborted the request")
        meter = Meter(self._limits.least_rate, self._limits.upload_window_seconds)
        seconds = self._limits.upload_seconds
        try:
            async with asyncio.timeout(seconds):
                while not self._incoming.ended:
                    async with meter.waiting():
                        part = await self._incoming.part()
                    self._put(part)
                    if not self._incoming.ended:
                        meter.moved(len(part))
                    while self._buffered > self._most:
                        self._started.set()
                        self._room.clear()
                        await self._room.wait()
            failure = None
        except (ClientDisconnectedError, TooSlowError) as error:
            failure = error
        except TimeoutError:
            failure = TooSlowError(f"the upload was not complete after {seconds:g} seconds")
        finally:
            self._end(failure)
            self._started.set()

    async def started(self) -> None:
        """Wait until enough data has arrived to show that the client is sending its body.

        Raises:
            ClientDisconnectedError: the client has disconnected.
            TooSlowError: code 13, the body does not arrive.
        """
        await self._started.wait()
        if self._failure is not None:
            raise self._failure
        with self._changed:
            self._most = BUFFERED_BYTES
        self._room.set()

    def _put(self, part: bytes) -> None:
        with self._changed:
            self._parts.append(memoryview(part))
            self._buffered += len(part)
            self._changed.notify()

    def _end(self, failure: Exception | None) -> None:
        with self._changed:
            self._failure = failure
            self._ended = True
            self._changed.notify()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for the next part of the body and read it into a buffer; return 0 at the end.

        Raises:
            ClientDisconnectedError: the client disconnected before the end of the body.
            TooSlowError: code 13, the body arrived too slowly.
        """
        with self._changed:
            while not self._parts:
                if self._failure is not None:
                    raise self._failure
                if self._ended:
                    return 0
                self._changed.wait()
            part = self._parts.popleft()
            count = min(len(buffer), len(part))
            buffer[:count] = part[:count]
            if count < len(part):
                self._parts.appendleft(part[count:])
            full = self._buffered > self._most
            self._buffered -= count
            has_room = full and self._buffered <= self._most
        if has_room:
            self._loop.call_soon_threadsafe(self._room.set)
        return count
