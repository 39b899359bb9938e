"""Directories that disappear between two requests, as in a concurrent or interrupted drop."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.directory.filesystem import Directory

ROWS = pa.table({"x": [1]})


class Vanishing:
    """A file system on which a directory is found, but no longer exists when it is listed.

    The error has the message that pyarrow passes on from the operating system.
    """

    def __init__(self, real: fs.FileSystem, ending: str) -> None:
        self._real = real
        self._ending = ending
        self.listed = 0

    def get_file_info(self, what: Any) -> Any:
        if isinstance(what, fs.FileSelector) and what.base_dir.endswith(self._ending):
            self.listed += 1
            raise FileNotFoundError(2, f"Cannot list directory '{what.base_dir}'")
        return self._real.get_file_info(what)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DirectoryNamespace]:
    with DirectoryNamespace.from_properties({"path": str(tmp_path)}) as found:
        yield found


def vanish(directory: DirectoryNamespace, ending: str) -> Vanishing:
    files = Vanishing(directory._directory._fs, ending)
    directory._directory._fs = files
    return files


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.list_tables({"include_declared": False}).tables == [],
        lambda d: d.describe_table({"id": ["t"], "check_declared": True}).is_only_declared,
        lambda d: d.create_table({"id": ["t"]}, ROWS).version == 1,
    ],
    ids=["list", "describe", "fill"],
)
def test_versions_that_disappear_are_not_data(
    directory: DirectoryNamespace, ask: Callable[[DirectoryNamespace], bool]
) -> None:
    directory.declare_table({"id": ["t"]})
    files = vanish(directory, "/_versions")
    directory._directory.is_local = False  # then checking and listing are two requests
    assert ask(directory)
    assert files.listed


def test_a_deleted_root_has_no_tables(directory: DirectoryNamespace, tmp_path: Path) -> None:
    directory.declare_table({"id": ["t"]})
    shutil.rmtree(tmp_path)
    assert directory.list_tables({}).tables == []


def code_of(call: Callable[[], Any]) -> int:
    with pytest.raises(LanceNamespaceError) as failed:
        call()
    assert "\n" not in str(failed.value)
    assert str(failed.value).startswith("table t")
    return int(failed.value.code)


def test_a_folder_deleted_before_its_registration_is_reported(
    directory: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.create_table({"id": ["t"]}, ROWS)
    directory.deregister_table({"id": ["t"]})
    lock = Directory.lock

    @contextmanager
    def too_late(self: Directory, folder: str) -> Iterator[None]:
        shutil.rmtree(tmp_path / folder)
        with lock(self, folder):
            yield

    monkeypatch.setattr(Directory, "lock", too_late)
    assert code_of(lambda: directory.register_table({"id": ["t"], "location": "t.lance"})) == 14
    assert directory.list_tables({}).tables == []


@pytest.mark.parametrize("looks", ["opened", "hold"])
def test_a_root_deleted_before_a_drop_is_a_missing_table(
    directory: DirectoryNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: str
) -> None:
    directory.declare_table({"id": ["t"]})
    look = getattr(Directory, looks)

    def too_late(self: Directory, name: str, **more: Any) -> Any:
        shutil.rmtree(tmp_path)
        return look(self, name, **more)

    monkeypatch.setattr(Directory, looks, too_late)
    assert code_of(lambda: directory.drop_table({"id": ["t"]})) == 4


def test_a_root_deleted_while_a_table_is_locked(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    held = Directory(str(root), {}).hold("t", timeout=0)
    assert held
    with held:
        shutil.rmtree(root)
