"""Detects whether an opened dataset is still the one at its location.

pylance commits a change on top of the opened version and checks only for later versions. If the
table was dropped and created again, its versions start at 1 again, so pylance finds no later
version. The new table would then lose its own rows and reference the old table's deleted files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import Enum
from typing import Any

from attrs import Factory, evolve, field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)

from ..core.storage import TableStorage
from .dataset import open_dataset
from .errors import from_lance
from .files import local_path, missing_files
from .layout import DATA, TREE, VERSIONS
from .manifests import ManifestFolder, final_names, version_of
from .refs import checkout

__all__ = ["LocationState", "OpenedVersion", "open_version", "replaced"]

# The last error occurs while a drop is deleting the files that it has listed.
_NOTHING = (
    InvalidTableStateError,
    TableBranchNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)


class LocationState(Enum):
    """The current contents of the location of an opened dataset."""

    SAME = "the dataset"
    NOTHING = "no dataset"
    OTHER = "another dataset, or versions committed after the dataset was removed"


@contextmanager
def open_version(
    storage: TableStorage, branch: str | None = None
) -> Iterator[tuple[Any, OpenedVersion]]:
    """Open a dataset in order to change it.

    Args:
        storage: location and options.
        branch: its branch; defaults to the main one.

    Yields:
        the ``lance.LanceDataset`` and its version.

    Raises:
        InvalidTableStateError: code 19, the location has no dataset.
        TableBranchNotFoundError: code 22.
    """
    folder = None
    if (local := local_path(_root(storage, branch).location)) is not None:
        with suppress(OSError):  # otherwise the manifests identify the dataset
            folder = _Folder(os.path.join(local, VERSIONS))
    try:
        dataset = open_dataset(storage, branch=branch)
        opened = OpenedVersion.of(dataset, storage, branch)
        if folder is not None:
            folder.note(opened.number)
        yield dataset, evolve(opened, folder=folder)
    finally:
        if folder is not None:
            folder.close()


class _Folder:
    """A local folder of versions; it is opened before the dataset that it contains.

    While it is open, no other folder can get the same inode number.

    Args:
        path: path of the folder.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self._version = 0
        self._manifest: os.stat_result | None = None

    def note(self, version: int) -> None:
        """Record the opened version."""
        self._version = version
        self._manifest = self._find()

    def is_unchanged(self) -> bool:
        """Return whether the folder still exists and the version in it is unchanged."""
        before, now = self._manifest, self._find() if self._is_same() else None
        if before is None or now is None:
            return False
        return (before.st_ino, before.st_mtime_ns) == (now.st_ino, now.st_mtime_ns)

    def is_replaced(self) -> bool:
        """Return whether another folder replaced this one, which a cleanup of old versions never
        does.
        """
        return self._is_same() is False

    def _is_same(self) -> bool | None:
        """Return whether the folder at the path is the open one, or None if it is unreadable."""
        try:
            # On a shared disk, opening the folder makes changes from other machines visible.
            current = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.fstat(current))
        except OSError:
            return None
        finally:
            os.close(current)

    def _find(self) -> os.stat_result | None:
        for name in final_names(self._version):
            with suppress(OSError):
                return os.stat(os.path.join(self._path, name))
        return None

    def close(self) -> None:
        os.close(self._descriptor)


@frozen(kw_only=True)
class OpenedVersion:
    """An opened version of a dataset that is about to be changed."""

    storage: TableStorage
    branch: str | None
    number: int
    written: datetime
    """Commit time in the manifest; it distinguishes equal version numbers of different tables."""
    committed: dict[int, datetime] = Factory(dict)
    """The versions that the change has committed so far, with their commit times."""
    folder: _Folder | None = field(default=None, repr=False)

    @classmethod
    def of(cls, dataset: Any, storage: TableStorage, branch: str | None) -> OpenedVersion:
        """Return the opened version of a dataset.

        Args:
            dataset: the ``lance.LanceDataset``.
            storage: location from which the dataset was opened.
            branch: branch of the dataset; defaults to the main branch.
        """
        found = dataset.get_version()
        return cls(
            # The cache of the session may contain deleted files.
            storage=evolve(storage, session=lambda: None),
            branch=branch,
            number=int(found["version"]),
            written=found["timestamp"],
        )

    @property
    def root(self) -> TableStorage:
        """Location of the files of the branch."""
        return _root(self.storage, self.branch)

    def note(self, dataset: Any) -> None:
        """Record the version that a commit created, if anything was committed.

        Args:
            dataset: the ``lance.LanceDataset`` that was opened.
        """
        found = dataset.get_version()
        if found["timestamp"] != self.written:
            self.committed[int(found["version"])] = found["timestamp"]

    def state(self) -> LocationState:
        """Return the current contents of the location.

        Raises:
            OSError, ValueError: the location cannot be read.
        """
        if self.folder is not None and self.folder.is_unchanged():
            return LocationState.SAME
        try:
            latest = self._open()
        except _NOTHING:
            return LocationState.NOTHING
        if int(latest.version) < self.number:
            return LocationState.OTHER
        try:
            found = self._at(latest, self.number)
        except TableVersionNotFoundError:
            return LocationState.SAME if self._was_cleaned_up(latest) else LocationState.OTHER
        except TableBranchNotFoundError:
            return LocationState.NOTHING
        return (
            LocationState.SAME
            if found.get_version()["timestamp"] == self.written
            else LocationState.OTHER
        )

    def _open(self) -> Any:
        with _catalog_errors():
            return open_dataset(self.storage, branch=self.branch)

    def _at(self, latest: Any, number: int) -> Any:
        if number == latest.version:
            return latest
        with _catalog_errors():
            return checkout(latest, number, self.branch)

    def _was_cleaned_up(self, latest: Any) -> bool:
        """Return whether the dataset is the same and only its old versions were cleaned up.

        In that case, its folder on local storage is the same, and the latest version still has all
        its files, which a drop would have deleted. If that version has no files, no remaining
        version with a lower number may have a later commit time.
        """
        if self.folder is not None and self.folder.is_replaced():
            return False
        manifests = self._manifests()
        if not manifests:
            return (
                True  # the folder of a branch may have another name, so this cannot be determined
            )
        if files := _files(latest):
            return not missing_files(self.root, DATA, files)
        earlier = max((number for number in manifests if number < self.number), default=None)
        try:
            return (
                earlier is None
                or self._at(latest, earlier).get_version()["timestamp"] < self.written
            )
        except TableVersionNotFoundError:
            return True  # it has just been cleaned up

    def misplaced(self) -> list[int]:
        """Return the versions that the change committed to another dataset and that can be
        deleted, latest first.

        Versions on which another writer has based a commit are not included.
        """
        try:
            latest = self._open()
        except _NOTHING:
            return []
        found: list[int] = []
        number = int(latest.version)
        while (due := self.committed.get(number)) is not None:
            try:
                if self._at(latest, number).get_version()["timestamp"] != due:
                    break
            except TableVersionNotFoundError:
                break
            found.append(number)
            number -= 1
        return found

    def require_same(self, dataset: Any, what: str) -> None:
        """Reject a change that was applied to another dataset, and revert it.

        If a catalog manages the versions, the process that uses the catalog must revert them.

        Args:
            dataset: the ``lance.LanceDataset`` that was opened, after the change.
            what: the table, as the start of the message.

        Raises:
            ConcurrentModificationError: code 14.
        """
        self.note(dataset)
        if self.state() is not LocationState.OTHER:
            return
        if not self.storage.managed:
            self.delete(self.misplaced())
        raise replaced(what)

    def delete(self, numbers: list[int]) -> None:
        """Delete the manifests of versions in the specified order.

        Raises:
            OSError: a manifest cannot be deleted.
        """
        manifests = self._manifests()
        for number in numbers:
            if number in manifests:
                ManifestFolder(self.storage, self.branch).delete(manifests[number])

    def _manifests(self) -> dict[int, str]:
        """Return the names of the manifests, by version."""
        return {version_of(n): n for n in ManifestFolder(self.storage, self.branch).names()}


def replaced(what: str) -> ConcurrentModificationError:
    """Build the error (code 14) for a change to a table that was replaced concurrently."""
    return ConcurrentModificationError(
        f"{what} was dropped and created again during the change; read the table again and retry"
    )


def _root(storage: TableStorage, branch: str | None) -> TableStorage:
    if branch is None:
        return storage
    return evolve(storage, location=f"{storage.location}/{TREE}/{branch}")


@contextmanager
def _catalog_errors() -> Iterator[None]:
    """Raise the catalog's own error if a table or version that the catalog manages is missing."""
    try:
        yield
    except (OSError, ValueError) as error:
        known = from_lance(error, "")
        if isinstance(known, TableNotFoundError | TableVersionNotFoundError):
            raise known from error
        raise


def _files(dataset: Any) -> list[str]:
    """Return the data files at a dataset's own location; a clone also references other files."""
    return [
        file.path
        for fragment in dataset.get_fragments()
        for file in fragment.metadata.files
        if file.base_id is None
    ]
