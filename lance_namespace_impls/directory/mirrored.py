"""Manages the root tables of a directory with a manifest.

Clients that only list directories also see these tables: they recognize subdirectories named
``name.lance``. pylance finds root tables in this way even if it reads the manifest. Each table in
the root is therefore such a subdirectory, and also has a row for clients that read the manifest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from lance_namespace_client.errors import InvalidInputError, TableNotFoundError, UnsupportedError

from ..catalog.entry import SortedTables, TableEntry, managed_choice
from ..catalog.errors import namespace_exists, table_exists, table_not_found
from ..core.identifiers import Identifier, format_identifier
from . import folders
from .flat import FlatTables, batched
from .manifest import TABLE, Change, Row, Snapshot
from .names import PROPERTIES, SUFFIX, dump, object_id
from .nested import NestedTables, moved
from .nested_namespaces import require_namespace

__all__ = ["RootTables"]

MOVING = ".lance-moving"
"""On local storage, this file records a directory that is being renamed, until its row has been
renamed as well.
"""


class RootTables(FlatTables):
    """The tables in the root of a directory with a manifest.

    Args:
        nested: the namespaces and tables in the manifest.
        without: the tables as they would be without the manifest; None if the manifest has not been
            added yet.
    """

    plain = False
    beside = False

    def __init__(self, nested: NestedTables, without: FlatTables | None = None) -> None:
        super().__init__(nested.directory, nested._owner)
        self._without = without
        self._nested = nested
        self._manifest = nested.manifest

    # --- tables

    def keeps(self, entry: TableEntry) -> bool:
        """Return whether clients that only list directories can see a table in the root."""
        folder = self.folder(entry)
        return folder.endswith(SUFFIX) and "/" not in folder

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the names of the tables in subdirectories, and of those located elsewhere."""
        snapshot = self._manifest.snapshot()
        if snapshot is None and self._without is not None:
            return self._without.table_names(parent, after)
        folders, several = self._folders_by_name()
        elsewhere = set() if snapshot is None else set(snapshot.tables_elsewhere())

        def tables(names: Iterator[str], wanted: int | None) -> Iterator[tuple[str, str | None]]:
            for batch in batched(names, wanted):
                live = dict(
                    self._tables_among(folders, several, filter(folders.get, batch), wanted)
                )
                for name in batch:
                    if name in live or name in elsewhere:
                        yield name, live.get(name)

        return SortedTables(sorted({*folders, *elsewhere}), tables, self._loader, after)

    def load_table(self, identifier: Identifier) -> TableEntry:
        try:
            return super().load_table(identifier)
        except TableNotFoundError:
            entry = self._elsewhere(identifier)
            if entry is not None:
                return entry
            if self._without is not None and self._manifest.snapshot() is None:
                return self._without.load_table(identifier)
            raise

    def _elsewhere(self, identifier: Identifier) -> TableEntry | None:
        """Return a root table that the manifest locates elsewhere, or None if there is none."""
        snapshot = self._manifest.snapshot()
        row = snapshot and snapshot.row(object_id(identifier))
        if not row or row.type != TABLE or row.location == f"{identifier[-1]}{SUFFIX}":
            return None
        return self._nested.entry(identifier, row)

    def reject_existing(self, identifier: Identifier) -> None:
        """Raise an error (code 5) if a name is used by a directory, a file or a table elsewhere."""
        super().reject_existing(identifier)
        if self._elsewhere(identifier) is not None:
            raise table_exists(identifier)

    def read_properties(self, folder: str) -> dict[str, str]:
        """Return a table's properties, from the file next to its data or otherwise from its row."""
        if self.directory.kinds(f"{folder}/{PROPERTIES}")[0] == "file":
            return super().read_properties(folder)
        snapshot = self._manifest.snapshot()
        row = snapshot and snapshot.row(folder.removesuffix(SUFFIX))
        return dict(row.properties) if row and row.type == TABLE else {}

    def _refuse_table(self, identifier: Identifier) -> None:
        """Raise an error (code 2) if a namespace would have the name of a table."""
        try:
            self.load_table(identifier)
        except TableNotFoundError:
            return
        raise namespace_exists(identifier)

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Add a namespace in the root, unless a table has the same name (code 2).

        Clients that only list the root drop a table by deleting its directory, and leave its row
        behind.
        """
        self._refuse_table(identifier)

        def is_stale(row: Row) -> bool:
            self._refuse_table(identifier)
            return row.type == TABLE

        return self._nested.add_namespace(identifier, properties, is_stale)

    def _refuse_namespace(self, identifier: Identifier) -> None:
        snapshot = self._manifest.snapshot()
        if snapshot is not None and snapshot.type_of(object_id(identifier)) not in (None, TABLE):
            raise table_exists(identifier)

    def _mirror(self, entry: TableEntry) -> None:
        """Write a table's row, replacing an existing row."""
        row = Row(
            id=object_id(entry.id),
            type=TABLE,
            location=self.folder(entry),
            properties=entry.properties,
        )

        def decide(snapshot: Snapshot) -> Change | None:
            found = snapshot.row(row.id)
            if found is not None and found.type != TABLE:
                raise table_exists(entry.id)
            new = row if found is None else evolve(row, more=found.more)
            return None if new == found else Change(put=[new])

        self._manifest.change(decide)

    def _forget(self, entry: TableEntry) -> None:
        """Remove a table's row, if it has one."""
        name, folder = object_id(entry.id), self.folder(entry)

        def decide(snapshot: Snapshot) -> Change | None:
            row = snapshot.row(name)
            if row is None or row.type != TABLE or row.location != folder:
                return None
            return Change(remove=[name, *snapshot.below(name)])

        if self._manifest.snapshot() is not None:
            self._manifest.change(decide)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        self._refuse_namespace(identifier)
        properties = _unmanaged(identifier, properties)
        entry = super().add_table(identifier, location, properties)
        self._mirror_new(entry)
        return entry

    def create_table_at_once(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        write: Callable[[TableEntry], int],
    ) -> tuple[TableEntry, int] | None:
        self._refuse_namespace(identifier)
        properties = _unmanaged(identifier, properties)
        if self._elsewhere(identifier) is not None:
            return None
        made = super().create_table_at_once(identifier, properties, write)
        if made is not None:
            self._mirror_new(made[0])
        return made

    def _mirror_new(self, entry: TableEntry) -> None:
        """Write the row for a newly added table; remove the table if that fails."""
        try:
            self._mirror(entry)
        except Exception:
            super().withdraw_table(entry)
            raise

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        self._refuse_namespace(identifier)
        properties = _unmanaged(identifier, properties)
        entry = super().adopt_table(identifier, location, properties)
        self._mirror(entry)
        return entry

    def remove_table(self, entry: TableEntry) -> None:
        self.directory.refuse_link(self.folder(entry))
        self._save_properties(entry)
        self._forget(entry)
        super().remove_table(entry)

    def _save_properties(self, entry: TableEntry) -> None:
        """Write a table's properties next to its data before its row is removed."""
        if entry.properties:
            self.directory.write(f"{self.folder(entry)}/{PROPERTIES}", dump(entry.properties))

    def remove_table_and_data(self, entry: TableEntry) -> None:
        with self.write_lock(entry, folders.LOCK_TIMEOUT_SECONDS):
            folder = self.folder(entry)
            self.directory.refuse_link(folder)
            self._refuse_foreign(entry, folder)
            self._forget(entry)
            trash, _ = self.move_to_trash(entry)
        self.delete(entry, trash)

    def withdraw_table(self, entry: TableEntry) -> None:
        self._forget(entry)
        super().withdraw_table(entry)

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        properties = super().change_table(entry, changed, removed)
        self._mirror(evolve(entry, properties=properties))
        return properties

    # --- moves, which change a directory and its row together

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        """Rename a table within the root, out of it, or into it.

        On local storage, the table's directory is renamed as well. A file records the move until
        the rows have been updated; a process that finds this file completes the move.

        Raises:
            UnsupportedError: code 0, an object store cannot rename a directory.
        """
        if not self.directory.is_local:
            raise UnsupportedError(
                f"RenameTable {format_identifier(entry.id)}: clients list the table's directory "
                f"in the root, and object stores cannot rename it; copy the table and drop the "
                f"old one, or set dir_listing_enabled=false"
            )
        old = self.folder(entry)
        with self.write_lock(entry, folders.LOCK_TIMEOUT_SECONDS):
            if self._manifest.snapshot() is None:
                self._manifest.create()
            with self._manifest.lock():
                self._finish_move()
                self._require_movable(entry, new)
                self.require_no_branches(entry)
                folder = self.directory.folder(
                    self.default_location(new)
                    if len(new) == 1
                    else self._nested.default_location(new)
                )
                self._write_properties_for(entry, old, new)
                note = {
                    "from": list(entry.id),
                    "to": list(new),
                    "old": old,
                    "new": folder,
                    "properties": dict(entry.properties),
                }
                self.directory.write(MOVING, json.dumps(note).encode())
                try:
                    if not self.directory.move(old, folder):
                        raise table_exists(new)
                except BaseException as error:
                    self.directory.remove_marker(MOVING)
                    if isinstance(error, FileNotFoundError):
                        raise table_not_found(entry.id) from error
                    raise
                if not self._finish_move():
                    raise table_exists(new)

    def _write_properties_for(self, entry: TableEntry, folder: str, new: Identifier) -> None:
        """If a table is moved into the root, write its properties next to its data."""
        path = f"{folder}/{PROPERTIES}"
        if len(new) == 1 and entry.properties:
            self.directory.write(path, dump(entry.properties))
        elif len(new) == 1 and self.directory.kinds(path)[0] == "file":
            self.directory.remove_marker(path)

    def _require_movable(self, entry: TableEntry, new: Identifier) -> None:
        snapshot = self._manifest.snapshot()
        require_namespace(snapshot, new[:-1])
        if len(new) > 1:
            self._nested.require_free(snapshot, new)
        else:
            self._refuse_namespace(new)
            self.reject_existing(new)
        if self.directory.kinds(self.folder(entry))[0] != "directory":
            raise table_not_found(entry.id)
        self.directory.refuse_link(self.folder(entry))
        if len(entry.id) > 1:
            row = snapshot and snapshot.row(object_id(entry.id))
            if not row or row.type != TABLE or row.location != self.folder(entry):
                raise table_not_found(entry.id)

    def _move_rows(self, note: Mapping[str, Any]) -> bool:
        """Rename the rows of a table whose directory has been renamed.

        Returns:
            False if another object now has the identifier.
        """
        old, new = object_id(tuple(note["from"])), object_id(tuple(note["to"]))
        taken = False

        def decide(snapshot: Snapshot) -> Change | None:
            nonlocal taken
            there = snapshot.row(new)
            if there is not None and there.location == note["new"]:
                return None
            taken = there is not None and not (there.type == TABLE and len(note["to"]) == 1)
            if taken:
                return None
            row = snapshot.row(old)
            if row is None or row.type != TABLE or row.location != note["old"]:
                row = Row(id=old, type=TABLE)
            properties = note["properties"]
            change = moved(snapshot, evolve(row, location=note["new"], properties=properties), new)
            # Rows of a root table may remain although its directory was removed.
            stale = [] if there is None else [new, *snapshot.below(new)]
            return Change(remove=[*change.remove, *stale], put=change.put)

        self._manifest.change_locked(decide)
        return not taken

    def settle(self) -> None:
        """Complete an interrupted move, and wait for a move in progress."""
        if not self.directory.is_local or self.directory.kinds(MOVING)[0] != "file":
            return
        with self._manifest.lock():
            self._finish_move()

    def _finish_move(self) -> bool:
        """Update the rows if the directory was renamed; return False if it cannot keep its new
        name.
        """
        content = self.directory.read(MOVING)
        if content is None:
            return True
        note = json.loads(content)
        stays = True
        if self.directory.kinds(note["old"], note["new"]) == ["missing", "directory"]:
            stays = self._move_rows(note)
            if not stays:
                self.directory.move(note["new"], note["old"])
        self.directory.remove_marker(MOVING)
        return stays


def _unmanaged(identifier: Identifier, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a table whose versions storage manages.

    Raises:
        InvalidInputError: code 13, the properties request version management by the catalog.
    """
    stored, managed = managed_choice(properties, False)
    if managed:
        raise InvalidInputError(
            f"table {format_identifier(identifier)}: the manifest cannot manage the versions of "
            "tables in the root, because clients that list the root commit without the manifest; "
            "create the table in a namespace, or set dir_listing_enabled=false"
        )
    return stored
