"""Lance tables in an SQLite file: databases and their tables."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

import attrs

from lance_namespace_impls import extend
from lance_namespace_impls.extend import Identifier, TableEntry

Props = Mapping[str, str]
UNSUPPORTED = {"AlterNamespace": "the properties of a database cannot be changed"}

SCHEMA = """
pragma foreign_keys = on;
create table if not exists databases (name text primary key, properties text not null);
create table if not exists tables (
    db text not null references databases, name text not null,
    location text not null, properties text not null, primary key (db, name));
"""


@attrs.define(kw_only=True)
class SqliteConfig(extend.Config):
    impl: ClassVar[str] = "sqlite"
    file: str = extend.option(default="catalog.db", doc="SQLite file; created if missing")
    root: str = extend.root_option()


class SqliteNamespace(extend.CatalogNamespace):
    """The databases and tables in one SQLite file."""

    config_type = SqliteConfig
    config: SqliteConfig
    capabilities = extend.Capabilities(
        namespace_depth=1, table_depth=1, cascade=True, rename_across=True, unsupported=UNSUPPORTED
    )

    def _run(self, sql: str, *values: Any, missing: Any = None, conflict: Any = None) -> list[Any]:
        """Run a statement; raise `missing` if no row matches, `conflict` if a constraint fails."""
        try:
            with closing(sqlite3.connect(self.config.file, timeout=30)) as connection, connection:
                connection.executescript(SCHEMA)
                rows = connection.execute(sql, values).fetchall()
        except sqlite3.IntegrityError as error:
            raise conflict or error from error
        if missing and not rows:
            raise missing
        return rows

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self.namespace_properties(parent)  # fails if the parent is missing
        sql = "select name from databases where name > ? and not ? order by name"
        return (name for (name,) in self._run(sql, after or "", len(parent)))

    def namespace_properties(self, identifier: Identifier) -> Props:
        if not identifier:
            return {}
        sql = "select properties from databases where name = ?"
        rows = self._run(sql, *identifier, missing=extend.namespace_not_found(identifier))
        return json.loads(rows[0][0])

    def add_namespace(self, identifier: Identifier, properties: Props) -> Props:
        sql, stored = "insert into databases values (?, ?)", json.dumps(dict(properties))
        self._run(sql, *identifier, stored, conflict=extend.namespace_exists(identifier))
        return properties

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Props:
        properties = self.namespace_properties(identifier)
        if cascade:
            self._run("delete from tables where db = ?", *identifier)
        conflict = extend.namespace_not_empty(identifier, "tables")
        self._run("delete from databases where name = ?", *identifier, conflict=conflict)
        return properties

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self.namespace_properties(parent)
        sql = "select name from tables where db = ? and name > ? order by name"
        return (name for (name,) in self._run(sql, *parent, after or ""))

    def load_table(self, identifier: Identifier) -> TableEntry:
        sql = "select location, properties from tables where db = ? and name = ?"
        missing = extend.table_not_found(identifier)
        ((location, properties),) = self._run(sql, *identifier, missing=missing)
        return TableEntry(id=identifier, location=location, properties=json.loads(properties))

    def default_location(self, identifier: Identifier) -> str:
        return extend.default_location(self.config.root, identifier)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Props
    ) -> TableEntry:
        self.namespace_properties(identifier[:-1])
        location = (location or self.default_location(identifier)).rstrip("/")
        sql, stored = "insert into tables values (?, ?, ?, ?)", json.dumps(dict(properties))
        conflict = extend.table_exists(identifier)
        self._run(sql, *identifier, location, stored, conflict=conflict)
        return TableEntry(id=identifier, location=location, properties=properties)

    def remove_table(self, entry: TableEntry) -> None:
        sql = "delete from tables where db = ? and name = ? returning name"
        self._run(sql, *entry.id, missing=extend.table_not_found(entry.id))

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        self.namespace_properties(new[:-1])
        sql = "update tables set db = ?, name = ? where db = ? and name = ? returning name"
        missing, conflict = extend.table_not_found(entry.id), extend.table_exists(new)
        self._run(sql, *new, *entry.id, missing=missing, conflict=conflict)

    def change_table(self, entry: TableEntry, changed: Props, removed: Sequence[str]) -> Props:
        sql = "update tables set properties = json_patch(properties, ?) where db = ? and name = ?"
        patch = json.dumps({**changed, **dict.fromkeys(removed)})  # null removes a key
        missing = extend.table_not_found(entry.id)
        rows = self._run(f"{sql} returning properties", patch, *entry.id, missing=missing)
        return json.loads(rows[0][0])
