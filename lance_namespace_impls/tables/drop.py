"""Deleting a table's data, so that what is broken off can be gone on with.

A table that is out of its catalog is found by nobody. So before it leaves, a mark is put beside its
data: the table's name and the version that its data then had. Whoever drops or creates a table of
that name again finds the mark and deletes the rest. The manifests go first, since a dataset with
half of its files must not open, and the mark goes last.

Only what Lance writes is deleted: an Iceberg catalog keeps files of its own beside the data, and the
location may be anybody's, a bucket with other tables in it for one.

A mark counts only while nothing was written since: not where the dataset has a version that is
higher or younger than the mark's.
"""

from __future__ import annotations

import errno
import json
import os
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import attrs

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidTableStateError,
)

from ..core.errors import first_line
from ..core.identifiers import Identifier
from ..core.storage import TableStorage
from .dataset import open_dataset
from .errors import from_lance

__all__ = ["MARK", "FolderState", "TableFolder"]

MARK = ".lance-dropped"
VERSIONS = "_versions"
DATA = "data"
# pylance drops a folder whole, in bulk, if it is a dataset or has this file.
DECLARED = ".lance-reserved"

FOLDERS = frozenset(
    {VERSIONS, DATA, "_deletions", "_indices", "_mem_wal", "_refs", "_transactions", "tree"}
)
"""What a dataset has at its root; ``tree`` holds its branches."""
CATALOGS_OWN = frozenset({"metadata"})
"""What an Iceberg catalog keeps beside it."""
FILES = frozenset({MARK, DECLARED, ".lance-deregistered", "_latest.manifest"})


@attrs.frozen(kw_only=True)
class FolderState:
    """How far a dataset was."""

    version: int
    written: int
    """When that version was, in microseconds since 1970."""


_NOTHING = FolderState(version=0, written=0)


class TableFolder:
    """A table's location, as somebody sees it who deletes what is there.

    What is in it is listed once.

    Args:
        storage: location and options.
    """

    def __init__(self, storage: TableStorage) -> None:
        self._storage = storage

    @cached_property
    def _files(self) -> Any:
        from lance.file import LanceFileSession

        return LanceFileSession(
            self._storage.location, storage_options=dict(self._storage.options) or None
        )

    @cached_property
    def _entries(self) -> tuple[frozenset[str], frozenset[str]]:
        """Names of the folders and of the files at the root."""
        found = self._files.list_with_delimiter()
        return frozenset(found.common_prefixes), frozenset(found.objects)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of Lance's is there."""
        folders, files = self._entries
        return not (folders & FOLDERS or files & FILES)

    def mark(self, identifier: Identifier) -> bool:
        """Note that the table is being dropped; False where there is nothing to delete."""
        state = self.state()
        if state is None:
            if not self._has_remains():
                return False
            state = _NOTHING
        content = {"id": list(identifier), **attrs.asdict(state)}
        self._write(MARK, json.dumps(content).encode())
        return True

    def unmark(self) -> None:
        """Take the mark away, where there is one."""
        if self._files.contains(MARK):
            self._delete_file(MARK)

    def is_marked(self, identifier: Identifier) -> bool:
        """Say whether a drop of that table was broken off here and nothing was written since."""
        if MARK not in self._entries[1]:
            return False
        marked = self._read_mark()
        if marked is None or marked[0] != identifier:
            return False
        now = self.state() or _NOTHING
        return now.version <= marked[1].version and now.written <= marked[1].written

    def delete(self) -> None:
        """Delete the data, the manifests first and the mark last.

        Raises:
            ConcurrentModificationError: code 14, someone else deletes it at the same moment.
            InternalError: code 18, something could not be deleted; the message says what.
        """
        folders, files = self._entries
        try:
            for folder in sorted(folders & FOLDERS, key=lambda name: name != VERSIONS):
                self._delete_folder(folder)
            for file in (files & FILES) - {MARK}:
                self._delete_file(file)
            self.unmark()
            self._remove_empty_directory()
        except ConcurrentModificationError:
            raise
        except Exception as error:
            raise InternalError(
                f"the table is out of the catalog, but not all data at {self._storage.location} "
                f"could be deleted; drop it again to go on: {first_line(error)}"
            ) from error

    def state(self) -> FolderState | None:
        """Say how far the dataset is; None where none opens, or what is there is damaged."""
        try:
            dataset = open_dataset(self._storage)
        except InvalidTableStateError:
            return None
        except Exception as error:
            if isinstance(from_lance(error, ""), InvalidTableStateError):
                return None
            raise
        found = dataset.get_version()
        return FolderState(
            version=int(found["version"]), written=round(found["timestamp"].timestamp() * 1e6)
        )

    def _has_remains(self) -> bool:
        """Say whether there is what a drop or a first write left that was broken off.

        A folder that does not open as a dataset may be anybody's.
        """
        folders, files = self._entries
        if MARK in files or VERSIONS in folders:
            return True
        return (
            DATA in folders
            and folders <= FOLDERS | CATALOGS_OWN
            and files <= FILES
            and all(map(_is_data_file, self._files.list(DATA)))
        )

    def _delete_folder(self, name: str) -> None:
        import lance

        self._write(f"{name}/{DECLARED}", b"")
        location = self._storage.location
        try:
            lance.LanceDataset.drop(
                f"{location}/{quote(name) if '://' in location else name}",
                storage_options=dict(self._storage.options) or None,
                ignore_not_found=True,
            )
        except (OSError, ValueError) as error:
            # The file above, which makes pylance drop the folder, has gone again.
            if "Refusing to drop" not in str(error):
                raise
            raise ConcurrentModificationError(
                f"someone else deletes the data at {location} at the same moment; look again"
            ) from error

    def _delete_file(self, name: str) -> None:
        """Delete a file; another who drops the same table may have been first."""
        try:
            self._files.delete_file(name)
        except OSError as error:
            if not _is_missing(error):
                raise

    def _remove_empty_directory(self) -> None:
        """Remove the folder itself on local storage; object stores have none."""
        path = _local_path(self._storage.location)
        if path is None:
            return
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise

    def _write(self, name: str, content: bytes) -> None:
        with TemporaryDirectory() as folder:
            local = Path(folder, "content")
            local.write_bytes(content)
            self._files.upload_file(local, name)

    def _read_mark(self) -> tuple[Identifier, FolderState] | None:
        """Read the mark; None where it is not one of ours, or has gone meanwhile."""
        with TemporaryDirectory() as folder:
            local = Path(folder, "content")
            try:
                self._files.download_file(MARK, local)
            except OSError as error:
                if _is_missing(error):
                    return None
                raise
            content = local.read_bytes()
        try:
            found = json.loads(content)
            state = FolderState(version=int(found["version"]), written=int(found["written"]))
            return tuple(found["id"]), state
        except (ValueError, TypeError, KeyError):
            return None


def _is_missing(error: OSError) -> bool:
    """Say whether pylance's file session failed since there is no such file."""
    return "not found" in str(error)


def _is_data_file(path: str) -> bool:
    """Say whether Lance wrote a file among the data; on local storage it begins as ``.tmp...``."""
    name = path.rpartition("/")[2]
    return name.endswith(".lance") or name.startswith(".tmp")


def _local_path(location: str) -> str | None:
    if "://" not in location:
        return location
    parts = urlsplit(location)
    return unquote(parts.path) if parts.scheme == "file" else None
