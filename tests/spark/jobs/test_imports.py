"""`import_tables`: many tables in one run, checked, and resumed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from lance_namespace_client.errors import ErrorCode, InvalidInputError
from lance_namespace_impls.maintenance.state import JobState
from lance_namespace_impls.spark import ImportRow, import_tables, table_import
from lance_namespace_impls.spark.import_mapping import read_mapping
from tests.spark.conftest import Lake

MAPPING = """
[defaults]
mode = "exist_ok"

[[table]]
id = "orders"
files = ["{data}/orders-*.csv"]
options = { delimiter = ";", nulls = "NA" }

[[table]]
id = ["items"]
files = "{data}/items.parquet"
mode = "append"

[[table]]
id = "events"
files = ["{data}/events.jsonl.gz"]
types = "at: timestamp[us, UTC]"
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "orders-1.csv").write_text("id;zip;price\n1;01234;9.5\n2;NA;NA\n")
    (folder / "orders-2.csv").write_text("id;zip;price\n3;99999;1\n")
    parquet.write_table(pa.table({"a": range(5)}), folder / "items.parquet")
    with gzip.open(folder / "events.jsonl.gz", "wt") as file:
        file.write('{"n": 1, "at": "2024-01-01T00:00:00Z"}\n{"n": 2}\n')
    return folder


@pytest.fixture
def mapping(data: Path) -> Path:
    file = data / "tables.toml"
    file.write_text(MAPPING.replace("{data}", str(data)))
    return file


@pytest.fixture
def lake(quiet_lake: Lake) -> Lake:
    quiet_lake.put("items", pa.table({"a": [100]}))
    return quiet_lake


def results(rows: Any) -> list[tuple[str, int | None, int | None, bool]]:
    return [(row.table[0], row.rows, row.code, row.checked) for row in rows]


WHOLE = [("orders", 3, None, True), ("items", 5, None, True), ("events", 2, None, True)]


def test_tables_are_imported_and_checked(lake: Lake, mapping: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    seen: list[tuple[int, int, str]] = []
    rows = import_tables(
        lake.namespace, mapping, state=state, progress=lambda *each: seen.append(each)
    )
    assert results(rows) == WHOLE
    expected = [
        (0, 3, "orders"),
        (0, 3, "orders: 3 rows"),
        (1, 3, "items"),
        (1, 3, "items: 5 rows"),
        (2, 3, "events"),
        (2, 3, "events: 2 rows"),
        *((3, 3, f"check {name}") for name in ("orders", "items", "events")),
    ]
    # A slow import also reports part of the rows.
    reports = [each for each in dict.fromkeys(seen) if each in expected or "rows" not in each[2]]
    assert reports == expected
    assert lake.dataset("orders").to_table().to_pydict() == {
        "id": [1, 2, 3],
        "zip": ["01234", None, "99999"],
        "price": [9.5, None, 1.0],
    }
    assert lake.dataset("items").count_rows() == 6
    assert lake.dataset("events").schema.field("at").type == pa.timestamp("us", "UTC")
    assert rows[0].columns == ("id: int64", "zip: utf8", "price: float64")
    assert not state.exists()
    assert rows.to_arrow().num_rows == 3


def simple(data: Path) -> dict[str, Any]:
    options = {"delimiter": ";", "nulls": "NA"}
    return {
        "table": [
            {"id": "orders", "files": [f"{data}/orders-*.csv"], "options": options},
            {"id": "items", "files": [f"{data}/items.parquet"], "mode": "append"},
            {"id": "events", "files": [f"{data}/events.jsonl.gz"]},
        ]
    }


def test_an_existing_table_that_is_kept_is_not_a_failure(lake: Lake, data: Path) -> None:
    """The table is not checked, since its rows may differ from the source."""
    only = {"table": [{**simple(data)["table"][1], "mode": "exist_ok"}]}
    (row,) = import_tables(lake.namespace, only)
    assert (row.version, row.rows, row.problem, row.checked) == (1, 0, None, False)
    assert row.columns == ("a: int64",)
    assert lake.dataset("items").to_table()["a"].to_pylist() == [100]


def test_a_dry_run_shows_separators_nulls_and_types_and_changes_nothing(
    lake: Lake, data: Path, tmp_path: Path
) -> None:
    rows = import_tables(lake.namespace, simple(data), dry_run=True)
    assert [row.problem for row in rows] == [None] * 3
    assert "format csv" in str(rows[0].read_with)
    assert "delimiter ';'" in str(rows[0].read_with)
    assert "null" in str(rows[0].read_with)
    assert rows[1].columns == ("a: int64",)
    assert [path.name for path in lake.root.iterdir()] == ["items.lance"]
    assert lake.dataset("items").version == 1


def test_a_failed_table_is_reported_and_the_next_run_imports_only_it(
    lake: Lake, data: Path, tmp_path: Path
) -> None:
    state, namespace = tmp_path / "state", lake.namespace
    parquet.write_table(pa.table({"b": ["x"]}), data / "items.parquet")
    rows = import_tables(namespace, simple(data), state=state)
    assert results(rows) == [WHOLE[0], ("items", None, 20, False), WHOLE[2]]
    assert "has no column b" in str(rows[1].problem)
    parquet.write_table(pa.table({"a": range(5)}), data / "items.parquet")
    rows = import_tables(namespace, simple(data), state=state)
    assert results(rows) == WHOLE
    assert [lake.dataset(name).version for name in ("orders", "items", "events")] == [1, 2, 1]
    assert not state.exists()


def interrupt_import(
    monkeypatch: pytest.MonkeyPatch, table: str, when: str, run: Callable[[], object]
) -> None:
    """Run an import that is interrupted before or after its state records a finished table."""
    real = JobState.add

    def cut(self: JobState, key: str, value: Any) -> None:
        if when == "after" or key != f"table\0{table}":
            real(self, key, value)
        if key == f"table\0{table}":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(JobState, "add", cut)
        with pytest.raises(KeyboardInterrupt):
            run()


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_import_is_resumed(
    lake: Lake, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """The interrupt comes directly before or after the state records the second table."""
    state, namespace = tmp_path / "state", lake.namespace
    interrupt_import(
        monkeypatch, "items", when, lambda: import_tables(namespace, simple(data), state=state)
    )
    # Another client appends to the table between the runs.
    lake.put("items", pa.table({"a": [7]}), mode="append")
    rows = import_tables(namespace, simple(data), state=state)
    assert results(rows) == WHOLE
    assert [row.version for row in rows] == [1, 2, 1]
    assert sorted(lake.dataset("items").to_table()["a"].to_pylist()) == [0, 1, 2, 3, 4, 7, 100]
    assert not state.exists()


def test_an_interrupted_import_that_created_a_table_reports_its_rows(
    lake: Lake, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, only = tmp_path / "state", {"table": simple(data)["table"][:1]}

    def run() -> Any:
        return import_tables(lake.namespace, only, state=state)

    interrupt_import(monkeypatch, "orders", "before", run)
    assert lake.dataset("orders").count_rows() == 3
    assert results(run()) == WHOLE[:1]
    assert lake.dataset("orders").version == 1


def test_rows_that_are_missing_at_the_end_are_reported(
    lake: Lake, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = table_import.import_into
    parquet.write_table(pa.table({"a": [9]}), data / "items-2.parquet")

    def half(target: Any, *args: Any, **more: Any) -> Any:
        return real(target, *args, **{**more, "sources": [f"{data}/items.parquet"]})

    monkeypatch.setattr(table_import, "import_into", half)
    table = {"id": "items", "files": [f"{data}/items*.parquet"], "mode": "append"}
    (row,) = import_tables(lake.namespace, {"table": [table]})
    assert (row.code, row.checked) == (ErrorCode.INTERNAL, False)
    assert "5 rows from the import" in str(row.problem)
    assert "the source has 6" in str(row.problem)


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, r"\[\[table\]\] is missing"),
    ({"tables": []}, "tables is not known; the accepted keys are table, defaults"),
    ({"table": [{"files": ["x.csv"]}]}, "table 1: id is missing"),
    ({"table": [{"id": "a"}]}, "table a: specify one of files, spark_table, query, jdbc"),
    ({"table": [{"id": "a", "files": ["x"], "query": "SELECT 1"}]}, "specify one of"),
    ({"table": [{"id": "a", "file": ["x"]}]}, "file is not known"),
    ({"table": [{"id": "a", "query": "SELECT 1", "format": "csv"}]}, "apply only to files"),
    ({"table": [{"id": "a", "jdbc": {"url": "jdbc:x"}}]}, "either dbtable or query"),
    ({"table": [{"id": "a", "files": ["x"]}] * 2}, "a occurs more than once"),
    ({"table": [{"id": "a", "files": ["x"], "mode": "replace"}]}, "mode"),
    ({"table": [{"id": "a", "query": "SELECT 1"}]}, "pass a session"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD, ids=[message for _, message in BAD])
def test_an_invalid_mapping_is_rejected_before_any_import(
    lake: Lake, given: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        import_tables(lake.namespace, given)


def test_secrets_come_from_the_environment_and_are_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        "id": "a",
        "jdbc": {
            "url": "jdbc:postgresql://ana:hidden@db/x?password=hidden",
            "dbtable": "t",
            "password": "env:LAKE_PASSWORD",
        },
    }
    (source,) = read_mapping({"table": [given]})
    assert source.shown() == "t of jdbc:postgresql://db/x"
    with pytest.raises(InvalidInputError, match="LAKE_PASSWORD, which is not set"):
        source.jdbc_options()
    monkeypatch.setenv("LAKE_PASSWORD", "hidden")
    assert source.jdbc_options()["password"] == "hidden"


def test_tables_queries_and_databases_are_read_by_spark(
    lake: Lake, spark: Any, tmp_path: Path
) -> None:
    spark._jvm.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    url = f"jdbc:derby:{tmp_path}/db;create=true"
    spark.range(4).selectExpr("id", "cast(id AS string) AS s").write.jdbc(url, "people")
    spark.range(3).createOrReplaceTempView("three")
    given = {
        "table": [
            {"id": "three", "spark_table": "three"},
            {"id": "two", "query": "SELECT array(id) AS v FROM three WHERE id < 2", "types": "v:float32[1]"},
            {"id": "people", "jdbc": {"url": url, "dbtable": "people"}},
            {"id": "nothing", "spark_table": "no_such_table"},
        ]
    }  # fmt: skip
    started: list[int] = []

    def start() -> Any:
        started.append(1)
        return spark

    dry = import_tables(lake.namespace, given, spark=start, dry_run=True)
    assert [row.columns for row in dry][:2] == [("id: int64",), ("v: fixed_size_list<float32>[1]",)]
    rows = import_tables(lake.namespace, given, spark=start)
    assert results(rows)[:3] == [
        ("three", 3, None, True),
        ("two", 2, None, True),
        ("people", 4, None, True),
    ]
    assert isinstance(rows[3], ImportRow)
    assert rows[3].problem is not None
    assert len(started) == 2  # once per run
    assert lake.dataset("two").schema.field("v").type == pa.list_(pa.float32(), 1)
