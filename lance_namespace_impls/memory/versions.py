"""A catalog in a dict, and the versions of the tables that it manages."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import attrs

from ..catalog.entry import TableEntry
from ..catalog.errors import table_not_found
from ..catalog.version_store import (
    AddTable,
    AddVersion,
    Change,
    RemoveTable,
    StoredVersion,
    TransactionRecord,
    VersionStore,
    transaction_not_found,
    version_conflict,
)
from ..core.identifiers import Identifier

__all__ = ["Catalog", "MemoryVersions"]

Kept: TypeAlias = dict[str | None, dict[int, StoredVersion]]


@attrs.define
class Catalog:
    """The contents of a catalog; an entry of None represents a table that is not a Lance table."""

    root: str
    namespaces: dict[Identifier, dict[str, str]] = attrs.Factory(dict)
    tables: dict[Identifier, TableEntry | None] = attrs.Factory(dict)
    versions: dict[Identifier, Kept] = attrs.Factory(dict)
    """Versions of managed tables by number, for each branch."""
    transactions: dict[str, TransactionRecord] = attrs.Factory(dict)
    lock: threading.RLock = attrs.field(factory=threading.RLock, repr=False)
    """Folder for the tables if no root is configured; it is deleted when the process exits."""

    def children(self, parent: Identifier) -> list[Identifier]:
        """Return the identifiers of all direct children of a namespace."""
        both = [*self.namespaces, *self.tables]
        return [identifier for identifier in both if identifier[:-1] == parent]

    def has(self, identifier: Identifier) -> bool:
        """Return whether there is a namespace or table with the identifier."""
        return identifier in self.namespaces or identifier in self.tables


class MemoryVersions(VersionStore):
    """The store for the versions of an in-memory catalog's tables.

    Args:
        catalog: the catalog.
        add: adds a table to the catalog.
    """

    def __init__(self, catalog: Catalog, add: Callable[..., Any]) -> None:
        self._catalog = catalog
        self._add = add

    def latest(self, table: TableEntry, branch: str | None) -> StoredVersion | None:
        """Return the latest version, or None if there is none."""
        with self._catalog.lock:
            stored = self._versions(table, branch)
            return stored[max(stored)] if stored else None

    def version(self, table: TableEntry, branch: str | None, number: int) -> StoredVersion | None:
        """Return one version, or None if it does not exist."""
        with self._catalog.lock:
            return self._versions(table, branch).get(number)

    def versions(
        self, table: TableEntry, branch: str | None, after: int | None, descending: bool
    ) -> Iterator[StoredVersion]:
        """Yield the versions in order, starting after `after`."""
        with self._catalog.lock:
            stored = dict(self._versions(table, branch))
        for number in sorted(stored, reverse=descending):
            if after is None or (number < after if descending else number > after):
                yield stored[number]

    def commit(self, changes: Sequence[Change]) -> str:
        """Commit all changes atomically and return the transaction's identifier."""
        catalog = self._catalog
        with catalog.lock:
            before = (
                dict(catalog.tables),
                {
                    table: {branch: dict(stored) for branch, stored in branches.items()}
                    for table, branches in catalog.versions.items()
                },
            )
            try:
                for change in changes:
                    self._apply(change)
            except BaseException:
                catalog.tables, catalog.versions = before
                raise
            name = str(uuid.uuid4())
            catalog.transactions[name] = TransactionRecord(
                id=name, status="Succeeded", properties={}
            )
            return name

    def _apply(self, change: Change) -> None:
        if isinstance(change, AddTable):
            self._add(change.id, change.location, change.properties)
            return
        self._require(change.table)
        if isinstance(change, RemoveTable):
            del self._catalog.tables[change.table.id]
            self._catalog.versions.pop(change.table.id, None)
            return
        branches = self._catalog.versions.setdefault(change.table.id, {})
        stored = branches.setdefault(change.branch, {})
        if isinstance(change, AddVersion):
            if max(stored, default=None) != change.onto:
                latest = stored[max(stored)] if stored else None
                raise version_conflict(change.table, change.branch, change.version.version, latest)
            stored[change.version.version] = change.version
            return
        for number in list(stored) if change.versions is None else change.versions:
            stored.pop(number, None)

    def published(self, table: TableEntry, branch: str | None, version: StoredVersion) -> None:
        """Store the final path of a version's manifest."""
        with self._catalog.lock:
            stored = self._versions(table, branch)
            if version.version in stored:
                stored[version.version] = version

    def exclusively(self, table: TableEntry) -> AbstractContextManager[Any]:
        """Return a lock that prevents other commits."""
        return self._catalog.lock

    def transaction(self, identifier: str) -> TransactionRecord:
        """Return a transaction."""
        with self._catalog.lock:
            found = self._catalog.transactions.get(identifier)
        if found is None:
            raise transaction_not_found(identifier)
        return found

    def change_transaction(
        self, identifier: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> TransactionRecord:
        """Change a transaction's properties and return the resulting record."""
        with self._catalog.lock:
            found = self.transaction(identifier)
            found = attrs.evolve(found, properties=dict(change(found.properties)))
            self._catalog.transactions[identifier] = found
            return found

    def _versions(self, table: TableEntry, branch: str | None) -> dict[int, StoredVersion]:
        found = self._catalog.tables.get(table.id)
        if found is None or found.location != table.location:
            return {}
        return self._catalog.versions.get(table.id, {}).get(branch, {})

    def _require(self, table: TableEntry) -> None:
        found = self._catalog.tables.get(table.id)
        if found is None or found.location != table.location:
            raise table_not_found(table.id)
