"""Request bodies, as they come in from the event loop."""

from __future__ import annotations

import asyncio
import io
import threading
from collections import deque
from typing import Any

from starlette.types import Receive

from lance_namespace_client.errors import InvalidInputError

__all__ = ["BodyTooLargeError", "ClientGoneError", "Incoming", "Rows"]

HELD_BYTES = 4 << 20
IDLE_SECONDS = 60.0


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
        return part

    async def read(self, limit: int) -> bytes:
        """Read the whole body.

        Args:
            limit: most bytes that are taken.

        Raises:
            BodyTooLargeError: code 13, there are more.
            ClientGoneError: there is no client any more.
        """
        body = b""
        while not self.ended:
            part = await self.part()
            body = body + part if body else part
            if len(body) > limit:
                raise BodyTooLargeError(f"the body is larger than {limit} bytes")
        return body

    async def drain(self, limit: int, seconds: float) -> bool:
        """Throw the rest away as far as it comes soon; say whether the body has ended.

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
    """

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Event()
        self._changed = threading.Condition()
        # What follows is shared by both threads, under the condition's lock.
        self._parts: deque[memoryview] = deque()
        self._held = 0
        self._failure: Exception | None = None
        self._ended = False

    async def fill(self) -> None:
        """Receive the body; runs on the event loop until the end, or until it is cancelled."""
        failure: Exception | None = ClientGoneError("the server gave the request up")
        try:
            while not self._incoming.ended:
                self._put(await self._incoming.part())
                while self._held > HELD_BYTES:
                    self._room.clear()
                    await self._room.wait()
            failure = None
        except ClientGoneError as error:
            failure = error
        finally:
            self._end(failure)

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
        """Say yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for some of the body; 0 is its end.

        Raises:
            ClientGoneError: the body broke off.
            TimeoutError: nothing came for a minute.
        """
        with self._changed:
            while not self._parts:
                if self._failure is not None:
                    raise self._failure
                if self._ended:
                    return 0
                if not self._changed.wait(IDLE_SECONDS):
                    raise TimeoutError(f"no more of the body came for {IDLE_SECONDS:.0f} seconds")
            part = self._parts.popleft()
            count = min(len(buffer), len(part))
            buffer[:count] = part[:count]
            if count < len(part):
                self._parts.appendleft(part[count:])
            full = self._held > HELD_BYTES
            self._held -= count
            has_room = full and self._held <= HELD_BYTES
        if has_room:
            self._loop.call_soon_threadsafe(self._room.set)
        return count
