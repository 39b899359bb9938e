"""lance-ns rename, mv, properties, tag, branch, restore, index, compact and cp."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from lance_namespace_client.models import ListTableBranchesRequest
from lance_namespace_impls.cli.choice import option_value
from lance_namespace_impls.cli.commands import alter
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.directory.namespace import DirectoryNamespace

from .lakes import Lake


@pytest.fixture
def notes(lake: Lake) -> Lake:
    with lake.connect() as namespace:
        table = namespace.table("notes").create({"id": [1, 2, 3], "text": ["a", "b", "c"]})
        table.delete("id = 3")
    return lake


@pytest.mark.parametrize("command", ["rename", "mv"])
def test_rename(nested: Lake, rows: object, command: str) -> None:
    nested.run("create", "a")
    nested.run("create", "b")
    nested.run("create", "a$t", "--data", str(rows))
    assert nested.run(command, "a$t", "u").stdout == "table a$t renamed to a$u\n"
    assert nested.json(command, "a$u", "b$v") == {"id": ["a", "u"], "new_id": ["b", "v"]}
    assert nested.json("count", "b$v")["count"] == 3
    assert "empty" in nested.error(command, "b$v", "$", status=Status.USAGE)


def test_properties(nested: Lake) -> None:
    nested.run("create", "sales", "--set", "owner=ana")
    assert nested.run("properties", "get", "sales").stdout == "  owner  ana\n"
    nested.run("properties", "set", "sales", "owner=bo", "tier=gold=1")
    assert nested.json("properties", "get", "sales")["properties"] == {
        "owner": "bo",
        "tier": "gold=1",
    }
    assert nested.json("properties", "unset", "sales", "tier")["properties"] == {"owner": "bo"}
    assert nested.run("properties", "get", "sales", "owner").stdout == "  owner  bo\n"
    nested.run("properties", "set", "sales", "a=1")
    assert nested.run("properties", "get", "sales").stdout == "  a      1\n  owner  bo\n"
    assert nested.json("properties", "get", "sales", "a")["properties"] == {"a": "1"}
    assert "no property 'x'" in nested.error(
        "properties", "get", "sales", "x", status=Status.INVALID
    )
    for action, what in (("set", "KEY=VALUE"), ("unset", "KEY")):
        said = nested.error("properties", action, "sales", status=Status.USAGE)
        assert said == f"error: properties {action}: specify at least one {what}"
    assert "no property" not in nested.error("properties", "get", "x", status=Status.NOT_FOUND)
    assert nested.json("properties", "get", "$")["kind"] == "namespace"


def test_properties_of_a_table(nested: Lake, rows: object) -> None:
    nested.run("create", "a")
    nested.run("create", "a$t", "--data", str(rows))
    answer = nested.json("properties", "set", "a$t", "owner=ana")
    assert answer == {"kind": "table", "id": ["a", "t"], "properties": {"owner": "ana"}}


def test_tags(notes: Lake) -> None:
    assert notes.run("tag", "create", "notes", "v").stdout == "tag v is at version 2\n"
    assert notes.json("tag", "create", "notes", "v", "--version", "1")["tags"] == {"v": 1}
    assert notes.run("tag", "list", "notes").stdout.splitlines()[1].split() == ["v", "1"]
    assert "specify the tag" in notes.error("tag", "drop", "notes", status=Status.USAGE)
    assert notes.run("tag", "drop", "notes", "v").stdout == "tag v removed\n"
    assert notes.json("tag", "list", "notes")["tags"] == {}
    notes.run("tag", "create", "notes", "b", "--version", "1")
    notes.run("tag", "create", "notes", "a")
    assert list(notes.json("tag", "list", "notes")["tags"].items()) == [("a", 2), ("b", 1)]
    assert notes.json("tag", "drop", "notes", "b") == {"id": ["notes"], "tags": {"a": 2}}
    assert "TableTagNotFound" in notes.error("tag", "drop", "notes", "v", status=Status.NOT_FOUND)


def test_branches(notes: Lake) -> None:
    assert notes.run("branch", "create", "notes", "trial").stdout == "branch trial created\n"
    assert notes.run("branch", "list", "notes").stdout == "trial\n"
    assert notes.json("count", "notes", "--branch", "trial")["count"] == 2
    notes.run("branch", "create", "notes", "old", "--version", "1")
    assert notes.json("count", "notes", "--branch", "old")["count"] == 3
    assert notes.json("branch", "list", "notes") == {"id": ["notes"], "branches": ["old", "trial"]}
    assert notes.run("branch", "drop", "notes", "old").stdout == "branch old removed\n"
    for action in ("create", "drop"):
        said = notes.error("branch", action, "notes", status=Status.USAGE)
        assert said == f"error: {action}: specify the branch"
    assert notes.json("branch", "drop", "notes", "trial")["branches"] == []


def test_branches_of_every_page_are_listed(notes: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        notes.run("branch", "create", "notes", name)
    method = DirectoryNamespace.list_table_branches

    def one_per_page(self: DirectoryNamespace, request: Any) -> Any:
        return method(self, attrs.evolve(ListTableBranchesRequest.coerce(request), limit=1))

    monkeypatch.setattr(DirectoryNamespace, "list_table_branches", one_per_page)
    assert notes.json("branch", "list", "notes")["branches"] == ["a", "b", "c"]


def test_restore(notes: Lake) -> None:
    assert notes.run("restore", "notes", "1").stdout == "version 1 restored as version 3\n"
    assert notes.json("count", "notes")["count"] == 3
    notes.run("tag", "create", "notes", "two", "--version", "2")
    assert notes.json("restore", "notes", "two") == {"restored": 2, "version": 4}


def test_compact(notes: Lake, rows: object) -> None:
    notes.run("import", "notes", str(rows), "--mode", "overwrite")
    for _ in range(3):
        notes.run("import", "notes", str(rows), "--mode", "append")
    before = notes.json("count", "notes")
    assert notes.run("compact", "notes", "--dry-run").stdout == "4 fragments would be compacted\n"
    assert notes.json("compact", "notes", "--dry-run")["fragments_compacted"] == 4
    assert notes.run("compact", "notes").stdout.startswith(
        "4 fragments compacted into 1, as version "
    )
    assert notes.json("count", "notes") == before
    assert notes.run("compact", "notes").stdout == "nothing to compact\n"
    done = notes.json("compact", "notes", "--rows-per-fragment", "1")
    version = notes.json("versions", "notes", "-n", "1")["versions"][0]["version"]
    assert done == {
        "id": ["notes"],
        "version": version,
        "fragments_compacted": 0,
        "new_fragments": 0,
        "bytes_rewritten": 0,
        "indices_updated": [],
    }
    notes.run("import", "notes", str(rows), "--mode", "append")
    done = notes.json("compact", "notes")
    assert (done["fragments_compacted"], done["new_fragments"]) == (2, 1)
    assert done["bytes_rewritten"] > 0
    assert done["version"] == notes.json("versions", "notes")["versions"][0]["version"] > version
    assert "gone" in notes.error("compact", "gone", status=Status.NOT_FOUND)


def test_indices(notes: Lake) -> None:
    said = notes.error("index", "create", "notes", "id", status=Status.USAGE)
    assert "pass --type, such as IVF_PQ for vectors" in said
    said = notes.run("index", "create", "notes", "id", "--type", "BTREE", "--name", "by_id").stdout
    assert said.splitlines()[1].split()[:2] == ["by_id", "id"]
    notes.run("index", "create", "notes", "text", "--type", "FTS", "--set", "with_position=true")
    names = [each["index_name"] for each in notes.json("index", "list", "notes")["indices"]]
    assert names == ["by_id", "text_idx"]
    assert notes.json("index", "stats", "notes", "by_id")["num_indexed_rows"] == 2
    told = notes.run("index", "stats", "notes", "by_id").stdout.splitlines()
    assert ["num", "indexed", "rows", "2"] in [line.split() for line in told]
    listed = notes.run("index", "list", "notes").stdout.splitlines()
    assert [line.split() for line in listed] == [
        ["Index", "Columns", "Type", "Unindexed", "rows"],
        ["by_id", "id", "BTree", "0"],
        ["text_idx", "text", "Inverted", "0"],
    ]
    for action, what in (("create", "column"), ("drop", "index"), ("stats", "index")):
        said = notes.error("index", action, "notes", status=Status.USAGE)
        assert said == f"error: {action}: specify the {what}"
    notes.run("index", "drop", "notes", "by_id")
    assert "IndexNotFound" in notes.error(
        "index", "drop", "notes", "by_id", status=Status.NOT_FOUND
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("16", 16), ("-1", -1), ("true", True), ("False", False), ("l2", "l2"), ("1.5", "1.5")],
)
def test_options_of_an_index_have_their_types(text: str, value: object) -> None:
    parsed = option_value(text)
    assert (parsed, type(parsed)) == (value, type(value))


def test_an_unknown_count_is_shown_as_a_question_mark() -> None:
    assert alter._count_cell(None) == ("?", "dim") and alter._count_cell(0) == "0"


def test_cp(notes: Lake) -> None:
    assert notes.run("cp", "notes", "copy").stdout == "2 rows copied to copy\n"
    assert "AlreadyExists" in notes.error("cp", "notes", "copy", status=Status.EXISTS)
    answer = notes.json("cp", "notes", "copy", "--version", "1", "--overwrite")
    assert answer == {"id": ["copy"], "rows": 3}
    notes.run("tag", "create", "notes", "first", "--version", "1")
    assert notes.json("cp", "notes", "third", "--version", "first")["rows"] == 3
