"""lance-ns describe."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_client.models import DescribeTableResponse, TableBasicStats
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.cli.commands import browse
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.cli.output import Output
from lance_namespace_impls.directory.namespace import DirectoryNamespace
from lance_namespace_impls.memory.namespace import catalog

from .lakes import ROWS, SECRET, Lake, write_file


def test_describe_finds_a_table_before_a_namespace(nested: Lake) -> None:
    nested.run("create", "both", "--set", "owner=ana")
    held = catalog(nested.options[-1].removeprefix("root="))
    held.tables["both",] = TableEntry(id=("both",), location="/data/both", properties={})
    assert nested.json("describe", "both")["kind"] == "table"
    assert nested.json("describe", "both", "--namespace") == {
        "kind": "namespace",
        "id": ["both"],
        "properties": {"owner": "ana"},
    }


def test_describe_falls_back_to_the_namespace(nested: Lake) -> None:
    nested.run("create", "sales", "--set", "owner=ana")
    assert nested.run("describe", "sales").stdout == "namespace sales\n  owner  ana\n"


@pytest.mark.requirement("general-031")
def test_describe_root(lake: Lake) -> None:
    assert lake.run("describe").stdout == "the root namespace\n"
    assert lake.json("describe", "$")["id"] == []


def test_describe_a_missing_identifier(nested: Lake, lake: Lake) -> None:
    message = "error 4 TableNotFound: table x does not exist, nor does a namespace with that name"
    assert nested.error("describe", "x", status=Status.NOT_FOUND) == message
    assert (
        lake.error("describe", "x", status=Status.NOT_FOUND)
        == "error 4 TableNotFound: table x does not exist"
    )


@pytest.mark.parametrize("flag", ["--table", "--details", "--namespace"])
def test_describe_looks_only_for_the_requested_kind(nested: Lake, flag: str) -> None:
    kind = "Namespace" if flag == "--namespace" else "Table"
    assert f"{kind}NotFound" in nested.error("describe", "x", flag, status=Status.NOT_FOUND)


def test_describe_without_details_does_not_open_the_table(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    found = lake.json("describe", "t")
    assert found["version"] is None
    assert found["num_rows"] is None
    assert found["location"].endswith("t.lance")


def test_describe_details(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows), "--set", "source=test")
    found = lake.json("describe", "t", "--details")
    assert found["version"] == 1
    assert found["num_rows"] == 3
    assert found["stats"] == {"num_deleted_rows": 0, "num_fragments": 1}
    assert [field["name"] for field in found["schema"]["fields"]] == ["carrier", "delay"]
    assert found["properties"] == {"source": "test"}
    text = lake.run("describe", "t", "-d").stdout
    assert "  rows             3\n" in text
    assert "carrier  utf8     yes\n" in text


def test_describe_json_always_has_the_same_keys(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    lake.run("declare", "d")
    keys = lake.json("describe", "t", "--details").keys()
    assert lake.json("describe", "t").keys() == keys
    assert lake.json("describe", "d", "--details").keys() == keys


def test_describe_details_of_a_declared_table(lake: Lake) -> None:
    lake.run("declare", "later")
    assert "none: the table is only declared" in lake.run("describe", "later", "--details").stdout
    found = lake.json("describe", "later", "--details")
    assert found["is_only_declared"] is True
    assert found["version"] is None


def test_describe_an_older_version(lake: Lake, rows: Path, tmp_path: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    fewer = tmp_path / "fewer.parquet"
    pyarrow.parquet.write_table(ROWS.slice(0, 1), fewer)
    lake.run("create", "t", "--data", str(fewer), "--mode", "overwrite")
    assert lake.json("describe", "t", "-d")["num_rows"] == 1
    assert lake.json("describe", "t", "--version", "1")["num_rows"] == 3
    assert lake.error("describe", "t", "--version", "9", status=Status.NOT_FOUND).startswith(
        "error 11 TableVersionNotFound: "
    )


def test_describe_a_tag_and_a_branch(lake: Lake, rows: Path, tmp_path: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    fewer = tmp_path / "fewer.parquet"
    pyarrow.parquet.write_table(ROWS.slice(0, 1), fewer)
    lake.run("tag", "create", "t", "all")
    lake.run("create", "t", "--data", str(fewer), "--mode", "overwrite")
    lake.run("branch", "create", "t", "old", "--version", "1")
    for chosen, found in (("--tag", "all"), ("--branch", "old")):
        assert lake.json("describe", "t", chosen, found)["num_rows"] == 3
    for kind in ("--tag", "--branch"):
        lake.error("describe", "t", kind, "gone", status=Status.NOT_FOUND)


def test_describe_rejects_mutually_exclusive_options(nested: Lake) -> None:
    said = nested.error("describe", "x", "--table", "--namespace", status=Status.USAGE)
    assert "are mutually exclusive" in said


def test_rows_that_a_catalog_cannot_count_are_omitted(
    lake: Lake, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, request: object) -> None:
        raise UnsupportedError("no counting here")

    lake.run("create", "t", "--data", str(rows))
    monkeypatch.setattr(DirectoryNamespace, "count_table_rows", refuse)
    assert lake.json("describe", "t", "-d")["num_rows"] is None
    text = lake.run("describe", "t", "-d").stdout
    assert "version" in text and "  rows " not in text


@pytest.mark.parametrize(
    ("as_table", "as_namespace", "said"),
    [
        (TableNotFoundError("no t"), NamespaceNotFoundError("no n"),
         "no t, nor does a namespace with that name"),
        (NamespaceNotFoundError("no t"), NamespaceNotFoundError("no n"),
         "no t, nor does a namespace with that name"),
        (TableNotFoundError("no t"), UnsupportedError("not here"), "no t"),
        (InvalidInputError("bad t"), NamespaceNotFoundError("no n"), "no n; as a table: bad t"),
        (UnsupportedError("bad t"), InvalidInputError("bad n"), "bad t"),
    ],
)  # fmt: skip
def test_the_more_helpful_of_two_failures_is_reported(
    as_table: LanceNamespaceError, as_namespace: LanceNamespaceError, said: str
) -> None:
    assert str(browse._better_of(as_table, as_namespace)) == said


def test_every_detail_of_a_table_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    found = DescribeTableResponse(
        location="/data/t",
        table_uri="s3://lake/t",
        version=3,
        stats=TableBasicStats(num_fragments=1200, num_deleted_rows=3400),
        properties={"b": "2", "a": "1"},
        storage_options={"region": "eu"},
        metadata={"k": "v"},
    )
    browse._write_table(Output(as_json=False), "t", found, 5600)
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "table t"
    assert [tuple(line.rsplit(maxsplit=1)) for line in lines] == [
        ("  location", "/data/t"),
        ("  uri", "s3://lake/t"),
        ("  version", "3"),
        ("  rows", "5,600"),
        ("  fragments", "1,200"),
        ("  deleted rows", "3,400"),
        ("  property a", "1"),
        ("  property b", "2"),
        ("  storage option region", "eu"),
        ("  metadata k", "v"),
    ]
    found.table_uri = found.location
    browse._write_table(Output(as_json=False), "t", found, None)
    shown = capsys.readouterr().out
    assert "uri" not in shown and "  rows" not in shown


def test_describe_hides_secret_storage_options(lake: Lake) -> None:
    lake.run("declare", "t")
    options = ("-p", f"storage.aws_secret_access_key={SECRET}", "-p", "storage.region=eu")
    text = lake.run("describe", "t", *options).output
    assert SECRET not in text
    assert "storage option region" in text
    document = lake.run("describe", "t", *options, "--json").output
    assert SECRET not in document
    assert json.loads(document)["storage_options"] == {
        "aws_secret_access_key": "***",
        "region": "eu",
    }


def test_describe_abbreviates_nested_types(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "nested.arrow"
    inner = pa.struct([("x", pa.int8()), ("y", pa.list_(pa.string()))])
    schema = pa.schema([pa.field("v", pa.list_(pa.float32(), 4), nullable=False), ("s", inner)])
    write_file(path, pa.table({"v": [[1, 2, 3, 4]], "s": [{"x": 1, "y": ["a"]}]}, schema=schema))
    lake.run("create", "t", "--data", str(path))
    lines = lake.run("describe", "t", "-d").stdout.splitlines()
    assert "v       fixed_size_list<float32>[4]     no" in lines
    assert "s       struct<x: int8, y: list<utf8>>  yes" in lines
