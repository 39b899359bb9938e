"""Concurrent first appends to a table that does not exist yet."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.write_plan import Mode, WritePlan
from tests.spark.conftest import Lake
from tests.spark.test_writing import ROWS, planned, written

NESTED = pa.table(
    {
        "s": pa.array([{"x": 1, "y": ["a"]}]),
        "v": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)),
        "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    }
)


def first_append(lake: Lake, rows: pa.Table = ROWS) -> WritePlan:
    return planned(lake.target(), Mode.APPEND, rows, makes_table=True)


@pytest.mark.parametrize("rows", [ROWS, NESTED], ids=["flat", "nested"])
def test_all_first_appends_are_committed(quiet_lake: Lake, rows: pa.Table) -> None:
    plans = [first_append(quiet_lake, rows) for _ in range(3)]
    files = [written(plan, rows) for plan in plans[:2]]
    assert write_plan.commit(plans[0], files[0]) == 1
    files.append(written(plans[2], rows))  # the dataset already exists
    assert write_plan.commit(plans[1], files[1]) == 2
    assert write_plan.commit(plans[2], files[2]) == 3
    assert quiet_lake.dataset("t").to_table() == pa.concat_tables([rows] * 3)
    assert len(quiet_lake.data_files("t")) == 3


def test_rows_of_many_batches_are_complete_next_to_a_new_dataset(quiet_lake: Lake) -> None:
    plan = first_append(quiet_lake)
    quiet_lake.put("t", ROWS)
    many = pa.table({"a": range(10_000)})
    fragments = write_plan.write_rows(plan, many.to_batches(max_chunksize=10))
    assert write_plan.commit(plan, fragments) == 2
    assert quiet_lake.dataset("t").to_table()["a"].to_pylist() == [1, 2, 3, *range(10_000)]


@pytest.mark.parametrize("rows", [ROWS.slice(0, 0), None])
def test_no_rows(quiet_lake: Lake, rows: pa.Table | None) -> None:
    plan = first_append(quiet_lake)
    quiet_lake.put("t", ROWS)
    assert write_plan.commit(plan, written(plan, rows) if rows is not None else []) == 1


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    "theirs",
    [
        pa.table({"b": [1]}),
        pa.table({"a": pa.array([1], pa.int32())}),
        pa.table({"a": [1], "b": [2]}),
    ],
    ids=lambda table: str(table.schema),
)
def test_a_first_append_conflicts_with_a_table_of_another_schema(
    quiet_lake: Lake, theirs: pa.Table, late: bool
) -> None:
    plan = first_append(quiet_lake)
    fragments = [] if late else written(plan)
    quiet_lake.put("t", theirs)
    files = quiet_lake.data_files("t")
    if late:
        fragments = written(plan)
    with pytest.raises(ConcurrentModificationError, match="table t was changed by another writer"):
        write_plan.commit(plan, fragments)
    assert quiet_lake.dataset("t").to_table() == theirs
    ours = {file["path"] for fragment in fragments for file in fragment["files"]}
    assert quiet_lake.data_files("t") == files - ours


def test_columns_with_other_field_ids(quiet_lake: Lake) -> None:
    plan = first_append(quiet_lake)
    fragments = written(plan)
    dataset = quiet_lake.put("t", pa.table({"gone": [0], "a": [1]}))
    dataset.drop_columns(["gone"])
    with pytest.raises(ConcurrentModificationError):
        write_plan.commit(plan, fragments)
    assert quiet_lake.dataset("t").to_table()["a"].to_pylist() == [1]


def test_another_data_storage_version(quiet_lake: Lake) -> None:
    plan = first_append(quiet_lake)
    fragments = written(plan)
    quiet_lake.put("t", ROWS, data_storage_version="2.0")
    with pytest.raises(ConcurrentModificationError):
        write_plan.commit(plan, fragments)


@pytest.mark.parametrize("mode", [Mode.CREATE, Mode.EXIST_OK, Mode.OVERWRITE])
def test_first_writes_in_other_modes_conflict(quiet_lake: Lake, mode: Mode) -> None:
    plan = planned(quiet_lake.target(), mode)
    early = written(plan)
    quiet_lake.put("t", ROWS)
    with pytest.raises(ConcurrentModificationError, match="it was found without data"):
        written(plan)
    with pytest.raises(ConcurrentModificationError, match="it was found without data"):
        write_plan.commit(plan, early)
    assert quiet_lake.dataset("t").count_rows() == 3


def test_many_threads(quiet_lake: Lake) -> None:
    writers = 8
    together = threading.Barrier(writers)

    def append(_: int) -> int:
        plan = first_append(quiet_lake)
        together.wait(300)
        fragments = written(plan)
        return write_plan.commit(plan, fragments)

    with ThreadPoolExecutor(writers) as threads:
        versions = sorted(threads.map(append, range(writers)))
    assert versions == list(range(1, writers + 1))
    assert lance.dataset(quiet_lake.path("t")).count_rows() == 3 * writers
    assert len(quiet_lake.data_files("t")) == writers


def test_a_failed_first_append_keeps_the_table_of_a_concurrent_one(quiet_lake: Lake) -> None:
    ours, theirs = first_append(quiet_lake), first_append(quiet_lake)
    assert (ours.declared, theirs.declared) == (True, False)
    files = written(theirs)
    write_plan.abort(ours, written(ours))
    assert write_plan.commit(theirs, files) == 1
    assert quiet_lake.dataset("t").to_table() == ROWS
    assert quiet_lake.data_files("t") == {files[0]["files"][0]["path"]}


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.OVERWRITE])
@pytest.mark.parametrize("is_first", [True, False])
def test_rows_deleted_by_a_drop_are_not_added_to_a_later_table(
    quiet_lake: Lake, is_first: bool, mode: Mode
) -> None:
    if not is_first:
        quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake.target(), mode, ROWS, makes_table=True)
    fragments = written(plan)
    plan.target.namespace.drop_table({"id": list(plan.target.table)})
    theirs = ROWS.slice(1)
    quiet_lake.put("t", theirs)
    with pytest.raises(ConcurrentModificationError, match="table t was changed by another writer"):
        write_plan.commit(plan, fragments)
    assert quiet_lake.dataset("t").to_table() == theirs


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.OVERWRITE])
@pytest.mark.parametrize("is_first", [True, False])
def test_rows_of_a_commit_whose_response_is_lost_are_kept(
    quiet_lake: Lake, is_first: bool, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_first:
        quiet_lake.put("t", ROWS)
    plan = planned(quiet_lake.target(), mode, ROWS, makes_table=True)
    fragments = written(plan)
    commit = lance.LanceDataset.commit

    def lost(*args: Any, **more: Any) -> None:
        version = commit(*args, **more).version
        raise OSError(f"Commit result for version {version} is unknown: it may have been applied")

    monkeypatch.setattr(lance.LanceDataset, "commit", lost)
    with pytest.raises(ConcurrentModificationError, match="is unknown"):
        write_plan.commit(plan, fragments)
    count = ROWS.num_rows * (2 if mode is Mode.APPEND and not is_first else 1)
    assert quiet_lake.dataset("t").to_table().num_rows == count
