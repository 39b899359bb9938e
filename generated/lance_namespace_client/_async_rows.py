# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"

"""Rows that arrive asynchronously."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AsyncRows"]


class AsyncRows:
    """A stream of rows, one batch at a time: ``async for batch in rows``.

    Read the rows to the end or close them; ``async with`` closes them.

    Args:
        schema: columns of the rows.
        advance: returns the next batch, or None after the last one.
        close: releases the source of the rows; may be called more than once.
    """

    schema: pa.Schema
    """Columns of the rows."""

    def __init__(
        self,
        schema: pa.Schema,
        advance: Callable[[], Awaitable[pa.RecordBatch | None]],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self.schema = schema
        self._advance = advance
        self._close = close

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pa.RecordBatch:
        try:
            batch = await self._advance()
        except BaseException:
            await self.aclose()
            raise
        if batch is None:
            await self.aclose()
            raise StopAsyncIteration
        return batch

    async def read_all(self) -> pa.Table:
        """Return the remaining rows as a table."""
        import pyarrow as pa

        return pa.Table.from_batches([batch async for batch in self], self.schema)

    async def aclose(self) -> None:
        """Release the source of the rows; closing it again has no effect."""
        await self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
