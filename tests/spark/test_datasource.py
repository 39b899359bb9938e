"""The data source in a real Spark session."""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import ErrorCode
from lance_namespace_impls.server import serving
from lance_namespace_impls.spark.read_plan import group_by_size
from tests.spark.conftest import Lake, failure_of

pytestmark = pytest.mark.xdist_group("spark one")

MOMENT = dt.datetime(2020, 2, 29, 12, 30, 15, 123456)
DAY = dt.date(2020, 2, 29)
NOON = dt.time(12, 30, 15)

# name -> what Lance holds, and what Spark makes of it
SAME: dict[str, pa.Array] = {
    "bool": pa.array([True, None]),
    "int8": pa.array([-128, None], pa.int8()),
    "int16": pa.array([2**15 - 1, None], pa.int16()),
    "int32": pa.array([-(2**31), None], pa.int32()),
    "int64": pa.array([2**63 - 1, None], pa.int64()),
    "float32": pa.array([1.5, None], pa.float32()),
    "float64": pa.array([float("-inf"), None]),
    "string": pa.array(["ü", None]),
    "binary": pa.array([b"\0\xff", None]),
    "date32": pa.array([DAY, None]),
    "timestamp_us": pa.array([MOMENT, None], pa.timestamp("us")),
    "timestamp_us_utc": pa.array([MOMENT, None], pa.timestamp("us", "UTC")),
    "decimal128": pa.array([Decimal("12345678901234567890.12"), None], pa.decimal128(38, 2)),
    "struct": pa.array([{"a": 1, "b": {"c": "x"}}, None]),
    "list": pa.array([[1, None], None], pa.list_(pa.int64())),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "duration_us": pa.array([dt.timedelta(days=1, microseconds=1), None], pa.duration("us")),
    "null": pa.nulls(2),
}
CAST: dict[str, tuple[pa.Array, pa.Array]] = {
    "uint8": (pa.array([255, None], pa.uint8()), pa.array([255, None], pa.int16())),
    "uint16": (pa.array([2**16 - 1, None], pa.uint16()), pa.array([2**16 - 1, None], pa.int32())),
    "uint32": (pa.array([2**32 - 1, None], pa.uint32()), pa.array([2**32 - 1, None], pa.int64())),
    "uint64": (
        pa.array([2**64 - 1, None], pa.uint64()),
        pa.array([Decimal(2**64 - 1), None], pa.decimal128(20, 0)),
    ),
    "float16": (pa.array([1.5, None], pa.float16()), pa.array([1.5, None], pa.float32())),
    "large_string": (pa.array(["x", None], pa.large_string()), pa.array(["x", None])),
    "large_binary": (pa.array([b"x", None], pa.large_binary()), pa.array([b"x", None])),
    "fixed_binary": (pa.array([b"abcd", None], pa.binary(4)), pa.array([b"abcd", None])),
    "dictionary": (pa.array(["x", None]).dictionary_encode(), pa.array(["x", None])),
    "uuid": (
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None], pa.binary(16))),
        pa.array([b"0" * 16, None]),
    ),
    "json": (
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}', None])),
        pa.array(['{"a":1}', None]),
    ),
    "vector": (
        pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
        pa.array([[1.0, 2.0], None], pa.list_(pa.float32())),
    ),
    "half_vector": (
        pa.array([[1.0, 2.0], None], pa.list_(pa.float16(), 2)),
        pa.array([[1.0, 2.0], None], pa.list_(pa.float32())),
    ),
    "large_list": (
        pa.array([["x"], None], pa.large_list(pa.large_string())),
        pa.array([["x"], None], pa.list_(pa.string())),
    ),
    "timestamp_s": (
        pa.array([MOMENT.replace(microsecond=0), None], pa.timestamp("s")),
        pa.array([MOMENT.replace(microsecond=0), None], pa.timestamp("us")),
    ),
    "timestamp_ns_berlin": (
        pa.array([MOMENT, None], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([MOMENT, None], pa.timestamp("us", "UTC")),
    ),
    "duration_s": (
        pa.array([dt.timedelta(seconds=5), None], pa.duration("s")),
        pa.array([dt.timedelta(seconds=5), None], pa.duration("us")),
    ),
    "time64": (pa.array([NOON, None], pa.time64("us")), pa.array([NOON, None], pa.time64("ns"))),
    "time32": (pa.array([NOON, None], pa.time32("s")), pa.array([NOON, None], pa.time64("ns"))),
    "date64": (pa.array([DAY, None], pa.date64()), pa.array([DAY, None])),
    "decimal256": (
        pa.array([Decimal("1.5"), None], pa.decimal256(20, 1)),
        pa.array([Decimal("1.5"), None], pa.decimal128(20, 1)),
    ),
    "nested": (
        pa.array(
            [{"v": [b"ab"], "u": 7}, None],
            pa.struct([("v", pa.large_list(pa.binary(2))), ("u", pa.uint8())]),
        ),
        pa.array(
            [{"v": [b"ab"], "u": 7}, None],
            pa.struct([("v", pa.list_(pa.binary())), ("u", pa.int16())]),
        ),
    ),
}


def test_every_type_there_and_back(lake: Lake) -> None:
    stored = pa.table({**SAME, **{name: there for name, (there, _) in CAST.items()}})
    expected = pa.table({**SAME, **{name: back for name, (_, back) in CAST.items()}})
    lake.put("t", stored)
    frame = lake.load("t")
    found = frame.toArrow()
    for name in expected.column_names:
        assert found[name].to_pylist() == expected[name].to_pylist(), name
        assert found.schema.field(name).type == expected.schema.field(name).type, name
    lake.save(frame, "t")
    both = lake.dataset("t").to_table()
    assert both.schema == lake.dataset("t").checkout_version(1).schema
    for name in stored.column_names:
        assert both[name].to_pylist() == stored[name].to_pylist() * 2, name


def test_blobs_are_bytes(lake: Lake) -> None:
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    lake.put("t", pa.table({"b": pa.array([b"xyz", None], pa.large_binary())}, pa.schema([field])))
    assert [row.b for row in lake.load("t").collect()] == [b"xyz", None]
    lake.save(lake.load("t"), "t")
    found = lake.dataset("t")
    assert found.schema == found.checkout_version(1).schema
    assert (
        found.scanner(blob_handling="all_binary").to_table()["b"].to_pylist()
        == [
            b"xyz",
            None,
        ]
        * 2
    )
    assert [blob.read() for blob in found.take_blobs("b", indices=[0, 2])] == [b"xyz"] * 2


def test_a_type_that_spark_lacks_is_left_out_by_hand(lake: Lake) -> None:
    rows = {"a": [1], "big": pa.array([Decimal(1)], pa.decimal256(50, 0))}
    lake.put("t", pa.table(rows))
    error = failure_of(lambda: lake.load("t"))
    assert error.code is ErrorCode.UNSUPPORTED
    assert "column big" in error.message
    assert lake.load("t", columns="a").collect()[0].asDict() == {"a": 1}


def test_columns_by_option_and_by_schema(lake: Lake) -> None:
    lake.put("t", pa.table({"a": [1], "b": ["x"], "c": [2.0]}))
    assert lake.load("t", columns="c, a").columns == ["c", "a"]
    reader = lake._spark.read.format("lance_namespace").options(impl="dir", root=str(lake.root))
    assert reader.schema("b string").load("t").collect()[0].asDict() == {"b": "x"}
    assert failure_of(lambda: lake.load("t", columns="z")).code is ErrorCode.TABLE_COLUMN_NOT_FOUND
    unknown = failure_of(lambda: reader.schema("z int").load("t").collect())
    assert unknown.code is ErrorCode.TABLE_COLUMN_NOT_FOUND
    other = failure_of(lambda: reader.schema("b int").load("t").collect())
    assert other.code is ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR


def test_fragments_are_grouped_into_tasks(lake: Lake) -> None:
    lake.put("t", pa.table({"n": range(100)}), max_rows_per_file=10)
    assert lake.load("t", splits="3").rdd.getNumPartitions() == 3
    frame = lake.load("t", splits="50", batch_rows="4")
    assert frame.rdd.getNumPartitions() == 50
    assert sorted(row.n for row in frame.collect()) == list(range(100))


@pytest.mark.parametrize(
    ("sizes", "groups", "expected"),
    [
        ([5, 5, 5, 5], 2, [[0, 1], [2, 3]]),
        ([100, 1, 1, 1], 2, [[0], [1, 2, 3]]),
        ([1], 4, [[0]]),
        ([], 4, []),
        ([0, 0], 2, [[0, 1]]),
    ],
)
def test_groups_are_of_about_one_size(
    sizes: list[int], groups: int, expected: list[list[int]]
) -> None:
    assert group_by_size(sizes, groups) == expected


@pytest.mark.requirement("general-003")
def test_a_table_is_made_added_to_and_replaced(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(5), "t")
    assert lake.dataset("t").schema == pa.schema([("id", pa.int64())])
    lake.save(spark.range(5, 8), "t")
    assert sorted(row.id for row in lake.load("t").collect()) == list(range(8))
    lake.save(spark.range(2).selectExpr("CAST(id AS STRING) AS name"), "t", "overwrite")
    assert sorted(row.name for row in lake.load("t").collect()) == ["0", "1"]
    assert lake.load("t", version="2").count() == 8
    lake.dataset("t").tags.create("first", 1)
    assert lake.load("t", tag="first").count() == 5


@pytest.mark.parametrize(
    "columns",
    [
        "CAST(1 AS DECIMAL(10, 2)) d, 'x' s",
        "'x' s, CAST(1 AS DECIMAL(10, 2)) d",
        "id, 'x' s, array(CAST(1 AS DECIMAL(10, 2))) l, 'y' t",
        "id, struct('x' AS s, CAST(1 AS DECIMAL(38, 2)) AS d) st, map('k', CAST(1 AS DECIMAL(5, 1))) m",
        "'x' s, CAST(18446744073709551615 AS DECIMAL(20, 0)) u, 'y' t, CAST(2 AS DECIMAL(20, 0)) v",
    ],
)
@pytest.mark.parametrize("rows", [1, 3])
def test_decimals_among_any_columns(lake: Lake, spark: Any, columns: str, rows: int) -> None:
    spark.range(0, rows, 1, 1).createOrReplaceTempView("numbers")
    frame = spark.sql(f"SELECT {columns} FROM numbers")
    types = "u: uint64, v: uint64" if " u," in columns else ""
    lake.save(frame, "t", **({"types": types} if types else {}))
    lake.save(frame, "t")
    assert lake.load("t").collect() == frame.collect() * 2


def test_a_new_table_with_vectors(lake: Lake, spark: Any) -> None:
    frame = spark.range(3).selectExpr("id", "array(CAST(id AS DOUBLE), 0.5D) AS v")
    lake.save(frame, "t", types="v: float32[2]", rows_per_file="2")
    assert lake.dataset("t").schema.field("v").type == pa.list_(pa.float32(), 2)
    assert lake.load("t").filter("id = 2").collect()[0].v == [2.0, 0.5]


def test_rows_go_by_name_and_missing_ones_are_null(lake: Lake, spark: Any) -> None:
    lake.put("t", pa.table({"a": pa.array([1], pa.int8()), "b": ["x"]}))
    lake.save(spark.sql("SELECT 'y' AS b, 2L AS a"), "t")
    lake.save(spark.sql("SELECT 3 AS a"), "t")
    rows = sorted(tuple(row) for row in lake.load("t").select("a", "b").collect())
    assert rows == [(1, "x"), (2, "y"), (3, None)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 'x' AS a", "column a is int8, and the rows have string"),
        ("SELECT 1 AS a, 2 AS z", "has no column z"),
        ("SELECT 300 AS a", "column a: a value of type int32 does not fit int8.*300"),
    ],
)
def test_rows_that_do_not_fit_change_nothing(
    lake: Lake, spark: Any, query: str, message: str
) -> None:
    lake.put("t", pa.table({"a": pa.array([1], pa.int8())}))
    files = lake.data_files("t")
    error = failure_of(lambda: lake.save(spark.sql(query), "t"))
    assert error.code is ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR
    assert re.search(message, error.message)
    assert lake.dataset("t").version == 1
    assert lake.data_files("t") == files


def failing_last(lake: Lake, table: str, files: int) -> Any:
    """Return a function for mapInArrow: the first task writes its rows, then the second fails."""
    folder = Path(lake.path(table), "data")

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        if TaskContext.get().partitionId() == 0:  # type: ignore[union-attr]
            yield from batches
            return
        while len(list(folder.glob("*.lance"))) == files:
            time.sleep(0.05)
        time.sleep(1)  # until Spark knows that the first task is done
        raise ValueError("the last row is bad")

    return fail


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_failing_task_leaves_no_change_and_no_files(lake: Lake, spark: Any, mode: str) -> None:
    lake.put("t", pa.table({"id": [1]}))
    files = lake.data_files("t")
    rows = spark.range(0, 10, 1, 2).mapInArrow(failing_last(lake, "t", len(files)), "id long")
    with pytest.raises(Exception, match="the last row is bad"):
        lake.save(rows, "t", mode)
    assert lake.dataset("t").version == 1
    assert lake.data_files("t") == files


def test_a_failing_task_leaves_no_new_table(lake: Lake, spark: Any) -> None:
    rows = spark.range(0, 10, 1, 2).mapInArrow(failing_last(lake, "new", 0), "id long")
    with pytest.raises(Exception, match="the last row is bad"):
        lake.save(rows, "new")
    assert list(lake.namespace.iter_tables()) == []
    assert not Path(lake.path("new")).exists()


def changing(lake: Lake, mode: str) -> Any:
    """Return a function for mapInArrow that changes the table while it is written to."""
    path = lake.path("t")

    def change(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lance.write_dataset(pa.table({"id": [99]}), path, mode=mode)
        yield from batches

    return change


def test_overwrite_does_not_drop_what_was_added_meanwhile(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(3), "t")
    slow = spark.range(0, 5, 1, 1).mapInArrow(changing(lake, "append"), "id long")
    error = failure_of(lambda: lake.save(slow, "t", "overwrite"))
    assert error.code is ErrorCode.CONCURRENT_MODIFICATION
    assert "table t was changed by another writer since version 1" in error.message
    assert sorted(row.id for row in lake.load("t").collect()) == [0, 1, 2, 99]
    fragments = lake.dataset("t").get_fragments()
    assert lake.data_files("t") == {f.path for part in fragments for f in part.data_files()}


def test_append_takes_in_what_was_added_meanwhile_but_not_an_overwrite(
    lake: Lake, spark: Any
) -> None:
    lake.save(spark.range(3), "t")
    rows = spark.range(0, 1, 1, 1)
    lake.save(rows.mapInArrow(changing(lake, "append"), "id long"), "t")
    assert sorted(row.id for row in lake.load("t").collect()) == [0, 0, 1, 2, 99]
    error = failure_of(
        lambda: lake.save(rows.mapInArrow(changing(lake, "overwrite"), "id long"), "t")
    )
    assert error.code is ErrorCode.CONCURRENT_MODIFICATION
    assert [row.id for row in lake.load("t").collect()] == [99]


def test_a_frame_reads_the_version_it_was_loaded_with(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(3), "t")
    before = lake.load("t")
    lake.save(spark.range(2), "t", "overwrite")
    assert before.count() == 3
    assert lake.load("t").count() == 2


def test_a_table_is_overwritten_with_its_own_rows(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(10), "t")
    lake.save(lake.load("t").filter("id < 4"), "t", "overwrite")
    assert lake.load("t").count() == 4


def test_a_table_without_rows(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(0), "t")
    frame = lake.load("t")
    assert frame.columns == ["id"]
    assert frame.collect() == []
    assert frame.filter("id > 1").count() == 0
    lake.save(spark.range(0), "t")
    assert lake.dataset("t").version == 1


@pytest.mark.parametrize(
    ("options", "table", "code"),
    [
        ({}, "nowhere", ErrorCode.TABLE_NOT_FOUND),
        ({}, "a.b", ErrorCode.INVALID_INPUT),
        ({}, "declared", ErrorCode.INVALID_TABLE_STATE),
        ({"version": "7"}, "t", ErrorCode.TABLE_VERSION_NOT_FOUND),
        ({"tag": "none"}, "t", ErrorCode.TABLE_TAG_NOT_FOUND),
        ({"rooot": "x"}, "t", ErrorCode.INVALID_INPUT),
    ],
)
def test_what_cannot_be_loaded_says_why(
    lake: Lake, options: dict[str, str], table: str, code: ErrorCode
) -> None:
    lake.put("t", pa.table({"a": [1]}))
    lake.namespace.declare_table({"id": ["declared"]})
    assert failure_of(lambda: lake.load(table, **options)).code is code


def test_names_with_dots_and_spaces(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(1), "`my.table 1`")
    assert lake.load("my.table 1", delimiter="$").count() == 1
    assert lake.load("`my.table 1`").count() == 1


def test_the_option_path(lake: Lake, spark: Any) -> None:
    lake.put("t", pa.table({"a": [1]}))
    reader = spark.read.format("lance_namespace").option("impl", "dir")
    assert reader.option("path", str(lake.root)).option("table", "t").load().count() == 1
    prefixed = spark.read.format("lance_namespace").option("dir.path", str(lake.root))
    assert prefixed.option("impl", "dir").load("t").count() == 1
    error = failure_of(lambda: spark.read.format("lance_namespace").option("impl", "dir").load("t"))
    assert error.code is ErrorCode.INVALID_INPUT
    assert "write 'root' instead" in error.message


def test_sql_views(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(5), "t")
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW tables USING lance_namespace "
        f"OPTIONS (impl 'dir', root '{lake.root}', table 't')"
    )
    assert spark.sql("SELECT sum(id) FROM tables").collect()[0][0] == 10


def test_a_table_made_in_spark_s_own_catalog_says_what_to_write_instead(spark: Any) -> None:
    """Spark does not ask before it makes one."""

    def collect(text: str) -> Any:
        return spark.sql(text).collect()

    spark.sql("CREATE TABLE of_spark (a int) USING lance_namespace")
    try:
        for statement in ("INSERT INTO of_spark VALUES (1)", "SELECT * FROM of_spark"):
            error = failure_of(partial(collect, statement))
            assert error.code is ErrorCode.INVALID_INPUT
            assert "CREATE TEMPORARY VIEW name USING lance_namespace" in error.message
            assert "DROP TABLE" in error.message
    finally:
        spark.sql("DROP TABLE of_spark")


@pytest.mark.requirement("general-112")
def test_through_a_rest_server(lake: Lake, spark: Any) -> None:
    with lake.namespace as namespace, serving(namespace) as address:
        options = {"impl": "rest", "uri": address}
        writer = spark.range(5).write.format("lance_namespace").options(**options)
        writer.mode("append").save("t")
        writer.mode("append").save("t")
        frame = spark.read.format("lance_namespace").options(**options).load("t")
        assert frame.filter("id = 4").count() == 2
        broken = spark.range(5).selectExpr("raise_error('no') AS id")
        with pytest.raises(Exception, match="no"):
            broken.write.format("lance_namespace").options(**options).mode("append").save("new")
        assert list(namespace.iter_tables()) == ["t"]


def test_secrets_do_not_show_in_errors(lake: Lake) -> None:
    options = {"storage.secret_access_key": "hunter2hunter2"}
    with pytest.raises(Exception) as caught:
        lake.load("nowhere", **options)
    assert "hunter2" not in str(caught.value)


def test_spark_finds_the_data_source_by_itself(tmp_path: Path) -> None:
    """Without `local_session`, in an interpreter and a JVM of its own."""
    lance.write_dataset(pa.table({"a": [1, 2]}), tmp_path / "t.lance")
    code = f"""
from lance_namespace_impls.spark.java import use_java
use_java()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
reader = spark.read.format("lance_namespace").options(impl="dir", root={str(tmp_path)!r})
print("rows:", reader.load("t").filter("a > 1").count())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        check=False,
    )
    assert "rows: 1" in done.stdout, done.stderr[-3000:]
