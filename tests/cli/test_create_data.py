"""`create --data` and `import` produce the same types and nulls."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.tables.schema import column_types

CSV = (
    "zip,n,big,day,at,yes,none,text\n"
    "01234,1,99999999999999999999,2020-01-01,2020-01-01 10:00:00,true,,NULL\n"
    '55555,,2,2021-02-03,,false,,"two\nlines"\n'
)
JSON = (
    '{"n":1,"day":"2020-01-01","o":{"x":1},"v":[1.5],"none":null}\n'
    '{"n":99999999999999999999,"o":{"y":"a"}}\n'
)


def lake(root: Path, *arguments: str, status: int = Status.OK, **more: Any) -> str:
    result = CliRunner().invoke(app, [*arguments, "--impl", "dir", "-p", f"path={root}"], **more)
    assert result.exit_code == status, result.output
    return result.output


def rows(root: Path, table: str) -> pa.Table:
    return lance.dataset(root / f"{table}.lance").to_table()


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "json", "jsonl", "ndjson", "parquet"])
def test_create_and_import_produce_the_same_table(tmp_path: Path, ending: str) -> None:
    data, root = tmp_path / f"a.{ending}", tmp_path / "lake"
    if ending == "parquet":
        moments = pa.array([-(2**55), None], pa.timestamp("us"))  # outside the range of nanoseconds
        parquet.write_table(
            pa.table({"t": moments, "n": [1, 2]}), data, use_deprecated_int96_timestamps=True
        )
    elif "json" in ending or ending == "ndjson":
        data.write_text(JSON)
    else:
        content = CSV.replace(",", "\t") if ending == "tsv" else CSV
        with pa.output_stream(str(data), compression="detect") as out:
            out.write(content.encode())
    lake(root, "create", "one", "--data", str(data))
    lake(root, "import", "other", str(data), "--no-spark")
    assert rows(root, "one").schema == rows(root, "other").schema
    assert rows(root, "one") == rows(root, "other")
    assert rows(root, "one").num_rows == 2


def test_standard_input(tmp_path: Path) -> None:
    lake(tmp_path, "create", "c", "--data", "-", "--format", "csv", input=CSV)
    assert rows(tmp_path, "c")["zip"].to_pylist() == ["01234", "55555"]
    lake(tmp_path, "create", "j", "--data", "-", "--format", "jsonl", input=JSON)
    assert rows(tmp_path, "j").num_rows == 2
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, pa.schema([("n", pa.int8())])) as stream:
        stream.write_table(pa.table({"n": pa.array([1, 2], pa.int8())}))
    lake(tmp_path, "create", "a", "--data", "-", "--format", "arrow", input=sink.getvalue())
    assert rows(tmp_path, "a")["n"].to_pylist() == [1, 2]


def test_standard_input_needs_a_format(tmp_path: Path) -> None:
    said = lake(tmp_path, "create", "c", "--data", "-", status=Status.USAGE, input=CSV)
    assert "pass --format arrow, parquet, csv, json, jsonl" in said


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", 'a,b\n1,"x\n2,y\n', "a quote that opens in the row at line 2"),
        ("a.jsonl", '{"a":', "JSON parse error"),
        ("a.jsonl", '{"a":9007199254740993}\n{"a":0.5}\n', "column a has numbers with more digits"),
        ("a.csv", "", "no columns"),
    ],
)
def test_an_unreadable_file_creates_no_table(
    tmp_path: Path, name: str, content: str, said: str
) -> None:
    (tmp_path / name).write_text(content)
    for command in (("create", "t", "--data"), ("import", "t")):
        told = lake(tmp_path / "lake", *command, str(tmp_path / name), "--json", status=5)
        assert said in json.loads(told.strip().splitlines()[-1])["error"]
    (tmp_path / "lake").mkdir(exist_ok=True)
    assert json.loads(lake(tmp_path / "lake", "ls", "--json"))["tables"] == []


def test_a_dry_run_shows_the_result_and_changes_nothing(tmp_path: Path) -> None:
    data, root = tmp_path / "a.csv", tmp_path / "lake"
    root.mkdir()
    data.write_text(CSV)
    dry = ("import", "t", str(data), "--dry-run", "--option", "nulls=NULL,NA")
    shown = json.loads(lake(root, *dry, "--json"))
    assert json.loads(lake(root, "ls", "--json"))["tables"] == []
    assert not (root / "t.lance").exists()
    lake(root, "import", "t", str(data), "--option", "nulls=NULL,NA")
    schema = rows(root, "t").schema
    assert shown["columns"] == column_types(schema)  # the same as in describe
    assert shown["columns"]["zip"] == "utf8"
    assert (shown["files"], shown["bytes"], shown["format"]) == (1, data.stat().st_size, "csv")
    assert shown["read_with"]["delimiter"] == "','"
    assert shown["read_with"]["nulls"] == "'', 'NULL', 'NA'"
    data.rename(tmp_path / "unnamed")
    dry = ("import", "t", str(tmp_path / "unnamed"), "--dry-run", "--format", "csv")
    again = json.loads(lake(root, *dry, "--json", "--mode", "append", "--option", "nulls=NULL,NA"))
    assert again == shown
    assert "table t already exists" in lake(root, *dry, status=Status.EXISTS)
    text = lake(root, *dry, "--mode", "append")
    assert "nothing was imported" in text
    assert rows(root, "t").num_rows == 2
