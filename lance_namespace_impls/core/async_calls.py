"""Blocking calls of asynchronous programs, which run on threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.async_namespace import AsyncRows
from lance_namespace_client.errors import InvalidInputError

from .concurrent import start_call, start_upload

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["in_thread", "rows_in_thread", "with_async_rows"]

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Make a blocking call on one of the process's threads, with the caller's context variables.

    If the awaiting task is canceled, a call that has not started yet is not made. A running call
    cannot be interrupted; it ends in the background, and its result is discarded.
    """
    return await asyncio.wrap_future(start_call(call, *args, **kwargs))


async def rows_in_thread(
    query: Callable[P, pa.RecordBatchReader], *args: P.args, **kwargs: P.kwargs
) -> AsyncRows:
    """Run a query on a thread and return its rows, which are read on threads as well.

    If the task is canceled, the reader is closed as soon as no thread uses it.
    """
    future = start_call(query, *args, **kwargs)
    try:
        reader = await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        future.add_done_callback(_close_result)
        raise
    batches = _Batches(reader)
    return AsyncRows(reader.schema, batches.advance, batches.close)


def _close_result(query: Future[pa.RecordBatchReader]) -> None:
    if not query.cancelled() and query.exception() is None:
        query.result().close()


class _Batches:
    """The batches of a reader, which one thread at a time may use."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader
        self._batches = iter(reader)
        self._last: Future[Any] | None = None

    async def advance(self) -> pa.RecordBatch | None:
        """Return the next batch, or None after the last one."""
        self._last = start_call(next, self._batches, None)
        return await asyncio.wrap_future(self._last)

    async def close(self) -> None:
        """Close the reader, or let the thread that is reading a batch close it afterwards."""
        if self._last is None or self._last.done():
            await in_thread(self._reader.close)
        else:
            self._last.add_done_callback(lambda _: self._reader.close())


async def with_async_rows(call: Callable[[RowStream], T], data: AsyncIterable[pa.RecordBatch]) -> T:
    """Make a blocking call on a thread with rows that this event loop provides.

    If the task is canceled, the rows end with an error, so that the call fails.

    Raises:
        InvalidInputError: code 13, there are neither batches nor a schema.
    """
    batches = aiter(data)
    first = await anext(batches, None)
    schema = getattr(data, "schema", None) or getattr(first, "schema", None)
    if schema is None:
        raise InvalidInputError(
            "the rows have neither a batch nor a schema, so their columns are unknown; pass an "
            "Arrow table or reader"
        )
    provided = _Provided(first, batches, asyncio.get_running_loop())
    try:
        # These threads wait for the event loop. On the threads of other calls, enough of them could
        # prevent the calls that their rows come from.
        return await asyncio.wrap_future(start_upload(call, RowStream(schema, provided)))
    finally:
        provided.stop()


class _Provided(Iterator["pa.RecordBatch"]):
    """The batches of an asynchronous iterator, read by a thread while the event loop runs."""

    def __init__(
        self,
        first: pa.RecordBatch | None,
        batches: AsyncIterator[pa.RecordBatch],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._first = first
        self._batches = batches
        self._loop = loop
        self._lock = threading.Lock()
        self._next: Future[pa.RecordBatch | None] | None = None
        self._is_stopped = False

    def __next__(self) -> pa.RecordBatch:
        batch, self._first = self._first, None
        if batch is None:
            batch = self._following()
        if batch is None:
            raise StopIteration
        return batch

    def _following(self) -> pa.RecordBatch | None:
        async def advance() -> pa.RecordBatch | None:
            return await anext(self._batches, None)

        with self._lock:
            if self._is_stopped:
                raise InvalidInputError("the call was canceled before all rows were read")
            self._next = asyncio.run_coroutine_threadsafe(advance(), self._loop)
        try:
            return self._next.result()
        except CancelledError:
            raise InvalidInputError("the call was canceled before all rows were read") from None

    def stop(self) -> None:
        """Interrupt the thread if it waits for a batch."""
        with self._lock:
            self._is_stopped = True
            if self._next is not None:
                self._next.cancel()
