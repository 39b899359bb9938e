"""Values of Python programs, as a table takes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_client.rows import to_table

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from lance_namespace_client.arrow import ArrowData

__all__ = ["Value", "fitting", "literal"]

Value: TypeAlias = str | int | float | bool | None


def literal(value: Value) -> str:
    """Return a value as SQL.

    Raises:
        InvalidInputError: code 13, it is of a type that has no literal here.
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
        f"update: a {type(value).__name__} cannot be written as SQL; give an expression in sql="
    )


def fitting(data: ArrowData, schema_of: Callable[[], pa.Schema], what: str) -> ArrowData:
    """Return rows of Python values or of frames with the types of the table's columns.

    Numbers of Python and of frames have 64 bits, and lists any length. Arrow data is returned
    unchanged.

    Args:
        data: the rows.
        schema_of: returns the table's schema; not called for Arrow data.
        what: the table, to open a message with.

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
            column = rows.column(place).cast(schema.field(name).type)
        except (pa.ArrowException, ValueError) as error:
            message = " ".join(str(error).split())
            raise TableSchemaValidationError(
                f"{what}: column {name!r} is {schema.field(name).type}: {message}"
            ) from error
        rows = rows.set_column(place, name, column)
    return rows
