"""Operations on table directories that all kinds of directory namespaces share."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import attrs

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidTableStateError,
    LanceNamespaceError,
)

from ..catalog.entry import TableEntry
from ..catalog.errors import table_not_found
from ..core.errors import first_line
from ..core.identifiers import format_identifier
from ..tables.drop import TableFolder, has_only_lance_names
from ..tables.layout import BRANCHES
from .config import DirectoryConfig
from .filesystem import Directory
from .local import OpenTree
from .names import DATA, DECLARED, PROPERTIES, VERSIONS, WRITE_LOCK

__all__ = ["LOCK_TIMEOUT_SECONDS", "Owner", "TableFolders"]

# Number of seconds that DropTable and RenameTable wait for the writer of a table's first rows.
LOCK_TIMEOUT_SECONDS = 10.0
_MANIFEST = re.compile(rf"{VERSIONS}/[^/]*\.manifest")


class Owner(Protocol):
    """The part of a namespace that this module uses."""

    config: DirectoryConfig

    def table_folder(self, entry: TableEntry) -> TableFolder: ...

    def translate(self, error: Exception, what: str) -> LanceNamespaceError: ...


class TableFolders:
    """The table directories below one root.

    Args:
        directory: the file system below the root.
        owner: the namespace.
    """

    def __init__(self, directory: Directory, owner: Owner) -> None:
        self.directory = directory
        self._owner = owner

    def folder(self, entry: TableEntry) -> str:
        return self.directory.folder(entry.location)

    def opened(self, entry: TableEntry) -> AbstractContextManager[OpenTree | None]:
        """Return a handle that keeps a table's directory open, like `Directory.opened`."""
        try:
            return self.directory.opened(self.folder(entry))
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error

    def require_no_branches(self, entry: TableEntry) -> None:
        """Reject renaming the directory of a table with branches.

        Lance stores the absolute path of the table's data in each branch, so the rows of branches
        could not be read after a rename.

        Raises:
            InvalidTableStateError: code 19.
        """
        if self.directory.holds_file(f"{self.folder(entry)}/{BRANCHES}", ".json"):
            raise InvalidTableStateError(
                f"table {format_identifier(entry.id)} has branches, whose files contain the path "
                "of the table's directory; a rename would change this path, so delete the "
                "branches first"
            )

    def move_to_trash(
        self, entry: TableEntry, opened: OpenTree | None = None
    ) -> tuple[str, OpenTree | None]:
        """Move a table's directory to the trash if it contains only files that Lance wrote.

        Args:
            entry: the table.
            opened: the open directory of the table, if available.

        Returns:
            the name in the trash, and `opened` if the moved directory is unchanged.
        """
        folder = self.folder(entry)
        try:
            if opened is None or not has_only_lance_names(
                opened.folders, opened.files, opened.below
            ):
                self.directory.refuse_link(folder)
                self._refuse_foreign(entry, folder)
            trash = self.directory.move_to_trash(folder)
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error
        if trash == folder or (opened is not None and opened.has_same_entries()):
            return trash, opened
        try:
            self._refuse_foreign(entry, trash)  # a file may have been added in the meantime
        except InvalidTableStateError:
            self.directory.move(trash, folder)
            raise
        return trash, None

    def _refuse_foreign(self, entry: TableEntry, folder: str) -> None:
        location = self.directory.location(folder)
        foreign = self._owner.table_folder(attrs.evolve(entry, location=location)).first_foreign()
        if foreign is not None:
            raise InvalidTableStateError(
                f"table {entry.id[-1]} was not dropped: Lance did not write "
                f"{entry.location}/{foreign}; move that file elsewhere, or delete the directory "
                "manually"
            )

    def delete(self, entry: TableEntry, trash: str, opened: OpenTree | None = None) -> None:
        try:
            self.directory.delete(trash, opened)
        except OSError as error:
            if not self.directory.is_local:
                raise
            raise InternalError(
                f"table {entry.id[-1]} was removed from the directory, but "
                f"{self.directory.location(trash)} could not be deleted ({first_line(error)}); "
                "delete it manually"
            ) from error

    @contextmanager
    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> Iterator[None]:
        self.directory.refuse_link(self.folder(entry))
        with self.write_lock(entry, math.inf if wait else 0):
            if self.directory.kinds(self.folder(entry))[0] != "directory":
                raise ConcurrentModificationError(
                    f"table {entry.id[-1]} was dropped or renamed before its first rows were "
                    "written; create it again"
                )
            yield

    @contextmanager
    def write_lock(self, entry: TableEntry, timeout: float) -> Iterator[None]:
        """Prevent other processes from writing a table's first rows, and from moving the table."""
        marker = f"{self.folder(entry)}/{DECLARED}"
        try:
            held = self.directory.hold(self._lock_name(entry), timeout=timeout, marker=marker)
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error
        if held is None:
            raise ConcurrentModificationError(
                f"table {entry.id[-1]}: another process is writing its first rows; try again later"
            )
        with held:
            yield

    def removal_lock(
        self, entry: TableEntry, opened: OpenTree | None
    ) -> AbstractContextManager[None]:
        """Return a lock that prevents the first write to a table while the table is being removed.

        No lock is needed if the table already has rows, and is neither declared nor locked.
        """
        if (
            opened is None
            or DECLARED in opened.files
            or not any(_MANIFEST.fullmatch(path) for path in opened.below)
            or self.directory.has(self._lock_name(entry))
        ):
            return self.write_lock(entry, LOCK_TIMEOUT_SECONDS)
        return nullcontext()

    def _lock_name(self, entry: TableEntry) -> str:
        return f"{WRITE_LOCK}{hashlib.sha256(self.folder(entry).encode()).hexdigest()[:32]}"

    def withdraw_table(self, entry: TableEntry) -> None:
        data = f"{self.folder(entry)}/{DATA}"
        if not self.directory.is_local and self.directory.kinds(data)[0] != "missing":
            raise ConcurrentModificationError(
                f"{entry.location}/{DATA} may contain new rows from another writer; check them, "
                f"and try again"
            )
        with self.opened(entry) as opened:
            self.delete(entry, *self.move_to_trash(entry, opened))

    def read_properties(self, folder: str) -> dict[str, str]:
        content = self.directory.read(f"{folder}/{PROPERTIES}")
        if content is None:
            return {}
        try:
            found = json.loads(content)
            if isinstance(found, dict) and all(isinstance(v, str) for v in found.values()):
                return found
        except ValueError:
            pass
        raise InvalidTableStateError(
            f"{self.directory.location(folder)}/{PROPERTIES} is not a JSON object with string "
            f"values; fix or delete that file"
        )

    def has_data(self, entry: TableEntry) -> bool:
        return self.directory.holds_file(f"{self.folder(entry)}/{VERSIONS}", ".manifest")

    def data_written(self, entry: TableEntry) -> None:
        folder = self.folder(entry)
        if not self.directory.is_link(folder):  # a linked directory must not be marked
            self.directory.remove_marker(f"{folder}/{DECLARED}")
