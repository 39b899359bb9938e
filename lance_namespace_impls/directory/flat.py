"""Manages tables whose names determine their locations: subdirectories of the root."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableAlreadyExistsError,
)

from ..catalog.entry import Loader, SortedTables, TableEntry
from ..catalog.errors import namespace_not_found, table_exists, table_not_found
from ..core.file_stamps import Stamp
from ..core.identifiers import Identifier
from ..core.location import fresh_location
from . import folders
from .folders import TableFolders
from .names import (
    BESIDE,
    BESIDE_NOTE,
    DECLARED,
    DEREGISTERED,
    IS_BESIDE,
    MANIFEST,
    MAX_FOLDER_BYTES,
    PROPERTIES,
    SUFFIX,
    VERSIONS,
    dump,
)

__all__ = ["FlatTables", "batched"]

AT_ONCE = 1000
"""Number of directories that a listing examines together."""


class FlatTables(TableFolders):
    """The tables directly below the root; storage itself is the catalog."""

    plain = True
    """Whether a subdirectory ``name`` is also a table, like ``name.lance``."""
    beside = True
    """Whether a new table is stored next to the directory of a deregistered table with the same
    name."""

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        if parent:
            raise namespace_not_found(parent)
        folders, several = self._folders_by_name()
        return SortedTables(
            sorted(folders), partial(self._tables_among, folders, several), self._loader, after
        )

    def _folders_by_name(self) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Return two mappings: from table names to directories, and to all directories of a table
        if there are several.

        Only the names of directories are examined.
        """
        found = self.directory.folders(self._unreadable)
        found = [folder for folder in found if folder[0] not in "._"]
        if not self.plain:
            found = [folder for folder in found if folder.endswith(SUFFIX)]
        names = self._names_of(found)
        by_name = dict(zip(names, found, strict=True))
        several: dict[str, list[str]] = {}
        if len(by_name) < len(names):
            for name, folder in zip(names, found, strict=True):
                several.setdefault(name, []).append(folder)
        return by_name, {name: those for name, those in several.items() if len(those) > 1}

    def _tables_among(
        self,
        folders: Mapping[str, str],
        several: Mapping[str, Sequence[str]],
        names: Iterator[str],
        wanted: int | None,
    ) -> Iterator[tuple[str, str]]:
        """Examine names in batches, and yield those that are tables, with their directories."""
        for batch in batched(names, wanted):
            live = self._live_among(
                [each for name in batch for each in several.get(name) or (folders[name],)]
            )
            for name in batch:
                found = folders[name]
                if name in several:
                    left = [folder for folder in several[name] if folder in live]
                    if len(left) > 1:
                        self._unreadable(_ambiguous(name))
                        continue
                    found = left[0] if left else found
                if found in live:
                    yield name, found

    def _loader(self, name: str, folder: str | None) -> Loader | None:
        """Return a loader for a table whose directory has just been examined, or None."""
        return None if folder is None else partial(self._listed, name, folder)

    def _listed(self, name: str, folder: str) -> TableEntry:
        return self._entry((name,), folder, self.read_properties(folder))

    def _live_among(self, folders: Sequence[str]) -> set[str]:
        """Return the listed directories that are tables, except unreadable ones."""
        try:
            kinds = self.directory.kinds(*[f"{folder}/{DEREGISTERED}" for folder in folders])
            return {f for f, kind in zip(folders, kinds, strict=True) if kind == "missing"}
        except OSError as error:
            if len(folders) > 1:  # one of them fails; the others must still be checked
                return {live for each in folders for live in self._live_among([each])}
            what = f"ListTables: table {folders[0].removesuffix(SUFFIX)} cannot be read"
            self._unreadable(self._owner.translate(error, what))
            return set()

    def _unreadable(self, error: LanceNamespaceError) -> None:
        """Raise the error, or only warn if the configuration omits unreadable tables from listings."""
        if not self._owner.config.skip_unreadable:
            raise error
        warnings.warn(f"{error} (omitted)", stacklevel=2)

    def _live_folder(self, name: str) -> str | None:
        """Return the directory of a table, or None if there is none.

        Raises:
            InvalidTableStateError: code 19, the table has two directories.
        """
        live: Sequence[str] = self._live(self._usual_folders(name))
        if self._names_of(live).count(name) == 0:
            live = self._extra_folders(name)
        if len(live) > 1:
            raise _ambiguous(name)
        return live[0] if live else None

    def is_plain(self) -> bool:
        """Return whether the directory is on local storage and cannot have a manifest."""
        return self.directory.is_local and not self.directory.has(MANIFEST)

    def stamp(self, name: str) -> Stamp | None:
        """Return the current state of all paths on which a table and its newest version depend.

        Args:
            name: the table.
        """
        own = self._usual_folders(name)
        found = [
            f for f, kind in zip(own, self.directory.kinds(*own), strict=True) if kind != "missing"
        ]
        folder = self._live_folder(name)
        if folder is None or folder not in found:
            return None
        # A change of the root reveals new entries, and a change of a table's directory reveals
        # markers.
        paths = [".", *found, f"{folder}/{VERSIONS}"]
        if self.directory.kinds(f"{folder}/{PROPERTIES}")[0] != "missing":
            paths.append(f"{folder}/{PROPERTIES}")
        return self.directory.stamp(*paths)

    def _usual_folders(self, name: str) -> tuple[str, ...]:
        """Return the directories that a table with this name may have."""
        return (f"{name}{SUFFIX}", name) if self.plain else (f"{name}{SUFFIX}",)

    def _live(self, folders: Sequence[str]) -> list[str]:
        """Return the directories that exist and do not belong to deregistered tables."""
        if self.directory.is_local:
            kind_of = self.directory.local_kind
            return [
                folder
                for folder in folders
                if kind_of(folder) == "directory" and kind_of(f"{folder}/{DEREGISTERED}") != "file"
            ]
        markers = (f"{folder}/{DEREGISTERED}" for folder in folders)
        kinds = self.directory.kinds(*folders, *markers)
        return [
            folder
            for folder, kind, marker in zip(
                folders, kinds[: len(folders)], kinds[len(folders) :], strict=True
            )
            if kind == "directory" and marker != "file"
        ]

    def _names_of(self, folders: Sequence[str]) -> list[str]:
        """Return the table names of directories."""
        # Checking a single character excludes most names: the hyphen before the eight characters
        # and the suffix.
        shaped = [f for f in folders if f[-15:-14] == "-" and IS_BESIDE.fullmatch(f)]
        if not shaped:
            return [folder.removesuffix(SUFFIX) for folder in folders]
        kinds = self.directory.kinds(*(f"{folder}/{BESIDE}" for folder in shaped))
        beside = {f for f, kind in zip(shaped, kinds, strict=True) if kind == "file"}
        return [
            folder.removesuffix(SUFFIX)[:-9] if folder in beside else folder.removesuffix(SUFFIX)
            for folder in folders
        ]

    def _extra_folders(self, name: str) -> list[str]:
        """Return the live directories of a table whose usual directory is or was occupied.

        The root may contain many tables, so it is listed only for names that have had such a
        directory.
        """
        if self.directory.kinds(_extra_folder_note(name))[0] != "file":
            return []
        shaped = [
            folder
            for folder in self.directory.starting_with(f"{name}-", self._unreadable)
            if (shape := IS_BESIDE.fullmatch(folder)) is not None and shape[1] == name
        ]
        live = self._live(shaped)
        return [f for f, of in zip(live, self._names_of(live), strict=True) if of == name]

    def default_location(self, identifier: Identifier) -> str:
        return self.directory.location(f"{identifier[-1]}{SUFFIX}")

    def load_table(self, identifier: Identifier) -> TableEntry:
        folder = self.require_table(identifier)
        return self._entry(identifier, folder, self.read_properties(folder))

    def require_table(self, identifier: Identifier) -> str:
        """Return the directory of a table.

        Raises:
            TableNotFoundError: code 4.
            InvalidTableStateError: code 19, the table has two directories.
        """
        folder = self._live_folder(identifier[-1])
        if folder is None:
            self.directory.require_directory()
            raise table_not_found(identifier)
        return folder

    def _entry(
        self, identifier: Identifier, folder: str, properties: Mapping[str, str]
    ) -> TableEntry:
        location = self.directory.location(folder)
        return TableEntry(id=identifier, location=location, properties=properties)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        name = identifier[-1]
        own = f"{name}{SUFFIX}"
        if location is not None and self._named_folder(name, location) != own:
            raise InvalidInputError(
                f"table {name}: new tables in this directory are stored at "
                f"{self.directory.location(own)}; omit the location"
            )
        self.directory.require_directory()
        self.reject_existing(identifier)
        files = {DECLARED: b""}
        if properties:
            files[PROPERTIES] = dump(properties)
        if self.directory.add(own, files):
            return self._entry(identifier, own, properties)
        with self._next_to_occupied(identifier) as folder:
            if location is not None:
                raise _occupied(name, self.directory.location(own))
            if not self.directory.add(folder, {**files, BESIDE: b""}):
                raise table_exists(identifier)
        return self._entry(identifier, folder, properties)

    def create_table_at_once(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        write: Callable[[TableEntry], int],
    ) -> tuple[TableEntry, int] | None:
        """Write the first rows, then move the table to its final name; see `CatalogBase`."""
        name = identifier[-1]
        own = f"{name}{SUFFIX}"
        if not self.directory.is_local:
            return None  # an object store cannot move the directory
        if any(map(self.directory.has, (*self._usual_folders(name), _extra_folder_note(name)))):
            return None  # the table, or a directory that must be examined, already exists
        with self.directory.staged() as staged:
            version = write(self._entry(identifier, staged, properties))
            if properties:
                self.directory.write(f"{staged}/{PROPERTIES}", dump(properties))
            if not self.directory.move(staged, own):
                raise table_exists(identifier)
        return self._entry(identifier, own, properties), version

    @contextmanager
    def _next_to_occupied(self, identifier: Identifier) -> Iterator[str]:
        """Yield the name of a directory next to an occupied one, locked if it is on local
        storage.
        """
        own = f"{identifier[-1]}{SUFFIX}"
        folder = f"{fresh_location(identifier[-1])}{SUFFIX}"
        if not self.beside or len(folder.encode()) > MAX_FOLDER_BYTES:
            raise _occupied(identifier[-1], self.directory.location(own))
        try:
            with self.directory.lock(own):
                self.reject_existing(identifier)
                self.directory.create_marker(_extra_folder_note(identifier[-1]))
                yield folder
        except FileNotFoundError as error:
            raise TableAlreadyExistsError(
                f"table {identifier[-1]} cannot be created: {self.directory.location(own)} is a "
                f"broken link, or was deleted concurrently; remove the link, or try again"
            ) from error

    def reject_existing(self, identifier: Identifier) -> None:
        """Reject a name (code 5) for which a live directory or a file exists."""
        name = identifier[-1]
        own = self._usual_folders(name)
        kinds = self.directory.kinds(*own)
        if self._live_folder(name) if "directory" in kinds else self._extra_folders(name):
            raise table_exists(identifier)
        for folder, kind in zip(own, kinds, strict=True):
            if kind == "file":
                raise TableAlreadyExistsError(
                    f"table {name} cannot be created: {self.directory.location(folder)} is a "
                    f"file; choose another name"
                )

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        name = identifier[-1]
        folder = self._named_folder(name, location)
        if folder is None:
            raise InvalidInputError(
                f"table {name}: {location} is not the table's directory; in this namespace, its "
                f"data must be at {self.directory.location(name + SUFFIX)}"
            )
        if self.directory.kinds(folder)[0] != "directory":
            raise InvalidInputError(f"table {name}: directory {location} does not exist")
        self.directory.refuse_link(folder)
        own = f"{name}{SUFFIX}"
        locked = own if self.directory.kinds(own)[0] == "directory" else folder
        try:
            with self.directory.lock(locked):
                self._revive(identifier, folder, properties)
        except FileNotFoundError as error:
            raise ConcurrentModificationError(
                f"table {name}: {self.directory.location(locked)} was deleted concurrently; check "
                f"whether the table exists, and try again"
            ) from error
        return self._entry(identifier, folder, properties)

    def _revive(self, identifier: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        """Re-register the directory of a deregistered table."""
        if self._live_folder(identifier[-1]) is not None:
            raise table_exists(identifier)
        if self.directory.kinds(f"{folder}/{DEREGISTERED}")[0] != "file":
            raise table_exists(identifier)
        if properties:
            self.directory.write(f"{folder}/{PROPERTIES}", dump(properties))
        else:
            self.directory.remove_marker(f"{folder}/{PROPERTIES}")
        self.directory.remove_marker(f"{folder}/{DEREGISTERED}")

    def _named_folder(self, name: str, location: str) -> str | None:
        """Return the directory that a location refers to, if it is one of the table's directories."""
        last = self.directory.folder(f"/{location.rstrip('/')}")
        beside: Sequence[str] = (
            (last,) if IS_BESIDE.fullmatch(last) and self._names_of([last]) == [name] else ()
        )
        for folder in (*self._usual_folders(name), *beside):
            own = self.directory.location(folder)
            if location.rstrip("/") in (own, own.removeprefix("file://"), f"file://{own}", folder):
                return folder
        return None

    def remove_table(self, entry: TableEntry) -> None:
        self.directory.refuse_link(self.folder(entry))
        try:
            marked = self.directory.create_marker(f"{self.folder(entry)}/{DEREGISTERED}")
        except FileNotFoundError:
            marked = False
        if not marked:
            raise table_not_found(entry.id)

    def remove_table_and_data(self, entry: TableEntry) -> None:
        """Delete a table's directory.

        Raises:
            InvalidTableStateError: code 19, the directory contains files that Lance did not write;
                in this case, nothing is deleted.
        """
        with self.opened(entry) as opened:
            with self.removal_lock(entry, opened):
                trash, opened = self.move_to_trash(entry, opened)
            self.delete(entry, trash, opened)

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        self.reject_existing(new)
        old = self.folder(entry)
        folder = new[-1] + (SUFFIX if old.endswith(SUFFIX) else "")
        try:
            with self.write_lock(entry, folders.LOCK_TIMEOUT_SECONDS):
                self.require_no_branches(entry)
                if self.directory.move(old, folder):
                    self.directory.remove_marker(f"{folder}/{BESIDE}")
                    return
                with self._next_to_occupied(new) as beside:
                    self.directory.create_marker(f"{old}/{BESIDE}")
                    if not self.directory.move(old, beside):
                        raise table_exists(new)
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        folder = self.folder(entry)
        self.directory.refuse_link(folder)
        try:
            with self.directory.lock(folder):
                properties = {**self.read_properties(folder), **changed}
                for key in removed:
                    properties.pop(key, None)
                self.directory.write(f"{folder}/{PROPERTIES}", dump(properties))
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error
        return properties


def batched(names: Iterator[str], wanted: int | None) -> Iterator[list[str]]:
    """Split names into batches, whose directories are examined together."""
    while batch := list(islice(names, AT_ONCE if wanted is None else min(AT_ONCE, wanted))):
        yield batch


def _ambiguous(name: str) -> InvalidTableStateError:
    return InvalidTableStateError(
        f"table {name} has two directories, {name}/ and {name}{SUFFIX}/: rename or remove one"
    )


def _extra_folder_note(name: str) -> str:
    """Return the file in the root that records that a table has or had an extra directory."""
    return f"{BESIDE_NOTE}{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def _occupied(name: str, location: str) -> TableAlreadyExistsError:
    return TableAlreadyExistsError(
        f"table {name} was deregistered, and its data is still at {location}; register it, or "
        f"delete that directory"
    )
