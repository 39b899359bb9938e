"""The common base of formats whose files declare the types of their values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa

from lance_namespace_client.errors import TableSchemaValidationError
from lance_namespace_client.ipc import validated

from ...distributed.casts import first_rounded
from ...distributed.columns import cast_batch
from . import numbers
from .base import Format

__all__ = ["TypedFormat"]


class TypedFormat(Format):
    """A format whose files declare the types of their values."""

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type unchanged."""
        return kind

    def converted(
        self,
        batches: Iterable[pa.RecordBatch],
        schema: pa.Schema,
        exact: Collection[str],
        first_row: int = 1,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file in a schema.

        Args:
            batches: the rows in the types of the file.
            schema: the schema of the rows.
            exact: columns whose numbers must keep all digits.
            first_row: number of the first row, for messages.

        Raises:
            TableSchemaValidationError: code 20, a value does not fit; the message names the row.
        """
        row = first_row
        for batch in validated(batches):
            rows = _cast(batch, schema, row)
            for name in set(batch.schema.names).intersection(exact):
                given, kept = batch.column(name), rows.column(name)
                index = first_rounded(given, kept)
                if index is not None:
                    text = str(given[index].as_py())
                    raise numbers.lost(name, row + index, text, kept.type)
            row += batch.num_rows
            yield rows


def _cast(batch: pa.RecordBatch, schema: pa.Schema, first_row: int) -> pa.RecordBatch:
    """Cast a batch; an error message names the first row that does not fit."""
    try:
        return cast_batch(batch, schema)
    except TableSchemaValidationError as error:
        low, high = 0, batch.num_rows
        while high - low > 1:
            middle = (low + high) // 2
            if _is_cast(batch.slice(low, middle - low), schema):
                low = middle
            else:
                high = middle
        raise TableSchemaValidationError(f"{error.message}, in row {first_row + low}") from error


def _is_cast(batch: pa.RecordBatch, schema: pa.Schema) -> bool:
    try:
        cast_batch(batch, schema)
    except TableSchemaValidationError:
        return False
    return True
