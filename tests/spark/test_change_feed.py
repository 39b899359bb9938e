"""`changes` and change streams, compared with the rows of each version that pylance reads."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls.distributed.columns import spark_arrow_schema, to_spark_schema
from lance_namespace_impls.spark import changes
from lance_namespace_impls.spark.change_plan import Changes, feed_schema, read_changes
from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource
from lance_namespace_impls.spark.read_plan import pin
from lance_namespace_impls.spark.stream_reader import ChangeStreamReader
from tests.spark.conftest import Lake, failure_of

pytestmark = pytest.mark.xdist_group("spark two")

Row = dict[str, Any]


def feed(lake: Lake, since: int, until: int | None = None, **more: Any) -> list[Row]:
    """Read the changes of a table in this process, without Spark."""
    pinned = pin(lake.target(), version=until, **more)
    log = Changes(pinned)
    schema = spark_arrow_schema(to_spark_schema(feed_schema(pinned.schema, "t")))
    found = [each for version in range(since + 1, pinned.version + 1) for each in log.of(version)]
    return [row for batch in read_changes(pinned, found, schema, 3) for row in batch.to_pylist()]


def kinds(rows: list[Row]) -> list[tuple[int, str, int, str]]:
    return sorted((r["_commit_version"], r["_change_type"], r["id"], r["s"]) for r in rows)


def put(lake: Lake, *, stable: bool, rows: int = 10) -> None:
    table = pa.table({"id": range(rows), "s": [f"s{n}" for n in range(rows)]})
    lake.put("t", table, max_rows_per_file=4, enable_stable_row_ids=stable)


def merge(lake: Lake, rows: dict[int, str]) -> None:
    source = pa.table({"id": pa.array([*rows], pa.int64()), "s": [*rows.values()]})
    merged = lake.dataset("t").merge_insert("id").when_matched_update_all()
    merged.when_not_matched_insert_all().execute(source)


def test_each_kind_of_change_with_stable_row_ids(quiet_lake: Lake) -> None:
    lake = quiet_lake
    put(lake, stable=True)
    lake.put("t", pa.table({"id": [10], "s": ["s10"]}), mode="append")  # 2
    lake.dataset("t").update({"s": "'u'"}, "id IN (1, 10)")  # 3
    lake.dataset("t").delete("id IN (1, 2)")  # 4
    merge(lake, {3: "m", 20: "m"})  # 5
    assert kinds(feed(lake, 1)) == [
        (2, "insert", 10, "s10"),
        (3, "update", 1, "u"),
        (3, "update", 10, "u"),
        (4, "delete", 1, "u"),
        (4, "delete", 2, "s2"),
        (5, "insert", 20, "m"),
        (5, "update", 3, "m"),
    ]
    assert kinds(feed(lake, 0, 1)) == [(1, "insert", n, f"s{n}") for n in range(10)]
    assert feed(lake, 5) == []
    ids = {r["id"]: r["_rowid"] for r in feed(lake, 0, 1)}
    assert all(r["_rowid"] == ids[r["id"]] for r in feed(lake, 1) if r["id"] in ids)
    times = {
        each["version"]: each["timestamp"].astimezone(UTC) for each in lake.dataset("t").versions()
    }
    assert all(r["_commit_timestamp"] == times[r["_commit_version"]] for r in feed(lake, 0))


def test_other_commits_change_no_rows(quiet_lake: Lake) -> None:
    lake = quiet_lake
    put(lake, stable=True)
    lake.dataset("t").delete("id = 0")
    before = lake.dataset("t").version
    lake.dataset("t").optimize.compact_files()
    lake.dataset("t").create_scalar_index("id", "BTREE")
    lake.dataset("t").update_config({"a": "b"})
    lake.dataset("t").add_columns(pa.schema([("empty", pa.int8())]))
    lake.dataset("t").drop_columns(["empty"])
    assert lake.dataset("t").version > before + 4
    assert feed(lake, before) == []


@pytest.mark.parametrize("stable", [True, False])
def test_a_column_with_values_updates_all_rows(quiet_lake: Lake, stable: bool) -> None:
    lake = quiet_lake
    put(lake, stable=stable)
    lake.dataset("t").delete("id = 4")
    lake.dataset("t").add_columns({"twice": "id * 2"})
    found = feed(lake, 2)
    assert sorted((r["_change_type"], r["id"], r["twice"]) for r in found) == [
        ("update", n, 2 * n) for n in range(10) if n != 4
    ]
    assert {r["twice"] for r in feed(lake, 0, 3) if r["_commit_version"] < 3} == {None}
    version = lake.dataset("t").version
    lake.dataset("t").drop_columns(["twice"])
    assert feed(lake, version) == []


@pytest.mark.parametrize("stable", [True, False])
def test_an_overwrite_and_a_restore_replace_all_rows(quiet_lake: Lake, stable: bool) -> None:
    lake = quiet_lake
    put(lake, stable=stable)
    lake.put("t", pa.table({"id": [1], "s": ["new"]}), mode="overwrite")
    old = [(n, f"s{n}") for n in range(10)]
    assert kinds(feed(lake, 1, 2)) == sorted(
        [(2, "insert", 1, "new"), *((2, "delete", n, s) for n, s in old)]
    )
    lance.dataset(lake.path("t"), version=1).restore()
    if stable:
        restored = feed(lake, 2)
        assert kinds(restored) == sorted(
            [(3, "delete", 1, "new"), *((3, "insert", n, s) for n, s in old)]
        )
    else:
        with pytest.raises(UnsupportedError, match=r"version 3 \(Restore\) replaced rows"):
            feed(lake, 2)


def test_a_restore_of_deleted_rows_inserts_them(quiet_lake: Lake) -> None:
    put(quiet_lake, stable=False)
    quiet_lake.dataset("t").delete("id IN (3, 4)")
    lance.dataset(quiet_lake.path("t"), version=1).restore()
    assert kinds(feed(quiet_lake, 1)) == [
        (2, "delete", 3, "s3"), (2, "delete", 4, "s4"), (3, "insert", 3, "s3"), (3, "insert", 4, "s4"),
    ]  # fmt: skip


def test_without_stable_row_ids_ambiguous_changes_are_rejected(quiet_lake: Lake) -> None:
    lake = quiet_lake
    put(lake, stable=False)
    lake.put("t", pa.table({"id": [10], "s": ["s10"]}), mode="append")  # 2
    lake.dataset("t").delete("id IN (1, 4, 5, 6, 7)")  # 3: all of one fragment
    merge(lake, {30: "m"})  # 4: only inserts
    assert kinds(feed(lake, 1)) == [
        (2, "insert", 10, "s10"),
        *((3, "delete", n, f"s{n}") for n in (1, 4, 5, 6, 7)),
        (4, "insert", 30, "m"),
    ]
    lake.dataset("t").optimize.compact_files()
    version = lake.dataset("t").version
    lake.dataset("t").update({"s": "'u'"}, "id = 2")
    with pytest.raises(UnsupportedError, match="stable_row_ids=true") as caught:
        feed(lake, 1)
    assert f"version {version + 1} (Update)" in caught.value.message
    assert len(feed(lake, 1, version)) == 7


def ops(lake: Lake, seed: int) -> list[Callable[[], object]]:
    chance = random.Random(seed)
    numbers = iter(range(1000, 2000))

    def some() -> list[int]:
        there = lake.dataset("t").to_table(columns=["id"])["id"].to_pylist()
        return chance.sample(there, min(len(there), chance.randint(1, 6))) or [-1]

    def text() -> str:
        return f"x{next(numbers)}"

    def among(ids: list[int]) -> str:
        return f"id IN ({', '.join(map(str, ids))})"

    def append() -> None:
        ids = [next(numbers) for _ in range(chance.randint(1, 9))]
        rows = pa.table({"id": ids, "s": [text() for _ in ids]})
        lake.put("t", rows, mode="append", max_rows_per_file=4)

    return [
        append,
        lambda: lake.dataset("t").update({"s": f"'{text()}'"}, among(some())),
        lambda: lake.dataset("t").delete(among(some())),
        lambda: merge(lake, {n: text() for n in [*some(), next(numbers)] if n >= 0}),
        lambda: lake.dataset("t").optimize.compact_files(target_rows_per_fragment=8),
        lambda: lance.dataset(
            lake.path("t"), version=chance.randint(1, lake.dataset("t").version)
        ).restore(),
    ]


@pytest.mark.parametrize("seed", range(8))
def test_random_changes_equal_the_difference_of_the_versions(quiet_lake: Lake, seed: int) -> None:
    lake = quiet_lake
    put(lake, stable=True, rows=20)
    chance = random.Random(100 + seed)
    actions = ops(lake, seed)
    for _ in range(14):
        chance.choice(actions)()
    latest = lake.dataset("t").version

    def rows(version: int) -> dict[int, tuple[int, str]]:
        table = lance.dataset(lake.path("t"), version=version).to_table(
            columns=["id", "s"], with_row_id=True
        )
        return {r["_rowid"]: (r["id"], r["s"]) for r in table.to_pylist()}

    for version in range(2, latest + 1):
        before, after = rows(version - 1), rows(version)
        expected = sorted(
            [("insert", n, after[n]) for n in after.keys() - before.keys()]
            + [("delete", n, before[n]) for n in before.keys() - after.keys()]
            + [
                ("update", n, after[n])
                for n in after.keys() & before.keys()
                if after[n] != before[n]
            ]
        )
        found = feed(lake, version - 1, version)
        assert expected == sorted(
            (r["_change_type"], r["_rowid"], (r["id"], r["s"])) for r in found
        ), version
    # Applying the feed of a range to its first version yields its last version.
    start = chance.randint(1, latest)
    state = rows(start)
    for change in sorted(
        feed(lake, start), key=lambda r: (r["_commit_version"], r["_change_type"] != "delete")
    ):
        if change["_change_type"] == "delete":
            del state[change["_rowid"]]
        else:
            state[change["_rowid"]] = (change["id"], change["s"])
    assert state == rows(latest)


def test_the_frame_contains_the_feed_with_the_requested_columns(lake: Lake, spark: Any) -> None:
    put(lake, stable=True)
    moment = datetime.now(UTC)
    merge(lake, {3: "m", 20: "n"})
    lake.dataset("t").delete("id >= 8 AND id < 10")
    frame = changes(spark, lake.namespace, "t", since=1)
    assert [(f.name, f.dataType.simpleString()) for f in frame.schema] == [
        ("id", "bigint"),
        ("s", "string"),
        ("_change_type", "string"),
        ("_commit_version", "bigint"),
        ("_commit_timestamp", "timestamp"),
        ("_rowid", "bigint"),
    ]
    expected = [
        (2, "insert", 20, "n"),
        (2, "update", 3, "m"),
        (3, "delete", 8, "s8"),
        (3, "delete", 9, "s9"),
    ]
    assert kinds([row.asDict() for row in frame.collect()]) == expected
    by_time = changes(spark, lake.namespace, "t", since=moment, columns=["s"], splits=1)
    assert sorted(row.s for row in by_time.collect()) == ["m", "n", "s8", "s9"]
    assert by_time.columns == ["s", *frame.columns[2:]]
    assert changes(spark, lake.namespace, "t", since=3).count() == 0


def test_distributed_changes_are_in_the_feed(lake: Lake, spark: Any) -> None:
    from lance_namespace_impls.spark import delete, merge_into

    put(lake, stable=True)
    delete(spark, lake.namespace, "t", "id = 1")
    source = spark.createDataFrame([(2, "m"), (50, "m")], "id long, s string")
    merge_into(source, lake.namespace, "t", "id")
    found = kinds(feed(lake, 1))
    assert found[0] == (2, "delete", 1, "s1")
    # A merge on workers writes the updated rows with other row ids.
    assert found[1:] == [
        (3, "delete", 2, "s2"),
        (3, "insert", 2, "m"),
        (3, "insert", 50, "m"),
    ]


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"since": -1}, InvalidInputError),
        ({"since": True}, InvalidInputError),
        ({"since": 2, "until": 1}, InvalidInputError),
        ({"since": 1, "until": 9}, TableVersionNotFoundError),
        ({"since": 9}, InvalidInputError),
        ({"since": 1, "columns": ["z"]}, TableColumnNotFoundError),
        ({"since": 1, "splits": 0}, InvalidInputError),
    ],
)
def test_invalid_ranges_are_rejected(
    quiet_lake: Lake, more: dict[str, Any], kind: type[Exception]
) -> None:
    put(quiet_lake, stable=True)
    quiet_lake.dataset("t").delete("id = 1")
    spark: Any = None
    with pytest.raises(kind):
        changes(spark, quiet_lake.namespace, "t", **more)
    with pytest.raises(TableNotFoundError):
        changes(spark, quiet_lake.namespace, "nowhere", since=1)


def test_cleaned_up_versions_and_reserved_column_names_are_rejected(
    quiet_lake: Lake,
) -> None:
    from datetime import timedelta

    put(quiet_lake, stable=True)
    for number in range(3):
        quiet_lake.dataset("t").delete(f"id = {number}")
    quiet_lake.dataset("t").cleanup_old_versions(timedelta(0))
    spark: Any = None
    with pytest.raises(TableVersionNotFoundError, match="its changes cannot be read"):
        changes(spark, quiet_lake.namespace, "t", since=1)
    quiet_lake.put("u", pa.table({"_rowid_": [1], "_change_type": ["x"]}))
    with pytest.raises(InvalidInputError, match="_change_type has the same name"):
        changes(spark, quiet_lake.namespace, "u", since=0)


def test_blobs_are_in_the_feed(quiet_lake: Lake) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("s", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
        ]
    )
    rows = pa.table({"id": range(6), "s": [b"%d" % n for n in range(6)]}, schema=schema)
    quiet_lake.put("t", rows, enable_stable_row_ids=True, data_storage_version="2.1")
    quiet_lake.dataset("t").delete("id IN (2, 4)")
    assert kinds(feed(quiet_lake, 1)) == [(2, "delete", 2, b"2"), (2, "delete", 4, b"4")]
    assert len(feed(quiet_lake, 0)) == 8


def reader(lake: Lake, **options: str) -> ChangeStreamReader:
    """Create a stream reader in the same way as Spark's process."""
    given = {"impl": "dir", "root": str(lake.root), "table": "t", "readChanges": "true", **options}
    source = LanceNamespaceDataSource(given)
    found = source.streamReader(source.schema())
    assert isinstance(found, ChangeStreamReader)
    return found


def batch(stream: ChangeStreamReader, start: Any, end: Any) -> list[Row]:
    parts = stream.partitions(start, end)
    return [row for part in parts for rows in stream.read(part) for row in rows.to_pylist()]


def test_the_offsets_of_a_stream_cover_each_version_once(quiet_lake: Lake) -> None:
    lake = quiet_lake
    put(lake, stable=True)
    lake.dataset("t").delete("id > 2")
    source = reader(lake, maxVersionsPerTrigger="2")
    start = source.initialOffset()
    limit = source.getDefaultReadLimit()
    end = source.latestOffset(start, limit)
    assert kinds(batch(source, start, end)) == [(2, "insert", n, f"s{n}") for n in range(3)]
    assert source.latestOffset(end, limit) == end  # nothing new
    merge(lake, {1: "m", 9: "n"})
    lake.dataset("t").delete("id = 0")
    lake.dataset("t").delete("id = 2")
    second = source.latestOffset(end, limit)
    assert kinds(batch(source, end, second)) == [
        (3, "insert", 9, "n"), (3, "update", 1, "m"), (4, "delete", 0, "s0"),
    ]  # fmt: skip
    third = source.latestOffset(second, limit)
    assert kinds(batch(source, second, third)) == [(5, "delete", 2, "s2")]
    whole = reader(lake, startingVersion="1", splits="1")
    begin = whole.initialOffset()
    last = whole.latestOffset(begin, ReadAllAvailable())
    assert kinds(batch(whole, begin, last)) == kinds(feed(lake, 0))
    assert len(whole.partitions(begin, last)) == 1


def test_options_that_do_not_apply_to_changes_are_rejected(quiet_lake: Lake) -> None:
    put(quiet_lake, stable=True)
    for options in ({"maxRowsPerTrigger": "3"}, {"filter": "id > 3"}):
        with pytest.raises(InvalidInputError, match="a stream of changes"):
            reader(quiet_lake, **options)
    source = LanceNamespaceDataSource(
        {"impl": "dir", "root": str(quiet_lake.root), "table": "t", "readChanges": "true"}
    )
    with pytest.raises(InvalidInputError, match=r"call changes\("):
        source.reader(source.schema())


def stream(lake: Lake, spark: Any, checkpoint: Path, **options: str) -> list[Row]:
    """Run a stream of changes to its end, and return the rows of its batches."""
    found: list[Row] = []
    reader = spark.readStream.format("lance_namespace").options(
        impl="dir", root=str(lake.root), readChanges="true", **options
    )
    query = (
        reader.load("t")
        .writeStream.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .foreachBatch(lambda batch, number: found.extend(r.asDict() for r in batch.collect()))
        .start()
    )
    query.awaitTermination()
    return found


def test_a_stream_of_changes_continues_where_it_stopped(
    lake: Lake, spark: Any, tmp_path: Path
) -> None:
    put(lake, stable=True)
    lake.dataset("t").delete("id > 2")
    checkpoint = tmp_path / "checkpoint"
    first = stream(lake, spark, checkpoint)
    assert kinds(first) == [(2, "insert", n, f"s{n}") for n in range(3)]
    merge(lake, {1: "m", 9: "n"})
    lake.dataset("t").delete("id = 0")
    lake.dataset("t").optimize.compact_files()
    expected = [(3, "insert", 9, "n"), (3, "update", 1, "m"), (4, "delete", 0, "s0")]
    assert kinds(stream(lake, spark, checkpoint, maxVersionsPerTrigger="1")) == expected


def test_streams_reject_ambiguous_changes(lake: Lake, spark: Any, tmp_path: Path) -> None:
    put(lake, stable=False)
    lake.dataset("t").update({"s": "'u'"}, "id = 1")
    failure = failure_of(lambda: stream(lake, spark, tmp_path / "a", startingVersion="2"))
    assert isinstance(failure, UnsupportedError)
