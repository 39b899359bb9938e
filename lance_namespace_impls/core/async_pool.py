"""A connection pool for many concurrent calls to one server on one event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio
import httpx

__all__ = ["Lanes"]


class Lanes(httpx.AsyncBaseTransport):
    """Sends each concurrent call over a separate connection, and keeps connections for later calls.

    httpcore's own pool scans all connections and all waiting calls whenever a call starts or ends;
    with a hundred connections, this takes longer than the calls themselves. In
    ``benchmarks/async_client.py`` (100 connections, 2 cores), 200 concurrent tasks made 1,270
    DescribeTable calls per second with this class and `LoopBackend`, and 300 with httpcore's pool
    and backend.

    Args:
        lane: creates a transport with one connection.
        count: maximum number of open connections.
    """

    def __init__(self, lane: Callable[[], httpx.AsyncBaseTransport], count: int) -> None:
        self._lane = lane
        self._lanes = [lane()]  # created immediately, so that errors are raised here
        self._idle = list(self._lanes)
        self._free = anyio.Semaphore(count, fast_acquire=True)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request once a connection is free.

        Raises:
            httpx.PoolTimeout: no connection became free within the request's timeout.
        """
        try:
            with anyio.fail_after(request.extensions.get("timeout", {}).get("pool")):
                await self._free.acquire()
        except TimeoutError:
            raise httpx.PoolTimeout("no connection became free", request=request) from None
        if not self._idle:
            self._idle.append(self._lane())
            self._lanes.append(self._idle[-1])
        # Reuse the most recently used connection, because the server is least likely to have closed
        # it.
        lane = self._idle.pop()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._release(lane)
            raise
        response.stream = _Released(response, lambda: self._release(lane))
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        for lane in self._lanes:
            await lane.aclose()

    def _release(self, lane: httpx.AsyncBaseTransport) -> None:
        self._idle.append(lane)
        self._free.release()


class _Released(httpx.AsyncByteStream):
    """A response body that releases its connection when it is closed."""

    def __init__(self, response: httpx.Response, release: Callable[[], None]) -> None:
        self._stream = response.stream
        self._release: Callable[[], None] | None = release

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._stream, httpx.AsyncByteStream)
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        assert isinstance(self._stream, httpx.AsyncByteStream)
        release, self._release = self._release, None
        try:
            await self._stream.aclose()
        finally:
            if release is not None:
                release()
