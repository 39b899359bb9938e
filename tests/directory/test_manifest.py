"""A directory with a manifest, also accessed through pylance's directory namespace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import lance_namespace as official
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

from .lakes import ROWS, Peer, add_row, manifest_rows, ours, rewrite


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Namespace]:
    with ours(tmp_path) as namespace:
        yield namespace


@pytest.fixture
def peer(tmp_path: Path) -> Peer:
    return Peer.at(tmp_path)


# --- objects created here are visible in pylance, and vice versa


def test_pylance_sees_objects_created_here(lake: Namespace, peer: Peer) -> None:
    lake.create_namespace({"id": ["n"], "properties": {"owner": "me"}})
    lake.create_namespace({"id": ["n", "m"]})
    lake.create_table({"id": ["top"]}, ROWS)
    lake.create_table({"id": ["n", "m", "t"], "properties": {"k": "v"}}, ROWS)
    lake.declare_table({"id": ["n", "d"]})
    assert (peer.namespaces([]), peer.namespaces(["n"])) == (["n"], ["m"])
    assert (peer.tables([]), peer.tables(["n"]), peer.tables(["n", "m"])) == (["top"], ["d"], ["t"])
    described = peer.namespace.describe_namespace(official.DescribeNamespaceRequest(id=["n"]))
    assert described.properties == {"owner": "me"}
    assert peer.describe(["n", "m", "t"]).properties == {"k": "v"}
    assert peer.rows(["n", "m", "t"]) == peer.rows(["top"]) == ROWS
    for table in (["n", "m", "t"], ["n", "d"], ["top"]):
        theirs = peer.describe(table).location.removeprefix("file://")
        assert theirs == lake.describe_table({"id": table}).location


def test_objects_created_by_pylance_are_visible(lake: Namespace, peer: Peer) -> None:
    peer.create_namespace(["n"], {"owner": "me"})
    peer.create_namespace(["n", "m"])
    peer.create_table(["top"])
    peer.create_table(["n", "m", "t"], properties={"k": "v"})
    assert list(lake.iter_namespaces()) == ["n"]
    assert list(lake.iter_namespaces(["n"])) == ["m"]
    assert lake.list_all_tables({}).tables == ["n$m$t", "top"]
    assert lake.describe_namespace({"id": ["n"]}).properties == {"owner": "me"}
    assert lake.describe_table({"id": ["n", "m", "t"]}).properties == {"k": "v"}
    assert (
        lake.open_table(["n", "m", "t"]).to_table() == lake.open_table(["top"]).to_table() == ROWS
    )
    with pytest.raises(NamespaceNotEmptyError, match="it contains m"):
        lake.drop_namespace({"id": ["n"]})
    lake.drop_table({"id": ["n", "m", "t"]})
    assert peer.tables(["n", "m"]) == []


def test_rows_have_the_names_that_pylance_uses(lake: Namespace, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"]})
    lake.create_table({"id": ["top"], "properties": {"k": "v"}}, ROWS)
    lake.create_table({"id": ["n", "t"]}, ROWS)
    rows = manifest_rows(tmp_path)
    assert rows["n"] == {
        "object_id": "n", "object_type": "namespace", "location": None, "metadata": None,
        "base_objects": None,
    }  # fmt: skip
    assert (rows["top"]["location"], rows["top"]["metadata"]) == ("top.lance", '{"k": "v"}')
    hashed, _, identifier = rows["n$t"]["location"].partition("_")
    assert (len(hashed), identifier) == (8, "n$t")
    assert set(os.listdir(tmp_path)) == {"__manifest", "top.lance", rows["n$t"]["location"]}
    field = lance.dataset(f"{tmp_path}/__manifest").schema.field("object_id")
    assert field.metadata == {b"lance-schema:unenforced-primary-key:position": b"0"}


def test_an_older_client_that_only_lists_sees_the_root(lake: Namespace, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"]})
    lake.create_table({"id": ["n", "t"]}, ROWS)
    lake.create_table({"id": ["top"], "properties": {"k": "v"}}, ROWS)
    lake.create_table({"id": ["old"]}, ROWS)
    lake.rename_table({"id": ["old"], "new_table_name": "new"})
    lake.create_table({"id": ["gone"]}, ROWS)
    lake.deregister_table({"id": ["gone"]})
    lister = Peer.at(tmp_path, manifest_enabled="false")
    assert lister.tables([]) == ["new", "top"]
    assert lister.rows(["new"]) == ROWS
    with connect("dir", {"root": str(tmp_path), "manifest": "false"}) as flat:
        assert "top" in list(flat.iter_tables())
        assert flat.describe_table({"id": ["top"]}).properties == {"k": "v"}


def test_a_table_created_by_a_listing_client_is_in_the_root(
    lake: Namespace, peer: Peer, tmp_path: Path
) -> None:
    lake.create_namespace({"id": ["n"]})
    Peer.at(tmp_path, manifest_enabled="false").create_table(["plain"])
    (tmp_path / "no table").mkdir()
    assert list(lake.iter_tables()) == peer.tables([]) == ["plain"]
    lake.alter_table({"id": ["plain"], "set_properties": {"k": "v"}})
    assert lake.describe_table({"id": ["plain"]}).properties == {"k": "v"}
    assert manifest_rows(tmp_path)["plain"]["metadata"] == '{"k": "v"}'
    lake.drop_table({"id": ["plain"]})
    assert list(lake.iter_tables()) == peer.tables([]) == []


def test_tables_of_the_root_without_directory_listing(tmp_path: Path) -> None:
    with ours(tmp_path, dir_listing_enabled="false") as lake:
        peer = Peer.at(tmp_path, dir_listing_enabled="false")
        lake.create_table({"id": ["here"], "properties": {"k": "v"}}, ROWS)
        peer.create_table(["there"])
        (tmp_path / "other.lance").mkdir()
        assert list(lake.iter_tables()) == peer.tables([]) == ["here", "there"]
        assert peer.describe(["here"]).properties == {"k": "v"}
        lake.rename_table({"id": ["there"], "new_table_name": "moved"})
        assert peer.rows(["moved"]) == lake.open_table(["moved"]).to_table() == ROWS


# --- the manifest property


def test_auto_uses_an_existing_manifest_and_creates_none(tmp_path: Path) -> None:
    with connect("dir", {"root": str(tmp_path)}) as lake:
        lake.create_table({"id": ["t"]}, ROWS)
        assert not (tmp_path / "__manifest").exists()
        assert "CreateNamespace" not in lake.list_operations({}).operations
        with pytest.raises(LanceNamespaceError) as caught:
            lake.create_namespace({"id": ["n"]})
        assert caught.value.code in (0, 13)
        Peer.at(tmp_path).create_namespace(["n"])
        assert list(lake.iter_namespaces()) == ["n"]
        lake.create_table({"id": ["n", "t"]}, ROWS)
        assert lake.list_all_tables({}).tables == ["n$t", "t"]
        assert "CreateNamespace" in lake.list_operations({}).operations


def test_false_ignores_a_manifest(tmp_path: Path) -> None:
    Peer.at(tmp_path).create_namespace(["n"])
    for key in ("manifest", "manifest_enabled"):
        with connect("dir", {"root": str(tmp_path), key: "false"}) as lake:
            assert list(lake.iter_namespaces()) == []
            assert lake.list_operations({}).operations.count("CreateNamespace") == 0


def test_true_creates_a_manifest_with_the_first_change(tmp_path: Path) -> None:
    with connect("dir", {"root": str(tmp_path / "new"), "manifest_enabled": "true"}) as lake:
        assert list(lake.iter_namespaces()) == list(lake.iter_tables()) == []
        with pytest.raises(NamespaceNotFoundError):
            lake.describe_namespace({"id": ["n"]})
        assert not (tmp_path / "new").exists()
        lake.create_namespace({"id": ["n"]})
        assert list(lake.iter_namespaces()) == ["n"]


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"manifest": "maybe"}, "auto, true, false"),
        ({"manifest": "false", "dir_listing_enabled": "false"}, "dir_listing_enabled"),
        ({"manifest": "true", "manifest_enabled": "false"}, "manifest_enabled"),
    ],
)
def test_conflicting_properties_are_rejected(
    tmp_path: Path, properties: dict[str, str], named: str
) -> None:
    with pytest.raises(InvalidInputError, match=named):
        connect("dir", {"root": str(tmp_path), **properties})


# --- rows and properties that are preserved


def test_unknown_columns_types_and_metadata_are_kept(lake: Namespace, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"]})
    lake.create_table({"id": ["n", "t"]}, ROWS)
    dataset = lance.dataset(f"{tmp_path}/__manifest")
    dataset.update_metadata({"owner": "root"})
    table = lance.dataset(f"{tmp_path}/__manifest").to_table()
    view = {"object_id": "n$v", "object_type": "view", "location": "somewhere"}
    table = pa.concat_tables([table, pa.Table.from_pylist([view], schema=table.schema)])
    table = table.append_column(
        "extra", pa.array([f"of {i}" for i in table["object_id"].to_pylist()])
    )
    rewrite(tmp_path, table)
    lake.rename_table({"id": ["n", "t"], "new_table_name": "u"})
    lake.alter_namespace({"id": ["n"], "set_properties": {"k": "v"}})
    lake.declare_table({"id": ["n", "new"]})
    rows = manifest_rows(tmp_path)
    assert {name: row["extra"] for name, row in rows.items()} == {
        "n": "of n", "n$u": "of n$t", "n$v": "of n$v", "n$new": None,
    }  # fmt: skip
    assert rows["n$v"] == {**view, "metadata": None, "base_objects": None, "extra": "of n$v"}
    assert lance.dataset(f"{tmp_path}/__manifest").metadata == {"owner": "root"}
    assert lake.describe_namespace({"id": []}).properties == {"owner": "root"}
    assert list(lake.iter_tables(["n"])) == ["new", "u"]
    with pytest.raises(LanceNamespaceError) as caught:
        lake.declare_table({"id": ["n", "v"]})
    assert caught.value.code == 5


def test_versions_are_moved_and_removed_with_their_table(lake: Namespace, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"]})
    lake.create_table({"id": ["n", "t"]}, ROWS)
    add_row(tmp_path, object_id="n$t$1", object_type="table_version", metadata="{}")
    assert list(lake.iter_tables(["n"])) == ["t"]
    lake.rename_table({"id": ["n", "t"], "new_table_name": "u"})
    assert set(manifest_rows(tmp_path)) == {"n", "n$u", "n$u$1"}
    lake.drop_table({"id": ["n", "u"]})
    assert set(manifest_rows(tmp_path)) == {"n"}


def test_cascade_removes_rows_and_keeps_data(lake: Namespace, tmp_path: Path) -> None:
    lake.create_namespace({"id": ["n"], "properties": {"k": "v"}})
    lake.create_namespace({"id": ["n", "m"]})
    lake.create_namespace({"id": ["nn"]})
    location = lake.create_table({"id": ["n", "m", "t"]}, ROWS).location
    assert location is not None
    dropped = lake.drop_namespace({"id": ["n"], "behavior": "Cascade"})
    assert dropped.properties == {"k": "v"}
    assert set(manifest_rows(tmp_path)) == {"nn"}
    assert lance.dataset(location).count_rows() == 3


def test_a_moved_table_keeps_its_rows_and_properties(lake: Namespace, peer: Peer) -> None:
    lake.create_namespace({"id": ["n"]})
    lake.create_namespace({"id": ["n", "m"]})
    lake.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
    at = ["t"]
    for to in (["u"], ["n", "u"], ["n", "m", "w"], ["n", "w"], ["w"], ["t"]):
        lake.rename_table({"id": at, "new_namespace_id": to[:-1], "new_table_name": to[-1]})
        with pytest.raises(TableNotFoundError):
            lake.describe_table({"id": at})
        found = lake.describe_table({"id": to})
        assert found.properties == {"k": "v"}
        assert lake.open_table(to).to_table() == peer.rows(to) == ROWS
        assert lake.list_all_tables({}).tables == ["$".join(to)]
        assert peer.tables(to[:-1]) == [to[-1]]
        at = to
    lake.alter_table({"id": ["t"], "unset_properties": ["k"]})
    lake.rename_table({"id": ["t"], "new_namespace_id": ["n"], "new_table_name": "t"})
    lake.rename_table({"id": ["n", "t"], "new_namespace_id": [], "new_table_name": "t"})
    assert lake.describe_table({"id": ["t"]}).properties == {}


# --- rejected calls, and stale rows


@pytest.mark.parametrize("location", ["/elsewhere/t", "../t", "s3://bucket/t", "a//b", "./t"])
def test_a_location_outside_the_directory_is_rejected(lake: Namespace, location: str) -> None:
    lake.create_namespace({"id": ["n"]})
    with pytest.raises(InvalidInputError, match="not below"):
        lake.register_table({"id": ["n", "t"], "location": location})
    assert list(lake.iter_tables(["n"])) == []


@pytest.mark.parametrize("name", ["a$b", "a/b", "..", "a\nb", ".a", "_a", "a.lance"])
def test_names_that_the_manifest_cannot_store(lake: Namespace, name: str) -> None:
    calls: list[Any] = [lake.create_namespace, lake.declare_table]
    for call in calls:
        with pytest.raises(InvalidInputError):
            call({"id": [name]})
    lake.create_namespace({"id": ["n"]})
    with pytest.raises(InvalidInputError):
        lake.declare_table({"id": ["n", name]})


def test_an_identifier_that_is_too_long_for_a_directory(lake: Namespace) -> None:
    lake.create_namespace({"id": ["n" * 200]})
    with pytest.raises(InvalidInputError, match="longer than 246 bytes"):
        lake.declare_table({"id": ["n" * 200, "t" * 100]})
    lake.declare_table({"id": ["n" * 200, "t" * 40]})
    assert list(lake.iter_tables(["n" * 200])) == ["t" * 40]


def test_a_row_without_a_directory_does_not_occupy_its_name(
    lake: Namespace, peer: Peer, tmp_path: Path
) -> None:
    """lancedb leaves such a row when it drops a table of the root by deleting its directory."""
    lake.create_table({"id": ["a"]}, ROWS)
    shutil.rmtree(tmp_path / "a.lance")
    assert "a" in manifest_rows(tmp_path)
    lake.create_namespace({"id": ["a"], "properties": {"k": "v"}})
    assert lake.list_tables({}).tables == peer.tables([]) == []
    assert lake.list_namespaces({}).namespaces == peer.namespaces([]) == ["a"]
    with pytest.raises(NamespaceAlreadyExistsError):
        lake.create_namespace({"id": ["a"]})


def test_a_recreated_manifest_is_not_confused_with_the_old_one(
    lake: Namespace, tmp_path: Path
) -> None:
    lake.create_namespace({"id": ["old"]})
    assert list(lake.iter_namespaces()) == ["old"]
    shutil.rmtree(tmp_path / "__manifest")
    assert list(lake.iter_namespaces()) == []
    Peer.at(tmp_path).create_namespace(["new"])
    assert list(lake.iter_namespaces()) == ["new"]


def test_old_versions_of_the_manifest_are_deleted(
    lake: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lance_namespace_impls.directory import manifest

    monkeypatch.setattr(manifest, "KEEP_MINUTES", 0)
    monkeypatch.setattr(manifest, "CLEAN_EVERY", 8)
    for number in range(32):
        lake.create_namespace({"id": [f"n{number}"]})
    versions = [n for n in os.listdir(tmp_path / "__manifest/_versions") if "manifest" in n]
    assert len(versions) <= 10
    assert len(os.listdir(tmp_path / "__manifest/data")) <= 10
    assert len(list(lake.iter_namespaces())) == 32


@pytest.mark.parametrize("operation", ["describe_table", "table_exists", "count_table_rows"])
def test_an_error_names_the_missing_namespace_of_a_table(tmp_path: Path, operation: str) -> None:
    with connect("dir", {"path": str(tmp_path), "manifest": "true"}) as namespace:
        namespace.create_namespace({"id": ["n"]})
        with pytest.raises(TableNotFoundError, match="namespace none does not exist"):
            getattr(namespace, operation)({"id": ["none", "t"]})
        with pytest.raises(TableNotFoundError, match=r"^table n\$t does not exist$"):
            getattr(namespace, operation)({"id": ["n", "t"]})
