"""Converts Python values to SQL literals, and rows to the types of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lance_namespace_client.arrow import RowStream, to_reader
from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_client.rows import to_table

from ..tables.align import cast

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from .types import Rows, Value

__all__ = ["cast_to_schema", "literal", "rows_of_schema"]


def literal(value: Value) -> str:
    """Return a value as an SQL literal.

    Raises:
        InvalidInputError: code 13, the type of the value has no SQL literal.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return f"CAST('{value}' AS DOUBLE)"
        case int() | float():
            return repr(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
    raise InvalidInputError(
        f"update: values of type {type(value).__name__} have no SQL literal; pass an expression in "
        "values_sql="
    )


def cast_to_schema(data: Rows, schema_of: Callable[[], pa.Schema], what: str) -> Rows:
    """Convert rows of Python values or data frames to the types of the table's columns.

    The conversion is necessary because numbers in Python and in data frames have 64 bits, and lists
    have no fixed length. Arrow data is returned unchanged.

    Args:
        data: the rows.
        schema_of: returns the table's schema; not called for Arrow data.
        what: description of the table for messages.

    Raises:
        TableSchemaValidationError: code 20, a value does not fit its column.
    """
    import pyarrow as pa

    rows = to_table(data)
    if rows is None:
        return data
    schema = schema_of()
    for place, name in enumerate(rows.column_names):
        if name not in schema.names or rows.schema.field(place).type == schema.field(name).type:
            continue
        try:
            column = cast(rows.column(place), schema.field(name).type)
        except (pa.ArrowException, ValueError) as error:
            raise _misfit(what, schema.field(name), error) from error
        rows = rows.set_column(place, name, column)
    return rows


def rows_of_schema(
    data: Rows | Iterator[pa.RecordBatch], schema: pa.Schema, what: str
) -> RowStream:
    """Return rows with exactly the columns of a schema; missing columns are filled with nulls.

    Args:
        data: the rows, or an iterator over record batches.
        schema: the columns.
        what: description of the table for messages.

    Raises:
        TableSchemaValidationError: code 20, a value does not fit its column, a column that is not
            nullable contains a null, or the schema lacks a column. Batches are checked as they are
            read.
    """
    import pyarrow as pa

    if isinstance(data, Iterator) and not hasattr(data, "__arrow_c_stream__"):
        data = pa.RecordBatchReader.from_batches(schema, data)
    reader = to_reader(cast_to_schema(data, lambda: schema, what))
    if unknown := [name for name in reader.schema.names if name not in schema.names]:
        raise TableSchemaValidationError(
            f"{what} has no column {unknown[0]!r}; it has {', '.join(schema.names)}"
        )
    return RowStream(schema, (_aligned(batch, schema, what) for batch in reader))


def _aligned(batch: pa.RecordBatch, schema: pa.Schema, what: str) -> pa.RecordBatch:
    import pyarrow as pa

    columns = []
    for field in schema:
        place = batch.schema.get_field_index(field.name)
        try:
            values = (
                pa.nulls(batch.num_rows, field.type)
                if place < 0
                else cast(batch.column(place), field.type)
            )
        except (pa.ArrowException, ValueError) as error:
            raise _misfit(what, field, error) from error
        if values.null_count and not field.nullable:
            raise TableSchemaValidationError(
                f"{what}: column {field.name!r} must not contain nulls"
            )
        columns.append(values)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _misfit(what: str, field: pa.Field, error: Exception) -> TableSchemaValidationError:
    message = " ".join(str(error).split())
    return TableSchemaValidationError(f"{what}: column {field.name!r} is {field.type}: {message}")
