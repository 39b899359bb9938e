"""Values of Python programs, as a table takes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_client.rows import to_table

if TYPE_CHECKING:
    from lance_namespace_client.arrow import ArrowData

    from .table import Table

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


def fitting(data: ArrowData, table: Table) -> ArrowData:
    """Return rows with the table's own types where nobody chose theirs.

    Numbers of Python and of frames come as 64 bits, and lists as lists of any length. Arrow data
    stays as it is.

    Raises:
        TableSchemaValidationError: code 20, a value does not fit its column.
    """
    import pyarrow as pa

    rows = to_table(data)
    if rows is None:
        return data
    schema = table.schema
    for place, name in enumerate(rows.column_names):
        if name not in schema.names or rows.schema.field(place).type == schema.field(name).type:
            continue
        try:
            column = rows.column(place).cast(schema.field(name).type)
        except (pa.ArrowException, ValueError) as error:
            message = " ".join(str(error).split())
            raise TableSchemaValidationError(
                f"table {table}: column {name!r} is {schema.field(name).type}: {message}"
            ) from error
        rows = rows.set_column(place, name, column)
    return rows
