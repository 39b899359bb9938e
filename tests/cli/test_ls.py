"""lance-ns ls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lance_namespace_impls.cli.failures import Status

from .lakes import Lake


@pytest.mark.requirement("general-012")
def test_ls_of_an_empty_catalog_is_empty(lake: Lake) -> None:
    assert lake.run("ls").stdout == ""
    document = {"id": [], "delimiter": "$", "namespaces": [], "tables": []}
    assert lake.json("ls") == document


def test_ls_shows_kind_and_name(nested: Lake) -> None:
    nested.run("create", "sales")
    nested.run("declare", "sales$orders")
    nested.run("declare", "flights")
    assert nested.run("ls").stdout == "namespace  sales\ntable      flights\n"
    assert nested.run("ls", "sales").stdout == "table      orders\n"


def test_ls_of_one_kind_shows_only_names(nested: Lake) -> None:
    nested.run("create", "sales")
    nested.run("declare", "flights")
    assert nested.run("ls", "--tables").stdout == "flights\n"
    assert nested.run("ls", "--namespaces").stdout == "sales\n"
    assert nested.json("ls", "-t") == {
        "id": [],
        "delimiter": "$",
        "namespaces": None,
        "tables": ["flights"],
    }
    assert nested.json("ls", "-n")["tables"] is None


def test_ls_reads_all_pages(nested: Lake) -> None:
    names = [f"t{number}" for number in range(7)]
    for name in names:
        nested.run("declare", name)
        nested.run("create", f"ns_{name}")
    assert nested.run("ls", "-t").stdout.split() == names
    found = nested.json("ls")
    assert found["tables"] == names
    assert found["namespaces"] == [f"ns_{name}" for name in names]


def test_ls_all_lists_identifiers_of_the_whole_catalog(nested: Lake) -> None:
    nested.run("create", "a")
    nested.run("create", "a$b")
    for table in ("t", "a$t", "a$b$t", "a$b$u"):
        nested.run("declare", table)
    assert nested.run("ls", "--all").stdout.split() == ["a$b$t", "a$b$u", "a$t", "t"]
    found = nested.json("ls", "--all", "--delimiter", "::")
    assert found["tables"] == ["a::b::t", "a::b::u", "a::t", "t"]
    assert found["delimiter"] == "::"


def test_ls_can_omit_tables_without_data(lake: Lake, rows: Path) -> None:
    lake.run("create", "full", "--data", str(rows))
    lake.run("declare", "declared")
    assert lake.run("ls", "-t").stdout.split() == ["declared", "full"]
    assert lake.run("ls", "-t", "--with-data").stdout.split() == ["full"]
    assert lake.run("ls", "--all", "--with-data").stdout.split() == ["full"]


def test_ls_json_of_a_missing_namespace_leaves_stdout_empty(nested: Lake) -> None:
    found = json.loads(nested.error("ls", "nope", "--json", status=Status.NOT_FOUND))
    assert found == {
        "error": "namespace nope does not exist",
        "code": 1,
        "name": "NamespaceNotFound",
        "detail": None,
        "instance": None,
        "status": 3,
    }


@pytest.mark.parametrize("flags", [("--tables", "--namespaces"), ("sales", "--all"), ("-n", "-a")])
def test_ls_rejects_mutually_exclusive_options(nested: Lake, flags: tuple[str, ...]) -> None:
    nested.error("ls", *flags, status=Status.USAGE)


def test_names_cannot_control_the_terminal(nested: Lake) -> None:
    nested.run("declare", "evil\x1b[2J\nname")
    assert nested.run("ls", "-t").stdout == "evil\\x1b[2J\\nname\n"
    assert nested.json("ls", "-t")["tables"] == ["evil\x1b[2J\nname"]
