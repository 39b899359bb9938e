"""Converts Python values to SQL."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lance_namespace_client.errors import InvalidInputError

if TYPE_CHECKING:
    from .types import Value

__all__ = ["literal", "row_condition"]


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


def row_condition(column: str, numbers: Sequence[int]) -> str:
    """Return the SQL condition that selects rows by number.

    Args:
        column: the system column with the numbers, such as ``_rowid``.
        numbers: the numbers, as Python or numpy integers.

    Raises:
        InvalidInputError: code 13, a number is not an integer, or is negative.
    """
    try:
        found = [operator.index(number) for number in numbers]
    except TypeError as error:
        raise InvalidInputError(f"row numbers must be integers: {error}") from None
    if any(number < 0 for number in found):
        raise InvalidInputError(f"row number {min(found)} is negative; the first row has number 0")
    return f"{column} IN ({', '.join(map(str, found))})" if found else "false"
