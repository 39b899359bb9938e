"""The databases and tables of a Hive Metastore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from pymetastore.hive_metastore.ttypes import (
    AlreadyExistsException,
    Database,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchObjectException,
    Table,
    UnknownDBException,
)
from thrift.Thrift import TApplicationException

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    UnsupportedError,
)

from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import TableEntry
from ..catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    not_a_lance_table,
    table_exists,
    table_not_found,
)
from ..catalog.identifiers import parent_after
from ..catalog.services.folders import Folders
from ..core.identifiers import Identifier, format_identifier, parse_identifier
from ..core.location import default_location
from ..core.locks import object_lock
from ..core.paging import sorted_after
from .client import Metastore
from .config import HiveConfig
from .errors import error_text, from_metastore
from .folders import PrecreatedFolder, is_local
from .locks import Locks, Place, of_database, of_table
from .records import (
    DESCRIPTION,
    EXTERNAL_TABLE,
    LOCATION,
    change_database,
    change_table,
    database_properties,
    dataset_location,
    entry_of,
    is_lance_table,
    new_database,
    new_table,
    plain_location,
    requested_location,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FAILED_TO_STORE", "HiveBase"]

NOT_ATOMIC = (
    "the metastore does not compare and replace a value atomically, so one of two concurrent "
    "commits could be lost"
)
ALTER_TRIES = 10
# Number of tables per request: small at first, because the first batch may be enough for a page.
# The metastore's own clients request 300 to 1,000.
FIRST_BATCH = 50
LATER_BATCH = 500
# Errors for impossible changes; they do not state which object caused the failure.
_REFUSED = (MetaException, InvalidObjectException, InvalidOperationException, NoSuchObjectException)
FAILED_TO_STORE = (MetaException, TApplicationException)
"""Raised by Hive 4 if another client concurrently stores a record with the same name."""
# Maximum lengths of the names of catalogs, databases and tables. These are the column sizes, which
# are the same in all releases.
NAME_LENGTHS = (256, 128, 256)
# Longer keys of database properties are lost silently; longer keys of table properties cause a
# server error.
DATABASE_KEY_LENGTH, TABLE_KEY_LENGTH = 180, 256
VALUE_LENGTH = 4000
"""Maximum length of a database property's value; some releases allow longer values for tables."""


class HiveBase(CatalogNamespace, abstract=True):
    """The Lance tables in a Hive Metastore.

    These methods interpret the last two levels of a namespace's identifier as catalog and database.
    The two-level and the three-level form differ in the levels above these.
    """

    config_type = HiveConfig
    config: HiveConfig
    with_catalogs: ClassVar[bool]

    def __init__(self, config: HiveConfig) -> None:
        super().__init__(config)
        self._metastore = Metastore(config, with_catalogs=self.with_catalogs)
        self._locks = Locks(self._metastore, config)

    def close(self) -> None:
        """Close the connections."""
        self._metastore.close()

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for a metastore failure, or None for other failures."""
        return from_metastore(error, what)

    def check_identifier(self, operation: str, request: Any) -> None:
        """Reject names that the metastore would interpret differently or cannot store (code 13)."""
        super().check_identifier(operation, request)
        identifiers = [parse_identifier(getattr(request, "id", None))]
        if operation == "RenameTable":
            parent = parent_after(self.capabilities, request)
            identifiers.append((*parent, request.new_table_name))
        lengths = NAME_LENGTHS if self.with_catalogs else NAME_LENGTHS[1:]
        for identifier in identifiers:
            for name, most in zip(identifier, lengths, strict=False):
                _check_name(name, most)
        longest = TABLE_KEY_LENGTH if "Table" in operation else DATABASE_KEY_LENGTH
        for field in ("properties", "set_properties"):
            for key, value in (getattr(request, field, None) or {}).items():
                _check_property(key, value, longest)

    # --- namespaces

    def _require_namespace(self, identifier: Identifier) -> None:
        self.namespace_properties(identifier)

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        if not identifier:
            self._metastore.ping()
            return {}
        return database_properties(self._database(identifier))

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        if parent:
            self._require_namespace(parent)
            return sorted_after((), after)
        return sorted_after(self._metastore.database_names(None), after)

    def _database(self, identifier: Identifier) -> Database:
        try:
            return self._metastore.database(*_catalog_and_database(identifier))
        except (NoSuchObjectException, UnknownDBException) as error:
            raise namespace_not_found(identifier) from error

    def _database_exists(self, identifier: Identifier) -> bool:
        try:
            self._metastore.database(*_catalog_and_database(identifier))
        except (NoSuchObjectException, UnknownDBException):
            return False
        return True

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        catalog, name = _catalog_and_database(identifier)
        location = default_location(self.config.root, identifier)
        database = new_database(catalog, name, properties, location)
        if self._database_exists(identifier):
            raise namespace_exists(identifier)
        try:
            with PrecreatedFolder(database.locationUri):
                self._metastore.create_database(database)
        except AlreadyExistsException as error:
            raise namespace_exists(identifier) from error
        except InvalidObjectException:
            self._require_namespace(identifier[:-1])
            raise
        except FAILED_TO_STORE as error:
            if self._database_exists(identifier):
                raise namespace_exists(identifier) from error
            raise
        with suppress(NamespaceNotFoundError):  # it was created, but has since been dropped
            database = self._database(identifier)
        return database_properties(database)

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        database = self._database(identifier)
        self._drop_database(identifier, cascade)
        return database_properties(database)

    def _drop_database(self, identifier: Identifier, cascade: bool) -> None:
        """Drop a database; with `cascade`, also drop its tables. No data is deleted."""
        path = _catalog_and_database(identifier)
        if cascade:
            self._drop_all_tables(path)
        try:
            self._metastore.drop_database(*path, cascade=cascade)
        except InvalidOperationException as error:
            raise namespace_not_empty(identifier, error_text(error)) from error
        except (MetaException, NoSuchObjectException) as error:
            # For a missing database, Hive 2 and 3 raise a NullPointerException.
            if not self._database_exists(identifier):
                raise namespace_not_found(identifier) from error
            raise

    def _drop_all_tables(self, path: tuple[str | None, str]) -> None:
        for name in self._metastore.table_names(*path):
            try:
                self._metastore.drop_table(*path, name)
            except NoSuchObjectException:
                continue  # another client dropped it first
            except (MetaException, InvalidOperationException):
                continue  # a view depends on it; DropDatabase drops both in the right order

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        with self._locked_for_change(
            "AlterNamespace", identifier, of_database(identifier[-1])
        ) as renew_lock:
            database = self._database(identifier)
            before = (database.description, database.locationUri)
            change_database(database, changed, removed)
            after = (database.description, database.locationUri)
            if before != after and not self.with_catalogs and not self._metastore.has_catalogs():
                raise UnsupportedError(
                    f"AlterNamespace {identifier[-1]}: Hive 2 cannot change {DESCRIPTION} or "
                    f"{LOCATION} of an existing database"
                )
            renew_lock()
            try:
                self._metastore.alter_database(_catalog_and_database(identifier)[0], database)
            except _REFUSED as error:
                if not self._database_exists(identifier):
                    raise namespace_not_found(identifier) from error
                raise
            return database_properties(self._database(identifier))

    @contextmanager
    def _locked_for_change(
        self, operation: str, identifier: Identifier, place: Place
    ) -> Iterator[Callable[[], None]]:
        """Lock an object that is read and then written, in order to prevent concurrent changes.

        Yields:
            a function that must be called immediately before the write.
        """
        server, seconds = ",".join(self.config.uri), self.config.read_timeout
        with object_lock(server, place, seconds):
            if not self.config.locks:
                yield lambda: None
                return
            what = f"{operation} {format_identifier(identifier)}"
            with self._locks.acquired(what, place) as lock:
                yield partial(self._locks.renew, lock)

    # --- tables

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        path = _catalog_and_database(parent)
        try:
            names = self._metastore.lance_table_names(*path)
        except UnknownDBException as error:
            raise namespace_not_found(parent) from error
        if names is None:
            names = self._lance_names_among(parent, self._metastore.table_names(*path))
        if not names:  # before 4.2, the database may be missing as well
            self._require_namespace(parent)
        return sorted_after(names, after)

    def _lance_names_among(self, parent: Identifier, names: list[str]) -> list[str]:
        lance_names: list[str] = []
        remaining = iter(names)
        while batch := list(islice(remaining, LATER_BATCH)):
            tables = self._many_tables(parent, batch)
            lance_names += [table.tableName for table in tables if is_lance_table(table)]
        return lance_names

    def _many_tables(self, parent: Identifier, names: list[str]) -> list[Table]:
        try:
            return self._metastore.tables(*_catalog_and_database(parent), names)
        except UnknownDBException as error:
            raise namespace_not_found(parent) from error

    def load_table(self, identifier: Identifier) -> TableEntry:
        return entry_of(identifier, self._lance_table(identifier))

    def _lance_table(self, identifier: Identifier) -> Table:
        try:
            table = self._metastore.table(*_catalog_and_database(identifier[:-1]), identifier[-1])
        except NoSuchObjectException as error:
            raise table_not_found(identifier) from error
        return _required_lance(identifier, table)

    def load_tables(
        self, parent: Identifier, names: Iterator[str]
    ) -> Iterator[tuple[str, Callable[[], TableEntry]]]:
        size = FIRST_BATCH
        while batch := list(islice(names, size)):
            tables = {table.tableName: table for table in self._many_tables(parent, batch)}
            for name in batch:
                yield name, partial(_entry_or_missing, (*parent, name), tables.get(name))
            size = LATER_BATCH

    def _table_exists(self, identifier: Identifier) -> bool:
        try:
            self._metastore.table(*_catalog_and_database(identifier[:-1]), identifier[-1])
        except NoSuchObjectException:
            return False
        return True

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        table = self._new_table(identifier, location, properties)
        self._store_table(identifier, table)
        return entry_of(identifier, table)

    def add_table_for(
        self,
        identifier: Identifier,
        location: str | None,
        properties: Mapping[str, str],
        schema: pa.Schema,
    ) -> TableEntry:
        table = self._new_table(identifier, location, properties)
        entry = entry_of(identifier, table)
        if not is_local(table.sd.location):
            Folders(self).folder_of(entry).reserve()
        self._store_table(identifier, table)
        return entry

    def _new_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> Table:
        """Build the record for a new table."""
        parent, name = identifier[:-1], identifier[-1]
        database = self.cached_response(self._database, parent)
        if location is None:
            location = self._location_in(database, identifier)
        user = self.config.user()
        owner = user[0] if user else None
        table = new_table(*_catalog_and_database(parent), name, location, properties, owner)
        if self._table_exists(identifier):
            raise table_exists(identifier)
        return table

    def _store_table(self, identifier: Identifier, table: Table) -> None:
        try:
            with PrecreatedFolder(table.sd.location):
                self._metastore.create_table(table)
        except AlreadyExistsException as error:
            raise table_exists(identifier) from error
        except InvalidObjectException as error:
            if not self._database_exists(identifier[:-1]):
                raise namespace_not_found(identifier[:-1]) from error
            raise
        except FAILED_TO_STORE as error:
            if self._table_exists(identifier):
                raise table_exists(identifier) from error
            raise

    def resolved_location(self, location: str) -> str:
        return requested_location(location)

    def default_location(self, identifier: Identifier) -> str:
        database = self.cached_response(self._database, identifier[:-1])
        return dataset_location(self._location_in(database, identifier))

    def _location_in(self, database: Database, identifier: Identifier) -> str:
        home = plain_location(database.locationUri)
        if home:
            return default_location(home, identifier[-1:])
        return default_location(self.config.root, identifier)

    def remove_table(self, entry: TableEntry) -> None:
        try:
            self._metastore.drop_table(*_catalog_and_database(entry.id[:-1]), entry.id[-1])
        except NoSuchObjectException as error:
            raise table_not_found(entry.id) from error

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        old = entry.id
        with self._locked_for_change("RenameTable", old, of_table(*old[-2:])) as renew_lock:
            table = self._lance_table(old)
            table.dbName, table.tableName = new[-2:]
            renew_lock()
            try:
                self._metastore.alter_table(*_catalog_and_database(old[:-1]), old[-1], table)
            except _REFUSED as error:
                if not self._database_exists(new[:-1]):
                    raise namespace_not_found(new[:-1]) from error
                if self._table_exists(new):
                    raise table_exists(new) from error
                if not self._table_exists(old):
                    raise table_not_found(old) from error
                raise

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change parameters in the latest version of the record.

        The change is retried if a writer without a lock has changed the record first. Some releases
        detect most of these conflicts.
        """
        with self._locked_for_change(
            "AlterTable", entry.id, of_table(*entry.id[-2:])
        ) as renew_lock:
            for _ in range(ALTER_TRIES):
                table = self._lance_table(entry.id)
                expected = change_table(table, changed, removed)
                renew_lock()
                try:
                    self._metastore.alter_table(
                        *_catalog_and_database(entry.id[:-1]), entry.id[-1], table, expected
                    )
                except _REFUSED as error:
                    if not self._table_exists(entry.id):
                        raise table_not_found(entry.id) from error
                    reason = self.translate(error, f"AlterTable {'$'.join(entry.id)}")
                    if not isinstance(reason, ConcurrentModificationError):
                        raise
                else:
                    return entry_of(entry.id, table).properties
        raise reason


def _required_lance(identifier: Identifier, table: Table | None) -> Table:
    if table is None:
        raise table_not_found(identifier)
    if not is_lance_table(table):
        kind = ("tableType", table.tableType, EXTERNAL_TABLE)
        raise not_a_lance_table(identifier, table.parameters, kind=kind)
    return table


def _entry_or_missing(identifier: Identifier, table: Table | None) -> TableEntry:
    return entry_of(identifier, _required_lance(identifier, table))


def _catalog_and_database(identifier: Identifier) -> tuple[str | None, str]:
    """Return the catalog and the database; the catalog is None in the two-level form."""
    return (identifier[0] if len(identifier) == 2 else None), identifier[-1]


def _check_property(key: str, value: str | None, longest: int) -> None:
    lengths = {"key": (key, longest)}
    if longest == DATABASE_KEY_LENGTH:
        lengths["value"] = (value or "", VALUE_LENGTH)
    for what, (text, most) in lengths.items():
        if (length := java_length(text)) > most:
            raise InvalidInputError(
                f"property {key[:20]!r}: the {what} has {length} characters; Hive stores at most "
                f"{most}; shorten it"
            )


def java_length(text: str) -> int:
    """Return the length of a string in UTF-16 code units, which Java and the metastore count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _check_name(name: str, most: int) -> None:
    if (length := java_length(name)) > most:
        raise InvalidInputError(
            f"name {name[:20]!r}... has {length} characters, but Hive accepts at most {most} here; "
            "shorten it"
        )
    if name != name.strip() or "@" in name or "#" in name:
        raise InvalidInputError(
            f"name {name!r}: Hive names cannot contain '@' or '#', or start or end with a space"
        )
