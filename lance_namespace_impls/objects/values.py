"""Converts Python values to SQL literals, and rows to the types of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_client.rows import to_table

from ..tables.align import cast

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from .types import Rows, Value

__all__ = ["cast_to_schema", "literal"]


def literal(value: Value) -> str:
    """Return a value as an SQL literal.

    Raises:
        InvalidInputError: code 13, the value has a type without an SQL literal.
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
        f"update: a value of type {type(value).__name__} has no SQL literal; pass an "
        f"expression in values_sql="
    )


def cast_to_schema(data: Rows, schema_of: Callable[[], pa.Schema], what: str) -> Rows:
    """Convert rows of Python values or frames to the types of the table's columns.

    Numbers in Python and in frames have 64 bits, and lists have no fixed length. Arrow data is
    returned unchanged.

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
            message = " ".join(str(error).split())
            raise TableSchemaValidationError(
                f"{what}: column {name!r} is {schema.field(name).type}: {message}"
            ) from error
        rows = rows.set_column(place, name, column)
    return rows
