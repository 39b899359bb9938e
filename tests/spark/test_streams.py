"""Streams from tables and into tables, in one Spark session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableVersionNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.write_plan import Mode
from lance_namespace_impls.spark import merge_into, stream_writer
from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource
from lance_namespace_impls.spark.read_plan import pin
from lance_namespace_impls.spark.stream_positions import History, Position
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark one")


def ids(start: int, count: int) -> pa.Table:
    return pa.table({"id": range(start, start + count)})


def history(lake: Lake, *, skips: bool = False, filter: str | None = None) -> History:
    target = lake.target()
    return History(pin(target, filter=filter), skips)


def batches(read: History, start: Position, **limits: int) -> list[list[int]]:
    """Return the ids of each batch from a position to the end."""
    found = []
    while (end := read.after(start, read.latest(), **limits)) != start:
        rows: list[int] = []
        for each in read.between(start, end):
            dataset = read.pinned.target.open(read.pinned.target.storage(), each.version)
            fragment = dataset.get_fragment(each.fragment)
            rows += (
                fragment.scanner(offset=each.offset, limit=each.rows).to_table()["id"].to_pylist()
            )
        found.append(rows)
        start = end
    return found


@pytest.fixture
def versions(quiet_lake: Lake) -> Lake:
    """Return a table whose versions add 10, 0, 5, 0, 20 and 1 rows."""
    quiet_lake.put("t", ids(0, 10), max_rows_per_file=4)
    quiet_lake.dataset("t").update_config({"a": "b"})
    quiet_lake.put("t", ids(10, 5), mode="append")
    quiet_lake.dataset("t").add_columns({"b": "id + 1"})
    more = ids(15, 20).append_column("b", pa.array(range(20)))
    quiet_lake.put("t", more, mode="append", max_rows_per_file=7)
    quiet_lake.dataset("t").create_scalar_index("id", "BTREE")
    quiet_lake.dataset("t").optimize.compact_files()
    quiet_lake.put("t", ids(35, 1).append_column("b", pa.array([0])), mode="append")
    return quiet_lake


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        ({}, [36]),
        ({"versions": 1}, [10, 5, 20, 1]),
        ({"versions": 3}, [35, 1]),
        ({"rows": 6}, [6] * 6),
        ({"rows": 7}, [7] * 5 + [1]),
        ({"rows": 15, "versions": 1}, [10, 5, 15, 5, 1]),
    ],
)
def test_batches_are_as_large_as_their_limits_allow(
    versions: Lake, limits: dict[str, int], sizes: list[int]
) -> None:
    found = batches(history(versions), Position(version=1), **limits)
    assert [len(each) for each in found if each] == sizes
    assert [n for each in found for n in each] == list(range(36))


def test_a_stream_starts_with_all_rows_of_a_version_or_after_it(versions: Lake) -> None:
    read = history(versions)
    assert sorted(batches(read, Position(version=3, whole=True))[0]) == list(range(36))
    assert batches(read, Position(version=4)) == [list(range(15, 36))]
    assert batches(read, Position(version=read.latest() + 1)) == []


def test_with_a_filter_fragments_are_not_split(versions: Lake) -> None:
    found = batches(history(versions, filter="id > 2"), Position(version=1), rows=6)
    assert [len(each) for each in found if each] == [4, 6, 5, 7, 7, 6, 1]
    with pytest.raises(InvalidInputError, match="within a fragment"):
        history(versions, filter="id > 2").between(Position(version=1, rows=1), Position(version=2))


CHANGES: list[tuple[str, Callable[[Any], object]]] = [
    ("Delete", lambda dataset: dataset.delete("id = 3")),
    ("Update", lambda dataset: dataset.update({"id": "id + 100"}, where="id = 3")),
    ("Overwrite", lambda dataset: dataset.insert(ids(50, 2), mode="overwrite")),
]


@pytest.mark.parametrize(("operation", "act"), CHANGES, ids=[name for name, _ in CHANGES])
def test_changes_of_rows_stop_a_stream_or_are_skipped(
    quiet_lake: Lake, operation: str, act: Callable[[Any], object]
) -> None:
    quiet_lake.put("t", ids(0, 10))
    act(quiet_lake.dataset("t"))
    quiet_lake.put("t", ids(10, 5), mode="append")
    with pytest.raises(UnsupportedError, match=rf"version 2 \({operation}\).*startingVersion=3"):
        batches(history(quiet_lake), Position(version=1))
    found = batches(history(quiet_lake, skips=True), Position(version=1))
    assert found == [list(range(15))]


def test_deleted_versions_are_reported(versions: Lake) -> None:
    from datetime import timedelta

    latest = versions.dataset("t").version
    versions.dataset("t").cleanup_old_versions(older_than=timedelta(0))
    with pytest.raises(TableVersionNotFoundError, match="version 3 was deleted before"):
        batches(history(versions), Position(version=3))
    # The append provides the information that the deleted version before it would have.
    assert batches(history(versions), Position(version=latest)) == [[35]]


class Streams:
    """Queries from the table ``t`` to the table ``out``, each of which runs until it ends."""

    def __init__(self, lake: Lake, spark: Any, folder: Path) -> None:
        self.lake = lake
        self._spark = spark
        self.checkpoint = str(folder / "checkpoint")

    def source(self, **options: Any) -> Any:
        reader = self._spark.readStream.format("lance_namespace")
        return reader.options(impl="dir", root=str(self.lake.root), **options).load("t")

    def run(self, frame: Any, mode: str = "append", **options: Any) -> Any:
        writer = frame.writeStream.format("lance_namespace").outputMode(mode)
        options = {"checkpointLocation": self.checkpoint, **options}
        writer.options(impl="dir", root=str(self.lake.root), table="out", **options)
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return query

    def out(self) -> list[int]:
        return sorted(self.lake.dataset("out").to_table()["id"].to_pylist())


@pytest.fixture
def streams(lake: Lake, spark: Any, tmp_path: Path) -> Streams:
    lake.put("t", ids(0, 10), max_rows_per_file=4)
    return Streams(lake, spark, tmp_path)


def test_a_stream_continues_at_its_checkpoint(streams: Streams) -> None:
    query = streams.run(streams.source(maxRowsPerTrigger=4))
    sizes = [each["numInputRows"] for each in query.recentProgress if each["numInputRows"]]
    assert (sizes, streams.out()) == ([4, 4, 2], list(range(10)))
    streams.lake.put("t", ids(10, 7), mode="append")
    streams.run(streams.source())
    assert streams.out() == list(range(17))
    transaction = streams.lake.dataset("out").read_transaction(4)
    assert transaction.transaction_properties == {
        stream_writer.QUERY: query.id,
        stream_writer.BATCH: "3",
    }
    assert not list(Path(streams.lake.path("out"), "_transactions").glob("*/"))


def test_a_batch_that_is_run_again_is_not_committed_again(streams: Streams) -> None:
    """Spark's record that the batch is done is lost, as in a crash directly after the commit."""
    streams.run(streams.source())
    shutil.rmtree(Path(streams.checkpoint, "commits"))
    stream_writer._checked.clear()
    files = streams.lake.data_files("out")
    streams.run(streams.source())
    assert (streams.out(), streams.lake.dataset("out").version) == (list(range(10)), 1)
    assert streams.lake.data_files("out") == files


def test_the_mode_complete_replaces_the_rows(streams: Streams) -> None:
    counted = streams.source(maxRowsPerTrigger=4).groupBy().count().selectExpr("count AS id")
    streams.run(counted, "complete")
    assert streams.out() == [10]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingVersion": "1"}, range(12)),
        ({"startingVersion": "2"}, range(10, 12)),
        ({"startingVersion": "latest"}, []),
        ({"startingTimestamp": "2001-01-01"}, range(12)),
        ({"startingTimestamp": "2201-01-01"}, []),
        ({"columns": "id", "filter": "id % 2 = 0"}, range(0, 12, 2)),
    ],
)
def test_the_start_of_a_stream(quiet_lake: Lake, options: dict[str, str], expected: Any) -> None:
    quiet_lake.put("t", ids(0, 10), max_rows_per_file=4)
    quiet_lake.put("t", ids(10, 2), mode="append")
    reader = stream_reader(quiet_lake, **options)
    start = reader.initialOffset()
    parts = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    found = [batch.column(0).to_pylist() for part in parts for batch in reader.read(part)]
    assert sorted(n for rows in found for n in rows) == list(expected)


def stream_reader(lake: Lake, **options: str) -> Any:
    """Create the stream reader that Spark would use."""
    given = {"impl": "dir", "root": str(lake.root), "path": "t", **options}
    source = LanceNamespaceDataSource(given)
    return source.streamReader(source.schema())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"version": "1"}, InvalidInputError),
        ({"startingVersion": "soon"}, InvalidInputError),
        ({"startingVersion": "9"}, TableVersionNotFoundError),
        ({"maxRowsPerTrigger": "0"}, InvalidInputError),
        ({"maxRowPerTrigger": "5"}, InvalidInputError),
    ],
)
def test_invalid_stream_options_are_rejected(
    quiet_lake: Lake, options: dict[str, str], error: type[LanceNamespaceError]
) -> None:
    quiet_lake.put("t", ids(0, 10))
    with pytest.raises(error):
        stream_reader(quiet_lake, **options).initialOffset()


def test_concurrent_commits_of_one_batch_store_it_once(
    quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that was presumed dead commits between the check and the commit of its successor."""
    quiet_lake.put("t", ids(0, 3))
    real = write_plan.commit
    writer, ours = batch_of(quiet_lake, 2)
    _, theirs = batch_of(quiet_lake, 2)

    def late(*args: Any, **more: Any) -> int:
        monkeypatch.setattr(write_plan, "commit", real)
        real(theirs.plan, theirs.fragments, properties=more["properties"])
        return real(*args, **more)

    monkeypatch.setattr(write_plan, "commit", late)
    writer.commit([ours], 0)
    assert quiet_lake.dataset("t").to_table()["id"].to_pylist() == list(range(5))


def batch_of(
    lake: Lake, rows: int, **more: Any
) -> tuple[stream_writer.LanceStreamWriter, stream_writer.WrittenBatch]:
    """Write a batch and files that no message names; return the batch's writer and message."""
    plan = write_plan.plan_write(lake.target(), ids(0, 1).schema, Mode.APPEND, **more)
    assert plan is not None
    write_plan.write_rows(plan, ids(90, 2).to_batches())
    fragments = write_plan.write_rows(plan, ids(3, rows).to_batches()) if rows else []
    return stream_writer.LanceStreamWriter(plan), stream_writer.WrittenBatch(
        plan, "query", fragments
    )


@pytest.mark.parametrize("there", [True, False])
def test_a_batch_without_rows_leaves_nothing(quiet_lake: Lake, there: bool) -> None:
    if there:
        quiet_lake.put("t", ids(0, 3))
    before = quiet_lake.data_files("t")
    writer, ours = batch_of(quiet_lake, 0, makes_table=True)
    writer.commit([ours, None], 0)
    assert quiet_lake.data_files("t") == before
    assert list(quiet_lake.namespace.iter_tables()) == ["t"] * there


def test_a_batch_that_was_committed_before_leaves_no_files(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ids(0, 3))
    writer, ours = batch_of(quiet_lake, 2)
    writer.commit([None], 0)
    assert quiet_lake.dataset("t").version == 1
    writer.commit([ours], 0)
    before = quiet_lake.data_files("t")
    again, theirs = batch_of(quiet_lake, 2)
    again.commit([theirs], 0)
    assert quiet_lake.data_files("t") == before
    assert quiet_lake.dataset("t").to_table()["id"].to_pylist() == list(range(5))


def test_a_failed_batch_deletes_the_files_of_its_tasks(quiet_lake: Lake) -> None:
    quiet_lake.put("t", ids(0, 3))
    before = quiet_lake.data_files("t")
    writer, ours = batch_of(quiet_lake, 2)
    assert quiet_lake.data_files("t") > before
    writer.abort([None, ours], 0)
    assert quiet_lake.data_files("t") == before


def test_a_stream_includes_rows_of_a_merge_that_only_inserts(streams: Streams) -> None:
    source = streams._spark.range(8, 12)
    merge_into(source, streams.lake.namespace, "t", "id", when_matched="keep")
    streams.run(streams.source(startingVersion="1"))
    assert streams.out() == list(range(12))
