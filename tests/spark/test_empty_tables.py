"""Tables and DataFrames without rows, fragments or chunks, through every Spark function."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.fragment import write_fragments

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_impls.distributed.runners import SparkRunner, quietly
from lance_namespace_impls.maintenance import IndexWish, Upkeep, inventory, maintain
from lance_namespace_impls.spark import (
    add_columns,
    count_rows,
    delete,
    frame_from_arrow,
    local_session,
    merge_into,
    read_table,
    update,
    write_table,
)
from tests.spark.conftest import Lake, failure_of

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("v", pa.list_(pa.float32()))])


def rows(*ids: int) -> pa.Table:
    count = len(ids)
    return pa.table({"id": ids, "s": ["x"] * count, "v": [[1.0, 2.0]] * count}, schema=SCHEMA)


def put_none(lake: Lake) -> None:
    lake.put("t", rows())


def put_deleted(lake: Lake) -> None:
    lake.put("t", rows(*range(9)), max_rows_per_file=3).delete("true")


def put_fragment_without_rows(lake: Lake) -> None:
    lake.put("t", rows(1))
    empty = write_fragments(rows(), lake.path("t"), mode="append")
    lance.LanceDataset.commit(lake.path("t"), lance.LanceOperation.Append(empty), read_version=1)
    lake.dataset("t").delete("id = 1")


KINDS = [put_none, put_deleted, put_fragment_without_rows]


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"b": pa.array([2 * n for n in batch.column(0).to_pylist()])})


@pytest.mark.parametrize("put", KINDS)
def test_every_change_of_a_table_without_rows(
    lake: Lake, spark: Any, put: Callable[[Lake], None]
) -> None:
    put(lake)
    namespace = lake.namespace
    version = lake.dataset("t").version
    for change in (
        delete(spark, namespace, "t", "true"),
        delete(spark, namespace, "t", "id > 0"),
        update(spark, namespace, "t", {"id": "id + 1"}),
        update(spark, namespace, "t", {"s": "'y'"}, "id > 0"),
        merge_into(frame_from_arrow(spark, rows()), namespace, "t", "id"),
        merge_into(
            frame_from_arrow(spark, rows()),
            namespace,
            "t",
            "id",
            when_not_matched_by_source="delete",
        ),
    ):
        assert (change.inserted, change.updated, change.deleted) == (0, 0, 0)
        assert change.version == lake.dataset("t").version == version
    assert write_table(frame_from_arrow(spark, rows()), namespace, "t", "append").rows == 0
    assert add_columns(spark, namespace, "t", {"a": "id + 1"}).rows == 0
    assert add_columns(spark, namespace, "t", doubled, types="b:int64", reads=["id"]).rows == 0
    keyed = spark.sql("SELECT 1L AS id, 'z' AS c")
    assert add_columns(spark, namespace, "t", keyed, on="id").rows == 0
    assert lake.dataset("t").schema.names == ["id", "s", "v", "a", "b", "c"]
    write_table(frame_from_arrow(spark, rows(7)).repartition(4), namespace, "t", "append")
    assert lake.values() == [7]


@pytest.mark.parametrize("put", KINDS)
def test_every_read_of_a_table_without_rows(
    lake: Lake, spark: Any, put: Callable[[Lake], None]
) -> None:
    put(lake)
    namespace = lake.namespace
    for found in (
        read_table(spark, namespace, "t"),
        read_table(spark, namespace, "t", filter="id > 0", splits=3),
        lake.load("t"),
        lake.load("t", filter="id > 0", splits="3"),
    ):
        assert found.columns == SCHEMA.names
        assert found.collect() == []
        assert found.count() == 0
        assert found.select().count() == 0
    assert count_rows(namespace, "t") == count_rows(namespace, "t", filter="id > 0") == 0
    assert read_table(spark, namespace, "t", columns=["id"]).collect() == []


@pytest.mark.parametrize("put", KINDS)
def test_jobs_over_a_table_without_rows(
    lake: Lake, spark: Any, tmp_path: Path, put: Callable[[Lake], None]
) -> None:
    put(lake)
    upkeep = Upkeep(
        indices=[IndexWish(column="id", type="BTREE")],
        cleanup_older_than=timedelta(0),
        orphans_older_than=timedelta(days=1),
    )
    kept = maintain(lake.namespace, upkeep=upkeep, spark=spark, state=tmp_path / "state")
    assert [row.problem for row in kept] == [None]
    looked = inventory(lake.namespace, state=tmp_path / "looked")
    assert [(row.rows, row.problem) for row in looked] == [(0, None)]
    assert looked.to_frame(spark).count() == 1


def test_an_empty_job_result_converts_to_a_frame(lake: Lake, spark: Any, tmp_path: Path) -> None:
    lake.root.mkdir()
    found = inventory(lake.namespace, state=tmp_path / "state").to_frame(spark)
    assert found.collect() == []
    assert "fragments" in found.columns


@pytest.mark.parametrize("mode", ["create", "overwrite"])
def test_a_frame_without_rows_creates_a_table(lake: Lake, spark: Any, mode: str) -> None:
    frame = frame_from_arrow(spark, rows())
    assert write_table(frame, lake.namespace, "t", mode).rows == 0
    assert lake.load("t").schema.simpleString() == frame.schema.simpleString()
    lake.save(frame.repartition(3), "other", "overwrite")
    assert lake.dataset("other").count_rows() == 0


def test_empty_lists_of_columns_are_rejected(lake: Lake, spark: Any) -> None:
    lake.put("t", rows(1))
    with pytest.raises(InvalidInputError, match="columns is empty"):
        read_table(spark, lake.namespace, "t", columns=[])
    assert failure_of(lambda: lake.load("t", columns="")).code == 13
    with pytest.raises(TableSchemaValidationError, match="there are no columns to write"):
        write_table(spark.range(3).select(), lake.namespace, "new")
    assert failure_of(lambda: lake.save(spark.range(3).select(), "new")).code == 20
    assert not Path(lake.path("new")).exists()


def test_a_runner_without_tasks_returns_no_results(spark: Any) -> None:
    told: list[tuple[int, int]] = []
    runner = SparkRunner(spark.sparkContext)
    assert runner.run("nothing", [], lambda task, count: task, lambda *at: told.append(at)) == []
    assert told == [(0, 0)]
    assert runner.run("one", ["a"], lambda task, count: task, quietly) == ["a"]


@pytest.mark.parametrize(
    "sizes", [(3, 0, 30), (0, 0, 5), (0,), (2, 0), (), (0, 0), (1, 0, 1, 0, 1)]
)
def test_a_frame_has_the_rows_of_all_chunks(spark: Any, sizes: tuple[int, ...]) -> None:
    parts = [rows(*range(size)) for size in sizes]
    table = pa.concat_tables(parts) if parts else pa.Table.from_batches([], SCHEMA)
    expected = sorted(n for size in sizes for n in range(size))
    for frame in (
        frame_from_arrow(spark, table),
        local_session().createDataFrame(table),
        local_session().createDataFrame(data=table, schema=["id", "s", "v"]),
    ):
        assert sorted(row.id for row in frame.collect()) == expected
        assert frame.columns == SCHEMA.names


def test_a_frame_has_the_types_of_read_table(lake: Lake, spark: Any) -> None:
    table = pa.table(
        {
            "wall": pa.array([0, None], pa.timestamp("us")),
            "moment": pa.array([0, None], pa.timestamp("ms", "Europe/Berlin")),
            "small": pa.array([255, None], pa.uint8()),
            "text": pa.array(["a", None]).dictionary_encode(),
            "nested": pa.array([None, [{"at": 0}]], pa.list_(pa.struct({"at": pa.timestamp("s")}))),
        }
    )
    lake.put("t", table)
    read = read_table(spark, lake.namespace, "t")
    for given in (table, table.slice(1), pa.concat_tables([table.slice(1), table.slice(0, 1)])):
        frame = frame_from_arrow(spark, given)
        assert frame.schema.simpleString() == read.schema.simpleString()
        rest = given.num_rows
        assert sorted(map(str, frame.collect())) == sorted(
            str(row) for row in read.collect() if rest == 2 or row.wall is None
        )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.list_(pa.timestamp("us", "UTC")), [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]),
        (pa.map_(pa.string(), pa.timestamp("us")), [("a", dt.datetime(2024, 1, 1))]),
        (pa.struct({"l": pa.list_(pa.struct({"n": pa.int64()}))}), {"l": [{"n": 1}]}),
    ],
    ids=str,
)
def test_a_slice_of_a_nested_column_with_nulls_converts_to_a_frame(
    spark: Any, kind: pa.DataType, value: Any
) -> None:
    table = pa.table({"c": pa.array([value, None, value, None], kind)}).slice(1, 2)
    assert frame_from_arrow(spark, table).toArrow().to_pylist() == table.to_pylist()
    assert local_session().createDataFrame(table).count() == 2


def test_a_frame_with_duplicate_column_names_is_rejected(spark: Any) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(TableSchemaValidationError, match="two columns are named 'a'"):
        frame_from_arrow(spark, table)


def test_timestamps_do_not_depend_on_the_session_time_zone(lake: Lake, spark: Any) -> None:
    table = pa.table(
        {"wall": pa.array([0], pa.timestamp("us")), "at": pa.array([0], pa.timestamp("us", "UTC"))}
    )
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = frame_from_arrow(spark, table)
        write_table(frame, lake.namespace, "t")
        lake.save(read_table(spark, lake.namespace, "t"), "u")
        merge_into(frame_from_arrow(spark, lake.load("u").toArrow()), lake.namespace, "t", "wall")
        shown = lake.load("t").selectExpr("cast(wall AS string) AS wall", "unix_micros(at) AS at")
        assert shown.collect() == [("1970-01-01 00:00:00", 0)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    for name in ("t", "u"):
        assert lake.dataset(name).to_table() == table
