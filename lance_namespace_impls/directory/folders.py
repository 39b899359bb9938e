"""Table directories on storage: what every kind of directory namespace does with one."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
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
from ..tables.drop import TableFolder, is_lances_alone
from .config import DirectoryConfig
from .filesystem import Directory
from .names import DATA, DECLARED, PROPERTIES, VERSIONS, WRITE_LOCK

__all__ = ["LOCK_TIMEOUT_SECONDS", "Owner", "TableFolders"]

# How long DropTable and RenameTable wait for whoever is writing a table's first rows.
LOCK_TIMEOUT_SECONDS = 10.0


class Owner(Protocol):
    """What the tables of a directory need of their namespace."""

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

    def move_to_trash(self, entry: TableEntry) -> str:
        """Take a table's directory out of sight, if it holds nothing but what Lance wrote."""
        folder = self.folder(entry)
        try:
            self.directory.refuse_link(folder)
            self._refuse_foreign(entry, folder)
            trash = self.directory.move_to_trash(folder)
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error
        if trash != folder:
            try:
                self._refuse_foreign(entry, trash)  # it may have come between
            except InvalidTableStateError:
                self.directory.move(trash, folder)
                raise
        return trash

    def _refuse_foreign(self, entry: TableEntry, folder: str) -> None:
        location = self.directory.location(folder)
        if self.directory.is_local and is_lances_alone(location):
            return
        foreign = self._owner.table_folder(attrs.evolve(entry, location=location)).first_foreign()
        if foreign is not None:
            raise InvalidTableStateError(
                f"table {entry.id[-1]} is not dropped: Lance did not write {entry.location}/{foreign};"
                " move that elsewhere, or delete the directory by hand"
            )

    def delete(self, entry: TableEntry, trash: str) -> None:
        try:
            self.directory.delete(trash)
        except OSError as error:
            if not self.directory.is_local:
                raise
            raise InternalError(
                f"table {entry.id[-1]} is out of the directory, but "
                f"{self.directory.location(trash)} could not be deleted: remove it: "
                f"{first_line(error)}"
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
        """Keep others from writing the first rows of a table, and from moving it meanwhile."""
        short = hashlib.sha256(self.folder(entry).encode()).hexdigest()[:32]
        try:
            held = self.directory.hold(f"{WRITE_LOCK}{short}", timeout=timeout)
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error
        if held is None:
            raise ConcurrentModificationError(
                f"table {entry.id[-1]}: someone else is writing its first rows; look again"
            )
        with held:
            yield

    def withdraw_table(self, entry: TableEntry) -> None:
        data = f"{self.folder(entry)}/{DATA}"
        if not self.directory.is_local and self.directory.kinds(data)[0] != "missing":
            raise ConcurrentModificationError(f"{entry.location}/{DATA} may be others' new rows")
        self.delete(entry, self.move_to_trash(entry))

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
            f"{self.directory.location(folder)}/{PROPERTIES} is not a JSON object of text; "
            "mend or delete that file"
        )

    def has_data(self, entry: TableEntry) -> bool:
        return self.directory.holds_file(f"{self.folder(entry)}/{VERSIONS}", ".manifest")

    def data_written(self, entry: TableEntry) -> None:
        folder = self.folder(entry)
        if not self.directory.is_link(folder):  # which is not this directory's to mark
            self.directory.remove_marker(f"{folder}/{DECLARED}")
