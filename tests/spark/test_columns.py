"""Convert columns between Lance and Spark, without a Spark session."""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    FloatType,
    LongType,
    MapType,
    StringType,
    StructType,
    VariantType,
    YearMonthIntervalType,
)

from lance_namespace_client.errors import (
    TableColumnNotFoundError,
    TableSchemaValidationError,
    UnsupportedError,
)
from lance_namespace_impls.distributed import casts, columns


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal256(39, 2),
        pa.struct([("inner", pa.decimal256(50, 2))]),
        pa.list_(pa.decimal256(50, 2)),
    ],
    ids=str,
)
def test_a_type_that_spark_lacks_is_rejected_with_its_column(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedError, match=r"column price.*'columns'"):
        columns.to_spark_schema(pa.schema([("price", kind)]))


def test_a_wide_decimal_within_the_precision_of_spark_is_read() -> None:
    found = columns.to_spark_schema(pa.schema([("price", pa.decimal256(38, 2))]))
    assert found["price"].dataType == DecimalType(38, 2)


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("of", [pa.list_, pa.large_list, lambda inner: pa.list_(inner, 2)])
def test_spark_types_keep_the_nullability_of_list_items(of: Any, nullable: bool) -> None:
    inner = pa.field("item", pa.int64(), nullable=nullable)
    found = columns.to_spark_schema(pa.schema([("a", of(inner))]))
    assert found["a"].dataType == ArrayType(LongType(), nullable)


@pytest.mark.parametrize("nullable", [True, False])
def test_spark_types_keep_the_nullability_of_fields(nullable: bool) -> None:
    inner = pa.field("inner", pa.int64(), nullable=nullable)
    value = pa.field("value", pa.int64(), nullable=nullable)
    found = columns.to_spark_schema(
        pa.schema(
            [pa.field("s", pa.struct([inner]), nullable=nullable), ("m", pa.map_("string", value))]
        )
    )
    assert found["s"].nullable is nullable
    assert found["s"].dataType == StructType().add("inner", LongType(), nullable)
    assert found["m"].dataType == MapType(StringType(), LongType(), nullable)


def test_nulls_in_a_non_nullable_column_are_rejected() -> None:
    target = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with pytest.raises(TableSchemaValidationError, match="column a"):
        columns.cast_batch(pa.record_batch({"a": [1, None]}), target)
    with pytest.raises(TableSchemaValidationError, match="column a"):
        columns.cast_batch(pa.record_batch({"b": [1]}), target)


def test_a_value_that_does_not_fit_names_its_column() -> None:
    target = pa.schema([("small", pa.int8())])
    with pytest.raises(TableSchemaValidationError, match=r"column small.*300"):
        columns.cast_batch(pa.record_batch({"small": [300]}), target)


def test_large_batches_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "BATCH_BYTES", 800)
    batch = pa.record_batch({"a": range(1000)})
    parts = list(columns.batches_of_bounded_size(batch))
    assert max(part.nbytes for part in parts) <= 800
    assert pa.Table.from_batches(parts).to_batches()[0].schema == batch.schema
    assert [value for part in parts for value in part["a"].to_pylist()] == list(range(1000))
    assert list(columns.batches_of_bounded_size(batch.slice(0, 0))) == []


@pytest.mark.parametrize(
    ("given", "table"),
    [
        (pa.int64(), pa.int8()),
        (pa.float64(), pa.decimal128(5, 2)),
        (pa.list_(pa.float64()), pa.list_(pa.float16(), 2)),
        (pa.string(), pa.dictionary(pa.int8(), pa.large_string())),
        (pa.binary(), pa.uuid()),
        (pa.string(), pa.json_()),
        (pa.bool_(), pa.bool8()),
        (pa.null(), pa.int64()),
        (pa.struct([("a", pa.int8())]), pa.struct([("a", pa.int64()), ("b", pa.int8())])),
        (pa.map_(pa.string(), pa.int8()), pa.map_(pa.large_string(), pa.int64())),
    ],
    ids=str,
)
def test_rows_that_fit(given: pa.DataType, table: pa.DataType) -> None:
    columns.check_compatible(pa.schema([("c", given)]), pa.schema([("c", table)]), "table t")


@pytest.mark.parametrize(
    ("given", "table"),
    [
        (pa.string(), pa.int64()),
        (pa.int64(), pa.string()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.date32(), pa.timestamp("us")),
        (pa.list_(pa.string()), pa.list_(pa.int64())),
        (pa.struct([("x", pa.int8())]), pa.struct([("a", pa.int8())])),
        (pa.bool_(), pa.int8()),
    ],
    ids=str,
)
def test_rows_that_do_not_fit(given: pa.DataType, table: pa.DataType) -> None:
    with pytest.raises(TableSchemaValidationError, match="table t: column c"):
        columns.check_compatible(pa.schema([("c", given)]), pa.schema([("c", table)]), "table t")


def test_columns_that_are_missing_or_too_many() -> None:
    table = pa.schema([("a", pa.int8()), pa.field("b", pa.int8(), nullable=False)])
    with pytest.raises(TableSchemaValidationError, match="column b is not nullable"):
        columns.check_compatible(pa.schema([("a", pa.int8())]), table, "table t")
    with pytest.raises(TableSchemaValidationError, match="has no column z"):
        columns.check_compatible(pa.schema([("z", pa.int8())]), table, "table t")


def test_new_tables_are_nullable_and_have_the_requested_types() -> None:
    frame = StructType().add("id", LongType(), nullable=False).add("v", ArrayType(FloatType()))
    schema = columns.lance_schema(frame, "v: float32[2]")
    assert schema == pa.schema([("id", pa.int64()), ("v", pa.list_(pa.float32(), 2))])
    assert schema.field("id").nullable
    with pytest.raises(TableSchemaValidationError, match="column id is int64"):
        columns.lance_schema(frame, "id: string")
    with pytest.raises(TableColumnNotFoundError, match="there is no column x"):
        columns.lance_schema(frame, "x: string")


@pytest.mark.parametrize(
    "kind", [VariantType(), YearMonthIntervalType(), ArrayType(VariantType())], ids=str
)
def test_a_type_that_lance_lacks_is_rejected_with_its_column(kind: DataType) -> None:
    with pytest.raises(UnsupportedError, match="column v: Lance has no type"):
        columns.lance_schema(StructType().add("v", kind))


LARGE = [
    (pa.array([1e300, None]), pa.float32()),
    (pa.array([-1e300, float("inf")]), pa.float32()),
    (pa.array([70000.0], pa.float32()), pa.float16()),
    (pa.array([[1.0, 1e300]]), pa.list_(pa.float32(), 2)),
    (pa.array([{"a": [1e300]}]), pa.struct([("a", pa.list_(pa.float32()))])),
    (pa.array([[("k", 1e300)]], pa.map_(pa.string(), pa.float64())), pa.map_(pa.string(), pa.float32())),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kind"), LARGE, ids=str)
def test_too_large_numbers_are_rejected_unless_overflow_is_allowed(
    given: pa.Array, kind: pa.DataType
) -> None:
    batch, target = pa.record_batch({"x": given}), pa.schema([("x", kind)])
    with pytest.raises(TableSchemaValidationError, match=r"column x.*too large.*overflow=infinity"):
        columns.cast_batch(batch, target)
    assert columns.cast_batch(batch, target, overflow=True).schema == target


def test_numbers_are_scanned_only_if_a_cast_may_overflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each read casts vectors with millions of numbers, so an extra scan would be slow."""

    def looked(_: pa.Array) -> int:
        raise AssertionError("looked through")

    monkeypatch.setattr(columns, "_infinite", looked)
    vectors = pa.array([[0.5, 1.5]], pa.list_(pa.float32(), 2))
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64())):
        batch, target = pa.record_batch({"v": vectors}), pa.schema([("v", kind)])
        assert columns.cast_batch(batch, target)["v"].to_pylist() == [[0.5, 1.5]]
    with pytest.raises(AssertionError, match="looked through"):
        columns.cast_batch(batch, pa.schema([("v", pa.list_(pa.float16()))]))


def test_infinite_numbers_and_nan_are_kept() -> None:
    given = pa.record_batch({"x": [float("inf"), float("-inf"), float("nan"), None, 0.5]})
    found = columns.cast_batch(given, pa.schema([("x", pa.float32())]))
    assert str(found["x"].to_pylist()) == str(given["x"].to_pylist())


@pytest.mark.parametrize("nested", [False, True])
def test_nanoseconds_are_rounded_toward_zero(nested: bool) -> None:
    given = pa.array([-1_999, -1, 1_999, None], pa.timestamp("ns"))
    kind: pa.DataType = pa.timestamp("us")
    if nested:
        given, kind = pa.ListArray.from_arrays([0, 4], given), pa.list_(kind)
    batch, target = pa.record_batch({"t": given}), pa.schema([("t", kind)])
    with pytest.raises(TableSchemaValidationError, match="would lose data"):
        columns.cast_batch(batch, target)
    found = columns.cast_batch(batch, target, cut_fractions=True)["t"]
    flat = found.flatten() if nested else found
    assert flat.cast("int64").to_pylist() == [-1, 0, 1, None]


ROUNDED = [
    (pa.float64(), pa.float32()),
    (pa.list_(pa.float64()), pa.list_(pa.float16(), 3)),
    (pa.decimal128(10, 2), pa.float64()),
    (pa.float64(), pa.decimal128(10, 2)),
    (pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC")),
    (pa.struct([("a", pa.float64())]), pa.struct([("a", pa.float32())])),
    (pa.map_(pa.string(), pa.float64()), pa.map_(pa.string(), pa.float32())),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wanted"), ROUNDED, ids=str)
def test_casts_that_round_warn_and_name_the_column(given: pa.DataType, wanted: pa.DataType) -> None:
    rows, table = (pa.schema([("x", kind), ("n", pa.int8())]) for kind in (given, wanted))
    with pytest.warns(
        UserWarning, match=r"^table t: digits may be lost in x \(\S+.* to [^,]*"
    ) as told:
        casts.warn_of_losses(rows, table, "table t")
    assert len(told) == 1


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pa.float32(), pa.float64()),
        (pa.int64(), pa.int8()),  # checked value by value
        (pa.timestamp("us"), pa.timestamp("s")),
        (pa.timestamp("us"), pa.timestamp("ns")),
        (pa.null(), pa.float32()),
    ],
    ids=str,
)
def test_casts_that_do_not_round_do_not_warn(given: pa.DataType, wanted: pa.DataType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        casts.warn_of_losses(pa.schema([("x", given)]), pa.schema([("x", wanted)]), "table t")
