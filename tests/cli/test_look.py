"""lance-ns head, schema, count, query, stats, versions, diff and export."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.cli.failures import Status

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
    with connect("dir", {"path": lake.options[-1].removeprefix("path=")}) as namespace:
        table = namespace.table("notes").create(ROWS)
        table.tag("first")
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


def test_two_versions_are_one_too_many(notes: Lake) -> None:
    message = notes.error("count", "notes", "--version", "1", "--tag", "x", status=Status.USAGE)
    assert "--version and --tag" in message


def test_csv_goes_to_stdout(notes: Lake) -> None:
    text = notes.run("head", "notes", "--csv", "--select", "id,text").stdout
    assert list(csv.reader(io.StringIO(text))) == [
        ["id", "text"],
        ["1", "a red apple"],
        ["2", "a red car"],
    ]
    message = notes.error("head", "notes", "--csv", status=Status.INVALID)
    assert "leave vector out with --select" in message


def test_schema(notes: Lake) -> None:
    assert notes.run("schema", "notes").stdout.splitlines()[3].split() == [
        "vector",
        "fixed_size_list<float32>[2]",
        "yes",
    ]
    assert notes.json("schema", "notes")["columns"][0] == {
        "name": "id",
        "type": "int64",
        "nullable": True,
    }


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
        ("id:id = 9", "no row meets the condition"),
        ("id:true", "several rows meet the condition"),
    ],
)
def test_a_vector_that_is_none(notes: Lake, vector: str, said: str) -> None:
    assert said in notes.error("query", "notes", "--vector", vector, status=Status.USAGE)


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
    assert notes.run("stats", "notes").stdout.splitlines()[0].split() == ["rows", "2"]
    assert notes.json("stats", "notes")["num_rows"] == 2
    lines = notes.run("versions", "notes").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["Version", "2", "1"]
    newest = notes.json("versions", "notes", "-n", "1")["versions"]
    assert [version["version"] for version in newest] == [2]


def test_diff(notes: Lake) -> None:
    assert notes.run("diff", "notes", "first").stdout == (
        "rows  3 -> 2 (-1)\nthe columns are the same\n"
    )
    with connect("dir", {"path": notes.options[-1].removeprefix("path=")}) as namespace:
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
    notes.run("export", "notes", str(text), "--select", "id", "--overwrite")


def test_an_export_that_fails_leaves_nothing(notes: Lake, tmp_path: Path) -> None:
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


def test_rows_with_numbers_that_json_lacks(lake: Lake) -> None:
    with connect("dir", {"path": lake.options[-1].removeprefix("path=")}) as namespace:
        namespace.table("t").create({"x": [float("nan"), float("inf"), 1.5]})
    text = lake.run("head", "t", "--json").stdout
    found = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert [row["x"] for row in found["rows"]] == ["nan", "inf", 1.5]
