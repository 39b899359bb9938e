"""`inventory`: a row for each table of a catalog."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from lance.fragment import write_fragments

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.distributed.attempts import Attempts
from lance_namespace_impls.maintenance import IndexRow, Selection, inventory
from lance_namespace_impls.maintenance import inventory as inventory_module
from lance_namespace_impls.tables.orphans import delete_orphans, find_orphans
from tests.cli.lakes import run
from tests.spark.jobs.lakes import nested, put

pytestmark = pytest.mark.xdist_group("spark two")

TEN = pa.table({"a": range(10), "s": ["x"] * 10})
ALWAYS = timedelta(0)


@pytest.fixture
def catalog(tmp_path: Path) -> Namespace:
    """Return a catalog with four tables: plain, fragmented, declared and damaged."""
    namespace = nested(tmp_path / "lake")
    put(namespace, ["plain"], TEN)
    worn = put(namespace, ["sales", "eu", "worn"], TEN, max_rows_per_file=4)
    worn.create_scalar_index("a", "BTREE")
    worn.insert(TEN)
    worn.delete("a < 2")
    namespace.declare_table({"id": ["sales", "declared"]})
    damaged = put(namespace, ["sales", "damaged"], TEN)
    for manifest in Path(damaged.uri, "_versions").glob("*.manifest"):
        manifest.write_bytes(b"nothing like a manifest")
    return namespace


def test_a_row_describes_a_table_completely(catalog: Namespace) -> None:
    found = {row.table: row for row in inventory(catalog)}
    assert list(found) == [
        ("plain",),
        ("sales", "damaged"),
        ("sales", "declared"),
        ("sales", "eu", "worn"),
    ]
    plain, damaged, declared, worn = found.values()
    assert (plain.version, plain.rows, plain.deleted_rows, plain.fragments) == (1, 10, 0, 1)
    assert plain.problem is None and not plain.declared_only
    assert (plain.indices, plain.unindexed_rows) == ((), 0)
    assert datetime.now(UTC) - plain.last_commit < timedelta(days=1)
    assert (worn.rows, worn.deleted_rows, worn.fragments, worn.small_fragments) == (16, 4, 4, 4)
    assert worn.indices == (
        IndexRow(name="a_idx", type="BTree", columns=("a",), unindexed_rows=worn.unindexed_rows),
    )
    assert 6 <= worn.unindexed_rows <= 10
    data = Path(worn.location, "data").glob("*.lance")
    assert worn.bytes == sum(file.stat().st_size for file in data)
    assert worn.schema_hash == plain.schema_hash != ""
    assert worn.orphan_files is None
    assert declared.declared_only and declared.location and declared.version is None
    assert damaged.problem is not None and "sales$damaged" in damaged.problem
    assert damaged.code is not None and not damaged.declared_only


def test_rows_convert_to_arrow_and_dicts(catalog: Namespace) -> None:
    rows = inventory(catalog)
    table = rows.to_arrow()
    assert table.schema == inventory(catalog, Selection(patterns=["none"])).to_arrow().schema
    assert table.column("rows").to_pylist() == [10, None, None, 16]
    assert table.column("indices").to_pylist()[3][0]["columns"] == ["a"]
    assert json.loads(json.dumps(rows.to_dicts()))[0]["table"] == ["plain"]


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(under=["sales"]), ["damaged", "declared", "worn"]),
        (Selection(patterns=["sales$eu$*"]), ["worn"]),
        (Selection(patterns=["*ed", "plain"]), ["plain", "damaged", "declared"]),
        (Selection(under=["sales", "eu"], patterns=["plain"]), []),
    ],
)
def test_tables_are_chosen_by_namespace_and_pattern(
    catalog: Namespace, selection: Selection, names: list[str]
) -> None:
    assert [row.table[-1] for row in inventory(catalog, selection)] == names


def test_an_inventory_of_a_missing_namespace_is_an_error(catalog: Namespace) -> None:
    with pytest.raises(NamespaceNotFoundError):
        inventory(catalog, Selection(under=["nowhere"]))


def test_an_interrupted_inventory_is_resumed(
    catalog: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state.jsonl"
    whole = inventory(catalog)

    class Crash(BaseException):
        pass

    def crash(done: int, total: int) -> None:
        if done == 2:
            raise Crash

    with pytest.raises(Crash):
        inventory(catalog, state=state, max_concurrency=1, progress=crash)
    lines = state.read_text().splitlines()
    assert len(lines) == 3  # the header and two tables
    state.write_text("\n".join(lines) + '\n["half a li')
    looked: list[tuple[str, ...]] = []
    module = __import__(inventory_module.__module__, fromlist=["_inspect"])
    real = module._inspect
    monkeypatch.setattr(
        module,
        "_inspect",
        lambda n, table, orphans: looked.append(table) or real(n, table, orphans),
    )
    rows = inventory(catalog, state=state)
    assert len(looked) == 2
    assert list(rows) == list(whole)
    assert not state.exists()


def test_a_state_of_another_job_is_rejected_and_kept(catalog: Namespace, tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    for text in ("notes of mine\n", "notes of mine", '{"job": "sync", "of": "x"}\n'):
        state.write_text(text)
        with pytest.raises(InvalidInputError, match=r"state\.jsonl is not the state file of"):
            inventory(catalog, state=state)
        assert state.read_text() == text


def test_the_same_job_does_not_run_twice_concurrently(catalog: Namespace, tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"

    def again(done: int, total: int) -> None:
        with pytest.raises(ConcurrentModificationError, match="already running"):
            inventory(catalog, state=state)

    assert len(inventory(catalog, state=state, progress=again)) == 4


def test_files_that_no_version_uses_are_counted_and_deleted(tmp_path: Path) -> None:
    namespace = nested(tmp_path / "lake")
    dataset = put(namespace, ["t"], TEN)
    dataset.create_scalar_index("a", "BTREE")
    dataset.delete("a = 1")
    dataset.create_branch("b/1")
    dataset.checkout_version(("b/1", None)).insert(TEN)
    dataset.checkout_version(("b/1", None)).delete("a = 2")
    dataset.tags.create("first", 1)
    root = Path(dataset.uri)
    before = {path for path in root.rglob("*") if path.is_file()}
    assert find_orphans(dataset, ALWAYS) == []

    (lost,) = write_fragments(TEN, str(root), mode="append")
    (noted,) = write_fragments(TEN, str(root), mode="append")
    notes = Attempts(TableStorage(location=str(root), options={}), "0" * 32)
    notes.start()
    notes.note(noted.files[0].path)
    (root / "data" / "mine.txt").touch()
    (root / "data" / "mine.lance").touch()
    expected = {
        f"data/{lost.files[0].path}",
        f"data/{noted.files[0].path}",
        f"_transactions/{'0' * 32}/open",
        f"_transactions/{'0' * 32}/{noted.files[0].path}",
    }
    assert {each.path for each in find_orphans(dataset, ALWAYS)} == expected
    assert find_orphans(dataset, timedelta(days=1)) == []
    (row,) = inventory(namespace, orphans_older_than=ALWAYS)
    size = sum((root / path).stat().st_size for path in expected)
    assert (row.orphan_files, row.orphan_bytes) == (4, size)

    # The notes show that the job is still writing, so noted files are kept, whatever their age.
    os.utime(root / "data" / noted.files[0].path, (1, 1))
    os.utime(root / "data" / lost.files[0].path, (1, 1))
    found = find_orphans(dataset, timedelta(days=1))
    assert [each.path for each in found] == [f"data/{lost.files[0].path}"]

    storage = TableStorage(location=str(root), options={})
    assert delete_orphans(storage, find_orphans(dataset, ALWAYS)) == size
    left = {path for path in root.rglob("*") if path.is_file()}
    assert left == before | {root / "data" / "mine.txt", root / "data" / "mine.lance"}
    assert dataset.checkout_version(("b/1", None)).count_rows() == 17


def test_the_command_shows_and_summarizes(catalog: Namespace, tmp_path: Path) -> None:
    options = ["--impl", "memory", "-p", f"root={tmp_path / 'lake'}"]
    shown = run("inventory", *options).stdout.splitlines()
    assert [line.split()[0] for line in shown[1:5]] == [
        "plain",
        "sales$damaged",
        "sales$declared",
        "sales$eu$worn",
    ]
    assert shown[-1].startswith("4 tables, 1 declared only, 1 unreadable, 26 rows")
    found = json.loads(run("inventory", "sales", *options, "--json").stdout)
    assert found["summary"]["tables"] == 3
    assert [row["table"][-1] for row in found["tables"]] == ["damaged", "declared", "worn"]
    assert list((tmp_path / "state" / "lance-ns").iterdir()) == []


def test_rows_convert_to_a_frame(catalog: Namespace, spark: Any) -> None:
    frame = inventory(catalog).to_frame(spark)
    assert frame.where("small_fragments > 1").select("table").collect() == [
        (["sales", "eu", "worn"],)
    ]


def test_the_inventory_of_a_flat_catalog(tmp_path: Path) -> None:
    namespace = connect("dir", {"path": str(tmp_path)})
    put(namespace, ["t"], TEN)
    assert [row.rows for row in inventory(namespace)] == [10]
