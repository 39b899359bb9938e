"""Columns of the model: the type and the values of a column follow from the prefix of its name."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
from attrs import frozen

__all__ = [
    "arrow_name",
    "is_number",
    "is_safe",
    "is_text",
    "json_type",
    "shown_type",
    "type_of",
    "value_of",
]


@frozen
class _Column:
    """A class of columns."""

    type: pa.DataType
    value: Callable[[int], Any]
    """The value in the row with a number."""
    safe: bool = True
    """Whether every target must accept the type."""
    json: str = ""
    """Its name in DescribeTable; empty if the sources leave its spelling open."""


def _one_of(*values: Any) -> Callable[[int], Any]:
    """Return a value function that repeats a sequence."""
    return lambda number: values[number % len(values)]


_DAY = datetime.date(2024, 2, 29)
_NOON = datetime.datetime(2024, 2, 29, 12, 30, 15, 123_456)
_TEXTS = (
    "", " a\n\tb ", "ünï 日本 🙂", None, "007", "True", "it's", "X" * 5_000, "null", "a_b%c", "é", "e\u0301",
)  # fmt: skip
_COLUMNS: dict[str, _Column] = {
    "name": _Column(pa.string(), lambda number: f"n{number}"),
    "Name": _Column(pa.int64(), lambda number: number, json="int64"),
    "z": _Column(pa.string(), str),
    "score": _Column(
        pa.float64(), lambda number: None if number % 4 == 0 else number / 2, json="float64"
    ),
    "vec": _Column(pa.list_(pa.float32(), 2), lambda number: [float(number), 0.0]),
    "i8": _Column(pa.int8(), _one_of(-128, 127, None, 5), safe=False, json="int8"),
    "i32": _Column(pa.int32(), _one_of(-(2**31), 2**31 - 1, None, -7), json="int32"),
    "big": _Column(pa.int64(), _one_of(-(2**63), 2**63 - 1, 2**53 + 1, None), json="int64"),
    "u64": _Column(pa.uint64(), _one_of(0, 2**64 - 1, 2**63, None), safe=False, json="uint64"),
    "f32": _Column(pa.float32(), _one_of(0.1, float("inf"), None, -2.5), json="float32"),
    "f64": _Column(
        pa.float64(), _one_of(0.1, -1e308, 5e-324, float("nan"), -0.0, None), json="float64"
    ),
    "text": _Column(pa.string(), lambda number: _TEXTS[number % len(_TEXTS)]),
    "bytes": _Column(pa.binary(), _one_of(b"", b"\x00\xff\x00", None, b"abc"), json="binary"),
    "flag": _Column(pa.bool_(), _one_of(True, False, None), json="bool"),
    "day": _Column(pa.date32(), _one_of(_DAY, datetime.date(1, 1, 1), None), safe=False),
    "at_us": _Column(
        pa.timestamp("us"), _one_of(_NOON, datetime.datetime(1969, 1, 1), None), safe=False
    ),
    "at_utc": _Column(pa.timestamp("us", "UTC"), _one_of(_NOON, None, _NOON), safe=False),
    "at_ms": _Column(
        pa.timestamp("ms"), _one_of(datetime.datetime(2024, 2, 29, 1, 2, 3, 4_000), None), safe=False
    ),
    "money": _Column(
        pa.decimal128(20, 2), _one_of(Decimal("12345678901234567.89"), Decimal("-0.01"), None),
        safe=False,
    ),
    "list": _Column(pa.list_(pa.int32()), _one_of([1, None, 3], [], [2**31 - 1], None)),
    "texts": _Column(pa.list_(pa.string()), _one_of(["a", ""], [None], []), safe=False),
    "rec": _Column(
        pa.struct([pa.field("a", pa.int64()), pa.field("b", pa.string())]),
        _one_of({"a": 1, "b": "x"}, {"a": None, "b": ""}, {"a": -1, "b": None}),
    ),
    "kind": _Column(
        pa.dictionary(pa.int32(), pa.string()), _one_of("red", "blue", None), safe=False
    ),
}  # fmt: skip
"""Columns by the prefix of their name; any other column holds integers."""

_NUMBERS = _Column(pa.int64(), lambda number: number, json="int64")
_PREFIXES = sorted(_COLUMNS, key=len, reverse=True)


@cache
def _of(column: str) -> _Column:
    found = next((prefix for prefix in _PREFIXES if column.startswith(prefix)), None)
    return _NUMBERS if found is None else _COLUMNS[found]


def type_of(column: str) -> pa.DataType:
    """Return the type of a column."""
    return _of(column).type


def value_of(column: str, number: int) -> Any:
    """Return the value of a column in the row with a number."""
    return _of(column).value(number)


def json_type(column: str) -> str:
    """Return the type of a column in DescribeTable; empty if its spelling is open."""
    return _of(column).json


def arrow_name(type: str) -> str:
    """Return Arrow's name of a type in DescribeTable, which may have Lance's own name instead."""
    return {"float": "float32", "double": "float64"}.get(type.lower(), type.lower())


def is_number(column: str) -> bool:
    """Return whether a column holds the number of its row."""
    return _of(column) in (_NUMBERS, _COLUMNS["Name"])


def is_text(column: str) -> bool:
    """Return whether a column holds a text in every row."""
    return _of(column) in (_COLUMNS["name"], _COLUMNS["z"])


def is_safe(columns: Sequence[str]) -> bool:
    """Return whether every target must accept the types of columns."""
    return all(_of(column).safe for column in columns)


def shown_type(type: pa.DataType) -> str:
    """Return a type as a text in which equivalent encodings are the same."""
    text = str(type).replace("large_", "").replace("_view", "")
    return "string" if text.startswith("dictionary<values=string") else text
