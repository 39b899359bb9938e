"""Manages the namespaces and tables that a directory's manifest lists."""

from __future__ import annotations

import math
import re
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from attrs import evolve

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

from ..catalog.entry import MANAGED, ListedTables, TableEntry, managed_choice
from ..catalog.errors import (
    table_exists,
    table_not_found,
)
from ..core.identifiers import Identifier, format_identifier
from ..tables.drop import DROP_MARKER
from . import folders, sweep
from .filesystem import Directory
from .folders import Owner, TableFolders
from .manifest import TABLE, Change, Manifest, Row, Snapshot
from .names import DECLARED, DELIMITER, MAX_FOLDER_BYTES, object_id
from .nested_namespaces import NestedNamespaces, require_namespace

__all__ = ["NestedTables"]

_HASHED = re.compile(r"[0-9a-f]{8}_.+")


class NestedTables(NestedNamespaces, TableFolders):
    """Namespaces of any depth, and tables at the locations that their manifest rows specify.

    A new table gets a directory with a name that has never been used: ``<8 hex
    digits>_<identifier>``.

    Args:
        directory: the file system below the root.
        owner: the namespace.
        manifest: the manifest.
    """

    def __init__(self, directory: Directory, owner: Owner, manifest: Manifest) -> None:
        super().__init__(directory, owner)
        self.manifest = manifest
        self._swept: float | None = None

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the names of the tables in order, each with its entry."""
        snapshot = self.manifest.snapshot()
        require_namespace(snapshot, parent)
        if snapshot is None:
            return iter(())
        names = snapshot.children(object_id(parent), TABLE, after)
        return ListedTables(
            ((name, (*parent, name)) for name in names),
            lambda _, identifier: partial(self._listed, snapshot, identifier),
        )

    def names_only(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the same names without their entries."""
        snapshot = self.manifest.snapshot()
        require_namespace(snapshot, parent)
        return iter(()) if snapshot is None else snapshot.children(object_id(parent), TABLE, after)

    def load_table(self, identifier: Identifier) -> TableEntry:
        """Return a table's entry; see `CatalogBase`."""
        snapshot = self.manifest.snapshot()
        require_namespace(snapshot, identifier[:-1])
        if snapshot is None:
            raise table_not_found(identifier)
        return self._listed(snapshot, identifier)

    def _listed(self, snapshot: Snapshot, identifier: Identifier) -> TableEntry:
        row = snapshot.row(object_id(identifier))
        if row is None or row.type != TABLE:
            raise table_not_found(identifier)
        return self.entry(identifier, row)

    def entry(self, identifier: Identifier, row: Row) -> TableEntry:
        """Return the entry for a row.

        Raises:
            InvalidTableStateError: code 19, the table's location is outside the directory.
        """
        folder = (row.location or "").strip("/")
        if not folder or "://" in folder or ".." in folder.split("/"):
            raise InvalidTableStateError(
                f"table {format_identifier(identifier)}: its location in the "
                f"manifest, {row.location!r}, is outside the directory; deregister the table"
            )
        return TableEntry(
            id=identifier,
            location=self.directory.location(folder),
            properties={key: value for key, value in row.properties.items() if key != MANAGED},
            managed=row.properties.get(MANAGED) == "true",
        )

    def row_to_add(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> Row:
        """Return the row for a new table."""
        stored, managed = managed_choice(
            properties, self._owner.config.table_version_tracking_enabled
        )
        return Row(
            id=object_id(identifier),
            type=TABLE,
            location=self.inside(identifier, location),
            properties={**stored, MANAGED: "true"} if managed else stored,
        )

    def default_location(self, identifier: Identifier, prefix: str | None = None) -> str:
        """Return a new, unique location for a table.

        Args:
            identifier: the table.
            prefix: eight hexadecimal digits at the start of the folder's name; defaults to random
                ones.
        """
        folder = f"{prefix or secrets.token_hex(4)}_{object_id(identifier)}"
        if len(folder.encode()) > MAX_FOLDER_BYTES:
            raise InvalidInputError(
                f"table {format_identifier(identifier)[:60]}...: its identifier is longer than "
                f"{MAX_FOLDER_BYTES - 9} bytes, which is too long for a directory name; shorten it"
            )
        return self.directory.location(folder)

    def require_free(self, snapshot: Snapshot | None, identifier: Identifier) -> None:
        """Raise an error if a table cannot be added (codes 1 and 5)."""
        require_namespace(snapshot, identifier[:-1])
        if snapshot is not None and snapshot.type_of(object_id(identifier)) is not None:
            raise table_exists(identifier)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        """Add a table: create its directory, and then its row."""
        if location is not None:
            raise InvalidInputError(
                f"table {format_identifier(identifier)}: a new table gets its own directory; "
                "omit the location, or register the table"
            )
        self.directory.require_directory()
        self.require_free(self.manifest.snapshot(), identifier)
        row = self.row_to_add(identifier, self.default_location(identifier), properties)
        folder = str(row.location)
        if not self.directory.add(folder, {DECLARED: b""}):
            raise TableAlreadyExistsError(
                f"table {format_identifier(identifier)}: {folder} already exists; try again"
            )
        self._insert_new(identifier, row)
        return self.entry(identifier, row)

    def create_table_at_once(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        write: Callable[[TableEntry], int],
    ) -> tuple[TableEntry, int] | None:
        """Write the first rows, then add the table's row; see `CatalogBase`.

        If the row were added first, another client could mistake the table for a declared one and
        write its own rows.
        """
        snapshot = self.manifest.snapshot()
        require_namespace(snapshot, identifier[:-1])
        if snapshot is not None and snapshot.type_of(object_id(identifier)) is not None:
            return None  # the table may be declared without data
        row = self.row_to_add(identifier, self.default_location(identifier), properties)
        entry = self.entry(identifier, row)
        if entry.managed:
            return None  # the versions are stored in the manifest, which needs the table's row
        with self._filled(self.folder(entry)) as folder:
            version = write(evolve(entry, location=self.directory.location(folder)))
        self._insert_new(identifier, row)
        return entry, version

    @contextmanager
    def _filled(self, folder: str) -> Iterator[str]:
        """Create a directory to fill and yield its name; afterwards, rename or delete the
        directory.
        """
        if self.directory.is_local:
            with self.directory.staged() as staged:
                yield staged
                if not self.directory.move(staged, folder):
                    raise FileExistsError(f"{self.directory.location(folder)} already exists")
            return
        try:
            yield folder
        except BaseException:
            self.directory.delete(folder)
            raise

    def _insert_new(self, identifier: Identifier, row: Row) -> None:
        """Write the row for a new table; delete the table's directory if that fails."""
        try:
            self._insert(identifier, row)
        except (
            ConcurrentModificationError,
            NamespaceNotFoundError,
            TableAlreadyExistsError,
        ):
            self.directory.delete(self.directory.move_to_trash(str(row.location)))
            raise

    def _insert(self, identifier: Identifier, row: Row) -> None:
        def decide(snapshot: Snapshot) -> Change:
            self.require_free(snapshot, identifier)
            return Change(put=[row])

        self.manifest.change(decide)

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Add a table whose data already exists, at a path below the root."""
        row = self.row_to_add(identifier, location, properties)
        entry = self.entry(identifier, row)
        # The data is in use again, and must be kept even if another client deregisters the table.
        self.directory.remove_marker(f"{self.folder(entry)}/{DROP_MARKER}")
        self._insert(identifier, row)
        return entry

    def inside(self, identifier: Identifier, location: str) -> str:
        """Return the path of a location relative to the root.

        Raises:
            InvalidInputError: code 13, the location is not below the root.
        """
        root = self.directory.root.rstrip("/")
        for start in (f"{root}/", f"file://{root}/"):
            if location.startswith(start):
                location = self.directory.folder(f"{root}/{location[len(start) :]}")
                break
        folder = location.strip("/")
        parts = folder.split("/")
        if (
            "://" in location
            or location.startswith(("/", "~"))
            or not all(parts)
            or not {".", ".."}.isdisjoint(parts)
        ):
            raise InvalidInputError(
                f"table {format_identifier(identifier)}: {location} is not below {root}; "
                "locations must be inside the directory"
            )
        return folder

    def remove_table(self, entry: TableEntry) -> None:
        """Remove a table from the manifest; keep its data."""
        self.directory.remove_marker(f"{self.folder(entry)}/{DROP_MARKER}")
        self.remove_row(entry)

    def remove_row(self, entry: TableEntry) -> None:
        """Remove a table's row; raise an error (code 4) if it was removed or replaced."""
        name, folder = object_id(entry.id), self.folder(entry)

        def decide(snapshot: Snapshot) -> Change:
            row = snapshot.row(name)
            if row is None or row.type != TABLE or row.location != folder:
                raise table_not_found(entry.id)
            return Change(remove=[name, *snapshot.below(name)])

        if self.manifest.snapshot() is None:
            raise table_not_found(entry.id)
        self.manifest.change(decide)

    def remove_table_and_data(self, entry: TableEntry) -> None:
        """Remove a table from the manifest, then delete its directory.

        If the process is killed during the deletion, a marker remains in the directory; a later
        drop deletes directories that have a marker and that no row references. The marker is
        written only after the row has been removed. Before that, a client that does not support
        markers could deregister the table, and its data would have to be kept.

        Raises:
            InvalidTableStateError: code 19, the directory contains files that Lance did not write;
                in this case, nothing is deleted.
        """
        folder = self.folder(entry)
        with self.write_lock(entry, folders.LOCK_TIMEOUT_SECONDS):
            is_there = self.directory.kinds(folder)[0] == "directory"
            if is_there:
                self.directory.refuse_link(folder)
                self._refuse_foreign(entry, folder)
            self.remove_row(entry)
            if is_there:
                self.directory.create_marker(f"{folder}/{DROP_MARKER}")
        if is_there:
            self._discard(entry)
        self._sweep()

    def _discard(self, entry: TableEntry) -> None:
        """Delete an unreferenced directory if Lance wrote all its files, unless it is being
        deleted.
        """
        try:
            with self.opened(entry) as opened:
                self.delete(entry, *self.move_to_trash(entry, opened))
        except TableNotFoundError:
            pass
        except InvalidTableStateError as error:
            warnings.warn(
                f"{entry.location} is not referenced by the manifest, but could not be deleted: "
                f"{error.message}",
                stacklevel=2,
            )

    def _sweep(self) -> None:
        """Occasionally delete directories whose drops were interrupted."""
        now = time.monotonic()
        if self._swept is not None and now - self._swept < sweep.SWEEP_SECONDS:
            return
        self._swept = now
        hashed = self.directory.starting_with("", lambda error: None)
        hashed = [name for name in hashed if _HASHED.fullmatch(name)]
        if not hashed:
            return
        kinds = self.directory.kinds(*(f"{folder}/{DROP_MARKER}" for folder in hashed))
        marked = {f for f, kind in zip(hashed, kinds, strict=True) if kind == "file"}
        if not marked:
            return
        snapshot = self.manifest.snapshot()
        known = set() if snapshot is None else set(snapshot.table["location"].to_pylist())
        for folder in marked & known:  # the table was registered again, so no drop is in progress
            self.directory.remove_marker(f"{folder}/{DROP_MARKER}")
        for folder in marked - known:
            name = tuple(folder.partition("_")[2].split(DELIMITER))
            location = self.directory.location(folder)
            entry = TableEntry(id=name, location=location, properties={})
            if self._is_unchanged_since_drop(entry):
                self._discard(entry)

    def _is_unchanged_since_drop(self, entry: TableEntry) -> bool:
        """Return whether nothing has been written since the marker, not even by a registration."""
        marked = self.directory.modified(f"{self.folder(entry)}/{DROP_MARKER}")
        state = self._owner.table_folder(entry).state()
        return marked is not None and (state is None or state.written <= marked)

    @contextmanager
    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> Iterator[None]:
        """Prevent others from writing a table's first rows; its directory may not exist yet."""
        if not self.directory.is_local:
            yield
            return
        self.directory.refuse_link(self.folder(entry))
        with self.write_lock(entry, math.inf if wait else 0):
            self.require_listed(entry)
            yield

    def require_listed(self, entry: TableEntry) -> None:
        """Raise an error (code 14) if a table was removed concurrently."""
        snapshot = self.manifest.snapshot()
        row = None if snapshot is None else snapshot.row(object_id(entry.id))
        if row is None or row.type != TABLE or row.location != self.folder(entry):
            raise ConcurrentModificationError(
                f"table {format_identifier(entry.id)} was dropped or renamed before its first rows "
                "were written; create it again"
            )

    def withdraw_table(self, entry: TableEntry) -> None:
        """Remove a table whose first rows could not be written after the table had been added."""
        self.remove_row(entry)
        super().withdraw_table(entry)

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        """Rename a table without renaming its directory."""
        old, name, folder = object_id(entry.id), object_id(new), self.folder(entry)

        def decide(snapshot: Snapshot) -> Change:
            self.require_free(snapshot, new)
            row = snapshot.row(old)
            if row is None or row.type != TABLE or row.location != folder:
                raise table_not_found(entry.id)
            return moved(snapshot, row, name)

        with self.write_lock(entry, folders.LOCK_TIMEOUT_SECONDS):
            self.manifest.change(decide)

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change a table's parameters and return all of them."""
        row = self.change_row(entry.id, TABLE, changed, removed)
        if row is None:
            raise table_not_found(entry.id)
        return self.entry(entry.id, row).properties


def moved(snapshot: Snapshot, row: Row, name: str) -> Change:
    """Return the change that moves a table and its versions to another identifier."""
    below = [snapshot.row(each) for each in snapshot.below(row.id)]
    rows = [row, *(each for each in below if each is not None)]
    return Change(
        remove=[each.id for each in rows],
        put=[evolve(each, id=name + each.id[len(row.id) :]) for each in rows],
    )
