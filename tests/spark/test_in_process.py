"""Imports without Spark write the same table in less time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    TableNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls.ingest import file_import
from lance_namespace_impls.spark import ImportResult, import_files
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark one")


def run(lake: Lake, folder: Path, table: str, spark: Any = None, **more: Any) -> ImportResult:
    return import_files(
        spark, impl="dir", properties=lake.properties, table=[table], sources=[str(folder)], **more
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def fill(folder: Path, format: str) -> None:
    for part in range(5):
        rows = [
            {"n": n, "half": n / 2, "s": f"text {n}", "none": None}
            for n in range(part * 1000, part * 1000 + 1000)
        ]
        path = folder / f"{part}.{format}"
        if format == "csv":
            lines = ["n,half,s,none", *(f"{r['n']},{r['half']},{r['s']}," for r in rows)]
            path.write_text("\n".join(lines))
        elif format == "json":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=300)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_the_table_is_the_same_as_with_spark(
    lake: Lake, spark: Any, folder: Path, format: str
) -> None:
    fill(folder, format)
    options = {"task_bytes": "10000"}
    here = run(lake, folder, "here", options=options)
    there = run(lake, folder, "there", spark, options=options)
    one, other = lake.dataset("here").to_table(), lake.dataset("there").to_table()
    assert one.schema == other.schema
    assert one == other
    assert one["n"].to_pylist() == list(range(5000))
    assert (here.rows, here.files, here.fragments) == (there.rows, there.files, there.fragments)
    assert here.fragments > 1


@pytest.mark.parametrize(("small_bytes", "starts"), [(8, 0), (7, 1)])
def test_spark_is_started_only_above_small_bytes(
    quiet_lake: Lake, folder: Path, small_bytes: int, starts: int
) -> None:
    (folder / "a.csv").write_text("n\n1\n")
    (folder / "b.csv").write_text("n\n2\n")
    started: list[None] = []

    class Started(Exception):
        pass

    def start() -> Any:
        started.append(None)
        raise Started

    if starts:
        with pytest.raises(Started):
            run(quiet_lake, folder, "t", start, small_bytes=small_bytes)
    else:
        assert run(quiet_lake, folder, "t", start, small_bytes=small_bytes).rows == 2
    assert len(started) == starts


def test_a_file_that_does_not_fit_leaves_nothing(quiet_lake: Lake, folder: Path) -> None:
    fill(folder, "csv")
    (folder / "9.csv").write_text("n,half,s,none\nx,1,,\n")
    with pytest.raises(TableSchemaValidationError, match=r"9\.csv: column n: .*'x'"):
        run(quiet_lake, folder, "t", options={"types": "n:int64", "task_bytes": "1000"})
    assert list(quiet_lake.namespace.iter_tables()) == []
    assert not Path(quiet_lake.path("t")).exists()


def test_overwrite_conflicts_with_a_concurrent_append(
    quiet_lake: Lake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_lake.put("t", pa.table({"n": [1]}))
    (folder / "a.csv").write_text("n\n2\n")
    commit = file_import.commit

    def late(*arguments: Any, **more: Any) -> int:
        quiet_lake.put("t", pa.table({"n": [99]}), mode="append")
        return commit(*arguments, **more)

    monkeypatch.setattr(file_import, "commit", late)
    with pytest.raises(ConcurrentModificationError, match="table t was changed"):
        run(quiet_lake, folder, "t", mode="overwrite")
    assert quiet_lake.values("n") == [1, 99]
    assert len(quiet_lake.data_files("t")) == 2


@pytest.mark.parametrize("after", [0, 1])
def test_an_interrupt_leaves_nothing(quiet_lake: Lake, folder: Path, after: int) -> None:
    fill(folder, "csv")

    def interrupt(done: int, total: int, rows: int) -> None:
        if rows >= after * 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(quiet_lake, folder, "t", progress=interrupt, cores=1, options={"task_bytes": "1000"})
    with pytest.raises(TableNotFoundError):
        quiet_lake.namespace.describe_table({"id": ["t"]})
    assert run(quiet_lake, folder, "t").rows == 5000


def test_neither_pyspark_nor_java_is_needed(quiet_lake: Lake, folder: Path) -> None:
    fill(folder, "csv")
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from lance_namespace_impls.cli import main; main()"
    )
    where = ("--impl", "dir", "-p", f"path={quiet_lake.root}")
    done = subprocess.run(
        [sys.executable, "-c", code, "import", "t", str(folder), *where],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert quiet_lake.dataset("t").count_rows() == 5000
