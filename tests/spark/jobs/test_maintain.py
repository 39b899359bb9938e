"""`maintain` compacts tables, builds indices and deletes old versions and orphans."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.fragment import write_fragments
from typer.testing import CliRunner

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.maintenance import IndexWish, Selection, Upkeep, UpkeepRow, maintain
from lance_namespace_impls.maintenance.upkeep import TableUpkeep
from tests.cli.lakes import run
from tests.spark.jobs.lakes import nested, put

pytestmark = pytest.mark.xdist_group("spark two")

TEN = pa.table({"a": range(10), "s": ["x"] * 10})
NOW = timedelta(0)


@pytest.fixture
def catalog(tmp_path: Path) -> Namespace:
    """Return a catalog with a fragmented table, one that needs nothing and a declared one."""
    namespace = nested(tmp_path / "lake")
    worn = put(namespace, ["sales", "worn"], TEN, max_rows_per_file=2)
    worn.create_scalar_index("s", "BITMAP")
    worn.insert(TEN)
    put(namespace, ["sales", "fine"], TEN)
    namespace.declare_table({"id": ["later"]})
    return namespace


def by_name(rows: Any) -> dict[str, UpkeepRow]:
    return {row.table[-1]: row for row in rows}


def test_a_worn_table_is_compacted_in_one_commit_and_its_index_completed(
    catalog: Namespace,
) -> None:
    before = catalog.open_table(["sales", "worn"])
    size = sum(
        file.file_size_bytes for each in before.get_fragments() for file in each.data_files()
    )
    planned = by_name(maintain(catalog, dry_run=True))
    assert planned["worn"].compacted_fragments == 5  # the sixth is not in the index yet
    assert 0 < planned["worn"].rewritten_bytes < size
    assert planned["worn"].indices_updated == ("s_idx",)
    assert catalog.open_table(["sales", "worn"]).version == before.version
    rows = by_name(maintain(catalog))
    assert rows["worn"] == UpkeepRow(
        table=("sales", "worn"),
        version=catalog.open_table(["sales", "worn"]).version,
        compacted_fragments=6,
        new_fragments=1,
        rewritten_bytes=size,
        indices_updated=("s_idx",),
    )
    after = catalog.open_table(["sales", "worn"])
    # Lance reserves the ids of the new fragments in a separate version.
    assert after.version == before.version + 3
    assert len(after.get_fragments()) == 1
    assert sorted(after.to_table()["a"].to_pylist()) == sorted([*range(10)] * 2)
    assert [index.num_rows_indexed for index in after.describe_indices()] == [20]
    assert rows["fine"] == UpkeepRow(table=("sales", "fine"), version=1)
    assert rows["later"] == UpkeepRow(table=("later",))
    again = by_name(maintain(catalog))
    assert again["worn"].version == after.version


def test_indices_are_created_on_columns_that_have_none(catalog: Namespace) -> None:
    put(catalog, ["other"], pa.table({"z": [1]}))
    put(catalog, ["empty"], TEN.slice(0, 0))
    wishes = [IndexWish(column="a", type="btree"), IndexWish(column="s", type="INVERTED")]
    rows = by_name(maintain(catalog, upkeep=Upkeep(compact=False, indices=wishes)))
    assert rows["worn"].indices_created == ("a",)
    assert rows["fine"].indices_created == ("a", "s")
    assert rows["other"].indices_created == rows["empty"].indices_created == ()
    found = catalog.open_table(["sales", "fine"]).describe_indices()
    assert sorted((each.name, each.index_type) for each in found) == [
        ("a_idx", "BTree"),
        ("s_idx", "Inverted"),
    ]
    with pytest.raises(InvalidInputError, match="unknown index type 'QUICK'"):
        maintain(catalog, upkeep=Upkeep(indices=[IndexWish(column="a", type="QUICK")]))


def test_old_versions_and_orphans_are_deleted_by_age(catalog: Namespace) -> None:
    dataset = catalog.open_table(["sales", "worn"])
    dataset.tags.create("kept", 1)
    (orphan,) = write_fragments(TEN, dataset.uri, mode="append")
    path = Path(dataset.uri, "data", orphan.files[0].path)
    week = timedelta(days=7)
    young = Upkeep(compact=False, cleanup_older_than=week, orphans_older_than=week)
    assert by_name(maintain(catalog, upkeep=young))["worn"].freed_bytes == 0
    assert path.exists()
    old = Upkeep(cleanup_older_than=NOW, orphans_older_than=NOW)
    planned = by_name(maintain(catalog, upkeep=old, dry_run=True))["worn"]
    assert planned.orphans_deleted == 1 and path.exists()
    row = by_name(maintain(catalog, upkeep=old))["worn"]
    assert not path.exists()
    assert row.orphans_deleted == 1 and row.versions_deleted > 0 and row.freed_bytes > 0
    left = catalog.open_table(["sales", "worn"])
    assert left.count_rows() == 20
    assert left.checkout_version("kept").count_rows() == 10


def test_a_budget_of_bytes_leaves_the_rest_to_the_next_run(
    catalog: Namespace, tmp_path: Path
) -> None:
    state = tmp_path / "state.jsonl"
    put(catalog, ["sales", "worse"], TEN, max_rows_per_file=1)
    sizes = {
        name: row.rewritten_bytes for name, row in by_name(maintain(catalog, dry_run=True)).items()
    }
    most = min(sizes["worn"], sizes["worse"])
    small = Upkeep(max_bytes=max(sizes["worn"], sizes["worse"]))
    rows = by_name(maintain(catalog, upkeep=small, state=state, max_concurrency=1))
    left = [name for name, row in rows.items() if row.left]
    assert len(left) == 1 and rows[left[0]].left == f"compaction of {sizes[left[0]]:,} bytes"
    assert state.exists()
    second = by_name(maintain(catalog, upkeep=small, state=state))
    assert second[left[0]].left is None and second[left[0]].rewritten_bytes >= most
    assert not state.exists()


def test_nothing_starts_after_the_time_budget(catalog: Namespace, tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    before = catalog.open_table(["sales", "worn"]).version
    rows = maintain(catalog, upkeep=Upkeep(max_hours=0), state=state)
    assert {row.left for row in rows} == {"all of it"}
    assert catalog.open_table(["sales", "worn"]).version == before
    assert not state.exists(), "a run that got nowhere must not leave tables out of the next"


def test_a_conflict_is_retried_and_a_permanent_one_leaves_nothing(
    catalog: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(catalog, ["busy"], TEN, max_rows_per_file=2)
    only = Selection(patterns=["busy"])
    real = TableUpkeep._run
    times: list[int] = []

    def run(self: TableUpkeep, tasks: Any, work: Any) -> Any:
        answers = real(self, tasks, work)
        if len(times) < most:
            times.append(1)
            catalog.open_table(["busy"]).delete(f"a = {len(times)}")
        return answers

    monkeypatch.setattr(TableUpkeep, "_run", run)
    most = 3
    (row,) = maintain(catalog, only)
    assert (row.code, row.new_fragments, len(times)) == (14, 0, 3)
    files = Upkeep(compact=False, update_indices=False, orphans_older_than=NOW)
    assert maintain(catalog, only, files)[0].orphans_deleted == 0
    most = 4
    (row,) = maintain(catalog, only)
    assert (row.problem, row.new_fragments, len(times)) == (None, 1, 4)
    assert catalog.open_table(["busy"]).to_table()["a"].to_pylist() == [0, *range(5, 10)]


def test_a_failed_table_does_not_block_the_others(catalog: Namespace) -> None:
    damaged = put(catalog, ["damaged"], TEN, max_rows_per_file=2)
    for file in Path(damaged.uri, "data").glob("*.lance"):
        file.write_bytes(b"nothing like data")
    rows = by_name(maintain(catalog))
    assert rows["damaged"].problem is not None and "damaged" in rows["damaged"].problem
    assert rows["worn"].problem is None and rows["worn"].new_fragments


def test_an_interrupt_stops_the_tables_in_progress(
    catalog: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def progress(done: int, total: int) -> None:
        raise KeyboardInterrupt

    steps: list[str] = []
    real = TableUpkeep._compact

    def compact(self: TableUpkeep, dataset: Any) -> None:
        steps.append(self.row.table[-1])
        real(self, dataset)

    monkeypatch.setattr(TableUpkeep, "_compact", compact)
    with pytest.raises(KeyboardInterrupt):
        maintain(catalog, max_concurrency=1, progress=progress)
    assert len(steps) < 2


def test_the_maintain_command(catalog: Namespace, tmp_path: Path) -> None:
    options = ["--impl", "memory", "-p", f"root={tmp_path / 'lake'}"]
    dry = run("maintain", *options, "--dry-run", "--index", "a=BTREE").stdout
    assert "5 fragments compacted, index of a created, index s_idx updated" in dry
    assert dry.endswith("nothing was changed (--dry-run)\n")
    assert catalog.open_table(["sales", "fine"]).version == 1
    done = json.loads(run("maintain", "sales", *options, "--json", "--index", "a=BTREE").stdout)
    assert done["summary"]["indices_created"] == 2
    Path(put(catalog, ["bad"], TEN, max_rows_per_file=2).uri, "data").rename(tmp_path / "gone")
    failed = CliRunner().invoke(app, ["maintain", *options])
    assert failed.exit_code == Status.NOT_DONE
    assert "bad" in failed.stdout and "1 problems" in failed.stdout


def test_spark_does_the_work_if_a_session_is_passed(tmp_path: Path, spark: Any) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    for name in ("one", "two"):
        lance.write_dataset(TEN, str(tmp_path / f"{name}.lance"), max_rows_per_file=2)
    upkeep = Upkeep(indices=[IndexWish(column="a", type="BTREE")])
    rows = maintain(lake, Selection(), upkeep, spark=spark)
    assert [(row.table[-1], row.new_fragments, row.indices_created) for row in rows] == [
        ("one", 1, ("a",)),
        ("two", 1, ("a",)),
    ]
    assert rows.to_frame(spark).where("problem is null").count() == 2
    damaged = tmp_path / "bad.lance"
    lance.write_dataset(TEN, str(damaged), max_rows_per_file=2)
    for file in (damaged / "data").glob("*.lance"):
        file.write_bytes(b"nothing like data")
    failed = by_name(maintain(lake, Selection(), upkeep, spark=spark))["bad"]
    assert failed.problem is not None and "Traceback" not in failed.problem
