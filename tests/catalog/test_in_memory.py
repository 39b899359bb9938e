"""The catalog in memory: what its primitives refuse, what they leave behind, whose it is."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    LanceNamespaceError,
    TransactionNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.catalog.versions import (
    AddTable,
    AddVersion,
    KeptVersion,
    RemoveTable,
    RemoveVersions,
)
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace
from lance_namespace_impls.memory.namespace import catalog

T = ("ns", "t")
MANAGED = {"managed_versioning": "true"}


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[MemoryNamespace]:
    """A catalog with a namespace, a table in it, and a namespace in that one."""
    with MemoryNamespace(MemoryConfig(root=str(tmp_path / "tables"))) as found:
        found.add_namespace(("ns",), {"a": "1", "b": "2"})
        found.add_namespace(("ns", "inner"), {})
        found.add_table(T, None, {"a": "1", "b": "2"})
        yield found


def code_of(call: Callable[[], Any]) -> int:
    with pytest.raises(LanceNamespaceError) as caught:
        call()
    return int(caught.value.code)


def version(number: int) -> KeptVersion:
    return KeptVersion(version=number, manifest_path=f"t/{number}", timestamp_millis=number)


def numbers(namespace: MemoryNamespace, table: TableEntry, branch: str | None = None) -> list[int]:
    found = namespace.version_store.versions(table, branch, None, False)
    return [each.version for each in found]


def add(
    namespace: MemoryNamespace, table: TableEntry, count: int, branch: str | None = None
) -> None:
    for number in range(1, count + 1):
        onto = number - 1 or None
        added = AddVersion(table=table, branch=branch, version=version(number), onto=onto)
        namespace.version_store.commit([added])


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
def test_what_cannot_be_is_refused_and_changes_nothing(
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
    """Return an entry whose table has gone meanwhile."""
    return TableEntry(id=("ns", "gone"), location="/gone", properties={})


@pytest.mark.parametrize("call", GONE)
def test_a_table_that_went_meanwhile_is_missing(namespace: MemoryNamespace, call: str) -> None:
    assert code_of(lambda: GONE[call](namespace)) == 4
    assert list(namespace.table_names(("ns",), None)) == ["t"]


def test_a_table_that_is_not_of_lance_is_there_and_is_not_opened(tmp_path: Path) -> None:
    with MemoryNamespace(MemoryConfig(root=str(tmp_path))) as found:
        catalog(str(tmp_path)).tables[("foreign",)] = None
        assert code_of(lambda: found.load_table(("foreign",))) == 13
        assert list(found.table_names((), None)) == []
        assert code_of(lambda: found.add_table(("foreign",), None, {})) == 5
        assert code_of(lambda: found.add_namespace(("foreign",), {})) == 2


def test_what_is_changed_and_what_is_removed(namespace: MemoryNamespace) -> None:
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


def test_a_table_that_moves_keeps_its_place_and_its_versions(namespace: MemoryNamespace) -> None:
    before = namespace.add_table(("ns", "m"), "/somewhere/m/", MANAGED)
    assert (before.location, before.managed, before.properties) == ("/somewhere/m", True, {})
    add(namespace, before, 2)
    namespace.move_table(before, ("ns", "inner", "m"))
    moved = namespace.load_table(("ns", "inner", "m"))
    assert (moved.id, moved.location) == (("ns", "inner", "m"), "/somewhere/m")
    assert numbers(namespace, moved) == [1, 2]
    assert numbers(namespace, before) == []
    assert code_of(lambda: namespace.load_table(("ns", "m"))) == 4


@pytest.mark.parametrize("way", ["remove_table", "commit", "remove_namespace"])
def test_a_table_that_goes_leaves_no_versions_to_the_next(
    namespace: MemoryNamespace, way: str
) -> None:
    first = namespace.add_table(("ns", "m"), "/somewhere/m", MANAGED)
    add(namespace, first, 2)
    if way == "remove_table":
        namespace.remove_table(first)
    elif way == "commit":
        namespace.version_store.commit([RemoveTable(table=first)])
    else:
        namespace.remove_namespace(("ns",), True)
        namespace.add_namespace(("ns",), {})
    assert namespace.version_store.latest(first, None) is None
    again = namespace.add_table(("ns", "m"), "/somewhere/m", MANAGED)
    assert numbers(namespace, again) == []
    add(namespace, again, 1)
    assert numbers(namespace, again) == [1]


@pytest.mark.parametrize(
    ("after", "descending", "found"),
    [
        (None, False, [1, 2, 3, 4]),
        (None, True, [4, 3, 2, 1]),
        (2, False, [3, 4]),
        (2, True, [1]),
        (4, False, []),
        (1, True, []),
    ],
)
def test_versions_go_on_after_one(
    namespace: MemoryNamespace, after: int | None, descending: bool, found: list[int]
) -> None:
    table = namespace.load_table(T)
    add(namespace, table, 4)
    listed = namespace.version_store.versions(table, None, after, descending)
    assert [each.version for each in listed] == found


def test_versions_of_each_branch_are_its_own(namespace: MemoryNamespace) -> None:
    store, table = namespace.version_store, namespace.load_table(T)
    add(namespace, table, 3)
    add(namespace, table, 2, "b")
    assert store.latest(table, None) == version(3)
    assert store.latest(table, "b") == version(2)
    assert store.latest(table, "c") is None
    assert store.version(table, None, 1) == version(1)
    assert store.version(table, "b", 3) is None
    store.commit([RemoveVersions(table=table, branch=None, versions=[1, 9])])
    assert (numbers(namespace, table), numbers(namespace, table, "b")) == ([2, 3], [1, 2])
    store.commit([RemoveVersions(table=table, branch="b", versions=None)])
    assert (numbers(namespace, table), numbers(namespace, table, "b")) == ([2, 3], [])


@pytest.mark.parametrize("onto", [None, 1, 3])
def test_a_version_that_is_onto_another_than_the_latest_is_refused_with_all_beside_it(
    namespace: MemoryNamespace, onto: int | None
) -> None:
    table = namespace.load_table(T)
    add(namespace, table, 2)
    added = AddVersion(table=table, branch=None, version=version(3), onto=onto)
    beside = [
        AddTable(id=("ns", "u"), location="/u", properties={}),
        AddVersion(table=table, branch="b", version=version(1), onto=None),
        RemoveVersions(table=table, branch=None, versions=[1]),
    ]
    with pytest.raises(ConcurrentModificationError, match="version 2 is the latest"):
        namespace.version_store.commit([*beside, added])
    assert (numbers(namespace, table), numbers(namespace, table, "b")) == ([1, 2], [])
    assert list(namespace.table_names(("ns",), None)) == ["t"]


def test_a_version_that_is_published_says_where_and_none_is_made_of_it(
    namespace: MemoryNamespace,
) -> None:
    store, table = namespace.version_store, namespace.load_table(T)
    add(namespace, table, 1)
    final = KeptVersion(version=1, manifest_path="t/final", timestamp_millis=1)
    store.published(table, None, final)
    store.published(table, None, version(2))
    assert store.version(table, None, 1) == final
    assert numbers(namespace, table) == [1]


def test_a_later_table_of_the_name_is_another_to_the_versions(namespace: MemoryNamespace) -> None:
    store, first = namespace.version_store, namespace.load_table(T)
    add(namespace, first, 1)
    namespace.remove_table(first)
    later = namespace.add_table(T, "/elsewhere", {})
    add(namespace, later, 2)
    assert (store.latest(first, None), numbers(namespace, first)) == (None, [])
    for change in (
        AddVersion(table=first, branch=None, version=version(3), onto=2),
        RemoveVersions(table=first, branch=None, versions=None),
        RemoveTable(table=first),
    ):
        assert code_of(lambda change=change: store.commit([change])) == 4  # type: ignore[misc]
    assert numbers(namespace, later) == [1, 2]


def test_a_transaction_is_known_by_its_identifier(namespace: MemoryNamespace) -> None:
    store, table = namespace.version_store, namespace.load_table(T)
    added = AddVersion(table=table, branch=None, version=version(1), onto=None)
    name, other = store.commit([added]), store.commit([])
    assert name != other
    found = store.transaction(name)
    assert (found.id, found.status, found.properties) == (name, "Succeeded", {})
    changed = store.change_transaction(name, lambda old: {**old, "k": "v"})
    assert store.transaction(name) == changed
    assert (changed.id, changed.properties) == (name, {"k": "v"})
    assert store.transaction(other).properties == {}
    with pytest.raises(TransactionNotFoundError, match="transaction no does not exist"):
        store.change_transaction("no", dict)


def test_a_namespace_is_dropped_with_all_that_is_in_it_where_asked(
    namespace: MemoryNamespace,
) -> None:
    assert code_of(lambda: namespace.drop_namespace({"id": ["ns"]})) == 3
    namespace.drop_namespace({"id": ["ns"], "behavior": "Cascade"})
    assert list(namespace.iter_namespaces()) == []


# --- whose catalog it is


def test_connections_of_one_name_or_root_share_a_catalog(tmp_path: Path) -> None:
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


def test_tables_go_below_the_root_of_the_connection_or_of_the_catalog(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("managed", "choice"), [("true", None), ("false", None), ("true", "false")]
)
def test_who_keeps_the_versions_is_the_catalogs_choice_or_the_tables(
    managed: str, choice: str | None
) -> None:
    chosen = {} if choice is None else {"managed_versioning": choice}
    with connect("memory", {"managed": managed}) as found:
        answer = found.declare_table({"id": ["t"], "properties": {"k": "v", **chosen}})
        assert answer.managed_versioning is ((choice or managed) == "true")
        assert found.describe_table({"id": ["t"]}).properties == {"k": "v"}


def test_a_table_that_moved_stays_in_the_bounds_of_its_catalog(tmp_path: Path) -> None:
    properties = {"root": str(tmp_path), "confine_locations": "true"}
    with connect("memory", properties) as found:
        for name in ("a", "b"):
            found.create_namespace({"id": [name]})
        where = found.declare_table({"id": ["a", "t"]}).location
        found.rename_table({"id": ["a", "t"], "new_table_name": "u", "new_namespace_id": ["b"]})
        assert found.describe_table({"id": ["b", "u"]}).location == where
        outside = {"id": ["b", "v"], "location": f"{tmp_path.parent}/v"}
        assert code_of(lambda: found.declare_table(outside)) == 13
