"""Translates Spark's filters to Lance's SQL, if Lance evaluates them exactly as Spark does.

Every other filter stays in Spark. Lance and Spark differ as follows:

- Lance sorts NaN by its sign, Spark above all numbers, and the two treat negative zero differently.
- A literal that the stored type cannot represent makes Lance fail.
- Spark represents unsigned integers, half floats, nanoseconds, dictionaries, JSON and large values
  with types other than Lance's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types as is_

from ..tables.schema import extension_of

__all__ = ["MAX_CONDITIONS", "REJECT_NULL", "column_of", "has_plain_nulls", "to_lance"]

_MIRRORED = {"=": "=", "<=>": "<=>", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEXT_FUNCTIONS = {
    "STARTS_WITH": "starts_with", "ENDS_WITH": "ends_with", "CONTAINS": "contains",
}  # fmt: skip
REJECT_NULL = frozenset({"=", "<>", "<", "<=", ">", ">=", "IN", *_TEXT_FUNCTIONS})
"""Operators that are never true for null."""
_INTEGERS = ("byte", "short", "integer", "long")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
# Seconds from 1970 to the years 1 and 10000.
_FIRST, _END = -62_135_596_800, 253_402_300_800
_DAY = 86_400

# Lance's SQL parser limits the nesting of parentheses (to 50), and its planner is recursive.
_DEPTH, MAX_CONDITIONS = 20, 200

Tree = Mapping[str, Any]


def to_lance(tree: Tree, schema: pa.Schema) -> str | None:
    """Return a Spark filter as Lance SQL, or None if Spark has to evaluate it.

    Args:
        tree: the filter, as the JVM's `Trees` describes it.
        schema: the stored schema of the table's columns.
    """
    return _condition(tree, schema, _DEPTH)


def _condition(tree: Tree, schema: pa.Schema, depth: int) -> str | None:
    if not depth:
        return None
    match tree:
        case {"op": "AND" | "OR" as word}:
            chain = _chain(tree, word)
            if len(chain) > MAX_CONDITIONS:
                return None
            parts = [_condition(each, schema, depth - 1) for each in chain]
            known = [each for each in parts if each is not None]
            return f"({f' {word} '.join(known)})" if len(known) == len(parts) else None
        case {"op": "NOT", "args": [inner]}:
            found = _condition(inner, schema, depth - 1)
            return None if found is None else f"(NOT {found})"
        case {"op": "IS_NULL" | "IS_NOT_NULL" as op, "args": [reference]}:
            field = column_of(reference, schema)
            if field is None or not has_plain_nulls(field):
                return None
            return f"({_quoted(field)} {op.replace('_', ' ')})"
        case {"op": "IN", "args": [reference, *values]}:
            return _membership(reference, values, schema)
        case {"op": op, "args": [left, right]} if op in _MIRRORED:
            if "field" in right:
                left, right, op = right, left, _MIRRORED[op]
            return _comparison(op, left, right, schema)
        case {"op": op, "args": [reference, value]} if op in _TEXT_FUNCTIONS:
            return _text_function(_TEXT_FUNCTIONS[op], reference, value, schema)
        case {"field": _}:
            field = column_of(tree, schema)
            plain = field is not None and is_.is_boolean(field.type)
            return _quoted(field) if field is not None and plain else None
    return None


def _chain(tree: Tree, word: str) -> list[Tree]:
    """Return the operands of nested operations with the same operator, in order."""
    found, rest = [], [tree]
    while rest:
        each = rest.pop()
        if each.get("op") == word:
            rest += reversed(each["args"])
        else:
            found.append(each)
    return found


def column_of(tree: Tree, schema: pa.Schema) -> pa.Field | None:
    """Return the stored field of a reference to a top-level column, or None."""
    path = tree.get("field")
    if path is None or len(path) != 1 or schema.get_field_index(path[0]) < 0:
        return None
    field = schema.field(path[0])
    return None if extension_of(field) else field


def has_plain_nulls(field: pa.Field) -> bool:
    """Return whether Lance and Spark agree on which values of a column are null."""
    kind = field.type
    return bool(
        is_.is_primitive(kind)
        or is_.is_boolean(kind)
        or is_.is_decimal128(kind)
        or is_.is_string(kind)
        or is_.is_large_string(kind)
    )


def _membership(reference: Tree, values: Sequence[Tree], schema: pa.Schema) -> str | None:
    field = column_of(reference, schema)
    if field is None or not values:
        return None
    literals = [_literal(value, field.type) for value in values]
    known = [each for each in literals if each is not None]
    return f"({_quoted(field)} IN ({', '.join(known)}))" if len(known) == len(values) else None


def _comparison(op: str, reference: Tree, value: Tree, schema: pa.Schema) -> str | None:
    field = column_of(reference, schema)
    literal = None if field is None else _literal(value, field.type)
    if field is None or literal is None:
        return None
    name = _quoted(field)
    if op == "<=>":
        return f"({name} IS NOT NULL AND {name} = {literal})"
    if is_.is_boolean(field.type) and op not in ("=", "<>"):
        return None
    if is_.is_floating(field.type):
        if op in (">", ">="):
            return f"({name} {op} {literal} OR isnan({name}))"
        if op in ("<", "<="):
            return f"({name} {op} {literal} AND NOT isnan({name}))"
    return f"({name} {op} {literal})"


def _text_function(function: str, reference: Tree, value: Tree, schema: pa.Schema) -> str | None:
    field = column_of(reference, schema)
    literal = None if field is None else _literal(value, field.type)
    if field is None or literal is None or not _is_text(field.type):
        return None
    return f"{function}({_quoted(field)}, {literal})"


def _quoted(field: pa.Field) -> str:
    return f"`{field.name}`"


def _literal(tree: Tree, kind: pa.DataType) -> str | None:
    """Return a literal of the stored type, or None if that type cannot represent it."""
    if "literal" not in tree:
        return None
    text, spark = str(tree["literal"]), str(tree["type"]).strip('"')
    if is_.is_integer(kind):
        return _integer(text, spark, kind)
    if is_.is_float32(kind) or is_.is_float64(kind):
        return _float(text, spark, kind)
    if is_.is_boolean(kind) and spark == "boolean":
        return text
    if is_.is_decimal128(kind) and spark.startswith("decimal"):
        return _decimal(text, kind)
    if _is_text(kind) and spark == "string" and "\0" not in text:
        return "'" + text.replace("'", "''") + "'"
    if is_.is_date32(kind) and spark == "date":
        return _moment(int(text) * _DAY * 1_000_000, "date")
    if is_.is_timestamp(kind) and spark == ("timestamp_ntz" if kind.tz is None else "timestamp"):
        unit = _MICROSECONDS.get(kind.unit)
        if unit is not None and kind.tz in (None, "UTC") and int(text) % unit == 0:
            return _moment(int(text), "timestamp")
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(is_.is_string(kind) or is_.is_large_string(kind))


def _integer(text: str, spark: str, kind: pa.DataType) -> str | None:
    if spark not in _INTEGERS and not spark.startswith("decimal"):
        return None
    value = Decimal(text)
    if value != int(value):
        return None
    signed = is_.is_signed_integer(kind)
    # Lance reads the lowest int64 as a float, which also equals neighboring integers, so filters on it
    # stay in Spark.
    first = max(-(1 << kind.bit_width - 1), 1 - (1 << 63)) if signed else 0
    end = 1 << (kind.bit_width - 1 if signed else kind.bit_width)
    return str(int(value)) if first <= value < end else None


def _float(text: str, spark: str, kind: pa.DataType) -> str | None:
    if spark != ("float" if is_.is_float32(kind) else "double"):
        return None
    value = pa.scalar(float(text), pa.float64()).cast(kind, safe=False).as_py()
    return repr(value) if value != 0 and math.isfinite(value) else None


def _decimal(text: str, kind: pa.DataType) -> str | None:
    try:
        value = pa.scalar(Decimal(text), kind)
    except pa.ArrowInvalid:
        return None  # more digits than the column has
    return f"CAST('{value.as_py():f}' AS DECIMAL({kind.precision}, {kind.scale}))"


def _moment(microseconds: int, word: str) -> str | None:
    if not _FIRST <= microseconds // 1_000_000 < _END:
        return None
    moment = _EPOCH + timedelta(microseconds=microseconds)
    written = f"{moment.year:04}-{moment:%m-%d}"
    if word == "timestamp":
        written += f" {moment:%H:%M:%S.%f}"
    return f"{word} '{written}'"
