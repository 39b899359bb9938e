"""A new table gets a fresh location if the default one is occupied; old rows are untouched."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import TableNotFoundError, UnsupportedError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.behaviour.catalogs import CATALOGS
from tests.behaviour.home import make_home
from tests.behaviour.subject import Subject
from tests.behaviour.subjects import SUBJECTS, parameters

# One in-memory catalog represents all of them, and REST servers for other backends are omitted.
BACKENDS = CATALOGS | {
    name: entry.start
    for name, entry in SUBJECTS.items()
    if name == "memory-mixed" or not name.startswith(("memory", "rest"))
}
OLD, NEW = pa.table({"x": [1, 2, 3]}), pa.table({"x": [9]})
FRESH = re.compile(r".+-[0-9a-f]{8}(\.lance)?")


@pytest.fixture(params=parameters(BACKENDS))
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with BACKENDS[request.param](tmp_path) as found:
        yield found


@pytest.fixture
def namespace(subject: Subject) -> Iterator[Namespace]:
    with subject.connect() as connected:
        yield connected


@pytest.fixture
def home(subject: Subject, namespace: Namespace) -> list[str]:
    return list(make_home(subject, namespace))


def rows_at(subject: Subject, location: str) -> int:
    options = dict(subject.storage_options) or None
    return int(lance.dataset(location, storage_options=options).count_rows())


def assert_refused(namespace: Namespace, table: list[str], location: str | None) -> None:
    """Assert that the catalog rejects a rename with code 0 and the table keeps its location."""
    with pytest.raises(UnsupportedError):
        LEAVES["rename"](namespace, table)
    assert namespace.describe_table({"id": table}).location == location


Leave = Callable[[Namespace, list[str]], Any]
LEAVES: dict[str, Leave] = {
    "deregister": lambda ns, table: ns.deregister_table({"id": table}),
    "rename": lambda ns, table: ns.rename_table({"id": table, "new_table_name": "other"}),
}


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("make", ["declare", "create"])
def test_rows_of_the_previous_table_stay_at_their_location(
    subject: Subject, namespace: Namespace, home: list[str], leave: str, make: str
) -> None:
    table = [*home, "t"]
    old = namespace.create_table({"id": table}, OLD).location
    assert old is not None
    if leave == "rename" and "RenameTable" in namespace.capabilities.unsupported:
        assert_refused(namespace, table, old)
        return
    LEAVES[leave](namespace, table)
    for _ in range(2):
        if make == "declare":
            new = namespace.declare_table({"id": table}).location
            assert namespace.describe_table({"id": table, "check_declared": True}).is_only_declared
            namespace.create_table({"id": table}, NEW)
        else:
            new = namespace.create_table({"id": table}, NEW).location
        assert new is not None
        if leave == "deregister":
            if subject.location((*home, "t"), {}) is not None:
                assert FRESH.fullmatch(new)
            assert rows_at(subject, old) == 3
        assert namespace.describe_table({"id": table}).location == new
        assert namespace.count_table_rows({"id": table}).count == 1
        assert "t" in (namespace.list_tables({"id": home}).tables or [])
        namespace.drop_table({"id": table})
    if leave == "deregister" and subject.location((*home, "t"), {}) is not None:
        namespace.register_table({"id": table, "location": old})
        assert namespace.count_table_rows({"id": table}).count == 3
    elif leave == "rename":
        assert namespace.count_table_rows({"id": [*home, "other"]}).count == 3


def test_a_renamed_table_without_rows_keeps_its_location(
    subject: Subject, namespace: Namespace, home: list[str]
) -> None:
    declared = namespace.declare_table({"id": [*home, "t"]}).location
    if "RenameTable" in namespace.capabilities.unsupported:
        assert_refused(namespace, [*home, "t"], declared)
        return
    namespace.rename_table({"id": [*home, "t"], "new_table_name": "other"})
    namespace.declare_table({"id": [*home, "t"]})
    namespace.create_table({"id": [*home, "other"]}, OLD)
    assert namespace.describe_table({"id": [*home, "t"], "check_declared": True}).is_only_declared
    namespace.create_table({"id": [*home, "t"]}, NEW)
    assert namespace.count_table_rows({"id": [*home, "other"]}).count == 3
    assert namespace.count_table_rows({"id": [*home, "t"]}).count == 1


def test_a_directory_lists_a_table_in_a_fresh_location_by_name(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        for rows in (OLD, NEW):
            made = namespace.create_table({"id": ["t"]}, rows).location
            namespace.deregister_table({"id": ["t"]})
        assert made is not None
        own_name = Path(made).name.removesuffix(".lance")
        assert namespace.list_tables({}).tables == []
        namespace.register_table({"id": ["t"], "location": made})
        assert namespace.list_tables({}).tables == ["t"]
        with pytest.raises(TableNotFoundError):
            namespace.describe_table({"id": [own_name]})
        # The owner deletes the deregistered directory, and the table keeps its name.
        for file in sorted((tmp_path / "t.lance").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        (tmp_path / "t.lance").rmdir()
        assert namespace.count_table_rows({"id": ["t"]}).count == 1
        namespace.rename_table({"id": ["t"], "new_table_name": "u"})
        # An empty file permanently records that the name had a directory next to its default one.
        assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["u.lance"]
        assert {path.name[:8] for path in tmp_path.iterdir() if path.is_file()} == {".beside-"}
        assert namespace.list_tables({}).tables == ["u"]


def test_pylance_sees_a_table_in_a_fresh_location(tmp_path: Path) -> None:
    from lance.namespace import DirectoryNamespace
    from lance_namespace import DescribeTableRequest

    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": ["t"]}, OLD)
        namespace.deregister_table({"id": ["t"]})
        made = namespace.create_table({"id": ["t"]}, NEW).location
    assert made is not None
    own_name = Path(made).name.removesuffix(".lance")
    theirs = DirectoryNamespace(root=str(tmp_path), manifest_enabled="false")
    found = theirs.describe_table(DescribeTableRequest(id=[own_name])).location
    assert lance.dataset(found).count_rows() == 1
