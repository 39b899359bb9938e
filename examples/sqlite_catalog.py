"""Lance tables in an SQLite file: databases, and tables in them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

import attrs

from lance_namespace_impls.extend import (
    Capabilities,
    CatalogNamespace,
    Config,
    Identifier,
    TableEntry,
    default_location,
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    option,
    root_option,
    sorted_after,
    table_exists,
    table_not_found,
)

SCHEMA = """
create table if not exists databases (name text primary key, properties text not null);
create table if not exists tables (
    db text not null references databases on delete cascade, name text not null,
    location text not null, properties text not null, primary key (db, name));
"""


@attrs.define(kw_only=True)
class SqliteConfig(Config):
    """Properties of an SQLite catalog."""

    impl: ClassVar[str] = "sqlite"
    file: str = option(default="catalog.db", doc="the SQLite file; it is created if missing")
    root: str = root_option()


class SqliteNamespace(CatalogNamespace):
    """The databases and tables of one SQLite file."""

    config_type = SqliteConfig
    config: SqliteConfig
    capabilities = Capabilities(
        namespace_depth=1,
        table_depth=1,
        cascade=True,
        unsupported={"RenameTable": "the example leaves it out", "AlterNamespace": "likewise"},
    )

    @contextmanager
    def _run(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.config.file, timeout=30)
        try:
            connection.executescript("pragma foreign_keys = on;" + SCHEMA)
            with connection:
                yield connection
        finally:
            connection.close()

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self.namespace_properties(parent)
        with self._run() as db:
            names = [] if parent else [row[0] for row in db.execute("select name from databases")]
        return sorted_after(names, after)

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        if not identifier:
            return {}
        with self._run() as db:
            row = db.execute(
                "select properties from databases where name = ?", identifier
            ).fetchone()
        if row is None:
            raise namespace_not_found(identifier)
        return dict(json.loads(row[0]))

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        try:
            with self._run() as db:
                db.execute(
                    "insert into databases values (?, ?)", (*identifier, json.dumps(properties))
                )
        except sqlite3.IntegrityError as error:
            raise namespace_exists(identifier) from error
        return properties

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        properties = self.namespace_properties(identifier)
        if not cascade and (held := next(self.table_names(identifier, None), None)):
            raise namespace_not_empty(identifier, f"table {held}")
        with self._run() as db:
            db.execute("delete from databases where name = ?", identifier)
        return properties

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self.namespace_properties(parent)
        with self._run() as db:
            rows = db.execute("select name from tables where db = ?", parent).fetchall()
        return sorted_after([row[0] for row in rows], after)

    def load_table(self, identifier: Identifier) -> TableEntry:
        with self._run() as db:
            query = "select location, properties from tables where db = ? and name = ?"
            row = db.execute(query, identifier).fetchone()
        if row is None:
            raise table_not_found(identifier)
        return TableEntry(id=identifier, location=row[0], properties=json.loads(row[1]))

    def default_location(self, identifier: Identifier) -> str:
        return default_location(self.config.root, identifier)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        self.namespace_properties(identifier[:-1])
        location = (location or self.default_location(identifier)).rstrip("/")
        try:
            with self._run() as db:
                row = (*identifier, location, json.dumps(dict(properties)))
                db.execute("insert into tables values (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError as error:
            raise table_exists(identifier) from error
        return TableEntry(id=identifier, location=location, properties=properties)

    def remove_table(self, entry: TableEntry) -> None:
        with self._run() as db:
            if not db.execute("delete from tables where db = ? and name = ?", entry.id).rowcount:
                raise table_not_found(entry.id)

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        with self._run() as db:
            db.execute("begin immediate")  # nobody changes it between the read and the write
            query = "select properties from tables where db = ? and name = ?"
            row = db.execute(query, entry.id).fetchone()
            if row is None:
                raise table_not_found(entry.id)
            properties = {**json.loads(row[0]), **changed}
            kept = {key: value for key, value in properties.items() if key not in removed}
            update = "update tables set properties = ? where db = ? and name = ?"
            db.execute(update, (json.dumps(kept), *entry.id))
        return kept
