"""The SQL backend: namespaces and tables of a catalog in a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import Connection, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError

from ..catalog.capabilities import Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import TableEntry, managed_choice
from ..catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    table_exists,
    table_not_found,
)
from ..core.identifiers import Identifier, format_identifier, parse_identifier
from ..core.location import default_location
from .config import SqlConfig
from .database import Database
from .errors import recognized
from .rows import (
    entry_of,
    other_entry,
    properties_of,
    require_namespace,
    require_table,
    text_of,
    walk_names,
)
from .schema import NAMESPACE, TABLE, objects
from .versions import SqlVersions

__all__ = ["SqlNamespace"]

_AT_ONCE = 200


class SqlNamespace(CatalogNamespace):
    """A catalog in a database: namespaces of any depth, which can all contain tables."""

    config_type = SqlConfig
    config: SqlConfig
    capabilities = Capabilities(
        namespace_depth=None, cascade=True, rename_across=True, managed_versioning=True
    )

    def __init__(self, config: SqlConfig) -> None:
        super().__init__(config)
        self._database = Database(config)
        self.version_store = SqlVersions(
            self._database, self._insert_table, self.entry_to_add, config.transaction_days
        )

    def close(self) -> None:
        self._database.close()

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        return recognized(error, what, self.config.shown_database)

    def check_identifier(self, operation: str, request: Any) -> None:
        super().check_identifier(operation, request)
        names = [
            *parse_identifier(getattr(request, "id", None)),
            *parse_identifier(getattr(request, "new_namespace_id", None)),
            getattr(request, "new_table_name", None) or "",
        ]
        for name in names:
            if "\0" in name or _has_surrogate(name):
                raise InvalidInputError(
                    f"{operation}: a database cannot store the name {name!r}: it contains a NUL "
                    f"character or half of a surrogate pair; choose another name"
                )

    # --- namespaces

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        return walk_names(self._database, parent, NAMESPACE, after, None)

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        return self._database.read(lambda c: properties_of(require_namespace(c, identifier)))

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        def work(connection: Connection) -> None:
            parent = require_namespace(connection, identifier[:-1])
            connection.execute(
                insert(objects).values(
                    parent_id=parent.id,
                    name=identifier[-1],
                    kind=NAMESPACE,
                    managed=False,
                    properties=text_of(properties),
                )
            )

        try:
            self._database.write(work)
        except IntegrityError as error:
            if _is_duplicate(error):
                raise namespace_exists(identifier) from error
            raise namespace_not_found(identifier[:-1]) from error
        return properties

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        def work(connection: Connection) -> Mapping[str, str]:
            # While a namespace's row is locked, nothing can be added to the namespace.
            row = require_namespace(connection, identifier, lock=True)
            child = select(objects.c.name).where(objects.c.parent_id == row.id).limit(1)
            if not cascade and (name := connection.execute(child).scalar()) is not None:
                raise namespace_not_empty(identifier, name)
            connection.execute(delete(objects).where(objects.c.id == row.id))
            return properties_of(row)

        return self._database.write(work)

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        find = partial(require_namespace, identifier=identifier, lock=True)
        return self._store_properties(find, changed, removed)

    # --- tables

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        return walk_names(self._database, parent, TABLE, after, None)

    def first_table_names(
        self, parent: Identifier, after: str | None, wanted: int | None
    ) -> Iterator[str]:
        return walk_names(self._database, parent, TABLE, after, wanted)

    def load_table(self, identifier: Identifier) -> TableEntry:
        return self._database.read(lambda c: entry_of(identifier, require_table(c, identifier)))

    def load_tables(
        self, parent: Identifier, names: Iterator[str]
    ) -> Iterator[tuple[str, Callable[[], TableEntry]]]:
        while some := list(islice(names, _AT_ONCE)):
            found = self._database.read(partial(_load_some, parent=parent, names=some))
            for name in some:
                yield name, partial(_require_entry, found.get(name), (*parent, name))

    def default_location(self, identifier: Identifier) -> str:
        root = self.config.tables_root
        if root is None:
            raise InvalidInputError(
                f"table {format_identifier(identifier)} needs a location: specify one, or set "
                "the property 'root' for new tables"
            )
        return default_location(root, identifier)

    def entry_to_add(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        stored, managed = managed_choice(properties, self.config.managed)
        return TableEntry(id=identifier, location=location, properties=stored, managed=managed)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        location = (location or self.default_location(identifier)).rstrip("/")
        entry = self.entry_to_add(identifier, location, properties)
        try:
            self._database.write(lambda connection: self._insert_table(connection, entry))
        except IntegrityError as error:
            if _is_duplicate(error):
                raise table_exists(identifier) from error
            raise namespace_not_found(identifier[:-1]) from error
        return entry

    def _insert_table(self, connection: Connection, entry: TableEntry) -> None:
        parent = require_namespace(connection, entry.id[:-1])
        if self.config.is_postgresql:
            # This ensures that two concurrent additions at the same location detect each other.
            lock = text("select pg_advisory_xact_lock(hashtextextended(:location, 0))")
            connection.execute(lock, {"location": entry.location})
        new = connection.execute(
            insert(objects).values(
                parent_id=parent.id,
                name=entry.id[-1],
                kind=TABLE,
                location=entry.location,
                managed=entry.managed,
                properties=text_of(entry.properties),
            )
        )
        (added,) = new.inserted_primary_key or (None,)
        other = other_entry(connection, entry.location, added)
        if other is not None and (entry.managed or other.managed):
            raise InvalidInputError(
                f"table {format_identifier(entry.id)} cannot be stored at {entry.location}: the "
                f"table {other.name!r} uses that location, and the catalog manages the versions "
                f"of one of them; choose another location"
            )

    def remove_table(self, entry: TableEntry) -> None:
        def work(connection: Connection) -> None:
            row = require_table(connection, entry, lock=True)
            connection.execute(delete(objects).where(objects.c.id == row.id))

        self._database.write(work)

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        def work(connection: Connection) -> None:
            row = require_table(connection, entry, lock=True)
            parent = require_namespace(connection, new[:-1])
            change = update(objects).where(objects.c.id == row.id)
            connection.execute(change.values(parent_id=parent.id, name=new[-1]))

        try:
            self._database.write(work)
        except IntegrityError as error:
            if _is_duplicate(error):
                raise table_exists(new) from error
            raise namespace_not_found(new[:-1]) from error

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        find = partial(require_table, table=entry, lock=True)
        return self._store_properties(find, changed, removed)

    def _store_properties(
        self, find: Callable[[Connection], Any], changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        def work(connection: Connection) -> Mapping[str, str]:
            row = find(connection)
            both = {**properties_of(row), **changed}
            properties = {key: value for key, value in both.items() if key not in removed}
            change = update(objects).where(objects.c.id == row.id)
            connection.execute(change.values(properties=text_of(properties)))
            return properties

        return self._database.write(work)


def _load_some(
    connection: Connection, parent: Identifier, names: Sequence[str]
) -> dict[str, TableEntry]:
    row = require_namespace(connection, parent)
    query = select(objects).where(
        objects.c.parent_id == row.id, objects.c.kind == TABLE, objects.c.name.in_(names)
    )
    return {
        found.name: entry_of((*parent, found.name), found) for found in connection.execute(query)
    }


def _require_entry(entry: TableEntry | None, identifier: Identifier) -> TableEntry:
    if entry is None:
        raise table_not_found(identifier)
    return entry


def _is_duplicate(error: IntegrityError) -> bool:
    """Return whether a name is in use; if not, its namespace was removed."""
    state = getattr(error.orig, "sqlstate", None)
    return state == "23505" if state is not None else "UNIQUE" in str(error.orig)


def _has_surrogate(name: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in name)
