"""Imports of files in a real Spark session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from pyarrow import parquet

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.ingest import file_import
from lance_namespace_impls.spark import ImportResult, import_files
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark one")


class Importer:
    def __init__(self, lake: Lake, spark: Any, folder: Path) -> None:
        self.lake = lake
        self.folder = folder
        self._spark = spark

    def write(self, name: str, content: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def __call__(self, table: str, *sources: str, **arguments: Any) -> ImportResult:
        return import_files(
            self._spark,
            impl="dir",
            properties=self.lake.properties,
            table=[table],
            sources=[str(self.folder / source) for source in sources],
            **arguments,
        )

    def tables(self) -> list[str]:
        return list(connect("dir", self.lake.properties).iter_tables())


@pytest.fixture
def run(lake: Lake, spark: Any, tmp_path: Path) -> Importer:
    return Importer(lake, spark, tmp_path / "in")


def test_many_small_files_become_few_fragments(run: Importer) -> None:
    for number in range(300):
        run.write(
            f"{number:03}.csv", f"n,half\n{number},{number / 2 if number == 250 else number}\n"
        )
    calls: list[tuple[int, int, int]] = []
    result = run("t", "", progress=lambda *call: calls.append(call))
    table = run.lake.dataset("t").to_table()
    assert (result.table, result.location, result.version) == (("t",), run.lake.path("t"), 1)
    assert (result.rows, result.files, result.fragments) == (300, 300, 1)
    assert table["n"].to_pylist() == list(range(300))
    assert table.schema.field("half").type == pa.float64()
    assert 0 < result.seconds < 120
    assert calls[-1][0] == calls[-1][1]
    assert calls[-1][2] == 300
    assert all(done <= total for done, total, _ in calls)


def test_modes(run: Importer) -> None:
    run.write("a.csv", "n,s\n1,x\n")
    run.write("b.csv", "other\n2.5\n")
    with pytest.raises(TableNotFoundError):
        run("t", "a.csv", mode="append")
    assert run("t", "a.csv").version == 1
    with pytest.raises(TableAlreadyExistsError, match="table t already exists"):
        run("t", "a.csv")
    kept = run("t", "b.csv", mode="exist_ok")
    assert (kept.version, kept.rows, kept.files) == (1, 0, 0)
    assert run("t", "a.csv", mode="append").version == 2
    assert run.lake.dataset("t").to_table().to_pylist() == [{"n": 1, "s": "x"}] * 2
    assert run("t", "b.csv", mode="Overwrite").version == 3
    assert run.lake.dataset("t").to_table().to_pylist() == [{"other": 2.5}]
    assert run("new", "b.csv", mode="exist_ok").rows == 1
    with pytest.raises(InvalidInputError, match="mode 'replace' is unknown"):
        run("t", "a.csv", mode="replace")


def test_a_declared_table_is_filled(run: Importer) -> None:
    run.write("a.csv", "n\n1\n")
    run.lake.namespace.declare_table({"id": ["t"]})
    assert run("t", "a.csv").rows == 1


def test_appended_rows_have_the_types_of_the_table(run: Importer) -> None:
    schema = pa.schema(
        [("n", pa.int8()), ("z", pa.string()), ("k", pa.dictionary(pa.int32(), pa.string()))]
    )
    run.lake.put("t", schema.empty_table())
    run.write("a.csv", "z,n,k\n00501,7,x\n")
    run("t", "a.csv", mode="append")
    assert run.lake.dataset("t").schema == schema
    assert run.lake.dataset("t").to_table().to_pylist() == [{"n": 7, "z": "00501", "k": "x"}]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (
            {"a.csv": "n\n1\n", "b.csv": "n\nx\n"},
            {"types": "n:int64"},
            r"b\.csv: column n: Row #2.*'x'",
        ),
        ({"a.csv": "n\n1\n", "b.csv": "n,m\n1,2\n"}, {}, r"a\.csv: column m is missing"),
        ({"a.csv": "", "b.csv": ""}, {}, "no columns to write"),
    ],
)
def test_a_file_that_does_not_fit_fails_the_import_and_commits_nothing(
    run: Importer, files: Mapping[str, str], options: Mapping[str, str], message: str
) -> None:
    for name, content in files.items():
        run.write(name, content)
    with pytest.raises(TableSchemaValidationError, match=message):
        run("t", "", options=options)
    assert run.tables() == []
    assert not Path(run.lake.path("t")).exists()


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_value_that_does_not_fit_leaves_the_table_and_its_files_unchanged(
    run: Importer, mode: str
) -> None:
    run.lake.put("t", pa.table({"n": pa.array([1], pa.int8())}))
    files = run.lake.data_files("t")
    for number in range(4):
        content = {"n": [1, 300 if number == 3 else 2]}
        run.folder.mkdir(exist_ok=True)
        parquet.write_table(pa.table(content), run.folder / f"{number}.parquet")
    options = {"task_bytes": "1", **({} if mode == "append" else {"types": "n:int8"})}
    with pytest.raises(TableSchemaValidationError, match=r"3\.parquet: column n: .*300"):
        run("t", "", mode=mode, options=options)
    assert run.lake.dataset("t").version == 1
    assert run.lake.data_files("t") == files


def test_only_empty_files(run: Importer) -> None:
    run.lake.put("t", pa.table({"n": [1]}))
    run.write("a.csv", "")
    run.write("b.csv", "n\n")
    assert run("t", "a.csv", mode="append").version == 1
    assert run("t", "b.csv", mode="append").rows == 0
    assert run("empty", "a.csv", "b.csv").rows == 0
    assert run.lake.dataset("empty").schema == pa.schema([("n", pa.string())])


def test_invalid_import_arguments_are_rejected(run: Importer) -> None:
    run.write("a.csv", "n\n1\n")
    with pytest.raises(
        InvalidInputError, match="'delimeter' is not known; did you mean 'delimiter'"
    ):
        run("t", "a.csv", options={"delimeter": ";"})
    with pytest.raises(InvalidInputError, match="file or folder not found"):
        run("t", "b.csv")
    with pytest.raises(InvalidInputError, match="would refer to a path outside the directory"):
        run("../t", "a.csv")
    assert run.tables() == []


def test_an_interrupt_ends_the_job_and_removes_the_table(run: Importer, spark: Any) -> None:
    run.write("a.csv", "n\n" + "".join(f"{n}\n" for n in range(5000)))

    def interrupt(done: int, total: int, rows: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("t", "a.csv", progress=interrupt)
    assert run.tables() == []
    assert spark.range(5).count() == 5
    assert run("t", "a.csv").rows == 5000


def test_a_dead_worker_is_reported_and_the_table_is_removed(
    run: Importer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.write("a.csv", "n\n1\n")

    def die(*_: Any) -> Any:
        import os

        os._exit(1)

    monkeypatch.setattr(file_import, "_write", die)
    with pytest.raises(InternalError, match="import into table t: Spark") as caught:
        run("t", "a.csv")
    assert "\n" not in caught.value.message
    assert run.tables() == []


def test_import_through_a_rest_server(run: Importer, spark: Any) -> None:
    from lance_namespace_impls.server import serving

    run.write("a.csv", "n\n1\n2\n")
    with run.lake.namespace as namespace, serving(namespace) as address:
        result = import_files(
            spark,
            impl="rest",
            properties={"uri": address},
            table=["t"],
            sources=[str(run.folder / "a.csv")],
        )
    assert lance.dataset(result.location).count_rows() == 2
