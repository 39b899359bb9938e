"""File operations of a directory, on a local disk and with the requests for an object store."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
)
from lance_namespace_impls.directory import filesystem, local, sweep
from lance_namespace_impls.directory.filesystem import MANY, Directory
from lance_namespace_impls.directory.local import OpenTree

KINDS = {
    "folder": "directory",
    "file": "file",
    "link to a folder": "directory",
    "link to a file": "file",
    "link to nothing": "missing",
    "pipe": "missing",
    "none": "missing",
    "file/below": "missing",
    "n" * 300: "missing",
}


class Store:
    """A local disk that behaves like an object store: writing a file creates its parent folders."""

    def __init__(self) -> None:
        self._real = fs.LocalFileSystem()

    def open_output_stream(self, path: str) -> Any:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return self._real.open_output_stream(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def opened(root: Path, kind: str) -> Directory:
    found = Directory(str(root), {})
    if kind == "store":
        found.is_local, found._fs = False, Store()
    return found


@pytest.fixture(params=["local", "store"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Directory:
    return opened(tmp_path, request.param)


@pytest.fixture
def on_disk(tmp_path: Path) -> Directory:
    return opened(tmp_path, "local")


def refuse(error: LanceNamespaceError) -> None:
    raise error


# --- inspection


def test_the_kind_of_a_path(directory: Directory, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link to a folder").symlink_to(tmp_path / "folder")
    (tmp_path / "link to a file").symlink_to(tmp_path / "file")
    (tmp_path / "link to nothing").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    for path, kind in KINDS.items():
        assert directory.kinds(path) == [kind], path
        assert not directory.is_local or directory.local_kind(path) == kind
    assert directory.kinds(*KINDS) == list(KINDS.values())
    many = [*KINDS] * MANY
    assert directory.kinds(*many) == [KINDS[path] for path in many]
    assert directory.kinds("") == ["directory"]


@pytest.mark.parametrize("kind", ["local", "store"])
def test_a_missing_root_is_empty(tmp_path: Path, kind: str) -> None:
    directory = opened(tmp_path / "none", kind)
    assert directory.kinds("", "a") == ["missing"] * 2
    assert directory.kinds(*map(str, range(MANY))) == ["missing"] * MANY
    assert directory.folders(refuse) == []
    assert directory.starting_with("", refuse) == []
    assert directory.holds_file("a", "") is False
    assert directory.read("a") is None
    assert directory.remove_marker("a") is False
    directory.require_directory()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["local", "store"])
def test_a_root_that_is_a_file_is_reported(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").touch()
    directory = opened(tmp_path / "file", kind)
    for call in (directory.require_directory, lambda: directory.folders(refuse)):
        with pytest.raises(InvalidInputError, match="is a file; specify a directory of tables"):
            call()
    assert directory.kinds(*map(str, range(MANY))) == ["missing"] * MANY
    assert directory.holds_file("a", "") is False


def test_folders_are_listed_by_name(directory: Directory, tmp_path: Path) -> None:
    for name in ("t.lance", "t-1", "u", "ü"):
        (tmp_path / name / "inside").mkdir(parents=True)
    (tmp_path / "t.txt").touch()
    assert sorted(directory.folders(refuse)) == ["t-1", "t.lance", "u", "ü"]
    assert sorted(directory.starting_with("t", refuse)) == ["t-1", "t.lance"]
    assert sorted(directory.starting_with("", refuse)) == ["t-1", "t.lance", "u", "ü"]
    assert directory.starting_with("x", refuse) == []


def test_only_direct_children_of_a_folder_count(directory: Directory, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "1.manifest").touch()
    (tmp_path / "a" / "1.manifest-2").touch()
    assert directory.holds_file("a/b", ".manifest") is True
    assert directory.holds_file("a", ".manifest") is False
    assert directory.holds_file("none", ".manifest") is False
    assert directory.holds_file("a/1.manifest-2", "") is False


def test_links_are_detected(on_disk: Directory, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    (tmp_path / "folder").mkdir()
    assert [on_disk.has(name) for name in ("link", "folder", "gone")] == [True, True, False]
    assert [on_disk.is_link(name) for name in ("link", "folder", "gone")] == [True, False, False]
    on_disk.refuse_link("folder")
    with pytest.raises(InvalidTableStateError, match="is a symbolic link"):
        on_disk.refuse_link("link")


@pytest.mark.parametrize(
    ("folder", "in_a_uri"),
    [("t.lance", "t.lance"), ("a%20b", "a%2520b"), ("a#b?c", "a%23b%3Fc"), ("ü b", "ü b")],
)
def test_a_location_maps_back_to_its_folder(
    directory: Directory, tmp_path: Path, folder: str, in_a_uri: str
) -> None:
    location = directory.location(folder)
    assert location == f"{tmp_path}/{folder if directory.is_local else in_a_uri}"
    assert directory.folder(location) == folder
    assert directory.folder(directory.location(f"{folder}/inside")) == f"{folder}/inside"
    assert directory.folder("/elsewhere/x/t.lance") == "t.lance"


# --- small files


def test_a_file_is_read_unchanged(directory: Directory, tmp_path: Path) -> None:
    directory.write("f", b"old")
    directory.write("f", b"new")
    assert directory.read("f") == b"new"
    assert directory.read("g") is None
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_only_small_files_are_read(on_disk: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_SMALL_BYTES", 4)
    on_disk.write("f", b"1234")
    assert on_disk.read("f") == b"1234"
    on_disk.write("f", b"12345")
    with pytest.raises(InvalidTableStateError, match="not a regular file of at most 4 bytes"):
        on_disk.read("f")


def test_a_pipe_is_not_read(on_disk: Directory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidTableStateError, match="not a regular file"):
        on_disk.read("pipe")


def test_created_files_follow_the_umask(on_disk: Directory, tmp_path: Path) -> None:
    """Several users may share a directory, if their processes let the group write."""
    before = os.umask(0o002)
    try:
        on_disk.create_marker("marker")
        on_disk.write("file", b"")
        held = on_disk.hold("held", timeout=0)
        assert held is not None
        with held:
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode) for path in sorted(tmp_path.iterdir())
            }
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("file", "held", "marker"), 0o664)


# --- moving and deleting


def test_a_folder_is_moved_to_trash_and_deleted(directory: Directory, tmp_path: Path) -> None:
    (tmp_path / "d" / "inside").mkdir(parents=True)
    (tmp_path / "d" / "inside" / "f").touch()
    trash = directory.move_to_trash("d")
    assert trash.startswith(".dropped-") if directory.is_local else trash == "d"
    assert (tmp_path / trash / "inside" / "f").exists()
    directory.delete(trash)
    assert list(tmp_path.iterdir()) == []
    directory.delete(trash)  # another process may have deleted it concurrently
    with pytest.raises(FileNotFoundError):
        directory.move_to_trash("d")


def test_a_folder_is_moved_only_to_a_free_name(on_disk: Directory, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "taken").mkdir()
    assert on_disk.move("d", "taken") is False
    assert on_disk.move("d", "free") is True
    assert sorted(path.name for path in tmp_path.iterdir()) == ["free", "taken"]
    with pytest.raises(FileNotFoundError):
        on_disk.move("d", "other")


def test_leftovers_are_swept_periodically(
    on_disk: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[str] = []
    monkeypatch.setattr(sweep, "sweep", swept.append)
    for _ in range(3):
        on_disk.delete("none")
    assert swept == [str(tmp_path)]
    monkeypatch.setattr(sweep, "SWEEP_SECONDS", 0.0)
    on_disk.delete("none")
    assert len(swept) == 2


def test_a_staged_folder_is_deleted_unless_it_is_moved(on_disk: Directory, tmp_path: Path) -> None:
    with on_disk.staged() as staged:
        assert on_disk.kinds(staged) == ["directory"]
        on_disk.write(f"{staged}/f", b"")
    assert list(tmp_path.iterdir()) == []
    with on_disk.staged() as staged:
        assert on_disk.move(staged, "d")
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


# --- open folders


def test_an_open_tree_detects_changes(on_disk: Directory, tmp_path: Path) -> None:
    for folder in ("d/data/empty", "d/data/full"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("d/top", "d/data/one", "d/data/full/two"):
        (tmp_path / file).touch()
    with OpenTree(str(tmp_path / "d")) as tree:
        assert (sorted(tree.folders), sorted(tree.files)) == (["data"], ["top"])
        assert sorted(tree.below) == ["data/empty/", "data/full/two", "data/one"]
        assert tree.is_whole and tree.has_same_entries()
        (tmp_path / "d/data/full/late").touch()
        assert not tree.has_same_entries()
        with pytest.raises(OSError, match="not empty"):
            on_disk.delete("d", tree)
    assert [path.name for path in (tmp_path / "d/data/full").iterdir()] == ["late"]


@pytest.mark.parametrize(("folders", "is_held"), [(local.MOST_OPEN - 1, True), (40, False)])
def test_a_tree_of_many_folders_is_not_held_open(
    on_disk: Directory, tmp_path: Path, folders: int, is_held: bool
) -> None:
    for number in range(folders):
        (tmp_path / "d" / str(number)).mkdir(parents=True)
    with on_disk.opened("d") as tree:
        assert (tree is not None) is is_held
        assert tree is None or len(tree.folders) == folders


def test_only_folders_are_held_open(on_disk: Directory, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "none"):
        with pytest.raises(FileNotFoundError):
            on_disk.opened(name)
    with pytest.raises(InvalidTableStateError, match="symbolic link"):
        on_disk.opened("link")


# --- locks


def is_locked(path: Path) -> bool:
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def test_a_folder_is_locked_and_unlocked(on_disk: Directory, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with on_disk.lock("d"):
        assert is_locked(tmp_path / "d")
    assert not is_locked(tmp_path / "d")
    with pytest.raises(FileNotFoundError), on_disk.lock("none"):
        pass


def test_a_folder_that_was_replaced_while_waiting_is_not_locked(
    on_disk: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d").mkdir()
    flock = fcntl.flock

    def replaced(handle: int, how: int) -> None:
        monkeypatch.undo()
        flock(handle, how)
        (tmp_path / "d").rename(tmp_path / "old")
        (tmp_path / "d").mkdir()

    monkeypatch.setattr(fcntl, "flock", replaced)
    with pytest.raises(FileNotFoundError), on_disk.lock("d"):
        pass
    assert not is_locked(tmp_path / "old")


@pytest.fixture(params=["f", "marker"])
def held(request: pytest.FixtureRequest, on_disk: Directory) -> AbstractContextManager[Any]:
    """A context manager that locks a file, or the marker that exists instead of the file."""
    if request.param == "marker":
        on_disk.create_marker("marker")
    found = on_disk.hold("f", timeout=0, marker="marker")
    assert found is not None
    return found


def test_only_one_caller_locks_a_file_at_a_time(
    on_disk: Directory, held: AbstractContextManager[Any], tmp_path: Path
) -> None:
    (taken,) = tmp_path.iterdir()
    is_marker = taken.name == "marker"
    with held:
        assert is_locked(taken)
        assert on_disk.hold("f", timeout=0, marker="marker") is None
    assert [path.name for path in tmp_path.iterdir()] == (["marker"] if is_marker else [])
    again = on_disk.hold("f", timeout=0, marker="marker")
    assert again is not None
    with again:
        assert [path.name for path in tmp_path.iterdir()] == [taken.name]


def test_a_waiting_caller_gets_the_lock(
    on_disk: Directory, held: AbstractContextManager[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        held.__exit__(None, None, None)

    monkeypatch.setattr(filesystem, "time", SimpleNamespace(**vars(time) | {"sleep": pause}))
    found = on_disk.hold("f", timeout=60, marker="marker")
    assert found is not None and len(waits) == 1
    with found:
        pass


def test_an_object_store_has_no_locks(tmp_path: Path) -> None:
    store = opened(tmp_path, "store")
    for held in (store.lock("none"), store.hold("f", timeout=0), store.opened("none")):
        assert held is not None
        with held as found:
            assert found is None
    assert isinstance(store.hold("f", timeout=0), nullcontext)
    assert list(tmp_path.iterdir()) == []
