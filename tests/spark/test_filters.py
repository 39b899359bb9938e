"""Filters that Lance applies keep what Spark would keep."""

from __future__ import annotations

import datetime as dt
import math
import operator
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as ds

from lance_namespace_impls.spark.filters import to_lance
from tests.spark.conftest import Lake

UTC = dt.UTC
NAN = math.nan
NEGATIVE_NAN = struct.unpack("d", struct.pack("Q", 0xFFF8_0000_0000_0000))[0]
MOMENT = dt.datetime(2020, 1, 1, 1, 2, 3, 456789)
ROWS = pa.table(
    {
        "i": pa.array([1, 2, None, -5, 2**31 - 1], pa.int32()),
        "u": pa.array([1, 255, None, 0, 7], pa.uint8()),
        "l": pa.array([2**62, 1, None, -(2**63), 0], pa.int64()),
        "f": pa.array([0.0, -0.0, NAN, NEGATIVE_NAN, 1.5], pa.float64()),
        "g": pa.array([0.1, 1.5, None, -0.0, -math.inf], pa.float32()),
        "s": ["a'b", "c\\d%_", "", None, 'q"`\n'],
        "S t": pa.array(["x", "日本", None, "order", "X"], pa.large_string()),
        "b": [True, False, None, True, False],
        "d": [dt.date(2020, 1, 1), dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(1970, 1, 1)],
        "ts": pa.array([MOMENT, dt.datetime(1900, 1, 1), None, dt.datetime(1970, 1, 1), MOMENT]),
        "tz": pa.array([MOMENT, dt.datetime(1900, 1, 1), None, MOMENT, None], pa.timestamp("us", "UTC")),
        "berlin": pa.array(
            [MOMENT, dt.datetime(1900, 1, 1), None, MOMENT, None], pa.timestamp("us", "Europe/Berlin")
        ),
        "dec": pa.array(
            [Decimal("1.10"), Decimal("-5"), None, Decimal("12345678901234567890.12"), Decimal(0)],
            pa.decimal128(38, 2),
        ),
        "st": pa.array(
            [{"x": 1, "y z": "a"}, {"x": 2, "y z": "b"}, None, {"x": None, "y z": None}, {"x": 3, "y z": ""}]
        ),
        "dict": pa.array(["a", "b", None, "a", "c"]).dictionary_encode(),
        "bin": [b"a", b"", None, b"\xff", b"b"],
        "n": pa.array([1, 2, 3, 4, 5], pa.timestamp("ns")),
    }
)  # fmt: skip


def aware(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=UTC)


def eq(column: str, value: Any) -> ds.Filter:
    return ds.EqualTo((column,), value)


PUSHED = [
    eq("i", 1),
    eq("i", -5),
    eq("u", 255),
    eq("l", 2**62),
    ds.GreaterThan(("l",), -(2**62)),
    ds.LessThanOrEqual(("i",), 2),
    ds.Not(eq("i", 1)),
    ds.In(("i",), (1, None, 2)),
    ds.In(("i",), ()),
    ds.Not(ds.In(("i",), (1, 2))),
    ds.IsNull(("i",)),
    ds.IsNotNull(("s",)),
    ds.EqualNullSafe(("i",), 1),
    ds.EqualNullSafe(("i",), None),
    eq("f", 0.0),
    eq("f", -0.0),
    ds.In(("f",), (-0.0, 1.5)),
    ds.GreaterThan(("f",), 1.0),
    ds.GreaterThanOrEqual(("f",), 0.0),
    ds.LessThan(("f",), 0.0),
    ds.LessThanOrEqual(("f",), -0.0),
    ds.LessThan(("f",), 1e300),
    eq("g", 0.10000000149011612),
    ds.GreaterThan(("g",), 0.10000000149011612),
    ds.LessThan(("g",), 0.5),
    eq("s", "a'b"),
    eq("s", "c\\d%_"),
    eq("s", ""),
    eq("s", 'q"`\n'),
    ds.GreaterThanOrEqual(("s",), "b"),
    ds.StringStartsWith(("s",), "c\\"),
    ds.StringEndsWith(("s",), "%_"),
    ds.StringContains(("s",), "'"),
    ds.Not(ds.StringContains(("s",), "%")),
    eq("S t", "日本"),
    eq("b", True),
    ds.Not(eq("b", True)),
    eq("d", dt.date(1, 1, 1)),
    ds.GreaterThan(("d",), dt.date(2000, 2, 29)),
    ds.In(("d",), (dt.date(9999, 12, 31), dt.date(1970, 1, 1))),
    eq("ts", MOMENT),
    ds.LessThan(("ts",), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ds.In(("ts",), (MOMENT, dt.datetime(1970, 1, 1))),
    eq("tz", aware(MOMENT)),
    eq("tz", aware(MOMENT).astimezone(dt.timezone(dt.timedelta(hours=5)))),
    ds.GreaterThan(("berlin",), aware(dt.datetime(1900, 1, 1))),
    eq("berlin", aware(MOMENT)),
    eq("dec", Decimal("1.1000")),
    eq("dec", Decimal("12345678901234567890.12")),
    ds.LessThan(("dec",), 0),
    ds.EqualTo(("st", "x"), 2),
    ds.EqualTo(("st", "y z"), "b"),
    ds.IsNull(("st", "x")),
    eq("dict", "a"),
    ds.StringStartsWith(("dict",), "b"),
]

NOT_PUSHED = [
    eq("i", 2**31),
    eq("u", -1),
    eq("l", -(2**63)),
    eq("f", NAN),
    eq("f", math.inf),
    ds.GreaterThan(("g",), 0.1),
    eq("g", 1e300),
    ds.Not(eq("f", 1.0)),
    ds.Not(ds.In(("i",), (1, None))),
    ds.Not(ds.EqualNullSafe(("i",), 1)),
    eq("s", "a\0b"),
    eq("ts", aware(MOMENT)),
    eq("tz", MOMENT),
    eq("dec", Decimal("0.001")),
    eq("dec", Decimal(10) ** 37),
    eq("bin", b"a"),
    eq("n", MOMENT),
    ds.IsNull(("bin",)),
    eq("unknown", 1),
    ds.EqualTo(("st", "unknown"), 1),
    eq("back`tick", 1),
    ds.StringContains(("i",), "1"),
]

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "StringStartsWith": str.startswith,
    "StringEndsWith": str.endswith,
    "StringContains": operator.contains,
}


def spark_says(filter: Any, row: dict[str, Any]) -> bool | None:
    """Evaluate a filter as Spark does: three-valued, and NaN is the largest number."""
    kind = type(filter).__name__
    if kind == "Not":
        inner = spark_says(filter.child, row)
        return None if inner is None else not inner
    value: Any = row
    for name in filter.attribute:
        value = None if value is None else value[name]
    if kind in ("IsNull", "IsNotNull"):
        return (value is None) == (kind == "IsNull")
    if kind == "EqualNullSafe":
        return bool(value == filter.value)
    if value is None:
        return None
    if kind == "In":
        if any(ordered(value) == ordered(item) for item in filter.value if item is not None):
            return True
        return None if None in filter.value else False
    return COMPARE[kind](ordered(value), ordered(filter.value))


def ordered(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return (1, 0.0) if math.isnan(value) else (0, value + 0.0)


@pytest.mark.parametrize("filter", PUSHED, ids=str)
def test_lance_keeps_what_spark_keeps(filter: ds.Filter, quiet_lake: Lake) -> None:
    pushed = to_lance(filter, ROWS.schema)
    assert pushed is not None
    rows = ROWS.drop_columns(["n"]).to_pylist()
    wanted = [index for index, row in enumerate(rows) if spark_says(filter, row)]
    dataset = quiet_lake.put("t", ROWS)
    kept = dataset.scanner(columns=[], filter=pushed.sql, with_row_id=True).to_table()
    found = kept["_rowid"].to_pylist()
    if pushed.exact:
        assert found == wanted
    else:
        assert set(found) >= set(wanted)


def test_only_floating_point_filters_are_inexact() -> None:
    inexact = {
        filter.attribute[0]  # type: ignore[attr-defined]
        for filter in PUSHED
        if not to_lance(filter, ROWS.schema).exact  # type: ignore[union-attr]
    }
    assert inexact == {"f", "g"}


@pytest.mark.parametrize("filter", NOT_PUSHED, ids=str)
def test_what_lance_would_get_wrong_is_left_to_spark(filter: ds.Filter) -> None:
    assert to_lance(filter, ROWS.schema) is None
