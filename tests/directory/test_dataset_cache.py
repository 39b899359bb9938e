"""Cached open datasets: a read always returns the latest version of the table with that name."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core import file_stamps
from lance_namespace_impls.directory import filesystem
from lance_namespace_impls.directory.dataset_cache import MAX_DATASETS
from lance_namespace_impls.tables import dataset

T = {"id": ["t"]}
ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def namespace(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespace]:
    monkeypatch.setattr(file_stamps, "RECENT_NANOSECONDS", 0)  # treat disk timestamps as exact
    with connect("dir", {"path": str(root)}) as made:
        made.create_table(T, ROWS)
        yield made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The locations of the datasets that were opened."""
    found: list[str] = []
    real = dataset.open_dataset

    def open_dataset(storage: Any, **choice: Any) -> Any:
        found.append(storage.location)
        return real(storage, **choice)

    monkeypatch.setattr(dataset, "open_dataset", open_dataset)
    return found


def ids(namespace: Namespace, **more: Any) -> list[int]:
    """Read rows with a filter that no earlier query used."""
    query = {**T, "k": 20, "vector": {}, "filter": f"id < {random.randrange(1000, 10**9)}", **more}
    with namespace.query_table(query) as reader:
        return sorted(reader.read_all()["id"].to_pylist())


def test_an_unchanged_table_is_opened_once(namespace: Namespace, opened: list[str]) -> None:
    for _ in range(3):
        assert ids(namespace) == [1, 2, 3]
        assert namespace.count_table_rows(T).count == 3
    assert len(opened) == 1
    assert ids(namespace, version=1) == [1, 2, 3]
    assert len(opened) == 2


def test_a_recently_changed_table_is_opened_again(root: Path, opened: list[str]) -> None:
    """Another change in the same tick of the disk's clock would not be detected."""
    with connect("dir", {"path": str(root)}) as namespace:
        namespace.create_table(T, ROWS)
        opened.clear()
        assert ids(namespace) == ids(namespace) == [1, 2, 3]
    assert len(opened) == 2


CHANGES: dict[str, Callable[[Path], Any]] = {
    "append": lambda root: lance.write_dataset(pa.table({"id": [4]}), root / "t.lance", mode="append"),
    "overwrite": lambda root: lance.write_dataset(pa.table({"id": [9]}), root / "t.lance", mode="overwrite"),
    "delete": lambda root: lance.dataset(str(root / "t.lance")).delete("id = 2"),
    "another in its place": lambda root: (
        shutil.rmtree(root / "t.lance"),
        lance.write_dataset(pa.table({"id": [7, 8]}), root / "t.lance"),
    ),
    "deregister": lambda root: (root / "t.lance/.lance-deregistered").touch(),
    "remove": lambda root: shutil.rmtree(root / "t.lance"),
    "a second": lambda root: (root / "t").mkdir(),
    "a link to another": lambda root: (
        lance.write_dataset(pa.table({"id": [5]}), root.parent / "elsewhere"),
        (root / "t.lance").rename(root.parent / "away"),
        (root / "t.lance").symlink_to(root.parent / "elsewhere"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_by_another_program_is_visible_immediately(
    namespace: Namespace, root: Path, change: str
) -> None:
    assert ids(namespace) == [1, 2, 3]
    CHANGES[change](root)
    with connect("dir", {"path": str(root)}) as fresh:
        try:
            expected = ids(fresh)
        except LanceNamespaceError as error:
            with pytest.raises(type(error)):
                ids(namespace)
            with pytest.raises(type(error)):
                namespace.count_table_rows(T)
        else:
            assert ids(namespace) == expected != [1, 2, 3]
            assert namespace.count_table_rows(T).count == len(expected)


def test_datasets_on_a_network_disk_are_not_cached(
    namespace: Namespace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directories of a mounted bucket do not show that files were written to it."""
    monkeypatch.setattr(filesystem, "on_local_disk", lambda path: path != str(root))
    real = file_stamps._mark
    monkeypatch.setattr(file_stamps, "_mark", lambda path: (*real(path)[:3], 0))
    assert namespace.count_table_rows(T).count == 3
    lance.write_dataset(pa.table({"id": [4]}), root / "t.lance", mode="append")
    assert namespace.count_table_rows(T).count == 4


def test_the_number_of_cached_datasets_is_limited(namespace: Namespace, opened: list[str]) -> None:
    names = [f"t{number}" for number in range(MAX_DATASETS + 1)]
    for name in names:
        namespace.create_table({"id": [name]}, ROWS)
    for name in names:
        assert namespace.count_table_rows({"id": [name]}).count == 3
    opened.clear()
    for name in reversed(names):
        assert namespace.count_table_rows({"id": [name]}).count == 3
    assert len(opened) == 1
