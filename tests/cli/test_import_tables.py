"""Output and exit status of lance-ns import-tables. The job itself has separate tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status

from .lakes import Lake

GOOD = '[[table]]\nid = "orders"\nfiles = ["{data}/orders.csv"]\noptions = { delimiter = ";" }\n'
BAD = '[[table]]\nid = "broken"\nfiles = ["{data}/broken.csv"]\n'


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "orders.csv").write_text("id;zip\n1;01234\n2;\n")
    (tmp_path / "broken.csv").write_text('id\n1\n"2\n')
    return tmp_path


def mapping(data: Path, *tables: str) -> str:
    file = data / "tables.toml"
    file.write_text("".join(tables).replace("{data}", str(data)))
    return str(file)


def test_a_dry_run_shows_the_detected_format_and_imports_nothing(lake: Lake, data: Path) -> None:
    file = mapping(data, GOOD)
    document = lake.json("import-tables", file, "--dry-run")
    (table,) = document["tables"]
    assert "delimiter ';'" in table["read_with"]
    assert table["columns"] == ["id: int64", "zip: utf8"]
    assert "nothing was changed" in lake.run("import-tables", file, "--dry-run").stdout
    assert "orders" not in lake.run("ls").stdout


def test_a_failed_table_sets_the_status_and_the_next_run_imports_it(lake: Lake, data: Path) -> None:
    file = mapping(data, GOOD, BAD)
    result = CliRunner().invoke(app, ["import-tables", file, *lake.options])
    assert result.exit_code == Status.NOT_DONE
    shown = result.stdout
    assert re.search(r"2 tables, 1 imported, 2 rows, 1 problems", shown)
    assert "20: " in shown
    (data / "broken.csv").write_text("id\n1\n")
    document = lake.json("import-tables", file)
    assert document["summary"] == {"tables": 2, "imported": 2, "rows": 3, "problems": 0}
    assert [table["checked"] for table in document["tables"]] == [True, True]
    assert [table["version"] for table in document["tables"]] == [1, 1]
    assert not list((data / "state").rglob("*.jsonl"))


def test_a_query_is_rejected_without_spark(lake: Lake, data: Path) -> None:
    file = mapping(data, '[[table]]\nid = "q"\nquery = "SELECT 1 AS a"\n')
    error = lake.error("import-tables", file, "--no-spark", status=Status.INVALID)
    assert "pass a session" in error
