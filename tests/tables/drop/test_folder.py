"""The state of a table's location, as seen by a drop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import ConcurrentModificationError, InternalError
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.tables import drop
from lance_namespace_impls.tables.drop import (
    DROP_MARKER,
    FolderState,
    TableFolder,
    delete_folder,
    has_only_lance_names,
)

from .conftest import UNFINISHED, files_below

ROWS = pa.table({"x": [1]})
ID = ("ns", "t")


# Files at file-object-store:// are accessed like those of an object store.
@pytest.fixture(params=["", "file://", "file-object-store://"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> TableStorage:
    return TableStorage(location=f"{request.param}{tmp_path}/t", options={})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t"


def put(path: Path, *names: str) -> None:
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("keep me")


@pytest.mark.parametrize(
    ("names", "is_empty", "has_marker", "is_occupied"),
    [
        ([], True, False, False),
        (["notes.txt"], True, False, False),
        (["photos/cat.jpg"], True, False, False),
        (["data/notes.txt"], False, False, False),
        (["_versions/1.manifest"], False, False, True),
        ([".lance-reserved"], False, True, True),
        ([".lance-deregistered", "photos/cat.jpg"], False, True, True),
        ([DROP_MARKER], False, True, True),
    ],
)
def test_the_state_of_a_location(
    storage: TableStorage, path: Path, names: list[str],
    is_empty: bool, has_marker: bool, is_occupied: bool,
) -> None:  # fmt: skip
    put(path, *names)
    folder = TableFolder(storage)
    found = (folder.is_empty, folder.has_marker, folder.is_occupied)
    assert found == (is_empty, has_marker, is_occupied)


@pytest.mark.parametrize(
    ("names", "foreign"),
    [
        ([], None),
        ([".lance-reserved", "_versions/latest_version_hint.json", f"data/{UNFINISHED}"], None),
        (["notes.txt"], "notes.txt"),
        (["photos/cat.jpg", "zoo.txt"], "photos/"),
        (["data/notes.txt"], "data/notes.txt"),
        (["data/notes.txt", "notes.txt"], "notes.txt"),
        (["data/chosen.lance"], "data/chosen.lance"),
        ([f"tree/oak/data/{UNFINISHED}"], f"tree/oak/data/{UNFINISHED}"),
        ([f"tree/oak/data/{UNFINISHED}", "_refs/branches/oak.json"], None),
        ([f"tree/oak/data/{UNFINISHED}", "_refs/tags/oak.json"], f"tree/oak/data/{UNFINISHED}"),
    ],
)
def test_the_first_foreign_file_is_found(
    storage: TableStorage, path: Path, names: list[str], foreign: str | None
) -> None:
    put(path, *names)
    assert TableFolder(storage).first_foreign() == foreign


@pytest.mark.parametrize(
    ("folders", "files", "below", "alone"),
    [
        (set(), [], [], True),
        ({"data", "_versions"}, [".lance-reserved"], [f"data/{UNFINISHED}"], True),
        ({"photos"}, [], [], False),
        (set(), ["notes.txt"], [], False),
        ({"data"}, [], [f"data/{UNFINISHED}", "data/notes.txt"], False),
        ({"data"}, [], ["data/empty/"], False),
    ],
)
def test_whether_all_names_are_in_lances_format(
    folders: set[str], files: list[str], below: list[str], alone: bool
) -> None:
    assert has_only_lance_names(folders, files, below) is alone


def marked(storage: TableStorage, **more: Any) -> bool:
    """Return whether a drop marker with these changes is valid for the dataset at the location."""
    state = TableFolder(storage).state() or FolderState(version=0, written=0)
    content = {"id": list(ID), "version": state.version, "written": state.written}
    content |= {"removed": True, **more}
    path = Path(storage.location.rpartition("://")[2], DROP_MARKER)
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))
    return TableFolder(storage).has_drop_marker(ID)


def test_a_marker_is_valid_until_something_is_written(storage: TableStorage, path: Path) -> None:
    lance.write_dataset(ROWS, str(path)).insert(ROWS)
    assert not TableFolder(storage).has_drop_marker(ID)
    state = TableFolder(storage).state()
    latest: Any = lance.dataset(str(path)).get_version()
    known = latest["timestamp"].timestamp()
    assert state is not None and state.version == 2
    assert state.written == pytest.approx(known * 1e6, abs=1)
    assert marked(storage)
    assert marked(storage, version=3, written=state.written + 1)
    assert marked(storage, named=["data/x.lance"])
    assert not marked(storage, version=1)
    assert not marked(storage, written=state.written - 1)
    assert not marked(storage, id=["ns", "u"])
    assert not marked(storage, id=["ns"])
    assert not marked(storage, removed=False)
    assert not marked(storage, removed="true")
    for key in ("id", "version", "written", "removed"):
        assert not marked(storage, **{key: None})
    assert not marked(storage, version="two")
    assert not marked(storage, named=5)


def test_a_marker_is_written_if_there_is_something_to_delete(
    storage: TableStorage, path: Path
) -> None:
    put(path, "data/notes.txt", "_indices/notes.txt")
    assert not TableFolder(storage).write_drop_marker(ID)
    assert not TableFolder(storage).remove_drop_marker()
    put(path, f"data/{UNFINISHED}")
    assert TableFolder(storage).write_drop_marker(ID)
    content = {"id": ["ns", "t"], "version": 0, "written": 0, "named": [], "removed": False}
    assert json.loads((path / DROP_MARKER).read_text()) == content
    (path / f"data/{UNFINISHED}").unlink()
    assert not TableFolder(storage).has_drop_marker(ID)
    folder = TableFolder(storage)
    assert folder.write_drop_marker(ID)  # the table is dropped again
    folder.mark_removed()
    assert json.loads((path / DROP_MARKER).read_text()) == {**content, "removed": True}
    assert TableFolder(storage).has_drop_marker(ID)
    assert TableFolder(storage).remove_drop_marker()
    assert files_below(path) == {"data/notes.txt", "_indices/notes.txt"}
    lance.write_dataset(ROWS, str(path))
    assert TableFolder(storage).write_drop_marker(ID)
    assert json.loads((path / DROP_MARKER).read_text())["version"] == 1


def test_a_marker_reserves_a_location_once_the_entry_is_removed(
    storage: TableStorage, path: Path
) -> None:
    put(path, f"data/{UNFINISHED}")
    folder = TableFolder(storage)
    assert folder.write_drop_marker(ID)
    assert not TableFolder(storage).is_occupied
    put(path, ".lance-reserved")
    assert TableFolder(storage).is_occupied
    (path / ".lance-reserved").unlink()
    folder.mark_removed()
    assert TableFolder(storage).is_occupied
    TableFolder(storage).withdraw_drop_marker()
    assert TableFolder(storage).has_drop_marker(ID), "that of another drop stays"
    assert TableFolder(storage).write_drop_marker(ID)
    lance.write_dataset(ROWS, str(path))
    assert TableFolder(storage).is_occupied
    TableFolder(storage).withdraw_drop_marker()
    assert DROP_MARKER not in files_below(path)
    TableFolder(storage).withdraw_drop_marker()  # there is no marker


def test_a_reserved_location_has_a_file(storage: TableStorage, path: Path) -> None:
    TableFolder(storage).reserve()
    assert files_below(path) == {".lance-reserved"}
    assert TableFolder(storage).is_occupied


@pytest.mark.parametrize("kept", [None, "notes.txt", "data/notes.txt"])
def test_all_files_of_lance_are_deleted(tmp_path: Path, path: Path, kept: str | None) -> None:
    lance.write_dataset(ROWS, str(path))
    put(path, ".lance-reserved", ".lance-deregistered", DROP_MARKER, *([kept] if kept else []))
    folder = TableFolder(TableStorage(location=str(path), options={}))
    assert folder.delete() is True
    assert files_below(tmp_path) == ({f"t/{kept}"} if kept else set())
    assert path.exists() is bool(kept)
    assert (path / "data").exists() is (kept == "data/notes.txt")
    assert TableFolder(TableStorage(location=str(path), options={})).delete() is False


def test_a_failed_deletion_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lance.write_dataset(ROWS, str(path))

    def refuse(*_: Any) -> None:
        raise OSError("the disk is read-only\nall of it")

    def late(*_: Any) -> None:
        raise ConcurrentModificationError("another was faster")

    monkeypatch.setattr(drop, "_unlink", refuse)
    folder = TableFolder(TableStorage(location=str(path), options={}))
    with pytest.raises(InternalError, match=rf"not all data at {path} could .*read-only") as caught:
        folder.delete()
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(drop, "_unlink", late)
    with pytest.raises(ConcurrentModificationError, match="another was faster"):
        folder.delete()


@pytest.mark.parametrize(
    ("names", "stays"),
    [
        ([f"data/{UNFINISHED}"], False),
        ([f"data/{UNFINISHED}", "_versions/latest_version_hint.json"], False),
        ([f"data/{UNFINISHED}", "_versions/1.manifest"], True),
        ([f"data/{UNFINISHED}", ".lance-reserved"], True),
        (["data/notes.txt"], True),
    ],
)
def test_files_written_after_a_drop_are_deleted_if_the_location_is_free(
    storage: TableStorage, path: Path, names: list[str], stays: bool
) -> None:
    put(path, *names)
    TableFolder(storage).delete_remains()
    assert files_below(path) == (set(names) if stays else set())
    if not storage.location.startswith("file-object"):
        assert path.exists() is stays


def test_a_folder_is_deleted_with_its_contents(tmp_path: Path) -> None:
    put(tmp_path, "t/my part/notes.txt", "t/my part/deeper/notes.txt", "t/other/notes.txt")
    delete_folder(TableStorage(location=f"file-object-store://{tmp_path}/t", options={}), "my part")
    assert files_below(tmp_path) == {"t/other/notes.txt"}


@pytest.mark.parametrize(
    ("said", "kind"),
    [("Refusing to drop a folder", ConcurrentModificationError), ("the disk is full", OSError)],
)
def test_a_concurrent_deletion_of_a_folder_is_reported(
    tmp_path: Path, said: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(said)

    monkeypatch.setattr(lance.LanceDataset, "drop", refuse)
    with pytest.raises(kind):
        delete_folder(TableStorage(location=str(tmp_path), options={}), "data")


def test_a_damaged_dataset_has_no_state(storage: TableStorage, path: Path) -> None:
    assert TableFolder(storage).state() is None
    lance.write_dataset(ROWS, str(path))
    (manifest,) = (path / "_versions").glob("*.manifest")
    manifest.write_bytes(b"short")
    assert TableFolder(storage).state() is None
    assert TableFolder(storage).write_drop_marker(ID)
