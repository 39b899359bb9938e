"""lance-ns sql: a statement reads the tables of a catalog, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.server import serving

from .lakes import ROWS, Lake


@pytest.fixture
def flat(tmp_path: Path) -> Lake:
    path = str(tmp_path / "lake")
    with connect("dir", {"path": path}) as namespace:
        namespace.create_table({"id": ["flights"]}, ROWS)
        namespace.create_table(
            {"id": ["my table"]}, pa.table({"carrier": ["AA", "UA"], "n": [1, 2]})
        )
    return Lake("dir", path=path)


@pytest.fixture
def deep(tmp_path: Path) -> Lake:
    path = str(tmp_path / "deep")
    with connect("dir", {"path": path, "manifest": "true"}) as namespace:
        for levels in (["db"], ["cat"], ["cat", "db"]):
            namespace.create_namespace({"id": levels})
        for number, levels in enumerate((["db", "t"], ["cat", "db", "t"])):
            namespace.create_table({"id": levels}, pa.table({"n": [number]}))
    return Lake("dir", path=path)


def test_tables_have_the_names_of_the_catalog(flat: Lake, deep: Lake) -> None:
    statement = 'SELECT f.carrier, n FROM flights f JOIN "my table" USING (carrier) ORDER BY n'
    rows = [{"carrier": "AA", "n": 1}, {"carrier": "UA", "n": 2}]
    assert flat.json("sql", statement) == {"columns": ["carrier", "n"], "rows": rows}
    for name, found in (("db.t", 0), ("cat.db.t", 1), ('"db$t"', 0), ('"cat$db$t"', 1)):
        assert deep.json("sql", f"SELECT n FROM {name}")["rows"] == [{"n": found}]
    both = "SELECT a.n + 10 * b.n AS both FROM db.t a, cat.db.t b"
    assert deep.run("sql", both, "--csv").stdout == '"both"\n10\n'


def test_a_repeated_table_a_with_clause_and_an_output_file(flat: Lake, tmp_path: Path) -> None:
    statement = (
        "WITH t AS (SELECT delay FROM flights) SELECT count(*) AS n FROM t, flights, flights g"
    )
    target = tmp_path / "out.arrow"
    flat.run("sql", statement, "--arrow", str(target))
    with pa.ipc.open_file(target) as reader:
        assert reader.read_all().to_pylist() == [{"n": 27}]


def test_a_statement_over_rest(tmp_path: Path) -> None:
    with connect("memory", {}) as namespace, serving(namespace) as uri:
        namespace.create_table({"id": ["t"]}, ROWS)
        found = Lake("rest", uri=uri).json("sql", "SELECT max(delay) AS most FROM t")
    assert found["rows"] == [{"most": 12.0}]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM '{folder}/data.csv'",
        "SELECT * FROM 'http://127.0.0.1:9/x.parquet'",
        "COPY (SELECT 1) TO '{folder}/written.csv'",
        "ATTACH '{folder}/other.db'",
        "CREATE TABLE x AS SELECT 1",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SELECT 1; SELECT 2",
        "SELECT no_such_column FROM flights",
        "SELECT",
        "",
    ],
)
def test_nothing_else_is_read_or_written(flat: Lake, tmp_path: Path, statement: str) -> None:
    (tmp_path / "secret").write_text("hunter2")
    (tmp_path / "data.csv").write_text("a\nhunter2\n")
    before = sorted(tmp_path.rglob("*"))
    text = statement.format(secret=tmp_path / "secret", folder=tmp_path)
    result = flat.run("sql", text, status=Status.INVALID)
    assert "hunter2" not in result.output
    assert sorted(tmp_path.rglob("*")) == before


def test_invalid_statements_are_reported(flat: Lake) -> None:
    said = flat.error("sql", "DROP TABLE flights", status=Status.INVALID)
    assert said.endswith("the statement is not a SELECT; lance-ns sql is read-only")
    assert "syntax error" in flat.error("sql", "SELCT 1", status=Status.INVALID)
    assert "pass only one statement" in flat.error(
        "sql", "SELECT 1; SELECT 2", status=Status.INVALID
    )
    said = flat.error("sql", "SELECT gone FROM flights", status=Status.INVALID)
    assert "the statement failed: Binder Error: " in said and "gone" in said
    assert "LINE 1" not in said, "the first line alone"


def test_a_missing_table(flat: Lake) -> None:
    assert "TableNotFound" in flat.error("sql", "SELECT 1 FROM gone", status=Status.NOT_FOUND)


def test_too_many_levels(deep: Lake) -> None:
    said = deep.error("sql", "SELECT 1 FROM a.b.c.d", status=Status.INVALID)
    assert "write its ID as one name" in said


def test_rows_of_every_type(tmp_path: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0, 3.0, 4.0], pa.float32()), 2)
    table = pa.table({"v": vectors, "s": [{"a": 1}, None], "b": [b"\x00", b"\xff"]})
    path = str(tmp_path / "types")
    with connect("dir", {"path": path}) as namespace:
        namespace.create_table({"id": ["t"]}, table)
    found = Lake("dir", path=path).run("sql", "SELECT * FROM t", "--json").stdout
    assert json.loads(found)["rows"][0] == {"v": [1.0, 2.0], "s": {"a": 1}, "b": "AA=="}
