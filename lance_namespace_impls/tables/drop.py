"""Deletes a table's data in a way that can be resumed after an interruption.

Once a table is removed from its catalog, no listing shows its data. A marker file next to the data
therefore records the table's name and the version of the data. The marker has two states. At first,
before the table's catalog entry is removed, the marker only proves that the folder is writable. It
does not authorize deletion, because another tool may remove the entry and keep the data. Once the
drop has removed the entry, the marker is updated. From then on, a later drop or creation of a table
with the same name deletes the remaining files. Manifests are deleted first, so that a dataset with
missing files cannot be opened. The marker is deleted last.

Only Lance's own files are deleted, one by one: files that the manifests reference, and files with
names that Lance generates. Other files must be preserved: an Iceberg catalog stores its own files
next to the data, and a location may be shared, such as a bucket that contains other tables.

A marker is valid only while the data is unchanged. It is ignored if the dataset has a version with
a higher number or a later commit time.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import attrs

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidTableStateError,
)

from ..core.errors import first_line
from ..core.identifiers import Identifier
from ..core.imports import load
from ..core.storage import TableStorage
from .dataset import open_dataset
from .errors import from_lance
from .files import delete_file, local_path, read_small
from .layout import (
    DATA,
    FOLDERS,
    RESERVED,
    VERSIONS,
    branch_of,
    could_be_data,
    is_lance_file,
    is_marker,
)

__all__ = ["DROP_MARKER", "FolderState", "TableFolder", "delete_folder", "has_only_lance_names"]

DROP_MARKER = ".lance-dropped"
DELETE_CONCURRENCY = 16


@attrs.frozen(kw_only=True)
class FolderState:
    """The latest version of a dataset, to be compared with a later state."""

    version: int
    written: int
    """Commit time of that version, in microseconds since 1970."""


@attrs.frozen(kw_only=True)
class _DropMarker:
    """The content of a drop marker."""

    id: Identifier
    state: FolderState
    named: frozenset[str]
    """The result of `TableFolder._named` before the manifests were deleted."""
    removed: bool
    """Whether the drop has removed the table's entry; if not, the marker authorizes no deletion."""

    def dump(self) -> bytes:
        """Return the content as JSON."""
        content = {"id": list(self.id), **attrs.asdict(self.state)}
        content |= {"named": sorted(self.named), "removed": self.removed}
        return json.dumps(content).encode()

    @classmethod
    def parse(cls, content: bytes) -> _DropMarker | None:
        """Parse a marker; return None if another tool wrote it. A missing `removed` means false."""
        try:
            found = json.loads(content)
            return cls(
                id=tuple(found["id"]),
                state=FolderState(version=int(found["version"]), written=int(found["written"])),
                named=frozenset(filter(could_be_data, found.get("named", ()))),
                removed=found.get("removed") is True,
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


_NOTHING = FolderState(version=0, written=0)
# Order of deletion: manifests first, and the list of branches (``_refs``) after the branches.
_TURN = {VERSIONS: 0, "_refs": 2}


class TableFolder:
    """A table's location, as used by an operation that deletes its contents.

    The contents are listed only once.

    Args:
        storage: location and options.
    """

    def __init__(self, storage: TableStorage) -> None:
        self._storage = storage

    @cached_property
    def _files(self) -> Any:
        LanceFileSession = load("lance.file").LanceFileSession

        return LanceFileSession(
            self._storage.location, storage_options=self._storage.lance_options()
        )

    @cached_property
    def _local(self) -> str | None:
        """The location as a local path; None if it is not on local storage."""
        return local_path(self._storage.location)

    @cached_property
    def _entries(self) -> tuple[frozenset[str], frozenset[str]]:
        """Names of the root's folders and files; symbolic links count as files."""
        if self._local is not None:
            return _scan(self._local)
        found = self._files.list_with_delimiter()
        # pyarrow creates an empty object for a directory; its name in this listing is empty.
        return frozenset(found.common_prefixes), frozenset(filter(None, found.objects))

    @cached_property
    def _contents(self) -> dict[str, list[str]]:
        """For each folder of the dataset, the paths of its contents, relative to the location.

        On local storage, the paths include symbolic links and empty directories, which have a
        trailing slash; object stores have neither.
        """
        return {name: self._list(name) for name in sorted(self._entries[0] & FOLDERS)}

    @property
    def is_empty(self) -> bool:
        """Whether the location contains nothing that belongs to Lance."""
        return not (self._entries[0] & FOLDERS or self.has_marker)

    @property
    def has_marker(self) -> bool:
        """Whether there is a marker of a declared, dropped or moved table, or of a reservation."""
        return any(map(is_marker, self._entries[1]))

    @property
    def is_occupied(self) -> bool:
        """Whether the location contains a table or is reserved for one; unreferenced files do not
        count.

        If a drop never removed the entry, its marker does not reserve the location.
        """
        if VERSIONS in self._entries[0]:
            return True
        markers = set(filter(is_marker, self._entries[1]))
        if markers != {DROP_MARKER}:
            return bool(markers)
        marker = self._drop_marker
        return marker is None or marker.removed

    def first_foreign(self) -> str | None:
        """Return the path of a file that Lance did not write; None if all files are Lance's."""
        folders, files = self._entries
        at_root = [f"{name}/" for name in folders - FOLDERS]
        at_root += [name for name in files if not is_marker(name)]
        inside = (path for paths in self._contents.values() for path in paths)
        foreign = (path for path in inside if not self._is_lances(path))
        return min(at_root, default=None) or next(foreign, None)

    def write_drop_marker(self, identifier: Identifier) -> bool:
        """Record that the table is being dropped; return False if there is nothing to delete. The
        marker does not authorize deletion until `mark_removed` is called.
        """
        state = self.state()
        if state is None:
            if not self._has_remains():
                return False
            state = _NOTHING
        marker = _DropMarker(
            id=identifier, state=state, named=frozenset(self._named), removed=False
        )
        self._write(DROP_MARKER, marker.dump())
        self._drop_marker = marker
        return True

    def mark_removed(self) -> None:
        """Record that the drop has removed the table's entry, so that the deletion may be resumed.

        Raises:
            InternalError: code 18, storage is no longer writable; the data is kept.
        """
        marker = self._drop_marker
        assert marker is not None, "call write_drop_marker first"
        self._drop_marker = attrs.evolve(marker, removed=True)
        try:
            self._write(DROP_MARKER, self._drop_marker.dump())
        except Exception as error:
            raise InternalError(
                f"the table was removed from the catalog, but its data at {self._storage.location} "
                "remains, because the drop marker cannot be written; register the table at that "
                f"location and drop it again: {first_line(error)}"
            ) from error

    def reserve(self) -> None:
        """Write an empty file to reserve the location, because object stores have no empty folders."""
        self._write(RESERVED, b"")

    def remove_drop_marker(self) -> bool:
        """Remove the drop marker; return whether there was one."""
        return self._files.contains(DROP_MARKER) and delete_file(self._files, DROP_MARKER)

    def withdraw_drop_marker(self) -> None:
        """Remove the drop marker, unless the drop has already removed the entry."""
        content = read_small(self._files, DROP_MARKER)
        marker = None if content is None else _DropMarker.parse(content)
        if marker is not None and not marker.removed:
            delete_file(self._files, DROP_MARKER)

    def has_drop_marker(self, identifier: Identifier) -> bool:
        """Return whether a drop removed the table's entry but not its data, which is unchanged."""
        marker = self._drop_marker
        if marker is None or marker.id != identifier or not marker.removed:
            return False
        now = self.state() or _NOTHING
        return now.version <= marker.state.version and now.written <= marker.state.written

    def delete(self) -> bool:
        """Delete the data, manifests first and the marker last; keep the files of other tools.

        Returns:
            False if another process completed the same drop and removed the marker concurrently.

        Raises:
            ConcurrentModificationError: code 14, another process is deleting the data.
            InternalError: code 18, something could not be deleted; the message names it.
        """
        files = self._entries[1]
        try:
            # Manifests and branches must be read before they are deleted.
            theirs = {
                folder: [path for path in paths if self._is_lances(path)]
                for folder, paths in self._contents.items()
            }
            for folder in sorted(theirs, key=lambda name: _TURN.get(name, 1)):
                self._delete_folder(folder, theirs[folder])
            for file in filter(is_marker, files - {DROP_MARKER}):
                delete_file(self._files, file)
            had_marker = self.remove_drop_marker()
            if self._local is not None:
                _remove_if_empty(self._local)
        except ConcurrentModificationError:
            raise
        except Exception as error:
            raise InternalError(
                "the table was removed from the catalog, but not all data at "
                f"{self._storage.location} could be deleted; drop it again to resume: "
                f"{first_line(error)}"
            ) from error
        return had_marker

    def delete_remains(self) -> None:
        """Delete files that were written into the folder after the table had been dropped.

        Do nothing if there is a version, or a file that reserves the location. Files that are
        written after the location has been listed are kept.
        """
        written = {
            name: list(filter(is_lance_file, paths)) for name, paths in self._contents.items()
        }
        now = TableFolder(self._storage)
        if now.has_marker or any(path.endswith(".manifest") for path in now._list(VERSIONS)):
            return
        for name, paths in written.items():
            self._delete_folder(name, paths, in_bulk=False)
        if self._local is not None:
            _remove_if_empty(self._local)

    def state(self) -> FolderState | None:
        """Return the state of the dataset, or None if there is no readable dataset."""
        dataset = _unless_damaged(partial(open_dataset, self._storage))
        if dataset is None:
            return None
        found = dataset.get_version()
        return FolderState(
            version=int(found["version"]), written=round(found["timestamp"].timestamp() * 1e6)
        )

    @cached_property
    def _branches(self) -> frozenset[str]:
        """Names of the dataset's branches."""
        found = map(branch_of, self._contents.get("_refs", ()))
        return frozenset(name for name in found if name is not None)

    @cached_property
    def _named(self) -> set[str]:
        """Paths of data files that a manifest references but whose names Lance did not generate.

        The manifests are read only if there are files with other names. Files referenced by
        manifests that a drop has already deleted are listed in the marker.
        """
        wanted = {
            path
            for path in self._contents.get(DATA, ())
            if could_be_data(path) and not is_lance_file(path)
        }
        if not wanted:
            return set()
        marker = self._drop_marker
        named = set(marker.named) if marker is not None else set()
        dataset = _unless_damaged(partial(open_dataset, self._storage))
        for version in reversed(dataset.versions() if dataset is not None else []):
            if not wanted - named:
                break
            at = _unless_damaged(partial(dataset.checkout_version, version["version"]))
            for fragment in at.get_fragments() if at is not None else ():
                files = fragment.data_files()
                named |= {f"{DATA}/{file.path}" for file in files if file.base_id is None}
        return wanted & named

    def _is_lances(self, path: str) -> bool:
        return is_lance_file(path, self._branches) or path in self._named

    def _has_remains(self) -> bool:
        """Return whether an interrupted drop or an interrupted first write left files behind."""
        return DROP_MARKER in self._entries[1] or any(
            self._is_lances(path)
            for folder in (VERSIONS, DATA)
            for path in self._contents.get(folder, ())
        )

    def _list(self, folder: str) -> list[str]:
        if self._local is None:
            return [path for path in self._files.list(folder) if path.strip("/") != folder]
        return _below(os.path.join(self._local, folder), folder)

    def _delete_folder(self, name: str, paths: Sequence[str], *, in_bulk: bool = True) -> None:
        """Delete the files in a folder and, on local storage, the directories that become empty."""
        if self._local is not None:
            for path in paths:
                if not path.endswith("/"):
                    _unlink(os.path.join(self._local, path))
            for at, _, _ in os.walk(os.path.join(self._local, name), topdown=False):
                _remove_if_empty(at)
        elif in_bulk and len(paths) == len(self._contents[name]):
            self._delete_in_bulk(name)
        else:
            with ThreadPoolExecutor(DELETE_CONCURRENCY) as pool:
                list(pool.map(partial(delete_file, self._files), paths))

    def _delete_in_bulk(self, name: str) -> None:
        """Delete a folder in an object store that contains only Lance's files."""
        lance = load("lance")

        self._write(f"{name}/{RESERVED}", b"")
        location = self._storage.location
        folder = quote(name) if "://" in location else name
        try:
            lance.LanceDataset.drop(
                f"{location}/{folder}",
                storage_options=self._storage.lance_options(),
                ignore_not_found=True,
            )
        except (OSError, ValueError) as error:
            # Another process has already deleted the file from the previous step; without that
            # file, pylance refuses to drop the folder.
            if "Refusing to drop" not in str(error):
                raise
            raise ConcurrentModificationError(
                f"another process is deleting the data at {location}; check again later"
            ) from error

    def _write(self, name: str, content: bytes) -> None:
        with TemporaryDirectory() as folder:
            local = Path(folder, "content")
            local.write_bytes(content)
            self._files.upload_file(local, name)

    @cached_property
    def _drop_marker(self) -> _DropMarker | None:
        """The drop marker, or None if there is none, it was deleted, or another tool wrote it."""
        if DROP_MARKER not in self._entries[1]:
            return None
        content = read_small(self._files, DROP_MARKER)
        return None if content is None else _DropMarker.parse(content)


def delete_folder(storage: TableStorage, name: str) -> None:
    """Delete a folder below a location and all its contents, in bulk.

    Raises:
        ConcurrentModificationError: code 14, another process is deleting the data.
        OSError: the folder could not be deleted.
    """
    TableFolder(storage)._delete_in_bulk(name)


def has_only_lance_names(folders: Set[str], files: Iterable[str], below: Iterable[str]) -> bool:
    """Return whether all contents of a local directory have names that Lance generates.

    If not, `TableFolder.first_foreign` determines whether the other files also belong to Lance.

    Args:
        folders: names of its subdirectories.
        files: names of its other entries.
        below: paths of the contents of the subdirectories; an empty one has a trailing slash.
    """
    return folders <= FOLDERS and all(map(is_marker, files)) and all(map(is_lance_file, below))


def _scan(directory: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of a directory's subdirectories and files; a missing directory counts as empty."""
    try:
        with os.scandir(directory) as found:
            kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in found}
    except FileNotFoundError:
        kinds = {}
    folders = frozenset(name for name, is_folder in kinds.items() if is_folder)
    return folders, frozenset(kinds) - folders


def _unlink(path: str) -> None:
    """Delete a file, unless another process that drops the same table has already deleted it."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def _remove_if_empty(directory: str) -> None:
    try:
        os.rmdir(directory)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.ENOTDIR):
            raise


def _unless_damaged(open_it: Callable[[], Any]) -> Any:
    """Return an opened dataset, or None if there is no dataset or the dataset is damaged."""
    try:
        return open_it()
    except InvalidTableStateError:
        return None
    except Exception as error:
        if isinstance(from_lance(error, ""), InvalidTableStateError):
            return None
        raise


def _below(directory: str, inside: str) -> list[str]:
    """Return the paths of everything below a directory, each prefixed with the path `inside`."""
    found: list[str] = []
    try:
        with os.scandir(directory) as listed:
            entries = list(listed)
    except FileNotFoundError:
        return found  # the directory was removed concurrently
    for entry in entries:
        path = f"{inside}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            found += _below(entry.path, path) or [f"{path}/"]
        else:
            found.append(path)
    return found
