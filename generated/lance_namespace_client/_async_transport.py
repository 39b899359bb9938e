# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"

"""The HTTP transport of `AsyncRestNamespace`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio.from_thread
import anyio.to_thread
import httpx

from ._async_rows import AsyncRows
from ._operation import Body, Operation
from ._wire import HttpWire, failure, is_refused
from .decoding import MAX_ANSWER_BYTES, bound
from .errors import InvalidInputError
from .model import Model, RequestLike

if TYPE_CHECKING:
    import pyarrow as pa

    from .arrow import AsyncArrowData, RowStream

__all__ = ["AsyncTransport"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")
T = TypeVar("T")


class AsyncTransport(HttpWire):
    """Sends operations over an ``httpx.AsyncClient``; see `HttpWire` for the arguments."""

    _client: httpx.AsyncClient

    async def _send(
        self, request: httpx.Request, operation: Operation[Any, Any], stream: bool
    ) -> httpx.Response:
        """Send a request once; subclasses may retry it if `operation` allows.

        The body of the response may still be unread, even if the response is not streamed.
        """
        return await self._client.send(request, stream=True)

    async def _call(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike | None,
    ) -> Response:
        return await self._exchange(
            operation, operation.request_type.coerce(request), None
        )

    async def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: AsyncArrowData,
    ) -> Response:
        coerced = operation.request_type.coerce(request)
        rows, chunks = await _upload(operation, data)
        with rows.guarded(operation.name):
            return await self._exchange(operation, coerced, chunks)

    async def _exchange(
        self,
        operation: Operation[Request, Response],
        request: Request,
        rows: AsyncIterator[bytes] | None,
    ) -> Response:
        stream = operation.answer is Body.ARROW
        with self._exchanging(operation):
            response = await self._send(
                self._build(operation, request, rows), operation, stream
            )
            refused = is_refused(response)
            whole = refused or not stream
            bound(response, MAX_ANSWER_BYTES if whole else None)
            if whole:
                async with contextlib.aclosing(response):
                    await response.aread()
        if refused:
            raise failure(operation, response)
        if not stream:
            return self._decode_response(operation, request, response)
        return cast("Response", await _rows_of(self, operation, response))


async def _rows_of(
    wire: HttpWire, operation: Operation[Any, Any], response: httpx.Response
) -> AsyncRows:
    """Return the rows of a streamed response; closing them closes the connection."""
    # A separate limiter is used, because threads that wait for a server must not block other work.
    limiter = anyio.CapacityLimiter(1)
    chunks = response.aiter_raw()

    def pulled() -> Iterator[bytes]:
        while chunk := anyio.from_thread.run(anext, chunks, b""):
            yield chunk

    async def in_thread(work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    async def close() -> None:
        with anyio.CancelScope(shield=True):
            await response.aclose()

    try:
        reader = await in_thread(lambda: wire._rows(operation, pulled(), lambda: None))
    except BaseException:
        await close()
        raise
    batches = iter(reader)
    return AsyncRows(
        reader.schema, lambda: in_thread(lambda: next(batches, None)), close
    )


async def _upload(
    operation: Operation[Any, Any], data: AsyncArrowData
) -> tuple[RowStream, AsyncIterator[bytes]]:
    """Return the rows, and their Arrow IPC stream, which is produced while it is read."""
    from .arrow import RowStream, stream_chunks

    if isinstance(data, AsyncIterable) and not hasattr(data, "__arrow_c_stream__"):
        return await _upload_async(data)
    stream = partial(RowStream.of, data, infer_vectors=operation.creates_table)
    rows = await anyio.to_thread.run_sync(stream)
    chunks = stream_chunks(rows.reader())

    async def sent() -> AsyncIterator[bytes]:
        # Reading the caller's rows may block, for example on files or a database.
        while (chunk := await anyio.to_thread.run_sync(next, chunks, None)) is not None:
            yield chunk

    return rows, sent()


async def _upload_async(
    data: AsyncIterable[pa.RecordBatch],
) -> tuple[RowStream, AsyncIterator[bytes]]:
    from .arrow import RowStream, stream_chunks

    batches = aiter(data)
    first = await anext(batches, None)
    schema = getattr(data, "schema", None) or getattr(first, "schema", None)
    if schema is None:
        raise InvalidInputError(
            "the rows have neither a batch nor a schema, so their columns are unknown; pass an "
            "Arrow table or reader"
        )
    # Provides batches for `stream_chunks`, which requests one for each chunk after the first.
    turn: list[pa.RecordBatch] = []

    def consumed() -> Iterator[pa.RecordBatch]:
        while turn:
            yield turn.pop()

    rows = RowStream(schema, consumed())
    chunks = stream_chunks(rows.reader())

    async def sent() -> AsyncIterator[bytes]:
        yield next(chunks)
        batch = first
        while batch is not None:
            turn.append(batch)
            yield next(chunks)
            try:
                batch = await anext(batches, None)
            except Exception as error:
                raise rows.interrupted_by(error) from error
        for rest in chunks:
            yield rest

    return rows, sent()
