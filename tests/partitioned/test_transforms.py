"""The values of transforms in edge cases."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.partitioned.murmur import buckets
from lance_namespace_impls.partitioned.transforms import (
    Bucket,
    Expression,
    Identity,
    MultiBucket,
    TimePart,
    Transform,
    Truncate,
)

# The hashes in Iceberg's specification. `buckets` uses their absolute values.
PUBLISHED: list[tuple[pa.Array, int]] = [
    (pa.array([34], pa.int32()), 2017239379),
    (pa.array([34], pa.int64()), 2017239379),
    (pa.array([34], pa.uint8()), 2017239379),
    (pa.array([True]), 1392991556),
    (pa.array([Decimal("14.20")], pa.decimal128(9, 2)), -500754589),
    (pa.array([date(2017, 11, 16)]), -653330422),
    (pa.array([date(2017, 11, 16)], pa.date64()), -653330422),
    (pa.array([time(22, 31, 8)], pa.time64("us")), -662762989),
    (pa.array([time(22, 31, 8)], pa.time32("s")), -662762989),
    (pa.array([datetime(2017, 11, 16, 22, 31, 8)], pa.timestamp("us")), -2047944441),
    (pa.array([datetime(2017, 11, 16, 22, 31, 8)], pa.timestamp("s")), -2047944441),
    (pa.array([datetime(2017, 11, 16, 22, 31, 8)], pa.timestamp("ns")), -2047944441),
    (pa.array([datetime(2017, 11, 16, 22, 31, 8, 1)], pa.timestamp("us")), -1207196810),
    (pa.array(["iceberg"]), 1210000089),
    (pa.array(["iceberg"], pa.large_string()), 1210000089),
    (pa.array(["iceberg"]).dictionary_encode(), 1210000089),
    (pa.array([uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes], pa.binary(16)), 1488055340),
    (pa.array([b"\x00\x01\x02\x03"]), -188683207),
    (pa.array([b"\x00\x01\x02\x03"], pa.large_binary()), -188683207),
    (pa.array([1.0], pa.float32()), -142385009),
    (pa.array([1.0]), -142385009),
    (pa.array([0.0], pa.float32()), 1669671676),
    (pa.array([-0.0]), 1669671676),
]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "hashed"), PUBLISHED, ids=lambda case: str(getattr(case, "type", case))
)
def test_hashes_equal_the_published_ones(values: pa.Array, hashed: int) -> None:
    count = 2**31 - 1
    assert buckets([values], count).to_pylist() == [abs(hashed) % count]


def test_a_zone_does_not_change_the_hash() -> None:
    at = pa.array([datetime(2017, 11, 16, 22, 31, 8)], pa.timestamp("us", "UTC"))
    there = at.cast(pa.timestamp("us", "America/Los_Angeles"))
    assert buckets([at], 1 << 20) == buckets([there], 1 << 20)


def test_a_negative_hash_has_a_bucket() -> None:
    import mmh3

    found = next(n for n in range(1 << 22) if mmh3.hash(n.to_bytes(8, "little"), signed=True) < 0)
    hashed = mmh3.hash(found.to_bytes(8, "little"), signed=True)
    # The bucket is the remainder of the absolute value, not of the signed number as with SQL's %.
    assert buckets([pa.array([found])], 7).to_pylist() == [abs(hashed) % 7]


def test_several_columns_are_hashed_together_without_nulls() -> None:
    import mmh3

    one = pa.array([34, 34, None, None], pa.int64())
    other = pa.array(["iceberg", None, "iceberg", None])
    together = abs(mmh3.hash((34).to_bytes(8, "little") + b"iceberg", signed=True)) % 100
    assert buckets([one, other], 100).to_pylist() == [
        together, 2017239379 % 100, 1210000089 % 100, None,
    ]  # fmt: skip


def test_empty_text_is_not_null_in_a_bucket() -> None:
    assert buckets([pa.array(["", None])], 10).to_pylist() == [0, None]
    assert buckets([pa.array(["", None]), pa.array([None, None], pa.int64())], 10).to_pylist() == [
        0,
        None,
    ]


def applied(transform: Transform, values: list[Any], kind: pa.DataType) -> list[Any]:
    """Apply a transform to one column."""
    result = transform.result_type([kind])
    found = transform.apply([pa.array(values, kind)], result)
    assert found.type == result
    return found.to_pylist()


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64()])
def test_truncated_numbers_are_rounded_towards_zero(kind: pa.DataType) -> None:
    values = [0, 1, 9, 10, 11, -1, -9, -10, -11, None]
    assert applied(Truncate(10), values, kind) == [0, 0, 0, 10, 10, 0, 0, -10, -10, None]


def test_the_extreme_integers_are_truncated_without_overflow() -> None:
    least, greatest = -(2**63), 2**63 - 1
    assert applied(Truncate(10), [least, greatest], pa.int64()) == [least + 8, greatest - 7]
    assert applied(Truncate(1000), [-128, 127], pa.int8()) == [0, 0]
    assert applied(Truncate(10), [2**64 - 1], pa.uint64()) == [2**64 - 6]


def test_truncated_decimals_and_floats_lose_the_remainder() -> None:
    values = [Decimal("12.34"), Decimal("-12.34"), Decimal("0.99"), None]
    assert applied(Truncate(10), values, pa.decimal128(6, 2)) == [
        Decimal("10.00"),
        Decimal("-10.00"),
        0,
        None,
    ]
    assert applied(Truncate(2), [3.5, -3.5, 1e300, None], pa.float64())[:2] == [2.0, -2.0]


def test_truncated_text_keeps_the_first_characters() -> None:
    values = ["", "a", "abcd", "日本語", "e\u0301x", None]
    assert applied(Truncate(2), values, pa.string()) == ["", "a", "ab", "日本", "e\u0301", None]


def test_parts_of_times_before_1970() -> None:
    at = [
        datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime(1900, 2, 28, 1),
        datetime(1, 1, 1),
        None,
    ]
    kind = pa.timestamp("us")
    assert applied(TimePart("year"), at, kind) == [1969, 1900, 1, None]
    assert applied(TimePart("month"), at, kind) == [12, 2, 1, None]
    assert applied(TimePart("day"), at, kind) == [31, 28, 1, None]
    assert applied(TimePart("hour"), at, kind) == [23, 1, 0, None]
    assert applied(TimePart("day"), [date(1969, 12, 31), None], pa.date32()) == [31, None]


def test_parts_of_times_with_a_zone_are_local() -> None:
    at = [datetime(2025, 12, 31, 23, 30, tzinfo=UTC), datetime(2026, 3, 29, 1, 0, tzinfo=UTC), None]
    berlin = pa.timestamp("us", "Europe/Berlin")
    assert applied(TimePart("year"), at, berlin) == [2026, 2026, None]
    assert applied(TimePart("hour"), at, berlin) == [0, 3, None]
    utc = pa.timestamp("us", "UTC")
    assert applied(TimePart("hour"), at, utc) == [23, 1, None]


def test_time_parts_match_lance() -> None:
    import lance

    at = [
        datetime(2025, 12, 31, 23, 30),
        datetime(1969, 12, 31, 23, 59, 59),
        datetime(2026, 10, 25, 0, 30),
        None,
    ]
    for kind in (
        pa.timestamp("us"),
        pa.timestamp("ms", "Europe/Berlin"),
        pa.timestamp("ns", "UTC"),
    ):
        values = pa.array(at, pa.timestamp("us")).cast(kind)
        dataset = lance.write_dataset(pa.table({"col0": values}), f"memory://{uuid.uuid4().hex}")
        for part in ("year", "month", "day", "hour"):
            expected = dataset.to_table(columns={"value": f"date_part('{part}', col0)"})["value"]
            assert applied(TimePart(part), values.to_pylist(), kind) == expected.to_pylist()


def test_expressions_are_evaluated_by_lance() -> None:
    transform = Expression("coalesce(upper(col0), 'none')")
    assert applied(transform, ["a", "ß", None], pa.string()) == ["A", "SS", "none"]
    assert applied(transform, [], pa.string()) == []


@pytest.mark.parametrize(
    ("transform", "kinds", "text"),
    [
        (Identity(), [pa.list_(pa.int32())], "cannot be partition values"),
        (TimePart("day"), [pa.int64()], "day needs a date or a timestamp"),
        (TimePart("hour"), [pa.date32()], "hour needs a timestamp"),
        (Bucket(0), [pa.int64()], "0 buckets"),
        (Bucket(4), [pa.list_(pa.int32())], "cannot be hashed"),
        (Bucket(4), [pa.int64(), pa.int64()], "requires exactly one column, not 2"),
        (MultiBucket(4), [], "at least one column"),
        (Truncate(0), [pa.int64()], "width 0"),
        (Truncate(3), [pa.date32()], "requires strings or numbers"),
        (Expression("col1 + 1"), [pa.int64()], "reads 'col1'"),
        (Expression("x + 1"), [pa.int64()], "reads 'x'"),
        (Expression("col0 +"), [pa.int64()], "expected an expression"),
        (Expression("nothing(col0)"), [pa.int64()], "partition expression"),
    ],
)
def test_transforms_reject_types(transform: Transform, kinds: list[pa.DataType], text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        transform.result_type(kinds)
