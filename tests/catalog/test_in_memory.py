"""The in-memory catalog: rejected calls, the effects of its primitives, and sharing."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace
from lance_namespace_impls.memory.namespace import catalog

T = ("ns", "t")


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[MemoryNamespace]:
    """A catalog with a namespace that contains a table and another namespace."""
    with MemoryNamespace(MemoryConfig(root=str(tmp_path / "tables"))) as found:
        found.add_namespace(("ns",), {"a": "1", "b": "2"})
        found.add_namespace(("ns", "inner"), {})
        found.add_table(T, None, {"a": "1", "b": "2"})
        yield found


def code_of(call: Callable[[], Any]) -> int:
    with pytest.raises(LanceNamespaceError) as caught:
        call()
    return int(caught.value.code)


Call = Callable[[MemoryNamespace], Any]
REFUSED: dict[str, tuple[int, Call]] = {
    "namespaces of none": (1, lambda found: found.child_namespaces(("no",), None)),
    "tables of none": (1, lambda found: found.table_names(("no",), None)),
    "properties of none": (1, lambda found: found.namespace_properties(("no",))),
    "a change of none": (1, lambda found: found.change_namespace(("no",), {}, [])),
    "removal of none": (1, lambda found: found.remove_namespace(("no",), True)),
    "removal of a table as a namespace": (1, lambda found: found.remove_namespace(T, True)),
    "a namespace without its parent": (1, lambda found: found.add_namespace(("no", "ns"), {})),
    "a namespace that is there": (2, lambda found: found.add_namespace(("ns",), {})),
    "a namespace with the name of a table": (2, lambda found: found.add_namespace(T, {})),
    "removal of what holds something": (3, lambda found: found.remove_namespace(("ns",), False)),
    "a table of no namespace": (1, lambda found: found.load_table(("no", "t"))),
    "no table": (4, lambda found: found.load_table(("ns", "no"))),
    "a namespace as a table": (4, lambda found: found.load_table(("ns", "inner"))),
    "a new table of no namespace": (1, lambda found: found.add_table(("no", "t"), None, {})),
    "a table that is there": (5, lambda found: found.add_table(T, None, {})),
    "a table with the name of a namespace": (
        5, lambda found: found.add_table(("ns", "inner"), None, {})),
    "a move to no namespace": (1, lambda found: found.move_table(found.load_table(T), ("no", "u"))),
    "a move onto itself": (5, lambda found: found.move_table(found.load_table(T), T)),
    "a move onto a namespace": (
        5, lambda found: found.move_table(found.load_table(T), ("ns", "inner"))),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_an_invalid_call_is_rejected_and_changes_nothing(
    namespace: MemoryNamespace, what: str
) -> None:
    code, call = REFUSED[what]
    before = namespace.load_table(T)
    assert code_of(lambda: call(namespace)) == code
    assert namespace.load_table(T) == before
    assert list(namespace.child_namespaces((), None)) == ["ns"]
    assert list(namespace.child_namespaces(("ns",), None)) == ["inner"]
    assert list(namespace.table_names(("ns",), None)) == ["t"]
    assert namespace.namespace_properties(("ns",)) == {"a": "1", "b": "2"}


GONE: dict[str, Call] = {
    "removal": lambda found: found.remove_table(entry_of(found)),
    "a move": lambda found: found.move_table(entry_of(found), ("ns", "u")),
    "a change": lambda found: found.change_table(entry_of(found), {}, []),
}


def entry_of(namespace: MemoryNamespace) -> TableEntry:
    """Return the entry of a table that no longer exists."""
    return TableEntry(id=("ns", "gone"), location="/gone", properties={})


@pytest.mark.parametrize("call", GONE)
def test_a_concurrently_removed_table_is_missing(namespace: MemoryNamespace, call: str) -> None:
    assert code_of(lambda: GONE[call](namespace)) == 4
    assert list(namespace.table_names(("ns",), None)) == ["t"]


def test_a_table_of_another_format_exists_but_cannot_be_loaded(tmp_path: Path) -> None:
    with MemoryNamespace(MemoryConfig(root=str(tmp_path))) as found:
        catalog(str(tmp_path)).tables[("foreign",)] = None
        assert code_of(lambda: found.load_table(("foreign",))) == 13
        assert list(found.table_names((), None)) == []
        assert code_of(lambda: found.add_table(("foreign",), None, {})) == 5
        assert code_of(lambda: found.add_namespace(("foreign",), {})) == 2


def test_primitives_change_properties_and_remove_namespaces(namespace: MemoryNamespace) -> None:
    entry = namespace.load_table(T)
    for answer, kept in (
        (
            namespace.change_namespace(("ns",), {"a": "3", "c": "4"}, ["b", "none"]),
            lambda: namespace.namespace_properties(("ns",)),
        ),
        (
            namespace.change_table(entry, {"a": "3", "c": "4"}, ["b", "none"]),
            lambda: namespace.load_table(T).properties,
        ),
    ):
        assert answer == kept() == {"a": "3", "c": "4"}
    assert namespace.load_table(T).location == entry.location
    assert namespace.remove_namespace(("ns",), True) == {"a": "3", "c": "4"}
    assert list(namespace.child_namespaces((), None)) == []
    assert code_of(lambda: namespace.load_table(T)) == 1
    namespace.add_namespace(("ns",), {})
    assert list(namespace.child_namespaces(("ns",), None)) == []
    assert list(namespace.table_names(("ns",), None)) == []
    assert namespace.namespace_properties(()) == {}


# --- catalogs shared by connections


def test_connections_with_the_same_name_or_root_share_a_catalog(tmp_path: Path) -> None:
    root, name = str(tmp_path / "one"), f"of {tmp_path}"
    for first, second, shared in (
        ({"root": root}, {"root": root}, True),
        ({"name": name}, {"name": name, "root": root}, True),
        ({"root": root}, {"root": f"{root}/two"}, False),
        ({"name": f"{name} too", "root": root}, {"root": root}, False),
        ({}, {}, False),
    ):
        with connect("memory", first) as one, connect("memory", second) as two:
            one.create_namespace({"id": ["n"], "mode": "ExistOk"})
            assert two.list_namespaces({}).namespaces == (["n"] if shared else []), (first, second)
            one.drop_namespace({"id": ["n"]})


def test_tables_are_below_the_root_of_the_connection_or_of_the_catalog(tmp_path: Path) -> None:
    name = f"of {tmp_path}"
    with connect("memory", {"name": name}) as first:
        place = Path(str(first.declare_table({"id": ["t"]}).location))
        assert place.name == "t"
        assert place.parent.is_dir(), "its folder is made with it"
        assert place.parent.name.startswith("lance-memory-")
        with connect("memory", {"name": name}) as second:
            assert second.declare_table({"id": ["u"]}).location == str(place.parent / "u")
        with connect("memory", {"name": name, "root": str(tmp_path)}) as third:
            assert third.declare_table({"id": ["v"]}).location == str(tmp_path / "v")
        assert list(first.iter_tables()) == ["t", "u", "v"]
        assert list(pickle.loads(pickle.dumps(first)).iter_tables()) == ["t", "u", "v"]


def test_a_moved_table_keeps_its_location_within_the_root(tmp_path: Path) -> None:
    properties = {"root": str(tmp_path), "confine_locations": "true"}
    with connect("memory", properties) as found:
        for name in ("a", "b"):
            found.create_namespace({"id": [name]})
        where = found.declare_table({"id": ["a", "t"]}).location
        found.rename_table({"id": ["a", "t"], "new_table_name": "u", "new_namespace_id": ["b"]})
        assert found.describe_table({"id": ["b", "u"]}).location == where
        outside = {"id": ["b", "v"], "location": f"{tmp_path.parent}/v"}
        assert code_of(lambda: found.declare_table(outside)) == 13
