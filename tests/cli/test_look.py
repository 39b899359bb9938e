"""lance-ns head, schema, count, query, stats, versions, diff and export."""

from __future__ import annotations

import csv
import datetime
import io
import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lance_namespace_client.models import ListTableVersionsRequest
from lance_namespace_impls.cli.commands import read
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.directory.namespace import DirectoryNamespace

from .lakes import Lake

ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "text": ["a red apple", "a red car", None],
        "vector": pa.array([[0.0, 1.0], [5.0, 1.0], [0.0, 2.0]], pa.list_(pa.float32(), 2)),
        "at": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
        "raw": [b"\x00\xff", b"", None],
    }
)


@pytest.fixture
def notes(lake: Lake) -> Lake:
    with lake.connect() as namespace:
        table = namespace.table("notes").create(ROWS)
        table.tags.create("first", table.version)
        table.delete("id = 3")
    return lake


def test_head(notes: Lake) -> None:
    lines = notes.run("head", "notes").stdout.splitlines()
    assert lines[0].split() == ["id", "text", "vector", "at", "raw"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2"]
    assert notes.json("head", "notes", "-n", "1", "--select", "id, text") == {
        "columns": ["id", "text"],
        "rows": [{"id": 1, "text": "a red apple"}],
    }
    assert notes.json("head", "notes", "--tag", "first")["rows"][2] == {
        "id": 3,
        "text": None,
        "vector": [0.0, 2.0],
        "at": "1970-01-01 00:00:00.000002+00:00",
        "raw": None,
    }
    assert notes.json("head", "notes", "--version", "1")["rows"][0]["raw"] == "AP8="


def test_version_and_tag_are_mutually_exclusive(notes: Lake) -> None:
    message = notes.error("count", "notes", "--version", "1", "--tag", "x", status=Status.USAGE)
    assert "--version and --tag" in message


def test_csv_is_written_to_stdout(notes: Lake) -> None:
    text = notes.run("head", "notes", "--csv", "--select", "id,text").stdout
    assert list(csv.reader(io.StringIO(text))) == [
        ["id", "text"],
        ["1", "a red apple"],
        ["2", "a red car"],
    ]
    message = notes.error("head", "notes", "--csv", status=Status.INVALID)
    assert "exclude vector with --select" in message


def test_schema(notes: Lake) -> None:
    assert notes.run("schema", "notes").stdout.splitlines()[3].split() == [
        "vector",
        "fixed_size_list<float32>[2]",
        "yes",
    ]
    found = notes.json("schema", "notes")
    assert found["id"] == ["notes"]
    assert found["columns"][0] == {"name": "id", "type": "int64", "nullable": True}


def test_schema_shows_nullable_columns(lake: Lake) -> None:
    schema = pa.schema([pa.field("a", pa.int8(), nullable=False), pa.field("b", pa.int8())])
    with lake.connect() as namespace:
        namespace.table("t").create(pa.table({"a": [1], "b": [2]}, schema=schema))
    lines = [line.split() for line in lake.run("schema", "t").stdout.splitlines()]
    assert lines == [["Column", "Type", "Nullable"], ["a", "int8", "no"], ["b", "int8", "yes"]]
    assert [each["nullable"] for each in lake.json("schema", "t")["columns"]] == [False, True]


def test_the_default_limit_is_ten_rows(lake: Lake) -> None:
    with lake.connect() as namespace:
        namespace.table("t").create({"id": range(12)})
    for command in ("head", "query"):
        assert len(lake.json(command, "t")["rows"]) == 10
        assert len(lake.json(command, "t", "-n", "11")["rows"]) == 11
        lake.error(command, "t", "-n", "0", status=Status.USAGE)


def test_a_branch(notes: Lake) -> None:
    notes.run("branch", "create", "notes", "old", "--version", "1")
    old = ("notes", "--branch", "old")
    assert notes.run("count", *old).stdout == "3\n"
    assert len(notes.json("head", *old)["rows"]) == len(notes.json("query", *old)["rows"]) == 3
    assert [each["name"] for each in notes.json("schema", *old)["columns"]] == ROWS.column_names
    notes.run("cp", "notes", "other")
    assert len(notes.json("versions", *old)["versions"]) < len(
        notes.json("versions", "notes")["versions"]
    )


def test_values_are_abbreviated(lake: Lake) -> None:
    values = {
        "null": None,
        "float": 1 / 3,
        "list": [1.0, 2.5, 1 / 3, 4.0],
        "short list": [1.0, 2.5, 3.0],
        "long": "x" * 41,
        "not too long": "x" * 40,
    }
    shown = [read._cell(value) for value in values.values()]
    assert shown == [
        ("null", "dim"),
        "0.333333",
        "[1, 2.5, 0.333333, … 4]",
        "[1.0, 2.5, 3.0]",
        "x" * 39 + "…",
        "x" * 40,
    ]


def test_json_represents_every_value() -> None:
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5)
    row = {"s": {"b": b"\x00\xff", 1: [(1, float("-inf"))]}, "t": moment, "n": None, "y": True}
    assert read._json(row) == {
        "s": {"b": "AP8=", "1": [[1, "-inf"]]}, "t": "2020-01-02 03:04:05", "n": None, "y": True,
    }  # fmt: skip


def test_count(notes: Lake) -> None:
    assert notes.run("count", "notes").stdout == "2\n"
    assert notes.run("count", "notes", "--tag", "first").stdout == "3\n"
    assert notes.json("count", "notes", "--where", "id = 1") == {"id": ["notes"], "count": 1}
    assert "4 TableNotFound" in notes.error("count", "none", status=Status.NOT_FOUND)


def ids(lake: Lake, *args: str) -> list[int]:
    return [row["id"] for row in lake.json("query", "notes", *args)["rows"]]


def test_query(notes: Lake, tmp_path: Path) -> None:
    assert ids(notes) == [1, 2]
    assert ids(notes, "--where", "id > 1") == [2]
    assert ids(notes, "--offset", "1") == [2]
    assert ids(notes, "--vector", "[5, 1]") == [2, 1]
    assert ids(notes, "--vector", "[5, 1]", "-n", "1", "--metric", "cosine") == [2]
    assert ids(notes, "--vector", "id:id = 2", "--column", "vector") == [2, 1]
    (tmp_path / "v.json").write_text("[5, 1]")
    np.save(tmp_path / "v.npy", np.array([5, 1], "float32"))
    for name in ("v.json", "v.npy"):
        assert ids(notes, "--vector", str(tmp_path / name)) == [2, 1]
    notes.run("index", "create", "notes", "text", "--type", "FTS")
    assert ids(notes, "--text", "apple") == [1]
    assert set(ids(notes, "--text", "apple", "--vector", "[5, 1]")) == {1, 2}


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ("5", "JSON list"),
        ("{}", "JSON list"),
        ("none.json", "cannot be read"),
        ("none.npy", "none.npy cannot be read: No such file or directory"),
        ("id:id = 9", "no row matches the condition"),
        ("id:true", "several rows match the condition"),
        ("bad.npy", "bad.npy is not a .npy file of numbers"),
        ("bad.json", "JSON list"),
    ],
)
def test_an_invalid_vector(
    notes: Lake, vector: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bad.npy", "bad.json"):
        Path(name).write_text("[5")
    assert said in notes.error("query", "notes", "--vector", vector, status=Status.USAGE)


def test_the_vector_column_can_be_selected(lake: Lake) -> None:
    kind = pa.list_(pa.float32(), 2)
    rows = pa.table({"id": [1, 2], "v": pa.array([[0, 1], [5, 1]], kind),
                     "w": pa.array([[9, 9], [0, 0]], kind)})  # fmt: skip
    with lake.connect() as namespace:
        namespace.table("t").create(rows)
        namespace.table("u").create({"id": [1]})
    near = ("query", "t", "--vector", "id:id = 2")
    for command, count in ((near, 2), (("query", "u", *near[2:]), 0)):
        said = lake.error(*command, status=Status.USAGE)
        assert said.endswith(f"the table has {count} vector columns; select one with --column")
    for column, found in (("v", [2, 1]), ("w", [2, 1])):
        rows_found = lake.json(*near, "--column", column)["rows"]
        assert [row["id"] for row in rows_found] == found
    given = ("query", "t", "--vector", "[9, 9]", "--select", "id")
    for column, nearest in (("v", 2), ("w", 1)):
        assert lake.json(*given, "--column", column, "-n", "1")["rows"][0]["id"] == nearest


def test_a_search_option_without_a_search(notes: Lake) -> None:
    assert "--vector or --text" in notes.error(
        "query", "notes", "--metric", "l2", status=Status.USAGE
    )


def test_query_to_a_file(notes: Lake, tmp_path: Path) -> None:
    file = tmp_path / "found.arrow"
    said = notes.run("query", "notes", "--where", "id = 1", "--arrow", str(file)).stdout
    assert said == f"1 rows written to {file}\n"
    with pa.ipc.open_file(file) as reader:
        assert reader.read_all()["id"].to_pylist() == [1]


def test_stats_and_versions(notes: Lake) -> None:
    notes.run("index", "create", "notes", "id", "--type", "BTREE")
    told = [line.split("  ") for line in notes.run("stats", "notes").stdout.splitlines()]
    assert [[part.strip() for part in line if part] for line in told] == [
        ["rows", "2"],
        ["bytes", f"{notes.json('stats', 'notes')['total_bytes']:,}"],
        ["indices", "1"],
        ["fragments", "1"],
        ["small fragments", "1"],
    ]
    assert notes.json("stats", "notes")["num_rows"] == 2
    lines = notes.run("versions", "notes").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["Version", "3", "2", "1"]
    for _, day, moment, *_ in (line.split() for line in lines[1:]):
        assert (
            datetime.datetime.fromisoformat(f"{day} {moment}").utcoffset() == datetime.timedelta()
        )
    assert read._moment(None) == "" and read._moment(1999) == "1970-01-01 00:00:01.999000+00:00"
    newest = notes.json("versions", "notes", "-n", "1")["versions"]
    assert [version["version"] for version in newest] == [3]


def test_versions_of_every_page_are_listed(notes: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        notes.run("restore", "notes", "1")
    method = DirectoryNamespace.list_table_versions

    def two_per_page(self: DirectoryNamespace, request: Any) -> Any:
        given = ListTableVersionsRequest.coerce(request)
        return method(self, attrs.evolve(given, limit=min(given.limit or 2, 2)))

    monkeypatch.setattr(DirectoryNamespace, "list_table_versions", two_per_page)
    for limit, found in ((None, [5, 4, 3, 2, 1]), (1, [5]), (2, [5, 4]), (3, [5, 4, 3])):
        given = [] if limit is None else ["-n", str(limit)]
        listed = notes.json("versions", "notes", *given)
        assert [each["version"] for each in listed["versions"]] == found
        assert len(notes.run("versions", "notes", *given).stdout.splitlines()) == len(found) + 1


def test_diff(notes: Lake) -> None:
    assert notes.run("diff", "notes", "first").stdout == (
        "rows  3 -> 2 (-1)\nthe columns are the same\n"
    )
    with notes.connect() as namespace:
        request = {"id": ["notes"], "new_columns": [{"name": "twice", "expression": "text"}]}
        namespace.alter_table_add_columns(request)
        namespace.alter_table_drop_columns({"id": ["notes"], "columns": ["raw"]})
    assert notes.json("diff", "notes", "1") == {
        "rows": {"old": 3, "new": 2},
        "columns": [
            {"column": "raw", "old": "binary", "new": None},
            {"column": "twice", "old": None, "new": "utf8"},
        ],
    }
    assert notes.run("diff", "notes", "1", "2").stdout.startswith("rows  3 -> 2")
    assert notes.run("diff", "notes", "1").stdout == (
        "rows  3 -> 2 (-1)\n- raw  binary\n+ twice  utf8\n"
    )


def test_diff_of_types(lake: Lake) -> None:
    with lake.connect() as namespace:
        schema = pa.schema([pa.field("a", pa.int32(), nullable=False)])
        namespace.table("t").create(pa.table({"a": range(1200)}, schema=schema))
        namespace.table("t").create({"a": ["x"] * 2400}, mode="overwrite")
    assert lake.run("diff", "t", "1", "2").stdout == (
        "rows  1,200 -> 2,400 (+1,200)\n~ a  int32 not null -> utf8\n"
    )


def test_export(notes: Lake, tmp_path: Path) -> None:
    parquet, arrow, text = (tmp_path / f"out.{end}" for end in ("parquet", "arrow", "csv"))
    assert notes.run("export", "notes", str(parquet)).stdout == f"2 rows written to {parquet}\n"
    assert pyarrow.parquet.read_table(parquet).equals(ROWS.slice(0, 2))
    notes.run("export", "notes", str(arrow), "--tag", "first", "--where", "id > 1")
    with pa.ipc.open_file(arrow) as reader:
        assert reader.read_all()["id"].to_pylist() == [2, 3]
    notes.run("export", "notes", str(text), "--select", "id,text")
    assert pyarrow.csv.read_csv(text)["id"].to_pylist() == [1, 2]
    message = notes.error("export", "notes", str(text), status=Status.USAGE)
    assert "--overwrite" in message
    done = notes.json(
        "export", "notes", str(text), "--select", "id", "--overwrite", "--version", "1"
    )
    assert done == {"file": str(text), "rows": 3}
    for name, options in (("a.feather", ()), ("a.ipc", ()), ("a.txt", ("--format", "arrow"))):
        notes.run("export", "notes", str(tmp_path / name), *options)
        with pa.ipc.open_file(tmp_path / name) as reader:
            assert reader.read_all()["id"].to_pylist() == [1, 2]


def test_a_failed_export_leaves_no_file(notes: Lake, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    assert "--select" in notes.error("export", "notes", str(file), status=Status.INVALID)
    assert "--format" in notes.error(
        "export", "notes", str(tmp_path / "x.txt"), status=Status.USAGE
    )
    missing = str(tmp_path / "none" / "x.csv")
    assert "cannot be written" in notes.error(
        "export", "notes", missing, "--select", "id", status=Status.USAGE
    )
    assert {path.name for path in tmp_path.iterdir()} <= {"lake", "config"}


def test_numbers_that_json_does_not_support(lake: Lake) -> None:
    with lake.connect() as namespace:
        namespace.table("t").create({"x": [float("nan"), float("inf"), 1.5]})
    text = lake.run("head", "t", "--json").stdout
    found = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert [row["x"] for row in found["rows"]] == ["nan", "inf", 1.5]
