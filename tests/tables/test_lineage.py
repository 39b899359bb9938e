"""A change detects whether the dataset that it opened is still at its location."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from attrs import evolve

from lance_namespace_client.errors import ConcurrentModificationError, InvalidTableStateError
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables import lineage
from lance_namespace_impls.tables.lineage import LocationState, open_version
from tests.open_files import open_files

ROWS = pa.table({"x": [1, 2]})


@pytest.fixture(params=["path", "file://"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> TableStorage:
    path = tmp_path / "my lake" / "t.lance"
    dataset = lance.write_dataset(ROWS, str(path))
    dataset.insert(ROWS)
    dataset.create_branch("side").insert(ROWS)
    location = str(path) if request.param == "path" else path.as_uri()
    return TableStorage(location=location, options={})


def path_of(storage: TableStorage) -> Path:
    return Path(storage.location.removeprefix("file://").replace("%20", " "))


def versions_of(storage: TableStorage, branch: str | None = None) -> Path:
    return path_of(storage).joinpath(*(("tree", branch) if branch else ()), "_versions")


def closed(*_: Any, **__: Any) -> Any:
    raise AssertionError("a dataset is opened")


@pytest.mark.parametrize("branch", [None, "side"])
def test_an_unchanged_location_is_recognized_without_opening_it(
    storage: TableStorage, branch: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_version(storage, branch) as (dataset, opened):
        assert dataset.version == opened.number == (2 if branch is None else 3)
        assert opened.branch == branch
        assert opened.written == dataset.get_version()["timestamp"]
        assert path_of(opened.root) == versions_of(storage, branch).parent
        monkeypatch.setattr(lineage, "open_dataset", closed)
        assert opened.state() is LocationState.SAME
        dataset.insert(ROWS)  # a later version does not affect this one
        assert opened.state() is LocationState.SAME


@pytest.mark.skipif(sys.platform != "linux", reason="the open files are read from /proc")
@pytest.mark.parametrize("branch", [None, "side"])
def test_the_folder_of_versions_is_open_only_during_the_change(
    storage: TableStorage, branch: str | None
) -> None:
    folder = versions_of(storage, branch)
    with open_version(storage, branch):
        assert folder.resolve() in open_files(folder)
    assert folder.resolve() not in open_files(folder)


def test_a_copied_manifest_is_read(storage: TableStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its inode and its modification time differ, but its content is the same."""
    with open_version(storage) as (dataset, opened):
        (manifest,) = [p for p in versions_of(storage).iterdir() if str(2**64 - 1 - 2) in p.name]
        content = manifest.read_bytes()
        manifest.unlink()
        manifest.with_name("other").write_bytes(content)
        manifest.with_name("other").rename(manifest)
        assert opened.state() is LocationState.SAME
        os.utime(manifest, (1, 1))
        assert opened.state() is LocationState.SAME
        monkeypatch.setattr(lineage, "open_dataset", closed)
        with pytest.raises(AssertionError, match="is opened"):
            opened.state()
        assert dataset.version == 2


def test_a_location_that_is_empty_or_has_another_dataset(storage: TableStorage) -> None:
    with open_version(storage) as (dataset, opened):
        shutil.rmtree(path_of(storage))
        assert opened.state() is LocationState.NOTHING
        assert opened.misplaced() == []
        # The change committed nothing, so there is nothing to revert.
        opened.require_same(dataset, "t")
        lance.write_dataset(ROWS, str(path_of(storage)))
        assert opened.state() is LocationState.OTHER
        lance.write_dataset(ROWS, str(path_of(storage)), mode="append")
        assert opened.state() is LocationState.OTHER
        lance.write_dataset(ROWS, str(path_of(storage)), mode="append")
        assert opened.state() is LocationState.OTHER
        with pytest.raises(
            ConcurrentModificationError, match="the table was dropped and created again"
        ):
            opened.require_same(dataset, "the table")
    assert lance.dataset(str(path_of(storage))).version == 3


def test_a_deleted_branch_has_no_dataset(storage: TableStorage) -> None:
    with open_version(storage, "side") as (_, opened):
        lance.dataset(str(path_of(storage))).branches.delete("side")
        assert opened.state() is LocationState.NOTHING


def test_opening_an_empty_location_fails(storage: TableStorage) -> None:
    nowhere = evolve(storage, location=storage.location + "x")
    with pytest.raises(InvalidTableStateError), open_version(nowhere):
        pass


def test_only_the_latest_commits_of_the_change_are_reverted(storage: TableStorage) -> None:
    """The change commits versions 3 and 4; another client commits 5, which is deleted later."""
    with open_version(storage) as (dataset, opened):
        opened.note(dataset)
        assert opened.committed == {}  # nothing was committed yet
        for _ in range(2):
            dataset.insert(ROWS)
            opened.note(dataset)
        assert list(opened.committed) == [3, 4]
        assert opened.misplaced() == [4, 3]
        lance.write_dataset(ROWS, str(path_of(storage)), mode="append")
        assert opened.misplaced() == []
        opened.delete([5])
        assert opened.misplaced() == [4, 3]
        opened.committed[3] += timedelta(seconds=1)
        assert opened.misplaced() == [4]
        opened.delete([4, 3, 99])
    assert lance.dataset(str(path_of(storage))).version == 2


@pytest.mark.parametrize("held", [True, False], ids=["held", "by its manifests"])
def test_a_cleaned_up_version_does_not_imply_another_dataset(
    storage: TableStorage, held: bool
) -> None:
    with open_version(storage) as (dataset, opened):
        if not held:  # as on an object store
            opened = evolve(opened, folder=None)
        lance.write_dataset(ROWS, str(path_of(storage)), mode="append")
        opened.delete([opened.number])
        assert opened.state() is LocationState.SAME
        files = list(path_of(storage).joinpath("data").iterdir())
        files[0].rename(files[0].with_suffix(".gone"))
        assert opened.state() is LocationState.OTHER
        assert dataset.version == 2


@pytest.mark.parametrize(
    ("later", "there"),
    [(timedelta(hours=1), LocationState.SAME), (-timedelta(hours=1), LocationState.OTHER)],
)
def test_without_files_the_time_of_an_earlier_version_is_compared(
    storage: TableStorage, later: timedelta, there: LocationState
) -> None:
    """A table without rows has no data files that would show whether it was dropped."""
    with open_version(storage) as (_, opened):
        lance.dataset(str(path_of(storage))).delete("true")
        opened.delete([opened.number])
        moved = evolve(opened, folder=None, written=opened.written + later)
        assert moved.state() is there
        opened.delete([1])
        assert moved.state() is LocationState.SAME  # no earlier version is left to compare
