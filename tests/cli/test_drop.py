"""lance-ns declare and drop."""

from __future__ import annotations

from pathlib import Path

from lance_namespace_impls.cli.failures import Status

from .lakes import Lake


def test_declare(nested: Lake, tmp_path: Path) -> None:
    place = str(tmp_path / "elsewhere")
    made = nested.json("declare", "t", "--location", place, "--set", "owner=ana")
    assert made == {
        "kind": "table",
        "id": ["t"],
        "location": place,
        "properties": {"owner": "ana"},
    }
    assert nested.run("declare", "u").stdout.startswith("table u declared\n  location  ")


def test_drop_deletes_the_data(lake: Lake, rows: Path, tmp_path: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    assert (tmp_path / "lake" / "t.lance").exists()
    assert lake.run("drop", "t", "--yes").stdout == "table t dropped\n"
    assert not (tmp_path / "lake" / "t.lance").exists()
    lake.error("drop", "t", "--yes", status=Status.NOT_FOUND)


def test_drop_needs_yes_where_nobody_can_answer(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    assert "give --yes" in lake.error("drop", "t", status=Status.USAGE)
    assert lake.run("ls", "-t").stdout == "t\n"


def test_drop_of_a_missing_table_says_so_before_it_asks(lake: Lake) -> None:
    lake.error("drop", "t", status=Status.NOT_FOUND)


def test_drop_a_namespace(nested: Lake) -> None:
    nested.run("create", "sales", "--set", "owner=ana")
    nested.run("declare", "sales$orders")
    refused = nested.error("drop", "sales", "--namespace", status=Status.CONFLICT)
    assert refused.startswith("error 3 NamespaceNotEmpty: ")
    cascade = ("drop", "sales", "--namespace", "--behavior", "CASCADE")
    assert "give --yes" in nested.error(*cascade, status=Status.USAGE)
    assert nested.json(*cascade, "--yes") == {
        "kind": "namespace",
        "id": ["sales"],
        "properties": {"owner": "ana"},
    }
    assert nested.run("ls").stdout == ""


def test_drop_a_missing_namespace(nested: Lake) -> None:
    nested.error("drop", "sales", "--namespace", status=Status.NOT_FOUND)
    nested.run("drop", "sales", "--namespace", "--mode", "skip")
    nested.error("drop", "sales", "--namespace", "--mode", "maybe", status=Status.INVALID)
    nested.error("drop", "sales", "--mode", "skip", status=Status.USAGE)
