"""The data source in a real Spark session."""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import ErrorCode
from lance_namespace_impls.distributed.division import group_by_size
from lance_namespace_impls.server import serving
from tests.spark.conftest import Lake, failure_of

pytestmark = pytest.mark.xdist_group("spark one")

MOMENT = dt.datetime(2020, 2, 29, 12, 30, 15, 123456)
DAY = dt.date(2020, 2, 29)
NOON = dt.time(12, 30, 15)

# name -> a value, the type that Lance stores, and Spark's type if it differs
TYPES: dict[str, tuple[Any, pa.DataType, pa.DataType | None]] = {
    "bool": (True, pa.bool_(), None),
    "int8": (-128, pa.int8(), None),
    "int16": (2**15 - 1, pa.int16(), None),
    "int32": (-(2**31), pa.int32(), None),
    "int64": (2**63 - 1, pa.int64(), None),
    "uint8": (255, pa.uint8(), pa.int16()),
    "uint16": (2**16 - 1, pa.uint16(), pa.int32()),
    "uint32": (2**32 - 1, pa.uint32(), pa.int64()),
    "uint64": (2**64 - 1, pa.uint64(), pa.decimal128(20, 0)),
    "float16": (1.5, pa.float16(), pa.float32()),
    "float32": (1.5, pa.float32(), None),
    "float64": (float("-inf"), pa.float64(), None),
    "string": ("ü", pa.string(), None),
    "large_string": ("x", pa.large_string(), pa.string()),
    "binary": (b"\0\xff", pa.binary(), None),
    "large_binary": (b"x", pa.large_binary(), pa.binary()),
    "fixed_binary": (b"abcd", pa.binary(4), pa.binary()),
    "dictionary": ("x", pa.dictionary(pa.int32(), pa.string()), pa.string()),
    "uuid": (b"0" * 16, pa.uuid(), pa.binary()),
    "json": ('{"a":1}', pa.json_(), pa.string()),
    "date32": (DAY, pa.date32(), None),
    "date64": (DAY, pa.date64(), pa.date32()),
    "timestamp_s": (MOMENT.replace(microsecond=0), pa.timestamp("s"), pa.timestamp("us")),
    "timestamp_us": (MOMENT, pa.timestamp("us"), None),
    "timestamp_us_utc": (MOMENT, pa.timestamp("us", "UTC"), None),
    "timestamp_ns_berlin": (MOMENT, pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("us", "UTC")),
    "time32": (NOON, pa.time32("s"), pa.time64("ns")),
    "time64": (NOON, pa.time64("us"), pa.time64("ns")),
    "duration_s": (dt.timedelta(seconds=5), pa.duration("s"), pa.duration("us")),
    "duration_us": (dt.timedelta(days=1, microseconds=1), pa.duration("us"), None),
    "decimal128": (Decimal("12345678901234567890.12"), pa.decimal128(38, 2), None),
    "decimal256": (Decimal("1.5"), pa.decimal256(20, 1), pa.decimal128(20, 1)),
    "struct": ({"a": 1, "b": {"c": "x"}}, pa.scalar({"a": 1, "b": {"c": "x"}}).type, None),
    "list": ([1, None], pa.list_(pa.int64()), None),
    "large_list": (["x"], pa.large_list(pa.large_string()), pa.list_(pa.string())),
    "map": ([("a", 1)], pa.map_(pa.string(), pa.int64()), None),
    "vector": ([1.0, 2.0], pa.list_(pa.float32(), 2), pa.list_(pa.float32())),
    "half_vector": ([1.0, 2.0], pa.list_(pa.float16(), 2), pa.list_(pa.float32())),
    "nested": (
        {"v": [b"ab"], "u": 7},
        pa.struct([("v", pa.large_list(pa.binary(2))), ("u", pa.uint8())]),
        pa.struct([("v", pa.list_(pa.binary())), ("u", pa.int16())]),
    ),
    "null": (None, pa.null(), None),
}


def of_type(value: Any, kind: pa.DataType) -> pa.Array:
    """Return the value and a null as an array."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array([value, None], kind.storage_type))
    return pa.array([value, None], kind)


def every_type() -> pa.Table:
    """Return a table with a column of each type that Spark reads."""
    return pa.table({name: of_type(value, kind) for name, (value, kind, _) in TYPES.items()})


def test_every_type_makes_a_round_trip(lake: Lake) -> None:
    stored = every_type()
    lake.put("t", stored)
    frame = lake.load("t")
    found = frame.toArrow()
    for name, (value, kind, other) in TYPES.items():
        expected = of_type(value, other or kind)
        assert found[name].to_pylist() == expected.to_pylist(), name
        assert found.schema.field(name).type == expected.type, name
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
    rows = found.scanner(blob_handling="all_binary").to_table()
    assert rows["b"].to_pylist() == [b"xyz", None] * 2
    assert [blob.read() for blob in found.take_blobs("b", indices=[0, 2])] == [b"xyz"] * 2


def test_a_column_whose_type_spark_lacks_can_be_omitted(lake: Lake) -> None:
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
def test_groups_have_similar_sizes(
    sizes: list[int], groups: int, expected: list[list[int]]
) -> None:
    assert group_by_size(sizes, groups) == expected


@pytest.mark.requirement("general-003")
def test_a_table_is_created_appended_to_and_overwritten(lake: Lake, spark: Any) -> None:
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


def test_columns_match_by_name_and_missing_ones_are_null(lake: Lake, spark: Any) -> None:
    lake.put("t", pa.table({"a": pa.array([1], pa.int8()), "b": ["x"]}))
    lake.save(spark.sql("SELECT 'y' AS b, 2L AS a"), "t")
    lake.save(spark.sql("SELECT 3 AS a"), "t")
    rows = sorted(tuple(row) for row in lake.load("t").select("a", "b").collect())
    assert rows == [(1, "x"), (2, "y"), (3, None)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 'x' AS a", "column a is int8, but the rows have string"),
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


def failing_last(first_is_done: Path) -> Any:
    """Return a function for mapInArrow that fails the second task once a file exists."""

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        if TaskContext.get().partitionId() == 0:  # type: ignore[union-attr]
            yield from batches
            return
        while not first_is_done.exists():
            time.sleep(0.01)
        raise ValueError("the last row is bad")

    return fail


@contextmanager
def created_after_the_first_task(spark: Any, file: Path) -> Iterator[None]:
    """Create a file as soon as Spark knows that a task of a running stage is done."""
    tracker, ended = spark.sparkContext.statusTracker(), threading.Event()

    def is_done(stage: int) -> bool:
        info = tracker.getStageInfo(stage)
        return info is not None and info.numCompletedTasks > 0

    def watch() -> None:
        try:
            while not any(map(is_done, tracker.getActiveStageIds())) and not ended.wait(0.01):
                pass
        finally:
            file.touch()

    with ThreadPoolExecutor(1) as threads:
        watching = threads.submit(watch)
        try:
            yield
        finally:
            ended.set()
        watching.result()


@pytest.mark.parametrize("mode", ["append", "overwrite", "new"])
def test_a_failing_task_leaves_no_change_and_no_files(
    lake: Lake, spark: Any, tmp_path: Path, mode: str
) -> None:
    if mode != "new":
        lake.put("t", pa.table({"id": [1]}))
    files = lake.data_files("t")
    done = tmp_path / "done"
    rows = spark.range(0, 10, 1, 2).mapInArrow(failing_last(done), "id long")
    with (
        created_after_the_first_task(spark, done),
        pytest.raises(Exception, match="the last row is bad"),
    ):
        lake.save(rows, "t", "append" if mode == "new" else mode)
    assert list(lake.namespace.iter_tables()) == (["t"] if files else [])
    assert Path(lake.path("t")).exists() is bool(files)
    assert lake.data_files("t") == files
    assert not files or lake.dataset("t").version == 1


def changing(lake: Lake, mode: str) -> Any:
    """Return a function for mapInArrow that changes the table during the write."""
    path = lake.path("t")

    def change(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lance.write_dataset(pa.table({"id": [99]}), path, mode=mode)
        yield from batches

    return change


def test_append_tolerates_a_concurrent_append_but_not_an_overwrite(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(3), "t")
    rows = spark.range(0, 1, 1, 1)
    lake.save(rows.mapInArrow(changing(lake, "append"), "id long"), "t")
    assert sorted(row.id for row in lake.load("t").collect()) == [0, 0, 1, 2, 99]
    error = failure_of(
        lambda: lake.save(rows.mapInArrow(changing(lake, "overwrite"), "id long"), "t")
    )
    assert error.code is ErrorCode.CONCURRENT_MODIFICATION
    assert [row.id for row in lake.load("t").collect()] == [99]


def test_a_table_is_overwritten_with_its_own_rows(lake: Lake, spark: Any) -> None:
    lake.save(spark.range(10), "t")
    lake.save(lake.load("t").filter("id < 4"), "t", "overwrite")
    assert lake.load("t").count() == 4


@pytest.mark.parametrize(
    ("options", "table", "code"),
    [
        ({}, "nowhere", ErrorCode.TABLE_NOT_FOUND),
        ({}, "a.b", ErrorCode.INVALID_INPUT),
        ({"rooot": "x"}, "t", ErrorCode.INVALID_INPUT),
    ],
)
def test_invalid_loads_are_rejected(
    lake: Lake, options: dict[str, str], table: str, code: ErrorCode
) -> None:
    lake.put("t", pa.table({"a": [1]}))
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


def test_a_table_in_the_catalog_of_spark_names_the_alternative(spark: Any) -> None:
    """Spark creates such a table without calling the data source."""

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
