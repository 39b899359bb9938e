"""Version stores separate the versions of tables, branches and later tables of the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    LanceNamespaceError,
    TableNotFoundError,
    TransactionNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.catalog import CatalogNamespace
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.catalog.version_store import (
    AddTable,
    AddVersion,
    RemoveTable,
    RemoveVersions,
    StoredVersion,
    VersionStore,
)
from lance_namespace_impls.sql import initialize

from ..servers.postgresql import shared

T = ("ns", "t")
BRANCHES = (None, "b")
KINDS = ("memory", "sqlite", "postgresql", "manifest")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def namespace(kind: str, tmp_path: Path) -> Iterator[CatalogNamespace]:
    """A catalog that manages the versions of a declared table."""
    root = str(tmp_path / "tables")
    if kind == "memory":
        found = connect("memory", {"root": root, "managed": "true"})
    elif kind == "manifest":
        found = connect(
            "dir", {"path": root, "manifest": "true", "table_version_tracking_enabled": "true"}
        )
    else:
        uri = shared().new_database() if kind == "postgresql" else str(tmp_path / "catalog.db")
        initialize({"uri": uri, "root": root})
        found = connect("sql", {"uri": uri, "root": root, "managed": "true"})
    with found:
        found.create_namespace({"id": ["ns"]})
        found.declare_table({"id": list(T)})
        yield found


@pytest.fixture
def store(namespace: CatalogNamespace) -> VersionStore:
    assert namespace.version_store is not None
    return namespace.version_store


@pytest.fixture
def table(namespace: CatalogNamespace) -> TableEntry:
    return namespace.load_table(T)


def code_of(call: Callable[[], Any]) -> int:
    with pytest.raises(LanceNamespaceError) as caught:
        call()
    return int(caught.value.code)


def version(number: int) -> StoredVersion:
    return StoredVersion(version=number, manifest_path=f"t/{number}", timestamp_millis=number)


def numbers(store: VersionStore, table: TableEntry) -> list[list[int]]:
    """Return the version numbers of the main branch and of the branch ``b``."""
    return [
        [each.version for each in store.versions(table, branch, None, False)] for branch in BRANCHES
    ]


def has_no_versions(store: VersionStore, table: TableEntry) -> bool:
    """Return whether the table is missing or has no versions."""
    try:
        return store.latest(table, None) is None and numbers(store, table) == [[], []]
    except TableNotFoundError:
        return True


def add(store: VersionStore, table: TableEntry, count: int, branch: str | None = None) -> None:
    for number in range(1, count + 1):
        onto = number - 1 or None
        store.commit([AddVersion(table=table, branch=branch, version=version(number), onto=onto)])


def test_a_moved_table_keeps_its_versions(
    namespace: CatalogNamespace, store: VersionStore, table: TableEntry
) -> None:
    add(store, table, 2)
    add(store, table, 1, "b")
    namespace.move_table(table, ("ns", "m"))
    moved = namespace.load_table(("ns", "m"))
    assert moved.location == table.location
    assert numbers(store, moved) == [[1, 2], [1]]
    assert has_no_versions(store, table)


@pytest.mark.parametrize("way", ["remove_table", "commit", "remove_namespace"])
def test_a_removed_table_leaves_no_versions_to_the_next(
    namespace: CatalogNamespace, store: VersionStore, table: TableEntry, way: str
) -> None:
    add(store, table, 2)
    add(store, table, 1, "b")
    if way == "remove_table":
        namespace.remove_table(table)
    elif way == "commit":
        store.commit([RemoveTable(table=table)])
    else:
        namespace.remove_namespace(("ns",), True)
        namespace.create_namespace({"id": ["ns"]})
    assert has_no_versions(store, table)
    namespace.register_table({"id": list(T), "location": table.location})
    again = namespace.load_table(T)
    assert numbers(store, again) == [[], []]
    add(store, again, 1)
    assert numbers(store, again) == [[1], []]


@pytest.mark.parametrize("branch", BRANCHES)
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
def test_versions_are_listed_after_a_version(
    store: VersionStore,
    table: TableEntry,
    branch: str | None,
    after: int | None,
    descending: bool,
    found: list[int],
) -> None:
    add(store, table, 4, branch)
    listed = store.versions(table, branch, after, descending)
    assert [each.version for each in listed] == found


def test_each_branch_has_separate_versions(store: VersionStore, table: TableEntry) -> None:
    add(store, table, 3)
    add(store, table, 2, "b")
    assert store.latest(table, None) == version(3)
    assert store.latest(table, "b") == version(2)
    assert store.latest(table, "c") is None
    assert store.version(table, None, 1) == version(1)
    assert store.version(table, "b", 3) is None


@pytest.mark.parametrize(
    ("branch", "chosen", "left"),
    [
        (None, [1, 9], [[2, 3], [1, 2]]),
        ("b", [1, 9], [[1, 2, 3], [2]]),
        (None, None, [[], [1, 2]]),
        ("b", None, [[1, 2, 3], []]),
        ("c", None, [[1, 2, 3], [1, 2]]),
        (None, [], [[1, 2, 3], [1, 2]]),
    ],
)
def test_versions_are_removed_only_from_the_specified_branch(
    store: VersionStore,
    table: TableEntry,
    branch: str | None,
    chosen: list[int] | None,
    left: list[list[int]],
) -> None:
    add(store, table, 3)
    add(store, table, 2, "b")
    store.commit([RemoveVersions(table=table, branch=branch, versions=chosen)])
    assert numbers(store, table) == left


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("onto", [None, 1, 3])
def test_a_version_not_based_on_the_latest_rejects_the_whole_commit(
    namespace: CatalogNamespace,
    store: VersionStore,
    table: TableEntry,
    branch: str | None,
    onto: int | None,
) -> None:
    add(store, table, 2, branch)
    before = numbers(store, table)
    added = AddVersion(table=table, branch=branch, version=version(3), onto=onto)
    place = f"{table.location.rpartition('/')[0]}/u"
    beside = [
        AddTable(id=("ns", "u"), location=place, properties={}),
        AddVersion(table=table, branch="c", version=version(1), onto=None),
        RemoveVersions(table=table, branch=branch, versions=[1]),
    ]
    with pytest.raises(ConcurrentModificationError, match="version 2 is the latest"):
        store.commit([*beside, added])
    assert numbers(store, table) == before
    assert store.latest(table, "c") is None
    assert namespace.list_tables({"id": ["ns"]}).tables == ["t"]


@pytest.mark.parametrize("branch", BRANCHES)
def test_publishing_a_version_updates_its_path_and_creates_no_version(
    store: VersionStore, table: TableEntry, branch: str | None
) -> None:
    for each in BRANCHES:
        add(store, table, 1, each)
    final = StoredVersion(version=1, manifest_path="t/final", timestamp_millis=1)
    store.published(table, branch, final)
    store.published(table, branch, version(2))
    for each in BRANCHES:
        assert store.version(table, each, 1) == (final if each == branch else version(1))
    assert numbers(store, table) == [[1], [1]]


def test_a_later_table_of_the_same_name_has_separate_versions(
    namespace: CatalogNamespace, store: VersionStore, table: TableEntry
) -> None:
    add(store, table, 1)
    namespace.remove_table(table)
    namespace.register_table({"id": list(T), "location": f"{table.location}_later"})
    later = namespace.load_table(T)
    add(store, later, 2)
    assert has_no_versions(store, table)
    for change, code in (
        (AddVersion(table=table, branch=None, version=version(3), onto=2), 4),
        (RemoveVersions(table=table, branch=None, versions=None), 4),
        (RemoveTable(table=table), 4),
    ):
        assert code_of(lambda change=change: store.commit([change])) == code  # type: ignore[misc]
    assert numbers(store, later) == [[1, 2], []]


@pytest.mark.parametrize("kind", KINDS[:3], indirect=True)
def test_a_transaction_is_found_by_its_identifier(store: VersionStore, table: TableEntry) -> None:
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
