"""Pages of a directory, and the paths that each page inspects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidTableStateError, TableNotFoundError
from lance_namespace_impls.core.paging import ListingCache, Listings
from lance_namespace_impls.directory import DirectoryNamespace, local

COUNT = 300


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for n in range(COUNT):
        (tmp_path / f"t{n:04}.lance").mkdir()
    return tmp_path


@pytest.fixture
def namespace(lake: Path) -> DirectoryNamespace:
    return DirectoryNamespace.from_properties({"root": str(lake)})


class Looks:
    """Records the inspected paths of a directory, and counts the listings of its root."""

    def __init__(self, namespace: DirectoryNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        self.listings = 0
        directory = namespace._directory
        kinds, folders, starting = directory.kinds, directory.folders, directory.starting_with

        def counted(call: Any) -> Any:
            def counting(*given: Any) -> Any:
                self.listings += 1
                return call(*given)

            return counting

        monkeypatch.setattr(directory, "kinds", lambda *p: (self.paths.extend(p), kinds(*p))[1])
        monkeypatch.setattr(directory, "folders", counted(folders))
        monkeypatch.setattr(directory, "starting_with", counted(starting))


def test_a_page_inspects_only_its_own_tables(
    namespace: DirectoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(namespace, monkeypatch)
    page = namespace.list_tables({"limit": 10})
    assert page.tables == [f"t{n:04}" for n in range(10)]
    assert len(looks.paths) < 30
    assert looks.listings == 1
    following = namespace.list_tables({"limit": 10, "page_token": page.page_token})
    assert following.tables == [f"t{n:04}" for n in range(10, 20)]
    assert looks.listings == 1


def test_a_missing_name_is_not_searched_in_a_listing(
    namespace: DirectoryNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(namespace, monkeypatch)
    with pytest.raises(TableNotFoundError):
        namespace.table_exists({"id": ["nothing"]})
    namespace.declare_table({"id": ["new"]})
    assert looks.listings == 0


def test_a_table_next_to_an_occupied_directory_is_found_by_another_client(
    namespace: DirectoryNamespace, lake: Path
) -> None:
    namespace.deregister_table({"id": ["t0001"]})
    beside = namespace.declare_table({"id": ["t0001"]}).location
    assert beside
    assert Path(beside).name != "t0001.lance"
    other = DirectoryNamespace.from_properties({"root": str(lake)})
    assert other.describe_table({"id": ["t0001"]}).location == beside
    assert other.list_tables({"limit": 3}).tables == ["t0000", "t0001", "t0002"]


def test_a_name_with_two_directories_fails_only_its_page(
    namespace: DirectoryNamespace, lake: Path
) -> None:
    (lake / "t0015").mkdir()
    page = namespace.list_tables({"limit": 10})
    with pytest.raises(InvalidTableStateError, match="t0015"):
        namespace.list_tables({"limit": 10, "page_token": page.page_token})
    with pytest.raises(InvalidTableStateError, match="t0015"):
        namespace.list_tables()


def test_a_page_inspects_only_its_own_listing() -> None:
    looked: list[str] = []

    class Walk(Listings):
        def __len__(self) -> int:
            looked.append(self.id)
            return 1

    kept = ListingCache()
    walks = [Walk(seconds=60) for _ in range(100)]
    for walk in walks:
        kept.keep(walk)
    looked.clear()
    assert kept.keep(walks[0]) == walks[0].id
    assert looked == [walks[0].id]


def test_a_listing_without_declared_tables_inspects_each_table_once(
    namespace: DirectoryNamespace, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(0, COUNT, 3):
        (lake / f"t{n:04}.lance" / "_versions").mkdir()
        (lake / f"t{n:04}.lance" / "_versions" / "1.manifest").touch()
    looks = Looks(namespace, monkeypatch)
    seen: list[str] = []
    holds_file = namespace._directory.holds_file
    monkeypatch.setattr(
        namespace._directory,
        "holds_file",
        lambda folder, ending: (seen.append(folder), holds_file(folder, ending))[1],
    )
    found = namespace.list_tables({"include_declared": False})
    assert found.tables == [f"t{n:04}" for n in range(0, COUNT, 3)]
    assert seen == [f"t{n:04}.lance/_versions" for n in range(COUNT)]
    assert len(looks.paths) == COUNT + 1  # plus the check for a manifest
    assert looks.listings == 1


def test_a_new_directory_that_is_concurrently_replaced_is_not_added(
    namespace: DirectoryNamespace, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = lake / ".adding-other"
    other.mkdir()
    (other / ".lance-reserved").write_text("other")
    make_directory = local.make_directory

    def overtaken(path: str) -> None:
        make_directory(path)
        other.rename(lake / "new.lance")

    monkeypatch.setattr(local, "make_directory", overtaken)
    assert namespace._directory.add("new.lance", {".lance-reserved": b""}) is False
    assert (lake / "new.lance" / ".lance-reserved").read_text() == "other"
