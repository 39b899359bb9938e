"""The contents of a directory: both layouts, markers, unusual names, and third-party files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

from .lakes import code_of

ROWS = pa.table({"x": [1, 2, 3]})


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Namespace]:
    with connect("dir", {"path": str(tmp_path)}) as found:
        yield found


# --- plain directories


def test_a_plain_directory_is_a_table_and_stays_plain(namespace: Namespace, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    found = namespace.describe_table({"id": ["old"], "check_declared": True})
    assert (found.location, found.is_only_declared) == (f"{tmp_path}/old", True)
    created = namespace.create_table({"id": ["old"], "properties": {"k": "v"}}, ROWS)
    assert created.location == f"{tmp_path}/old"
    namespace.rename_table({"id": ["old"], "new_table_name": "new"})
    assert namespace.describe_table({"id": ["new"]}).location == f"{tmp_path}/new"
    assert namespace.open_table(["new"]).to_table() == ROWS
    namespace.drop_table({"id": ["new"]})
    assert list(tmp_path.iterdir()) == []


def test_a_plain_directory_is_registered_by_its_own_location(
    namespace: Namespace, tmp_path: Path
) -> None:
    (tmp_path / "t").mkdir()
    namespace.deregister_table({"id": ["t"]})
    register = {"id": ["t"], "location": f"{tmp_path}/t.lance"}
    assert code_of(lambda: namespace.register_table(register))[0] == 13
    for location in ("t", f"{tmp_path}/t", f"{tmp_path}/t/", f"file://{tmp_path}/t"):
        namespace.register_table({"id": ["t"], "location": location})
        assert list(namespace.iter_tables()) == ["t"]
        namespace.deregister_table({"id": ["t"]})


def test_an_empty_directory_is_renamed_unchanged(namespace: Namespace, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    namespace.rename_table({"id": ["old"], "new_table_name": "new"})
    assert [path.name for path in tmp_path.rglob("*")] == ["new"]


# --- both layouts for one name

ON_BOTH: dict[str, Callable[[Namespace], Any]] = {
    "list": lambda ns: ns.list_tables({}),
    "list with data": lambda ns: ns.list_tables({"include_declared": False}),
    "list all": lambda ns: ns.list_all_tables({}),
    "exists": lambda ns: ns.table_exists({"id": ["t"]}),
    "describe": lambda ns: ns.describe_table({"id": ["t"]}),
    "declare": lambda ns: ns.declare_table({"id": ["t"]}),
    "create": lambda ns: ns.create_table({"id": ["t"]}, ROWS),
    "overwrite": lambda ns: ns.create_table({"id": ["t"], "mode": "Overwrite"}, ROWS),
    "register": lambda ns: ns.register_table({"id": ["t"], "location": "t.lance"}),
    "deregister": lambda ns: ns.deregister_table({"id": ["t"]}),
    "drop": lambda ns: ns.drop_table({"id": ["t"]}),
    "rename": lambda ns: ns.rename_table({"id": ["t"], "new_table_name": "u"}),
    "rename to it": lambda ns: ns.rename_table({"id": ["other"], "new_table_name": "t"}),
    "alter": lambda ns: ns.alter_table({"id": ["t"], "set_properties": {"k": "v"}}),
    "count": lambda ns: ns.count_table_rows({"id": ["t"]}),
    "insert": lambda ns: ns.insert_into_table({"id": ["t"]}, ROWS),
}


@pytest.mark.parametrize("call", ON_BOTH.values(), ids=ON_BOTH)
def test_two_directories_of_one_name_are_ambiguous(
    namespace: Namespace, tmp_path: Path, call: Callable[[Namespace], Any]
) -> None:
    for name in ("t", "t.lance", "other.lance"):
        (tmp_path / name).mkdir()
    code, message = code_of(lambda: call(namespace))
    assert code == 19
    assert "t/ and t.lance/" in message
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["other.lance", "t", "t.lance"]


def test_other_tables_remain_usable_next_to_an_ambiguous_name(
    namespace: Namespace, tmp_path: Path
) -> None:
    for name in ("t", "t.lance", "other.lance"):
        (tmp_path / name).mkdir()
    namespace.table_exists({"id": ["other"]})
    namespace.create_table({"id": ["other"]}, ROWS)
    assert namespace.count_table_rows({"id": ["other"]}).count == 3


def test_a_deregistered_directory_does_not_make_a_name_ambiguous(
    namespace: Namespace, tmp_path: Path
) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t.lance").mkdir()
    (tmp_path / "t.lance" / ".lance-deregistered").touch()
    assert list(namespace.iter_tables()) == ["t"]
    assert namespace.describe_table({"id": ["t"]}).location == f"{tmp_path}/t"
    namespace.deregister_table({"id": ["t"]})
    assert list(namespace.iter_tables()) == []
    namespace.register_table({"id": ["t"], "location": "t.lance"})
    assert namespace.describe_table({"id": ["t"]}).location == f"{tmp_path}/t.lance"


# --- markers


def test_a_declared_table_has_its_marker_until_it_has_data(
    namespace: Namespace, tmp_path: Path
) -> None:
    namespace.declare_table({"id": ["t"]})
    assert [path.name for path in (tmp_path / "t.lance").iterdir()] == [".lance-reserved"]
    namespace.create_table({"id": ["t"]}, ROWS)
    assert not (tmp_path / "t.lance" / ".lance-reserved").exists()


def test_data_takes_precedence_over_the_marker(namespace: Namespace, tmp_path: Path) -> None:
    import lance

    location = namespace.declare_table({"id": ["t"]}).location
    lance.write_dataset(ROWS, location)
    found = namespace.describe_table({"id": ["t"], "check_declared": True})
    assert found.is_only_declared is False
    assert namespace.list_tables({"include_declared": False}).tables == ["t"]
    assert code_of(lambda: namespace.create_table({"id": ["t"]}, ROWS))[0] == 5


def test_deregistering_leaves_all_files_unchanged(namespace: Namespace, tmp_path: Path) -> None:
    namespace.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    namespace.deregister_table({"id": ["t"]})
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    marker = tmp_path / "t.lance" / ".lance-deregistered"
    assert after.pop(marker)
    assert after == before


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"k": 1}', b"\xff", b'"text"'])
def test_damaged_properties_are_reported_and_kept(
    namespace: Namespace, tmp_path: Path, content: bytes
) -> None:
    namespace.declare_table({"id": ["t"], "properties": {"k": "v"}})
    file = tmp_path / "t.lance" / ".lance-properties"
    file.write_bytes(content)
    for call in (
        lambda: namespace.describe_table({"id": ["t"]}),
        lambda: namespace.alter_table({"id": ["t"], "set_properties": {"a": "b"}}),
    ):
        code, message = code_of(call)
        assert code == 19
        assert str(file) in message
    assert file.read_bytes() == content
    assert list(namespace.iter_tables()) == ["t"]


# --- names


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """A directory with the tables ``a`` and ``b``; a test drops the tables that it creates."""
    with connect("dir", {"path": str(tmp_path_factory.mktemp("lake"))}) as found:
        for name in ("a", "b"):
            found.create_table({"id": [name]}, pa.table({"x": [0]}))
        yield found


@pytest.mark.parametrize(
    "name",
    ["a b", "a.b", "a%20b", "%2F", "50%", "a+b", "a$b", "a#b", "a?b", "a:b", "a*b", "~", "-", "ü",
     "e\u0301", "日本", "a'b", 'a"b', "a\\b", " a", "a ", "x.lance.y", "n" * 249, "ü" * 124],
)  # fmt: skip
def test_unusual_names_are_separate_tables(two_tables: Namespace, name: str) -> None:
    namespace = two_tables
    namespace.create_table({"id": [name]}, ROWS)
    assert list(namespace.iter_tables()) == sorted(["a", "b", name])
    assert namespace.open_table([name]).to_table() == ROWS
    assert namespace.open_table(["a"]).count_rows() == 1
    uri = namespace.describe_table({"id": [name], "with_table_uri": True}).table_uri
    assert uri is not None
    import lance

    assert lance.dataset(uri).to_table() == ROWS
    namespace.rename_table({"id": [name], "new_table_name": "c"})
    namespace.rename_table({"id": ["c"], "new_table_name": name})
    namespace.drop_table({"id": [name]})
    assert list(namespace.iter_tables()) == ["a", "b"]


def test_a_control_character_is_rejected_before_any_change(
    namespace: Namespace, tmp_path: Path
) -> None:
    for code in (*range(1, 32), 127):
        name = f"a{chr(code)}b"
        for call in (
            lambda name=name: namespace.declare_table({"id": [name]}),
            lambda name=name: namespace.create_table({"id": [name]}, ROWS),
            lambda name=name: namespace.describe_table({"id": [name]}),
        ):
            found, message = code_of(call)
            assert found == 13
            assert message.isprintable()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_whose_name_is_not_utf_8_fails_the_listing(
    namespace: Namespace, tmp_path: Path
) -> None:
    namespace.declare_table({"id": ["t"]})
    os.mkdir(os.fsencode(tmp_path) + b"/bad\xff.lance")
    code, message = code_of(lambda: namespace.list_tables({}))
    assert (code, "xff.lance" in message) == (19, True)
    namespace.table_exists({"id": ["t"]})
    namespace.drop_table({"id": ["t"]})
    assert code_of(lambda: namespace.table_exists({"id": ["t"]}))[0] == 4


# --- links and files


def test_a_broken_link_is_not_a_table(namespace: Namespace, tmp_path: Path) -> None:
    (tmp_path / "gone.lance").symlink_to(tmp_path / "nowhere")
    assert list(namespace.iter_tables()) == []
    assert code_of(lambda: namespace.describe_table({"id": ["gone"]}))[0] == 4
    assert code_of(lambda: namespace.declare_table({"id": ["gone"]}))[0] == 5


def test_a_missing_data_file_is_code_19(namespace: Namespace, tmp_path: Path) -> None:
    namespace.create_table({"id": ["t"]}, ROWS)
    for file in (tmp_path / "t.lance" / "data").iterdir():
        file.unlink()
    query = {"id": ["t"], "k": 5, "vector": {}}
    assert code_of(lambda: namespace.query_table(query).read_all())[0] == 19


# --- the directory itself


def test_the_directory_is_created_with_its_first_table(tmp_path: Path) -> None:
    root = tmp_path / "not" / "there" / "yet"
    with connect("dir", {"path": str(root)}) as namespace:
        assert namespace.describe_namespace({}).properties == {}
        assert list(namespace.iter_tables()) == []
        assert list(namespace.iter_namespaces()) == []
        assert code_of(lambda: namespace.describe_table({"id": ["t"]}))[0] == 4
        assert not root.exists()
        namespace.create_table({"id": ["t"]}, ROWS)
    assert (root / "t.lance").is_dir()


def test_a_rename_onto_an_empty_directory_is_rejected(namespace: Namespace, tmp_path: Path) -> None:
    namespace.create_table({"id": ["t"]}, ROWS)
    (tmp_path / "u").mkdir()
    (tmp_path / "v.lance").mkdir()
    for name in ("u", "v"):
        rename = partial(namespace.rename_table, {"id": ["t"], "new_table_name": name})
        assert code_of(rename)[0] == 5
    assert namespace.open_table(["t"]).to_table() == ROWS


# --- branches


@pytest.mark.parametrize("manifest", ["false", "true"])
def test_a_table_of_the_root_with_branches_cannot_be_renamed(tmp_path: Path, manifest: str) -> None:
    """Lance stores the absolute path of the data in a branch."""
    old, new = {"id": ["old"]}, {"id": ["new"]}
    with connect("dir", {"path": str(tmp_path), "manifest": manifest}) as lake:
        lake.create_table(old, ROWS)
        lake.create_table_branch({**old, "name": "side"})
        code, said = code_of(lambda: lake.rename_table({**old, "new_table_name": "new"}))
        assert code == 19
        assert "table old has branches" in said
        assert (
            lake.query_table({**old, "branch": "side", "k": 9, "vector": None}).read_all() == ROWS
        )
        lake.delete_table_branch({**old, "name": "side"})
        refs = tmp_path / "old.lance/_refs/branches"
        refs.mkdir(exist_ok=True)
        (refs / "side.json#1").write_text("half written")
        lake.rename_table({**old, "new_table_name": "new"})
        assert lake.query_table({**new, "k": 9, "vector": None}).read_all() == ROWS


def test_a_table_in_a_namespace_with_branches_can_be_renamed(tmp_path: Path) -> None:
    old, new = {"id": ["n", "old"]}, {"id": ["n", "new"]}
    with connect("dir", {"path": str(tmp_path), "manifest": "true"}) as lake:
        lake.create_namespace({"id": ["n"]})
        lake.create_table(old, ROWS)
        lake.create_table_branch({**old, "name": "side"})
        lake.rename_table({**old, "new_table_name": "new"})
        assert (
            lake.query_table({**new, "branch": "side", "k": 9, "vector": None}).read_all() == ROWS
        )
