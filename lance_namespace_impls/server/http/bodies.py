"""Request bodies, as they come in from the event loop."""

from __future__ import annotations

import asyncio
import io
import threading
from collections import deque
from typing import Any

from starlette.types import Receive

from lance_namespace_client.errors import InvalidInputError

from ..execution.limits import Limits, Meter, TooSlowError

__all__ = ["BodyTooLargeError", "ClientGoneError", "Incoming", "Rows"]

# A body's beginning is held until an upload has its turn, more once it is read.
READY_BYTES = 64 << 10
HELD_BYTES = 4 << 20


class ClientGoneError(ConnectionError):
    """The client closed the connection before its request was whole."""


class BodyTooLargeError(InvalidInputError):
    """A JSON body is larger than the server reads (code 13, HTTP status 413)."""

    http_status = 413


class Incoming:
    """The body of one request.

    Args:
        receive: gives the parts of the body.
        may_wait: whether the client sends its body only once it is asked to (``Expect``).
    """

    def __init__(self, receive: Receive, *, may_wait: bool = False) -> None:
        self._receive = receive
        self._unasked = may_wait
        self.ended = False
        self.bytes = 0
        """How many came in so far."""

    async def part(self) -> bytes:
        """Wait for the next part; an empty one does not mean the end, `ended` does.

        Raises:
            ClientGoneError: there is no client any more.
        """
        self._unasked = False
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.ended = True
            raise ClientGoneError("the client closed the connection within the request body")
        self.ended = not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        self.bytes += len(part)
        return part

    async def read(self, limit: int, seconds: float) -> bytes:
        """Read the whole body.

        Args:
            limit: most bytes that are taken.
            seconds: most time that it may take.

        Raises:
            BodyTooLargeError: code 13, there are more.
            TooSlowError: code 13, it takes longer.
            ClientGoneError: there is no client any more.
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
            raise TooSlowError(f"the body did not come in {seconds:g} seconds") from None
        return body

    async def drain(self, limit: int, seconds: float) -> bool:
        """Throw the rest away as far as it comes soon; return whether the body has ended.

        Args:
            limit: bytes to throw away at most.
            seconds: time to take at most.
        """
        if self._unasked:
            return False
        try:
            async with asyncio.timeout(seconds):
                while not self.ended and limit > 0:
                    limit -= len(await self.part())
        except (TimeoutError, ClientGoneError):
            pass  # what matters is only whether it ended
        return self.ended


class Rows(io.RawIOBase):
    """A body as a file: a worker thread reads while the event loop receives.

    No more than a few megabytes are held; the client is slowed down to the pace of the reader.

    Args:
        incoming: the body.
        limits: how fast it must come, and in what time.
    """

    def __init__(self, incoming: Incoming, limits: Limits) -> None:
        self._incoming = incoming
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Event()
        self._begun = asyncio.Event()
        self._changed = threading.Condition()
        # What follows is shared by both threads, under the condition's lock.
        self._parts: deque[memoryview] = deque()
        self._held = 0
        self._most = READY_BYTES
        self._failure: Exception | None = None
        self._ended = False

    async def fill(self) -> None:
        """Receive the body; runs on the event loop until the end, or until it is cancelled."""
        failure: Exception | None = ClientGoneError("the server gave the request up")
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
                    while self._held > self._most:
                        self._begun.set()
                        self._room.clear()
                        await self._room.wait()
            failure = None
        except (ClientGoneError, TooSlowError) as error:
            failure = error
        except TimeoutError:
            failure = TooSlowError(f"the upload was not whole after {seconds:g} seconds")
        finally:
            self._end(failure)
            self._begun.set()

    async def begun(self) -> None:
        """Wait for as much of the body as shows that it is coming in.

        Raises:
            ClientGoneError: there is no client any more.
            TooSlowError: code 13, it does not come in.
        """
        await self._begun.wait()
        if self._failure is not None:
            raise self._failure
        with self._changed:
            self._most = HELD_BYTES
        self._room.set()

    def _put(self, part: bytes) -> None:
        with self._changed:
            self._parts.append(memoryview(part))
            self._held += len(part)
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
        """Wait for some of the body; 0 is its end.

        Raises:
            ClientGoneError: the body was cut short.
            TooSlowError: code 13, it did not come fast enough.
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
            full = self._held > self._most
            self._held -= count
            has_room = full and self._held <= self._most
        if has_room:
            self._loop.call_soon_threadsafe(self._room.set)
        return count
