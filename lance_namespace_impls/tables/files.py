"""Small files next to a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from ..core.imports import load
from ..core.storage import TableStorage

__all__ = ["delete_file", "is_missing", "local_path", "missing_files", "read_file", "read_small"]


def read_small(session: Any, name: str) -> bytes | None:
    """Return the content of a file, or None if the file does not exist.

    Args:
        session: a ``lance.file.LanceFileSession``.
        name: the file's path in the session's folder.

    Raises:
        OSError: the file cannot be read.
    """
    with TemporaryDirectory() as folder:
        local = Path(folder, "content")
        try:
            session.download_file(name, local)
        except OSError as error:
            if is_missing(error):
                return None
            raise
        return local.read_bytes()


def read_file(storage: TableStorage, name: str) -> bytes | None:
    """Return the content of a file in a dataset's folder, or None if the file does not exist.

    Args:
        storage: location and options of the dataset.
        name: the file's path in the dataset's folder.

    Raises:
        OSError: the file cannot be read.
    """
    if "://" in storage.location:
        LanceFileSession = load("lance.file").LanceFileSession

        options = storage.lance_options()
        return read_small(LanceFileSession(storage.location, storage_options=options), name)
    try:
        return Path(storage.location, name).read_bytes()
    except FileNotFoundError:
        return None


def missing_files(storage: TableStorage, folder: str, names: Sequence[str]) -> list[str]:
    """Return which of the named files are missing from a subfolder of a dataset's folder.

    Args:
        storage: location and options of the dataset.
        folder: the folder's path in the dataset's folder.
        names: the files' paths in the folder.

    Raises:
        OSError: the folder cannot be listed.
    """
    if not names:
        return []
    if (local := local_path(storage.location)) is not None:
        return [name for name in names if not Path(local, folder, name).exists()]
    LanceFileSession = load("lance.file").LanceFileSession

    session = LanceFileSession(storage.location, storage_options=storage.lance_options())
    existing = {PurePosixPath(path).name for path in session.list(folder)}
    return [name for name in names if PurePosixPath(name).name not in existing]


def delete_file(session: Any, name: str) -> bool:
    """Delete a file if it exists; return False if storage reports that it does not exist.

    Object stores do not report this.

    Args:
        session: a ``lance.file.LanceFileSession``.
        name: the file's path in the session's folder.

    Raises:
        OSError: the file cannot be deleted.
    """
    try:
        session.delete_file(name)
    except OSError as error:
        if not is_missing(error):
            raise
        return False
    return True


def is_missing(error: Exception) -> bool:
    """Return whether pylance failed because the file does not exist."""
    return "not found" in str(error).lower()


def local_path(location: str) -> str | None:
    """Return a location as a path on this machine, or None if it is not on local storage."""
    if "://" not in location:
        return location
    parts = urlsplit(location)
    return unquote(parts.path) if parts.scheme == "file" else None
