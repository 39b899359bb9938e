"""Options that inventory, sync, maintain and import-tables pass to their jobs, and their output."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from lance_namespace_impls import maintenance, spark
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.commands import import_tables, jobs
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.ingest.file_import import SMALL_BYTES
from lance_namespace_impls.maintenance import (
    IndexWish,
    Mirror,
    Rows,
    Selection,
    SyncRow,
    TableRow,
    Upkeep,
    UpkeepRow,
)
from lance_namespace_impls.spark import ImportRow

from .lakes import Lake, run

NOTHING = "nothing was changed (--dry-run)"
# A normal table, a declared one, one with orphaned files, and one that fails.
TABLES = [
    TableRow(
        table=("a", "t"), version=3, rows=1200, deleted_rows=10, bytes=3400, fragments=5,
        small_fragments=2, indices=(), unindexed_rows=0,
        last_commit=datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC),
    ),
    TableRow(table=("d",), declared_only=True),
    TableRow(table=("o",), orphan_files=1500, orphan_bytes=2500, small_fragments=1, rows=1, bytes=1),
    TableRow(table=("x",), problem="it is broken", code=19),
]  # fmt: skip
UPKEEP = [
    UpkeepRow(
        table=("a", "t"), compacted_fragments=1200, new_fragments=1, rewritten_bytes=10,
        indices_created=("id", "v"), indices_updated=("s_idx",), versions_deleted=4,
        orphans_deleted=5, freed_bytes=60,
    ),
    UpkeepRow(table=("idle",)),
    UpkeepRow(table=("later",), left="2 bytes of budget"),
    UpkeepRow(table=("x",), problem="it is broken", code=19, compacted_fragments=1),
]  # fmt: skip
STEPS = [
    SyncRow(id=("same",), step="none", source=("same",)),
    SyncRow(id=("a", "t"), step="register", source=("t",), done=True, lost=("p", "q")),
    SyncRow(id=("extra",), step="only_at_target"),
    SyncRow(id=("todo",), step="declare", source=("todo",)),
    SyncRow(id=("x",), step="refuse", source=("x",), problem="it is too deep", code=13),
]
IMPORTED = [
    ImportRow(table=("a", "t"), source="t.csv", version=2, rows=1200, read_with="csv",
              columns=("id: int64", "s: utf8"), checked=True),
    ImportRow(table=("k",), source="k.csv", version=1, rows=0),
    ImportRow(table=("x",), source="x.csv", problem="it is no CSV", code=20),
]  # fmt: skip


class Job:
    """A stand-in for a job that records its arguments and returns rows."""

    def __init__(self, rows: Rows[Any]) -> None:
        self.rows = rows
        self.given: tuple[Any, ...] = ()
        self.options: dict[str, Any] = {}

    def __call__(self, *given: Any, **options: Any) -> Rows[Any]:
        self.given, self.options = given, options
        progress = options["progress"]
        progress(1, 2, "a table") if "cores" in options else progress(1, 2)
        return self.rows


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Job]:
    found = {
        "inventory": Job(Rows(TableRow, TABLES)),
        "maintain": Job(Rows(UpkeepRow, UPKEEP)),
        "sync": Job(Rows(SyncRow, STEPS)),
        "import_tables": Job(Rows(ImportRow, IMPORTED)),
    }
    for name, job in found.items():
        package = spark if name == "import_tables" else maintenance
        monkeypatch.setattr(package, name, job)
    inside = sys.modules["lance_namespace_impls.maintenance.inventory"]
    monkeypatch.setattr(inside, "inventory", found["inventory"])
    return found


@pytest.fixture
def mapping(tmp_path: Path) -> str:
    file = tmp_path / "tables.toml"
    file.write_text('[[table]]\nid = "t"\nfiles = ["t.csv"]\n')
    return str(file)


def shown(lake: Lake, *arguments: str, status: int = Status.NOT_DONE) -> list[str]:
    result = CliRunner().invoke(app, [*arguments, *lake.options])
    assert result.exit_code == status, result.output
    return result.stdout.splitlines()


def document(lake: Lake, *arguments: str) -> Any:
    return json.loads("\n".join(shown(lake, *arguments, "--json")))


def cells(lines: list[str]) -> list[list[str]]:
    """Return the cells of a table, which are separated by two spaces. Empty cells are omitted."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


@pytest.mark.parametrize("name", ["inventory", "maintain", "sync", "import_tables"])
def test_the_bar_shows_the_progress(
    made: dict[str, Job], lake: Lake, mapping: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bar:
        def update(self, *given: Any) -> None:
            updates.append(given)

    @contextmanager
    def progress(what: str) -> Iterator[Bar]:
        yield Bar()

    updates: list[Any] = []
    monkeypatch.setattr(jobs, "progress", progress)
    monkeypatch.setattr(import_tables, "progress", progress)
    more = {"sync": ["--to-impl", "memory"], "import_tables": [mapping]}.get(name, [])
    shown(lake, name.replace("_", "-"), *more, status=Status.OK if name == "inventory" else 1)
    notes = {"sync": "1 of 2 steps", "import_tables": "a table"}
    assert updates == [(1, 2, notes.get(name, "1 of 2"))]


def test_maintain_passes_every_option(made: dict[str, Job], lake: Lake, tmp_path: Path) -> None:
    job = made["maintain"]
    shown(lake, "maintain")
    assert job.given[1:] == (Selection(), Upkeep(rows_per_fragment=1 << 20, indices=[]))
    assert job.options["dry_run"] is False
    assert Path(job.options["state"]).parent == tmp_path / "state" / "lance-ns"
    shown(
        lake, "maintain", "a$b", "--table", "*_1", "--table", "x", "--no-compact",
        "--rows-per-fragment", "7", "--index", "id=BTREE",
        "--index", "v=IVF_PQ,num_partitions=4,distance_type=cosine",
        "--no-update-indices", "--cleanup-older-than", "14", "--orphans-older-than", "0.5",
        "--max-hours", "1.5", "--max-bytes", "99", "--state", "s.jsonl", "--dry-run",
    )  # fmt: skip
    assert job.given[1:] == (
        Selection(under=("a", "b"), patterns=["*_1", "x"]),
        Upkeep(
            compact=False,
            rows_per_fragment=7,
            indices=[
                IndexWish(column="id", type="BTREE"),
                IndexWish(
                    column="v",
                    type="IVF_PQ",
                    options={"num_partitions": 4, "distance_type": "cosine"},
                ),
            ],
            update_indices=False,
            cleanup_older_than=datetime.timedelta(days=14),
            orphans_older_than=datetime.timedelta(hours=12),
            max_hours=1.5,
            max_bytes=99,
        ),
    )
    assert (job.options["dry_run"], job.options["state"]) == (True, Path("s.jsonl"))


def test_maintain_shows_its_work(made: dict[str, Job], lake: Lake) -> None:
    lines = shown(lake, "maintain")
    assert cells(lines[:-1]) == [
        ["Table", "Work", "Result"],
        [
            "a$t",
            "1,200 fragments compacted, index of id created, index of v created, "
            "index s_idx updated, 4 versions deleted, 5 orphans deleted",
            "ok",
        ],
        ["later", "left for the next run: 2 bytes of budget"],
        ["x", "1 fragments compacted", "19: it is broken"],
    ]
    assert lines[-1] == (
        "4 tables, 1,201 fragments compacted, 10 bytes rewritten, 2 indices created, "
        "1 indices updated, 60 bytes freed, 1 left, 1 problems"
    )
    assert shown(lake, "maintain", "--dry-run")[-1] == f"{lines[-1]}; {NOTHING}"
    found = document(lake, "maintain")
    assert found["summary"] == {
        "tables": 4, "fragments_compacted": 1201, "bytes_rewritten": 10, "indices_created": 2,
        "indices_updated": 1, "bytes_freed": 60, "left": 1, "problems": 1,
    }  # fmt: skip
    assert found["tables"] == made["maintain"].rows.to_dicts()
    made["maintain"].rows = Rows(UpkeepRow, UPKEEP[1:2])
    [only] = shown(lake, "maintain", status=Status.OK)
    assert only.startswith("1 tables, 0 fragments compacted")


def test_inventory_passes_every_option(made: dict[str, Job], lake: Lake, state: Path) -> None:
    job = made["inventory"]
    shown(lake, "inventory", status=Status.OK)
    assert job.given[1:] == (Selection(),) and job.options["orphans_older_than"] is None
    assert Path(job.options["state"]).parent == state / "lance-ns"
    options = ("--table", "x", "--orphans-older-than", "2", "--state", "s", "--delimiter", ".")
    shown(lake, "inventory", "a.b", *options, status=Status.OK)
    assert job.given[1:] == (Selection(under=("a", "b"), patterns=["x"], delimiter="."),)
    assert job.options["orphans_older_than"] == datetime.timedelta(days=2)
    assert job.options["state"] == Path("s")


def test_a_dry_run_of_inventory_names_the_tables(made: dict[str, Job], lake: Lake) -> None:
    for name in ("a1", "a2", "b"):
        lake.run("declare", name)
    command = ("inventory", "--dry-run", "--table", "a*")
    assert lake.json(*command) == {"tables": [["a1"], ["a2"]]}
    assert lake.run(*command).stdout == f"a1\na2\n2 tables; {NOTHING}\n"
    assert made["inventory"].given == ()


def test_inventory_shows_every_table(made: dict[str, Job], lake: Lake) -> None:
    *lines, last = shown(lake, "inventory", status=Status.OK)
    assert cells(lines) == [
        ["Table", "Rows", "Deleted", "Bytes", "Fragments", "Small", "Indices", "Unindexed",
         "Version", "Last commit", "State"],
        ["a$t", "1,200", "10", "3,400", "5", "2", "0", "0", "3", "2024-05-06 07:08:09", "ok"],
        ["d", "declared"],
        ["o", "1", "1", "1", "1,500 orphans with 2,500 bytes"],
        ["x", "19: it is broken"],
    ]  # fmt: skip
    assert last == (
        "4 tables, 1 declared only, 1 unreadable, 1,201 rows, 3,401 bytes, 3 small fragments"
    )
    found = lake.json("inventory")
    assert found["tables"] == made["inventory"].rows.to_dicts()
    assert found["summary"]["small_fragments"] == 3
    made["inventory"].rows = Rows(TableRow, [])
    assert len(shown(lake, "inventory", status=Status.OK)) == 1


def test_sync_passes_every_option(made: dict[str, Job], lake: Lake, tmp_path: Path) -> None:
    job = made["sync"]
    to = ("--to-impl", "memory", "-P", f"root={tmp_path / 'other'}")
    shown(lake, "sync", *to)
    source, target, mirror = job.given
    assert (source.config.impl, target.config.impl) == ("dir", "memory")
    assert target.config.root == str(tmp_path / "other")
    assert mirror == Mirror()
    assert (job.options["accept_losses"], job.options["dry_run"]) == (False, False)
    shown(lake, "sync", "a", "--table", "x", "--into", "m$n", "--flatten", "_", "--copy-data",
          "--accept-losses", "--dry-run", *to)  # fmt: skip
    assert job.given[2] == Mirror(
        selection=Selection(under=("a",), patterns=["x"]),
        into=("m", "n"),
        flatten="_",
        copy_data=True,
    )
    assert (job.options["accept_losses"], job.options["dry_run"]) == (True, True)
    shown(lake, "sync", "--prune", *to)
    assert job.given[2] == Mirror(prune=True)


def test_sync_reads_the_target_catalog_from_a_profile(
    made: dict[str, Job], lake: Lake, tmp_path: Path
) -> None:
    run("profiles", "add", "other", "--impl", "memory", "-p", f"root={tmp_path / 'a'}")
    shown(lake, "sync", "--to-profile", "other")
    assert made["sync"].given[1].config.root == str(tmp_path / "a")
    shown(lake, "sync", "--to-profile", "other", "-P", f"root={tmp_path / 'b'}")
    assert made["sync"].given[1].config.root == str(tmp_path / "b")
    for wrong in ((), ("--to-profile", "other", "--to-impl", "dir")):
        said = lake.error("sync", *wrong, status=Status.USAGE)
        assert "no other namespace selected: pass --to-impl NAME or --to-profile" in said
    assert "no profile 'gone'" in lake.error("sync", "--to-profile", "gone", status=Status.USAGE)


def test_sync_shows_every_step(made: dict[str, Job], lake: Lake) -> None:
    to = ("--to-impl", "memory")
    *lines, last = shown(lake, "sync", *to)
    assert cells(lines) == [
        ["STEP", "ID", "FROM", "LOST", "RESULT"],
        ["register", "a$t", "t", "p; q", "done"],
        ["only_at_target", "extra", "kept"],
        ["declare", "todo", "todo", "kept"],
        ["refuse", "x", "x", "13: it is too deep"],
    ]
    assert last == "1 as it should be, 1 only at target, 1 done, 0 to do, 1 problems"
    *lines, last = shown(lake, "sync", "--dry-run", *to)
    assert cells(lines)[3] == ["declare", "todo", "todo", "-"]
    assert last == f"1 as it should be, 1 only at target, 1 done, 2 to do, 1 problems; {NOTHING}"
    found = document(lake, "sync", *to)
    assert found["steps"] == made["sync"].rows.to_dicts()
    assert found["summary"]["as_it_should_be"] == found["summary"]["problems"] == 1
    made["sync"].rows = Rows(SyncRow, STEPS[:1])
    assert len(shown(lake, "sync", *to, status=Status.OK)) == 1


def test_import_tables_passes_every_option(
    made: dict[str, Job], lake: Lake, mapping: str, state: Path
) -> None:
    job = made["import_tables"]
    shown(lake, "import-tables", mapping)
    [source] = job.given[1]
    assert tuple(source.table) == ("t",)
    given = dict(job.options)
    assert callable(given.pop("spark")) and callable(given.pop("progress"))
    assert Path(given.pop("state")).parent == state / "lance-ns"
    assert given == {"dry_run": False, "cores": None, "small_bytes": SMALL_BYTES}
    shown(lake, "import-tables", mapping, "--cores", "3", "--spark", "--state", "s", "--dry-run")
    given = dict(job.options)
    assert callable(given.pop("spark")) and callable(given.pop("progress"))
    assert given == {"dry_run": True, "cores": 3, "small_bytes": -1, "state": Path("s")}
    shown(lake, "import-tables", mapping, "--no-spark")
    assert (job.options["spark"], job.options["small_bytes"]) == (None, SMALL_BYTES)


def test_import_tables_shows_every_table(made: dict[str, Job], lake: Lake, mapping: str) -> None:
    command = ("import-tables", mapping)
    *lines, last = shown(lake, *command)
    assert cells(lines) == [
        ["Table", "Source", "Rows", "Version", "Read with", "Columns", "Result"],
        ["a$t", "t.csv", "1,200", "2", "csv", "id: int64, s: utf8", "checked"],
        ["k", "k.csv", "0", "1", "kept"],
        ["x", "x.csv", "20: it is no CSV"],
    ]
    assert last == "3 tables, 2 imported, 1,200 rows, 1 problems"
    *lines, last = shown(lake, *command, "--dry-run")
    assert cells(lines)[2][-1] == "-"
    assert last == f"3 tables, 0 imported, 1,200 rows, 1 problems; {NOTHING}"
    assert document(lake, *command)["tables"] == made["import_tables"].rows.to_dicts()
    made["import_tables"].rows = Rows(ImportRow, IMPORTED[:2])
    assert shown(lake, *command, status=Status.OK)[-1].endswith("0 problems")


@pytest.mark.parametrize("name", ["inventory", "maintain", "sync", "import_tables"])
def test_rows_are_saved_in_each_format(
    made: dict[str, Job], lake: Lake, mapping: str, tmp_path: Path, name: str
) -> None:
    more = {"sync": ["--to-impl", "memory"], "import_tables": [mapping]}.get(name, [])
    rows = made[name].rows.to_arrow()
    status = Status.OK if name == "inventory" else Status.NOT_DONE
    command = (name.replace("_", "-"), *more, "--output")
    for ending in ("parquet", "arrow", "csv"):
        shown(lake, *command, str(tmp_path / f"out.{ending}"), status=status)
    assert parquet.read_table(tmp_path / "out.parquet") == rows
    with pa.ipc.open_file(tmp_path / "out.arrow") as reader:
        assert reader.read_all() == rows
    text = (tmp_path / "out.csv").read_text().splitlines()
    assert text[0].split(",") == rows.column_names and len(text) == rows.num_rows + 1
    made[name].given = ()
    said = lake.error(*command, "out.txt", status=Status.USAGE)
    assert said.endswith("--output: out.txt must end in .parquet, .csv or .arrow")
    assert made[name].given == ()
