"""`read_table` and the data source return the same rows; `count_rows` counts without Spark."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)
from lance_namespace_impls.spark import count_rows, read_table
from tests.spark.conftest import Lake, failure_of
from tests.spark.test_datasource import every_type

pytestmark = pytest.mark.xdist_group("spark two")

ROWS = pa.table({"n": range(100), "s": ["a", "b"] * 50, "v": [[0.5, 1.5]] * 100})


def by_row(frame: Any) -> list[Any]:
    return sorted(frame.collect(), key=str)


def test_every_type_equals_that_of_the_data_source(lake: Lake, spark: Any) -> None:
    lake.put("t", every_type())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = read_table(spark, lake.namespace, "t")
    source = lake.load("t")
    assert frame.schema == source.schema
    assert by_row(frame) == by_row(source)


@pytest.mark.parametrize("nullable", [True, False])
def test_one_column_of_numbers(lake: Lake, spark: Any, nullable: bool) -> None:
    numbers = [None if nullable and n % 7 == 0 else n for n in range(20_000)]
    fields = [
        pa.field(f"a {kind}", kind, nullable)
        for kind in (pa.int8(), pa.uint32(), pa.float16(), pa.float64())
    ]
    columns = [pa.array([n and n % 100 for n in numbers], each.type) for each in fields]
    lake.put("t", pa.table(columns, pa.schema(fields)), max_rows_per_file=9000)
    lake.dataset("t").delete("`a double` = 3")
    for field in fields:
        frame = read_table(spark, lake.namespace, "t", columns=[field.name])
        source = lake.load("t", columns=field.name)
        assert frame.schema == source.schema
        assert frame.schema[0].metadata == source.schema[0].metadata
        assert frame.collect() == source.collect()
        assert frame.count() == lake.dataset("t").count_rows()
    empty = read_table(spark, lake.namespace, "t", columns=["a double"], filter="`a double` > 200")
    assert empty.collect() == []


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"columns": ["s", "n"]},
        {"filter": "n >= 90 AND s = 'a'"},
        {"columns": ["v"], "filter": "n < 3", "splits": 2},
        {"version": 1},
        {"tag": "first"},
        {"branch": "side"},
        {"with_row_id": True},
        {"with_row_id": True, "columns": ["n"], "filter": "n > 5"},
        {"batch_rows": 7, "splits": 3},
    ],
    ids=str,
)
def test_the_same_rows_as_the_data_source(lake: Lake, spark: Any, asked: dict[str, Any]) -> None:
    dataset = lake.put("t", ROWS, max_rows_per_file=30)
    dataset.tags.create("first", 1)
    dataset.create_branch("side").insert(ROWS.slice(0, 7))
    dataset = lake.put("t", ROWS.slice(0, 5), mode="append")
    dataset.delete("n = 50")
    frame = read_table(spark, lake.namespace, ["t"], **asked)
    options = {
        key: ",".join(value) if isinstance(value, list) else str(value)
        for key, value in asked.items()
    }
    source = lake.load("t", **options)
    assert frame.schema == source.schema
    assert by_row(frame) == by_row(source)
    expected = {"version": 100, "tag": 100, "branch": 107}
    if not asked.get("filter"):
        assert frame.count() == expected.get(next(iter(asked), ""), 104)
    counted = {
        key: value for key, value in asked.items() if key in ("filter", "version", "tag", "branch")
    }
    assert count_rows(lake.namespace, ["t"], **counted) == frame.count()


def test_row_ids_are_bigint_and_identify_the_rows(lake: Lake, spark: Any) -> None:
    dataset = lake.put("t", ROWS, max_rows_per_file=30)
    frame = read_table(spark, lake.namespace, "t", with_row_id=True)
    assert frame.schema["_rowid"].dataType.simpleString() == "bigint"
    expected = dataset.scanner(columns=["n"], with_row_id=True).to_table()
    assert {row.n: row._rowid for row in frame.collect()} == dict(
        zip(expected["n"].to_pylist(), expected["_rowid"].to_pylist(), strict=True)
    )


def test_the_version_at_a_time(lake: Lake, spark: Any) -> None:
    first = lake.put("t", ROWS)
    made = first.versions()[0]["timestamp"].astimezone(UTC)
    lake.put("t", ROWS, mode="append")
    between = made + timedelta(microseconds=1)
    assert read_table(spark, lake.namespace, "t", timestamp=between).count() == 100
    assert lake.load("t", timestamp=between.isoformat()).count() == 100
    assert count_rows(lake.namespace, "t", timestamp=between.replace(tzinfo=None)) == 100
    assert count_rows(lake.namespace, "t", timestamp=datetime.now(UTC)) == 200
    with pytest.raises(TableVersionNotFoundError, match="no version at or before 2001"):
        count_rows(lake.namespace, "t", timestamp=datetime(2001, 1, 1))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"columns": ["z"]}, TableColumnNotFoundError),
        ({"filter": "z = 1"}, LanceNamespaceError),
        ({"filter": "n ==== 1"}, InvalidInputError),
        ({"version": 9}, TableVersionNotFoundError),
        ({"tag": "no"}, TableTagNotFoundError),
        ({"branch": "no"}, TableBranchNotFoundError),
        ({"version": 1, "tag": "no"}, InvalidInputError),
        ({"table": "nowhere"}, TableNotFoundError),
        ({"table": "declared"}, InvalidTableStateError),
    ],
    ids=str,
)
def test_invalid_reads_are_rejected_before_any_task(
    lake: Lake, spark: Any, asked: dict[str, Any], error: type[LanceNamespaceError]
) -> None:
    lake.put("t", ROWS)
    lake.namespace.declare_table({"id": ["declared"]})
    with pytest.raises(error):
        read_table(spark, lake.namespace, **{"table": "t", **asked})


def test_a_version_that_is_cleaned_up_concurrently(lake: Lake, spark: Any) -> None:
    lake.put("t", ROWS)
    frame = read_table(spark, lake.namespace, "t")
    lake.put("t", ROWS, mode="overwrite").cleanup_old_versions(older_than=timedelta(0))
    assert fails_with(frame.collect, TableVersionNotFoundError)
    with pytest.raises(TableVersionNotFoundError):
        frame.count()


def fails_with(act: Callable[[], object], kind: type[LanceNamespaceError]) -> bool:
    return isinstance(failure_of(act), kind)


def test_many_queries_of_one_frame(lake: Lake, spark: Any) -> None:
    lake.put("t", ROWS, max_rows_per_file=10)
    frame = read_table(spark, lake.namespace, "t")
    few = frame.where("n < 10")
    assert (few.count(), frame.count(), few.union(frame).count()) == (10, 100, 110)
    assert few.alias("f").join(frame.alias("a"), "n").count() == 10
    frame.createOrReplaceTempView("frame")
    assert spark.sql("SELECT sum(n) FROM frame WHERE s = 'a'").collect()[0][0] == 2450


def test_digits_that_may_be_lost_cause_one_warning_with_the_columns(lake: Lake, spark: Any) -> None:
    fine = pa.array([1_500], pa.timestamp("ns"))
    lake.put(
        "t", pa.table({"id": [1], "at": fine, "deep": pa.array([[1]], pa.list_(pa.duration("ns")))})
    )
    with pytest.warns(UserWarning, match=r"table t: digits may be lost in at \(.*deep \(") as told:
        read_table(spark, lake.namespace, "t").collect()
    assert sum("digits" in str(each.message) for each in told) == 1


def test_a_copy_of_blobs_has_blobs(lake: Lake, spark: Any) -> None:
    blobs = lance.blob_array([b"one", None, b"x" * 100_000])
    lake.put(
        "t",
        pa.table(
            {"id": range(3), "b": blobs},
            schema=pa.schema([pa.field("id", pa.int64()), lance.blob_field("b")]),
        ),
    )
    for frame in (lake.load("t"), read_table(spark, lake.namespace, "t")):
        lake.save(frame.where("id <> 1").select("b", "id"), "copy", "overwrite")
        copy = lake.dataset("copy")
        assert copy.schema.field("b").type == lance.blob_field("b").type
        assert sorted(len(blob.read()) for blob in copy.take_blobs("b", indices=[0, 1])) == [
            3,
            100_000,
        ]
        lake.save(frame, "copy", "append")
        assert copy.checkout_version((None, None)).count_rows() == 5
    lake.save(lake.load("t").selectExpr("id", "upper(cast(b as string)) AS b"), "text")
    assert lake.dataset("text").schema.field("b").type == pa.string()


def test_a_count_of_all_rows_runs_a_job_only_to_fill_a_cache(lake: Lake, spark: Any) -> None:
    lake.put("t", ROWS, max_rows_per_file=30)
    lake.dataset("t").delete("n < 10")
    frame = read_table(spark, lake.namespace, "t")
    lake.put("t", ROWS, mode="append")

    def jobs_of(count: Callable[[], int], expected: int) -> int:
        group = f"count-{time.monotonic_ns()}"
        spark.sparkContext.setJobGroup(group, "count")
        assert count() == expected
        spark.sparkContext.setJobGroup("", "")
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))

    assert jobs_of(frame.count, 90) == 0
    assert jobs_of(frame.where("n < 20").count, 10) > 0
    frame.cache()
    assert jobs_of(frame.count, 90) > 0
    frame.unpersist()
    assert jobs_of(frame.count, 90) == 0
