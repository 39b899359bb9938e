"""Tables in the root of a directory with a manifest: their directory and row change together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.directory.filesystem import Directory
from lance_namespace_impls.directory.manifest import Manifest
from lance_namespace_impls.directory.mirrored import MOVING

from .lakes import ROWS, Peer, add_row, code_of, manifest_rows, ours

T = {"id": ["t"]}
VERSION = {"object_id": "t$1", "object_type": "table_version", "metadata": "{}"}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[DirectoryNamespace]:
    """A directory with a manifest, a namespace, and a table with properties in the root."""
    with ours(tmp_path) as found:
        found.create_namespace({"id": ["n"]})
        found.create_table({**T, "properties": {"k": "v"}}, ROWS)
        yield found


def tables(root: Path) -> dict[str, tuple[str, str | None]]:
    """Return the location and the metadata of every table in the manifest."""
    return {
        name: (row["location"], row["metadata"])
        for name, row in manifest_rows(root).items()
        if row["object_type"] == "table"
    }


def folders(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()} - {"__manifest"}


# --- a row for each table

CHANGES: dict[str, tuple[Callable[[Any], Any], dict[str, tuple[str, str | None]]]] = {
    "declare": (
        lambda lake: lake.declare_table({"id": ["d"], "properties": {"a": "b"}}),
        {"t": ("t.lance", '{"k": "v"}'), "d": ("d.lance", '{"a": "b"}')},
    ),
    "create": (
        lambda lake: lake.create_table({"id": ["c"]}, ROWS),
        {"t": ("t.lance", '{"k": "v"}'), "c": ("c.lance", None)},
    ),
    "overwrite": (
        lambda lake: lake.create_table({**T, "mode": "Overwrite", "properties": {"a": "b"}}, ROWS),
        {"t": ("t.lance", '{"a": "b"}')},
    ),
    "alter": (
        lambda lake: lake.alter_table({**T, "unset_properties": ["k"]}),
        {"t": ("t.lance", None)},
    ),
    "rename": (
        lambda lake: lake.rename_table({**T, "new_table_name": "u"}),
        {"u": ("u.lance", '{"k": "v"}')},
    ),
    "deregister": (lambda lake: lake.deregister_table(T), {}),
    "drop": (lambda lake: lake.drop_table(T), {}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_row_changes_with_its_table(
    lake: DirectoryNamespace, tmp_path: Path, change: str
) -> None:
    act, wanted = CHANGES[change]
    act(lake)
    assert tables(tmp_path) == wanted
    assert list(lake.iter_tables()) == sorted(wanted)


@pytest.mark.parametrize("change", ["deregister", "drop", "rename"])
def test_version_rows_change_with_their_table(
    lake: DirectoryNamespace, tmp_path: Path, change: str
) -> None:
    add_row(tmp_path, **VERSION)
    assert list(lake.iter_tables()) == ["t"]
    CHANGES[change][0](lake)
    assert set(manifest_rows(tmp_path)) == ({"n", "u", "u$1"} if change == "rename" else {"n"})


def test_a_table_registered_again_has_the_new_properties(
    lake: DirectoryNamespace, tmp_path: Path
) -> None:
    lake.deregister_table(T)
    with connect("dir", {"path": str(tmp_path), "manifest": "false"}) as flat:
        assert list(flat.iter_tables()) == []
    kept = tmp_path / "t.lance" / ".lance-properties"
    assert json.loads(kept.read_text()) == {"k": "v"}
    lake.register_table({**T, "location": "t.lance", "properties": {"a": "b"}})
    assert lake.describe_table(T).properties == {"a": "b"}
    assert tables(tmp_path) == {"t": ("t.lance", '{"a": "b"}')}


def test_a_failed_create_leaves_neither_a_row_nor_a_directory(
    lake: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        assert "new" in manifest_rows(tmp_path)
        raise RuntimeError("the source gave up")
        yield

    monkeypatch.setattr(lake, "create_table_at_once", lambda *_: None)
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, rows())
    assert "the source gave up" in code_of(lambda: lake.create_table({"id": ["new"]}, reader))[1]
    assert set(manifest_rows(tmp_path)) == {"n", "t"}
    assert folders(tmp_path) == {"t.lance"}


# --- names that already exist

MAKES: dict[str, Callable[[Any, list[str]], Any]] = {
    "declare": lambda lake, id: lake.declare_table({"id": id}),
    "create": lambda lake, id: lake.create_table({"id": id}, ROWS),
    "register": lambda lake, id: lake.register_table({"id": id, "location": f"{id[-1]}.lance"}),
    "rename": lambda lake, id: lake.rename_table(
        {**T, "new_namespace_id": id[:-1], "new_table_name": id[-1]}
    ),
}


@pytest.mark.parametrize("make", MAKES)
def test_a_table_cannot_have_the_name_of_a_namespace(
    lake: DirectoryNamespace, tmp_path: Path, make: str
) -> None:
    before = manifest_rows(tmp_path)
    assert code_of(lambda: MAKES[make](lake, ["n"]))[0] == 5
    assert manifest_rows(tmp_path) == before
    assert folders(tmp_path) == {"t.lance"}


@pytest.mark.parametrize("make", ["declare", "create"])
def test_a_concurrently_created_namespace_keeps_its_name(
    lake: DirectoryNamespace, tmp_path: Path, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(self: Manifest, decide: Any) -> Any:
        monkeypatch.undo()
        add_row(
            tmp_path, object_id="new", object_type="namespace"
        )  # by a client that does not list
        return self.change(decide)

    monkeypatch.setattr(Manifest, "change", late)
    assert code_of(lambda: MAKES[make](lake, ["new"]))[0] == 5
    assert list(lake.iter_namespaces()) == ["n", "new"]
    assert list(lake.iter_tables()) == ["t"]
    assert folders(tmp_path) == {"t.lance"}


@pytest.fixture
def far(lake: DirectoryNamespace, tmp_path: Path) -> str:
    """A table of the root with another location, as created by clients that do not list."""
    Peer.at(tmp_path, dir_listing_enabled="false").create_table(["far"])
    return str(manifest_rows(tmp_path)["far"]["location"])


def test_a_table_of_the_root_can_have_another_location(
    lake: DirectoryNamespace, tmp_path: Path, far: str
) -> None:
    assert far != "far.lance"
    assert list(lake.iter_tables()) == ["far", "t"]
    assert lake.list_tables({"include_declared": False}).tables == ["far", "t"]
    assert lake.describe_table({"id": ["far"]}).location == f"{tmp_path}/{far}"
    lake.insert_into_table({"id": ["far"]}, ROWS)
    assert lake.count_table_rows({"id": ["far"]}).count == 6
    lake.alter_table({"id": ["far"], "set_properties": {"a": "b"}})
    assert tables(tmp_path)["far"] == (far, '{"a": "b"}')
    lake.drop_table({"id": ["far"]})
    assert folders(tmp_path) == {"t.lance"}
    assert set(manifest_rows(tmp_path)) == {"n", "t"}


@pytest.mark.parametrize("make", MAKES)
def test_a_table_with_another_location_keeps_its_name(
    lake: DirectoryNamespace, tmp_path: Path, far: str, make: str
) -> None:
    if make == "register":
        (tmp_path / "far.lance").mkdir()
    before = manifest_rows(tmp_path)
    assert code_of(lambda: MAKES[make](lake, ["far"]))[0] == 5
    assert manifest_rows(tmp_path) == before
    assert code_of(lambda: lake.create_namespace({"id": ["far"]}))[0] == 2
    assert folders(tmp_path) - {"far.lance"} == {"t.lance", far}


# --- managed versions


def test_storage_manages_the_versions_of_listed_tables(tmp_path: Path) -> None:
    with ours(tmp_path, table_version_tracking_enabled="true") as lake:
        lake.create_namespace({"id": ["n"]})
        lake.create_table(T, ROWS)
        lake.create_table({"id": ["n", "t"]}, ROWS)
        assert lake.describe_table(T).managed_versioning is False
        assert lake.describe_table({"id": ["n", "t"]}).managed_versioning is True
        chosen = {"properties": {"managed_versioning": "true"}}
        lake.deregister_table(T)
        for call in (
            lambda: lake.declare_table({"id": ["u"], **chosen}),
            lambda: lake.create_table({"id": ["u"], **chosen}, ROWS),
            lambda: lake.register_table({**T, "location": "t.lance", **chosen}),
        ):
            code, said = code_of(call)
            assert (code, "commit without the manifest" in said) == (13, True)
        assert list(lake.iter_tables()) == []
        steps = [{"declare_table": {"id": ["u"]}}]
        code, said = code_of(lambda: lake.batch_commit_tables({"operations": steps}))
        assert (code, "tables in the root are created and removed individually" in said) == (
            13,
            True,
        )
        lake.declare_table({"id": ["d"], "properties": {"managed_versioning": "false"}})
        assert lake.describe_table({"id": ["d"]}).properties == {}
        steps = [{"deregister_table": {"id": ["d"]}}]
        assert code_of(lambda: lake.batch_commit_tables({"operations": steps}))[0] == 13
        assert list(lake.iter_tables()) == ["d"]


# --- moves


@pytest.mark.parametrize(
    ("failure", "code"),
    [(FileNotFoundError("gone"), 4), (PermissionError("not yours"), 15), (None, 5)],
)
@pytest.mark.parametrize("new", [["u"], ["n", "u"]])
def test_a_failed_move_changes_nothing(
    lake: DirectoryNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception | None,
    code: int,
    new: list[str],
) -> None:
    def move(self: Directory, folder: str, to: str) -> bool:
        assert (tmp_path / MOVING).exists()
        if failure is not None:
            raise failure
        return False  # the name already exists

    before = manifest_rows(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Directory, "move", move)
        assert code_of(lambda: MAKES["rename"](lake, new))[0] == code
    assert folders(tmp_path) == {"t.lance"}
    assert manifest_rows(tmp_path) == before
    assert lake.open_table(["t"]).to_table() == ROWS


def note(root: Path, old: list[str], new: list[str], moved: tuple[str, str]) -> None:
    """Write the note of a move, as left by a process that is killed during the move."""
    content = {"from": old, "to": new, "old": moved[0], "new": moved[1], "properties": {"k": "v"}}
    (root / MOVING).write_text(json.dumps(content))


def test_a_move_that_did_not_start_is_discarded(lake: DirectoryNamespace, tmp_path: Path) -> None:
    before = manifest_rows(tmp_path)
    note(tmp_path, ["t"], ["u"], ("t.lance", "u.lance"))
    assert list(lake.iter_tables()) == ["t"]
    assert folders(tmp_path) == {"t.lance"}
    assert manifest_rows(tmp_path) == before


@pytest.mark.parametrize("new", [["u"], ["n", "u"]])
def test_an_interrupted_move_is_finished(
    lake: DirectoryNamespace, tmp_path: Path, new: list[str]
) -> None:
    add_row(tmp_path, **VERSION)
    folder = "u.lance" if len(new) == 1 else "01234567_n$u"
    note(tmp_path, ["t"], new, ("t.lance", folder))
    (tmp_path / "t.lance").rename(tmp_path / folder)
    assert lake.list_all_tables({}).tables == ["$".join(new)]
    assert lake.describe_table({"id": new}).properties == {"k": "v"}
    assert lake.open_table(new).to_table() == ROWS
    assert folders(tmp_path) == {folder}
    assert set(manifest_rows(tmp_path)) == {"n", "$".join(new), "$".join([*new, "1"])}


@pytest.mark.parametrize("new", [["m"], ["n", "taken"]])
def test_an_interrupted_move_to_an_existing_name_is_undone(
    lake: DirectoryNamespace, tmp_path: Path, new: list[str]
) -> None:
    lake.create_namespace({"id": ["m"]})
    lake.declare_table({"id": ["n", "taken"]})
    before = manifest_rows(tmp_path)
    folder = "m.lance" if len(new) == 1 else "01234567_n$taken"
    note(tmp_path, ["t"], new, ("t.lance", folder))
    (tmp_path / "t.lance").rename(tmp_path / folder)
    assert list(lake.iter_tables()) == ["t"]
    assert manifest_rows(tmp_path) == before
    assert not (tmp_path / MOVING).exists() and not (tmp_path / folder).exists()
    assert lake.open_table(["t"]).to_table() == ROWS


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (["t"], ["none", "u"], 1),
        (["t"], ["n", "there"], 5),
        (["t"], ["n"], 5),
        (["t"], ["t"], 5),
        (["n", "there"], ["t"], 5),
        (["n", "there"], ["n"], 5),
        (["link"], ["u"], 19),
        (["none"], ["u"], 4),
        (["n", "none"], ["u"], 4),
    ],
    ids=lambda value: "$".join(value) if isinstance(value, list) else str(value),
)
def test_an_invalid_move_changes_nothing(
    lake: DirectoryNamespace, tmp_path: Path, old: list[str], new: list[str], code: int
) -> None:
    lake.create_table({"id": ["n", "there"]}, ROWS)
    (tmp_path / "link.lance").symlink_to(tmp_path / "t.lance")
    before, there = manifest_rows(tmp_path), folders(tmp_path)
    request = {"id": old, "new_namespace_id": new[:-1], "new_table_name": new[-1]}
    assert code_of(lambda: lake.rename_table(request))[0] == code
    assert (manifest_rows(tmp_path), folders(tmp_path)) == (before, there)


@pytest.mark.parametrize("properties", [{}, {"a": "b"}])
def test_a_listing_client_sees_the_properties_of_a_table_moved_into_the_root(
    lake: DirectoryNamespace, tmp_path: Path, properties: dict[str, str]
) -> None:
    made = lake.create_table({"id": ["n", "t"], "properties": properties}, ROWS)
    Path(made.location or "", ".lance-properties").write_text('{"of": "another time"}')
    lake.rename_table({"id": ["n", "t"], "new_namespace_id": [], "new_table_name": "u"})
    assert (lake.describe_table({"id": ["u"]}).properties or {}) == properties
    with connect("dir", {"path": str(tmp_path), "manifest": "false"}) as flat:
        assert (flat.describe_table({"id": ["u"]}).properties or {}) == properties


def test_an_object_store_cannot_move_a_table_of_the_root(
    lake: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = manifest_rows(tmp_path)
    monkeypatch.setattr(lake._directory, "is_local", False)
    code, said = code_of(lambda: MAKES["rename"](lake, ["u"]))
    assert (code, "object stores cannot rename it" in said) == (0, True)
    assert manifest_rows(tmp_path) == before


def test_a_directory_without_a_row_is_a_table(tmp_path: Path) -> None:
    """Before the first change there is no manifest, and clients list the directories."""
    (tmp_path / "t.lance").mkdir()
    with ours(tmp_path) as lake:
        assert list(lake.iter_tables()) == ["t"]
        lake.drop_table(T)
        assert list(tmp_path.iterdir()) == []
