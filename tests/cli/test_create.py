"""lance-ns create."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lance_namespace_impls.cli.failures import Status

from .lakes import ROWS, Lake, write_file


def write_stream(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rows.parquet", lambda path: pyarrow.parquet.write_table(ROWS, path)),
        ("rows.csv", lambda path: pyarrow.csv.write_csv(ROWS, path)),
        ("rows.arrow", lambda path: write_file(path, ROWS)),
        ("rows.feather", lambda path: write_file(path, ROWS)),
        ("rows.arrows", lambda path: write_stream(path, ROWS)),
    ],
)
def test_create_reads_every_format(lake: Lake, tmp_path: Path, name: str, write: Any) -> None:
    path = tmp_path / name
    write(path)
    made = lake.json("create", "t", "--data", str(path))
    assert made["rows_read"] == 3
    assert made["version"] == 1
    assert lance.dataset(made["location"]).to_table().to_pylist() == ROWS.to_pylist()


def test_create_reads_the_format_from_the_option(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.dat"
    pyarrow.csv.write_csv(ROWS, path)
    assert "pass --format" in lake.error("create", "t", "--data", str(path), status=Status.USAGE)
    lake.run("create", "t", "--data", str(path), "--format", "csv")


def test_create_of_a_file_whose_content_does_not_match_its_name(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("a,b\n1,2\n")
    message = lake.error("create", "t", "--data", str(path), status=Status.INVALID)
    assert message.startswith(f"error 20 TableSchemaValidationError: {path}: Parquet magic bytes")
    assert lake.run("ls").stdout == ""


def test_create_names_a_truncated_file(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.arrows"
    big = pa.table({"n": range(200_000)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, big.schema) as writer:
        writer.write_table(big, max_chunksize=10_000)
    path.write_bytes(path.read_bytes()[:500_000])
    message = lake.error("create", "t", "--data", str(path), status=Status.INVALID)
    assert message.startswith(f"error 13 InvalidInput: {path} cannot be read as arrow: ")
    assert lake.run("ls").stdout == ""


def test_create_modes(lake: Lake, rows: Path) -> None:
    data = ("--data", str(rows))
    lake.run("create", "t", *data)
    assert (
        lake.error("create", "t", *data, status=Status.EXISTS)
        == "error 5 TableAlreadyExists: table t already exists"
    )
    assert "table t is there\n" in lake.run("create", "t", *data, "--mode", "exist_ok").stdout
    assert lake.json("create", "t", *data, "--mode", "OVERWRITE")["version"] == 2
    message = lake.error("create", "t", *data, "--mode", "append", status=Status.INVALID)
    assert "mode 'append' is unknown" in message


def test_create_a_namespace(nested: Lake) -> None:
    made = nested.json("create", "sales", "--set", "owner=ana", "--set", "note=a=b")
    assert made == {
        "kind": "namespace",
        "id": ["sales"],
        "properties": {"owner": "ana", "note": "a=b"},
    }
    nested.error("create", "sales", status=Status.EXISTS)
    assert nested.run("create", "sales", "--mode", "ExistOk").stdout == "namespace sales is there\n"


def test_create_without_data_in_a_flat_catalog(lake: Lake) -> None:
    assert "for a table pass --data FILE" in lake.error("create", "t", status=Status.INVALID)


def test_create_rejects_a_format_without_data(nested: Lake) -> None:
    nested.error("create", "sales", "--format", "csv", status=Status.USAGE)
    nested.error("describe", "sales", status=Status.NOT_FOUND)


def test_create_of_a_missing_file(lake: Lake, tmp_path: Path) -> None:
    message = lake.error("create", "t", "--data", str(tmp_path / "no.csv"), status=Status.USAGE)
    assert "does not exist" in message
