"""The directory backend."""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import attrs

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableAlreadyExistsError,
)

from ..catalog.capabilities import Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import TableEntry
from ..catalog.errors import namespace_not_found, table_exists, table_not_found
from ..core.errors import first_line
from ..core.identifiers import Identifier
from ..core.location import fresh_location
from ..core.paging import sorted_after
from ..core.stores import store_failure
from .config import DirectoryConfig
from .filesystem import Directory

__all__ = ["DirectoryConfig", "DirectoryNamespace"]

SUFFIX = ".lance"
# pylance's directory namespace reads and writes the first two as well.
DECLARED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"
PROPERTIES = ".lance-properties"
# In a table's directory whose name is `_BESIDE`'s: the one that its name stands for is occupied.
BESIDE = ".lance-beside"
DATA = "data"
# Beside the table directories, while the first rows of one are written.
WRITE_LOCK = ".filling-"
# How long DropTable and RenameTable wait for whoever is writing a table's first rows.
LOCK_TIMEOUT_SECONDS = 10.0
MAX_FOLDER_BYTES = 255
MAX_NAME_BYTES = MAX_FOLDER_BYTES - len(SUFFIX)
_BESIDE = re.compile(rf"(.+)-[0-9a-f]{{8}}{re.escape(SUFFIX)}")


class DirectoryNamespace(CatalogNamespace):
    """The tables in one directory.

    A table is a subdirectory, ``name/`` or ``name.lance/``; new ones are ``name.lance/``, which
    pylance's own directory namespace sees too. A subdirectory is a table whatever is in it.
    Properties are kept in the table's directory in a file ``.lance-properties``.

    On local storage, of several processes that create, register, rename or drop one table at
    the same moment, one succeeds. On object stores that holds for CreateTable, whose commit
    is atomic; two that declare one name there at the same moment may both succeed. Object stores
    have no RenameTable either.

    Source: the general specification, "Lance Directory Namespace".
    """

    config_type = DirectoryConfig
    config: DirectoryConfig
    capabilities = Capabilities(
        namespace_depth=0,
        storage_only=True,
        unsupported=dict.fromkeys(
            ("CreateNamespace", "DropNamespace", "AlterNamespace"),
            "a directory namespace has one level and no namespaces in it",
        ),
    )

    def __init__(self, config: DirectoryConfig) -> None:
        super().__init__(config)
        self._directory = Directory(config.root, config.storage)
        self.local_path = self._directory.root if self._directory.is_local else None
        if not self._directory.is_local:
            why = "object stores cannot rename; copy the table and drop the old one"
            cannot = {"RenameTable": why}
            known = self.capabilities.unsupported
            self.capabilities = attrs.evolve(self.capabilities, unsupported={**known, **cannot})

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for a failure of the object store; None for another one."""
        kind = store_failure(error)
        return None if kind is None else kind(f"{what}: {first_line(error)}")

    def check_identifier(self, operation: str, request: Any) -> None:
        """Refuse what is not a name here: other depths, and names that leave the directory."""
        super().check_identifier(operation, request)
        for name in getattr(request, "id", None) or ():
            _check_name(name)
        if operation == "RenameTable":
            _check_name(request.new_table_name)

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        self._directory.require_directory()
        return {}

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self._directory.require_directory()
        return iter(())

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        if parent:
            raise namespace_not_found(parent)
        folders = self._directory.folders(self._unreadable)
        folders = [folder for folder in folders if not folder.startswith((".", "_"))]
        deregistered = self._deregistered(folders) if folders else set()
        live = [folder for folder in folders if folder not in deregistered]
        names = self._names_of(live)
        twice = {name for name, count in Counter(names).items() if count > 1}
        for name in sorted(twice):
            self._unreadable(_ambiguous(name))
        return sorted_after([name for name in names if name not in twice], after)

    def _deregistered(self, folders: Sequence[str]) -> set[str]:
        """Return the directories that are no tables, or cannot be looked at and are left out."""
        try:
            kinds = self._directory.kinds(*(f"{folder}/{DEREGISTERED}" for folder in folders))
        except OSError as error:
            if len(folders) > 1:  # one of them fails; the others are still to be told
                return {out for each in folders for out in self._deregistered([each])}
            what = f"ListTables: table {folders[0].removesuffix(SUFFIX)} cannot be read"
            self._unreadable(self.translate(error, what))
            return {*folders}
        return {f for f, kind in zip(folders, kinds, strict=True) if kind != "missing"}

    def _unreadable(self, error: LanceNamespaceError) -> None:
        """Raise, or warn where what cannot be read is to be left out of a listing."""
        if not self.config.skip_unreadable:
            raise error
        warnings.warn(f"{error} (left out)", stacklevel=2)

    def _live_folder(self, name: str) -> str | None:
        """Find the directory of a table, or None where the name has none.

        Raises:
            InvalidTableStateError: code 19, there are two.
        """
        live: Sequence[str] = self._live((f"{name}{SUFFIX}", name))
        if not [folder for folder in live if self._names_of([folder]) == [name]]:
            live = self._beside(name)
        if len(live) > 1:
            raise _ambiguous(name)
        return live[0] if live else None

    def _live(self, folders: Sequence[str]) -> list[str]:
        """Return those of some directories that are there and not deregistered."""
        markers = (f"{folder}/{DEREGISTERED}" for folder in folders)
        kinds = self._directory.kinds(*folders, *markers)
        return [
            folder
            for folder, kind, marker in zip(
                folders, kinds[: len(folders)], kinds[len(folders) :], strict=True
            )
            if kind == "directory" and marker != "file"
        ]

    def _names_of(self, folders: Sequence[str]) -> list[str]:
        """Return the tables' names of directories."""
        shaped = [folder for folder in folders if _BESIDE.fullmatch(folder)]
        kinds = self._directory.kinds(*(f"{folder}/{BESIDE}" for folder in shaped))
        beside = {f for f, kind in zip(shaped, kinds, strict=True) if kind == "file"}
        return [
            folder.removesuffix(SUFFIX)[:-9] if folder in beside else folder.removesuffix(SUFFIX)
            for folder in folders
        ]

    def _beside(self, name: str) -> list[str]:
        """Return the live directories of a table whose own directory is, or was, occupied."""
        shaped = [
            folder
            for folder in self._directory.starting_with(f"{name}-", self._unreadable)
            if (shape := _BESIDE.fullmatch(folder)) is not None and shape[1] == name
        ]
        live = self._live(shaped)
        return [f for f, of in zip(live, self._names_of(live), strict=True) if of == name]

    def default_location(self, identifier: Identifier) -> str:
        return self._directory.location(f"{identifier[-1]}{SUFFIX}")

    def load_table(self, identifier: Identifier) -> TableEntry:
        folder = self._live_folder(identifier[-1])
        if folder is None:
            self._directory.require_directory()
            raise table_not_found(identifier)
        return self._entry(identifier, folder, self._read_properties(folder))

    def _entry(
        self, identifier: Identifier, folder: str, properties: Mapping[str, str]
    ) -> TableEntry:
        location = self._directory.location(folder)
        return TableEntry(id=identifier, location=location, properties=properties)

    def _folder(self, entry: TableEntry) -> str:
        return self._directory.folder(entry.location)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        name = identifier[-1]
        own = f"{name}{SUFFIX}"
        if location is not None and self._named_folder(name, location) != own:
            raise InvalidInputError(
                f"table {name}: a new table of this directory is at "
                f"{self._directory.location(own)}; leave the location out"
            )
        self._directory.require_directory()
        self._refuse_taken(identifier)
        files = {DECLARED: b""}
        if properties:
            files[PROPERTIES] = _dump(properties)
        if self._directory.add(own, files):
            return self._entry(identifier, own, properties)
        with self._beside_occupied(identifier) as folder:
            if location is not None:
                raise _occupied(name, self._directory.location(own))
            if not self._directory.add(folder, {**files, BESIDE: b""}):
                raise table_exists(identifier)
        return self._entry(identifier, folder, properties)

    @contextmanager
    def _beside_occupied(self, identifier: Identifier) -> Iterator[str]:
        """Return the name of a directory beside an occupied one, on local storage to one at a time."""
        own = f"{identifier[-1]}{SUFFIX}"
        folder = f"{fresh_location(identifier[-1])}{SUFFIX}"
        if len(folder.encode()) > MAX_FOLDER_BYTES:
            raise _occupied(identifier[-1], self._directory.location(own))
        try:
            with self._directory.lock(own):
                self._refuse_taken(identifier)
                yield folder
        except FileNotFoundError as error:
            raise TableAlreadyExistsError(
                f"table {identifier[-1]} cannot be created: {self._directory.location(own)} leads nowhere, "
                "or has gone meanwhile; try again, or remove it"
            ) from error

    def _refuse_taken(self, identifier: Identifier) -> None:
        """Refuse a name that has a live directory, or a file (code 5)."""
        name = identifier[-1]
        if self._live_folder(name) is not None:
            raise table_exists(identifier)
        folders = (f"{name}{SUFFIX}", name)
        for folder, kind in zip(folders, self._directory.kinds(*folders), strict=True):
            if kind == "file":
                raise TableAlreadyExistsError(
                    f"table {name} cannot be created: {self._directory.location(folder)} is a file"
                )

    def absolute_location(self, location: str) -> str:
        if "://" in location or location.startswith(("/", "~", "file:")):
            return location
        return f"{self._directory.root}/{location}"

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        name = identifier[-1]
        folder = self._named_folder(name, location)
        if folder is None:
            raise InvalidInputError(
                f"table {name}: {location} is not its directory; in this namespace a table's data is "
                f"at {self._directory.location(name + SUFFIX)}"
            )
        if self._directory.kinds(folder)[0] != "directory":
            raise InvalidInputError(f"table {name}: there is no directory at {location}")
        self._directory.refuse_link(folder)
        own = f"{name}{SUFFIX}"
        locked = own if self._directory.kinds(own)[0] == "directory" else folder
        try:
            with self._directory.lock(locked):
                self._revive(identifier, folder, properties)
        except FileNotFoundError as error:
            raise ConcurrentModificationError(
                f"table {name}: {self._directory.location(locked)} has gone meanwhile; look again"
            ) from error
        return self._entry(identifier, folder, properties)

    def _revive(self, identifier: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        """Return the directory of a deregistered table to the catalog."""
        if self._live_folder(identifier[-1]) is not None:
            raise table_exists(identifier)
        if self._directory.kinds(f"{folder}/{DEREGISTERED}")[0] != "file":
            raise table_exists(identifier)
        if properties:
            self._directory.write(f"{folder}/{PROPERTIES}", _dump(properties))
        else:
            self._directory.remove_marker(f"{folder}/{PROPERTIES}")
        self._directory.remove_marker(f"{folder}/{DEREGISTERED}")

    def _named_folder(self, name: str, location: str) -> str | None:
        """Return the directory that a location names, if it is one of the table's own."""
        last = self._directory.folder(f"/{location.rstrip('/')}")
        beside: Sequence[str] = (
            (last,) if _BESIDE.fullmatch(last) and self._names_of([last]) == [name] else ()
        )
        for folder in (f"{name}{SUFFIX}", name, *beside):
            own = self._directory.location(folder)
            if location.rstrip("/") in (own, own.removeprefix("file://"), f"file://{own}", folder):
                return folder
        return None

    def remove_table(self, entry: TableEntry) -> None:
        self._directory.refuse_link(self._folder(entry))
        try:
            marked = self._directory.create_marker(f"{self._folder(entry)}/{DEREGISTERED}")
        except FileNotFoundError:
            marked = False
        if not marked:
            raise table_not_found(entry.id)

    def remove_table_and_data(self, entry: TableEntry) -> None:
        """Delete a table's directory.

        Raises:
            InvalidTableStateError: code 19, it holds what Lance did not write; it stays whole.
        """
        with self._write_lock(entry, LOCK_TIMEOUT_SECONDS):
            trash = self._move_to_trash(entry)
        self._delete(entry, trash)

    def _move_to_trash(self, entry: TableEntry) -> str:
        """Take a table's directory out of sight, if it holds nothing but what Lance wrote."""
        folder = self._folder(entry)
        try:
            self._directory.refuse_link(folder)
            self._refuse_foreign(entry, folder)
            trash = self._directory.move_to_trash(folder)
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error
        if trash != folder:
            try:
                self._refuse_foreign(entry, trash)  # it may have come between
            except InvalidTableStateError:
                self._directory.move(trash, folder)
                raise
        return trash

    def _refuse_foreign(self, entry: TableEntry, folder: str) -> None:
        location = self._directory.location(folder)
        foreign = self._folder_of(attrs.evolve(entry, location=location)).first_foreign()
        if foreign is not None:
            raise InvalidTableStateError(
                f"table {entry.id[-1]} is not dropped: Lance did not write {entry.location}/{foreign};"
                " move that elsewhere, or delete the directory by hand"
            )

    def _delete(self, entry: TableEntry, trash: str) -> None:
        try:
            self._directory.delete(trash)
        except OSError as error:
            if not self._directory.is_local:
                raise
            raise InternalError(
                f"table {entry.id[-1]} is out of the directory, but "
                f"{self._directory.location(trash)} could not be deleted: remove it: "
                f"{first_line(error)}"
            ) from error

    @contextmanager
    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> Iterator[None]:
        self._directory.refuse_link(self._folder(entry))
        with self._write_lock(entry, math.inf if wait else 0):
            if self._directory.kinds(self._folder(entry))[0] != "directory":
                raise ConcurrentModificationError(
                    f"table {entry.id[-1]} was dropped or renamed before its first rows were "
                    "written; create it again"
                )
            yield

    @contextmanager
    def _write_lock(self, entry: TableEntry, timeout: float) -> Iterator[None]:
        """Keep others from writing the first rows of a table, and from moving it meanwhile."""
        short = hashlib.sha256(self._folder(entry).encode()).hexdigest()[:32]
        lock = self._directory.exclusive_lock(f"{WRITE_LOCK}{short}", timeout=timeout)
        with ExitStack() as stack:
            try:
                held = stack.enter_context(lock)
            except FileNotFoundError as error:
                raise table_not_found(entry.id) from error
            if not held:
                raise ConcurrentModificationError(
                    f"table {entry.id[-1]}: someone else is writing its first rows; look again"
                )
            yield

    def withdraw_table(self, entry: TableEntry) -> None:
        data = f"{self._folder(entry)}/{DATA}"
        if not self._directory.is_local and self._directory.kinds(data)[0] != "missing":
            raise ConcurrentModificationError(f"{entry.location}/{DATA} may be others' new rows")
        self._delete(entry, self._move_to_trash(entry))

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        self._refuse_taken(new)
        old = self._folder(entry)
        folder = new[-1] + (SUFFIX if old.endswith(SUFFIX) else "")
        try:
            with self._write_lock(entry, LOCK_TIMEOUT_SECONDS):
                if self._directory.move(old, folder):
                    self._directory.remove_marker(f"{folder}/{BESIDE}")
                    return
                with self._beside_occupied(new) as beside:
                    self._directory.create_marker(f"{old}/{BESIDE}")
                    if not self._directory.move(old, beside):
                        raise table_exists(new)
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        folder = self._folder(entry)
        self._directory.refuse_link(folder)
        try:
            with self._directory.lock(folder):
                properties = {**self._read_properties(folder), **changed}
                for key in removed:
                    properties.pop(key, None)
                self._directory.write(f"{folder}/{PROPERTIES}", _dump(properties))
        except FileNotFoundError as error:
            raise table_not_found(entry.id) from error
        return properties

    def _read_properties(self, folder: str) -> dict[str, str]:
        content = self._directory.read(f"{folder}/{PROPERTIES}")
        if content is None:
            return {}
        try:
            found = json.loads(content)
            if isinstance(found, dict) and all(isinstance(v, str) for v in found.values()):
                return found
        except ValueError:
            pass
        raise InvalidTableStateError(
            f"{self._directory.location(folder)}/{PROPERTIES} is not a JSON object of text; "
            "mend or delete that file"
        )

    def has_data(self, entry: TableEntry) -> bool:
        return self._directory.holds_file(f"{self._folder(entry)}/_versions", ".manifest")

    def data_written(self, entry: TableEntry) -> None:
        folder = self._folder(entry)
        if not self._directory.is_link(folder):  # which is not this directory's to mark
            self._directory.remove_marker(f"{folder}/{DECLARED}")


def _check_name(name: str) -> None:
    """Refuse a name that cannot be a table directory (code 13)."""
    if "/" in name or "\0" in name or name in (".", ".."):
        raise InvalidInputError(f"table name {name!r} would leave the directory")
    if any(ord(character) < 32 or character == "\x7f" for character in name):
        raise InvalidInputError(
            f"table name {name!r} has a control character, which Lance does not take in a path"
        )
    if name.startswith((".", "_")):
        raise InvalidInputError(
            f"table name {name!r}: names that start with '.' or '_' are not tables"
        )
    if name.endswith(SUFFIX):
        raise InvalidInputError(
            f"table name {name!r}: the directory {name}/ is table {name.removesuffix(SUFFIX)!r}"
        )
    try:
        too_long = len(name.encode()) > MAX_NAME_BYTES
    except UnicodeEncodeError:
        raise InvalidInputError(f"table name {name!r} is not valid Unicode text") from None
    if too_long:
        raise InvalidInputError(
            f"table name {name[:40]!r}... is longer than {MAX_NAME_BYTES} bytes"
        )


def _ambiguous(name: str) -> InvalidTableStateError:
    return InvalidTableStateError(
        f"table {name} has two directories, {name}/ and {name}{SUFFIX}/: rename or remove one"
    )


def _occupied(name: str, location: str) -> TableAlreadyExistsError:
    return TableAlreadyExistsError(
        f"table {name} was deregistered and its data is still at {location}: register it, or delete "
        "that directory"
    )


def _dump(properties: Mapping[str, str]) -> bytes:
    return json.dumps(dict(properties), indent=1, sort_keys=True, ensure_ascii=False).encode()
