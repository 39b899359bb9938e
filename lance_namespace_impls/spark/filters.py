"""Spark's filters as Lance's.

A filter is given to Lance only where it keeps every row that Spark would keep. Where it may keep
more (floating-point numbers: Spark holds NaN to be the largest number and equal to itself, and
the two zeros to be equal), Spark filters once more.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import frozen
from pyarrow import types as is_

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

__all__ = ["Pushed", "to_lance"]

_EPOCH = dt.datetime(1970, 1, 1)
_COMPARISONS = {
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_TEXT_FUNCTIONS = {
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
    "StringContains": "contains",
}


@frozen
class Pushed:
    """A filter that Lance applies."""

    sql: str
    exact: bool
    """Whether Lance keeps just the rows that Spark would keep; if not, Spark filters again."""


def to_lance(filter: Filter, schema: pa.Schema) -> Pushed | None:
    """Write a filter in Lance's SQL, or give None where it cannot be.

    Args:
        filter: one of Spark's filters.
        schema: the Lance table's schema.
    """
    kind = type(filter).__name__
    if kind == "Not":
        return _negated(filter.child, schema)  # type: ignore[attr-defined]
    path: Sequence[str] = filter.attribute  # type: ignore[attr-defined]
    column_type = _type_of(path, schema)
    if column_type is None:
        return None
    column = ".".join(f"`{name}`" for name in path)
    if kind == "IsNull":
        return Pushed(f"{column} IS NULL", exact=True)
    if kind == "IsNotNull":
        return Pushed(f"{column} IS NOT NULL", exact=True)
    return _compared(kind, column, column_type, filter.value)  # type: ignore[attr-defined]


def _negated(child: Filter, schema: pa.Schema) -> Pushed | None:
    kind = type(child).__name__
    has_null = kind == "EqualNullSafe" or (
        kind == "In" and None in child.value  # type: ignore[attr-defined]
    )
    pushed = None if has_null else to_lance(child, schema)
    # The opposite of a filter that keeps too much would keep too little.
    if pushed is None or not pushed.exact:
        return None
    return Pushed(f"NOT ({pushed.sql})", exact=True)


def _compared(kind: str, column: str, column_type: pa.DataType, value: Any) -> Pushed | None:
    if kind == "EqualNullSafe":
        if value is None:
            return Pushed(f"{column} IS NULL", exact=True)
        kind = "EqualTo"
    literal = _literal_of(column_type)
    given = [item for item in value if item is not None] if kind == "In" else [value]
    texts = [literal(item) for item in given] if literal else [None]
    if None in texts:
        return None
    if kind in _TEXT_FUNCTIONS:
        if not _is_text(column_type):
            return None
        return Pushed(f"{_TEXT_FUNCTIONS[kind]}({column}, {texts[0]})", exact=True)
    if kind == "In" and not texts:
        return Pushed("false", exact=True)
    if kind in ("In", "EqualTo"):
        if _is_float(column_type) and any(float(str(text)) == 0 for text in texts):
            texts += ["0.0", "-0.0"]
        wanted = ", ".join(str(text) for text in texts)
        return Pushed(f"{column} IN ({wanted})", exact=not _is_float(column_type))
    if kind not in _COMPARISONS:
        return None
    return _ordered(_COMPARISONS[kind], column, column_type, str(texts[0]))


def _ordered(operator: str, column: str, column_type: pa.DataType, text: str) -> Pushed:
    if not _is_float(column_type):
        return Pushed(f"{column} {operator} {text}", exact=True)
    if operator in ("<", "<="):
        return Pushed(f"{column} {operator} {'0.0' if float(text) == 0 else text}", exact=False)
    text = "-0.0" if float(text) == 0 else text
    return Pushed(f"({column} {operator} {text} OR isnan({column}))", exact=False)


def _type_of(path: Sequence[str], schema: pa.Schema) -> pa.DataType | None:
    """Give the type of a column, or of a field in a struct, if filters on it can be written."""
    if any("`" in name for name in path):
        return None
    index = schema.get_field_index(path[0])
    kind = schema.field(index).type if index >= 0 else None
    for name in path[1:]:
        child = kind.get_field_index(name) if kind is not None and is_.is_struct(kind) else -1
        kind = kind.field(child).type if kind is not None and child >= 0 else None
    if kind is not None and is_.is_dictionary(kind):
        kind = kind.value_type
    return kind if kind is not None and _literal_of(kind) is not None else None


def _is_text(kind: pa.DataType) -> bool:
    return bool(is_.is_string(kind) or is_.is_large_string(kind))


def _is_float(kind: pa.DataType) -> bool:
    return bool(is_.is_float32(kind) or is_.is_float64(kind))


def _literal_of(kind: pa.DataType) -> Callable[[Any], str | None] | None:
    """Give what writes a value of a type as SQL.

    Types that change on the way to Spark are left out, other than to a larger integer: there
    Spark and Lance do not compare the same values.
    """
    if is_.is_boolean(kind):
        return lambda value: str(value).lower() if isinstance(value, bool) else None
    if is_.is_integer(kind) and kind != pa.uint64():
        return lambda value: _whole(value, kind)
    if _is_float(kind):
        return lambda value: _real(value, kind)
    if _is_text(kind):
        return _text
    if is_.is_date32(kind):
        return lambda value: (
            f"cast('{value.isoformat()}' as date)" if type(value) is dt.date else None
        )
    if is_.is_timestamp(kind) and kind.unit == "us":
        return lambda value: _moment(value, zoned=kind.tz is not None)
    if is_.is_decimal128(kind):
        return lambda value: _decimal(value, kind)
    return None


def _whole(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    bits = kind.bit_width
    lowest, highest = (
        (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if is_.is_signed_integer(kind)
        else (0, 2**bits - 1)
    )
    # Lance's parser reads the lowest 64-bit number as a floating-point one.
    return str(value) if lowest <= value <= highest and value != -(2**63) else None


def _real(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    # Lance would round the literal to the column's type before it compares.
    if pa.scalar(float(value), pa.float64()).cast(kind, safe=False).as_py() != value:
        return None
    return repr(float(value))


def _text(value: Any) -> str | None:
    if not isinstance(value, str) or "\0" in value:
        return None
    return "'" + value.replace("'", "''") + "'"


def _moment(value: Any, *, zoned: bool) -> str | None:
    if not isinstance(value, dt.datetime) or (value.tzinfo is not None) != zoned:
        return None
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    microseconds = (value - _EPOCH) // dt.timedelta(microseconds=1)
    zone = 'Some("UTC")' if zoned else "None"
    return f"arrow_cast({microseconds}, 'Timestamp(Microsecond, {zone})')"


def _decimal(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    value = value.normalize()
    _, digits, exponent = value.as_tuple()
    fraction = max(0, -int(exponent))
    if fraction > kind.scale or len(digits) + int(exponent) > kind.precision - kind.scale:
        return None
    return f"cast('{value:f}' as decimal({kind.precision},{kind.scale}))"
