"""The versions of managed tables in a database; each commit is a database transaction."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from ..catalog.entry import TableEntry
from ..catalog.version_store import (
    AddTable,
    Change,
    RemoveTable,
    RemoveVersions,
    StoredVersion,
    TransactionRecord,
    VersionStore,
    transaction_not_found,
    version_conflict,
)
from .database import Database
from .rows import require_table, text_of
from .schema import objects, transactions, versions

__all__ = ["SqlVersions"]

_PAGE = 200
_SUCCEEDED = "Succeeded"


class SqlVersions(VersionStore):
    """The versions of managed tables in a database.

    Args:
        database: the database.
        add: adds a table within a transaction.
        entry: returns the entry of a table that will be added.
        keep_days: number of days for which transactions are retained.
    """

    def __init__(
        self,
        database: Database,
        add: Callable[[Connection, TableEntry], None],
        entry: Callable[..., TableEntry],
        keep_days: int,
    ) -> None:
        self._database = database
        self._add = add
        self._entry = entry
        self._keep_millis = keep_days * 86_400_000

    def latest(self, table: TableEntry, branch: str | None) -> StoredVersion | None:
        """Return the latest version, or None if there is none."""

        def work(connection: Connection) -> StoredVersion | None:
            return _latest(connection, require_table(connection, table).id, branch)

        return self._database.read(work)

    def version(self, table: TableEntry, branch: str | None, number: int) -> StoredVersion | None:
        """Return one version, or None if it does not exist."""

        def work(connection: Connection) -> StoredVersion | None:
            row = require_table(connection, table)
            query = _of(row.id, branch).where(versions.c.version == number)
            return _to_version(connection.execute(query).one_or_none())

        return self._database.read(work)

    def versions(
        self, table: TableEntry, branch: str | None, after: int | None, descending: bool
    ) -> Iterator[StoredVersion]:
        """Yield the versions in order, starting after `after`; they are read in batches."""
        number = versions.c.version
        while True:

            def page(connection: Connection, after: int | None = after) -> list[StoredVersion]:
                query = _of(require_table(connection, table).id, branch)
                if after is not None:
                    query = query.where(number < after if descending else number > after)
                query = query.order_by(number.desc() if descending else number).limit(_PAGE)
                return [
                    version for row in connection.execute(query) if (version := _to_version(row))
                ]

            found = self._database.read(page)
            yield from found
            if len(found) < _PAGE:
                return
            after = found[-1].version

    def commit(self, changes: Sequence[Change]) -> str:
        """Commit all changes atomically and return the transaction's identifier."""
        name = str(uuid.uuid4())

        def work(connection: Connection) -> None:
            self._lock(connection, changes)
            for change in changes:
                self._apply(connection, change)
            now = time.time_ns() // 1_000_000
            connection.execute(
                insert(transactions).values(
                    id=name, status=_SUCCEEDED, created_millis=now, properties="{}"
                )
            )
            _forget(connection, now - self._keep_millis)

        try:
            self._database.write(work)
        except IntegrityError as error:
            raise ConcurrentModificationError(
                "another writer changed the same tables or namespaces concurrently; read "
                "them again and retry"
            ) from error
        return name

    def _lock(self, connection: Connection, changes: Sequence[Change]) -> None:
        """Lock the existing tables, always in the same order in order to avoid deadlocks."""
        found: list[int] = []
        for change in changes:
            if isinstance(change, AddTable):
                continue
            try:
                found.append(require_table(connection, change.table).id)
            except (TableNotFoundError, NamespaceNotFoundError):
                continue  # an earlier change adds the table, or the change itself raises an error
        query = select(objects.c.id).where(objects.c.id.in_(sorted(set(found))))
        connection.execute(query.order_by(objects.c.id).with_for_update()).all()

    def _apply(self, connection: Connection, change: Change) -> None:
        if isinstance(change, AddTable):
            self._add(connection, self._entry(change.id, change.location, change.properties))
            return
        row = require_table(connection, change.table, lock=True)
        if isinstance(change, RemoveTable):
            connection.execute(delete(objects).where(objects.c.id == row.id))
        elif isinstance(change, RemoveVersions):
            deletion = delete(versions).where(
                versions.c.table_id == row.id, versions.c.branch == (change.branch or "")
            )
            if change.versions is not None:
                deletion = deletion.where(versions.c.version.in_(list(change.versions)))
            connection.execute(deletion)
        else:
            latest = _latest(connection, row.id, change.branch)
            if (None if latest is None else latest.version) != change.onto:
                raise version_conflict(change.table, change.branch, change.version.version, latest)
            new = _columns(change.version)
            connection.execute(
                insert(versions).values(table_id=row.id, branch=change.branch or "", **new)
            )

    def published(self, table: TableEntry, branch: str | None, version: StoredVersion) -> None:
        """Store the final path of a version's manifest."""

        def work(connection: Connection) -> None:
            try:
                row = require_table(connection, table)
            except TableNotFoundError:
                return  # the table was dropped or renamed; the next reader calls this again
            connection.execute(
                update(versions)
                .where(
                    versions.c.table_id == row.id,
                    versions.c.branch == (branch or ""),
                    versions.c.version == version.version,
                )
                .values(manifest_path=version.manifest_path)
            )

        self._database.write(work)

    @contextmanager
    def exclusively(self, table: TableEntry) -> Iterator[None]:
        """Prevent other writers from committing to a table."""
        with self._database.writing() as connection:
            require_table(connection, table, lock=True)
            yield

    def transaction(self, identifier: str) -> TransactionRecord:
        """Return a transaction."""
        return self._database.read(lambda connection: _record(connection, identifier))

    def change_transaction(
        self, identifier: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> TransactionRecord:
        """Change a transaction's properties and return the resulting record."""

        def work(connection: Connection) -> TransactionRecord:
            found = _record(connection, identifier, lock=True)
            properties = text_of(change(found.properties))
            connection.execute(
                update(transactions)
                .where(transactions.c.id == identifier)
                .values(properties=properties)
            )
            return _record(connection, identifier)

        return self._database.write(work)


def _of(table_id: int, branch: str | None) -> Select[Any]:
    return select(versions).where(
        versions.c.table_id == table_id, versions.c.branch == (branch or "")
    )


def _latest(connection: Connection, table_id: int, branch: str | None) -> StoredVersion | None:
    query = _of(table_id, branch).order_by(versions.c.version.desc()).limit(1)
    return _to_version(connection.execute(query).one_or_none())


def _to_version(row: Row[Any] | None) -> StoredVersion | None:
    if row is None:
        return None
    return StoredVersion(
        version=row.version,
        manifest_path=row.manifest_path,
        manifest_size=row.manifest_size,
        e_tag=row.e_tag,
        timestamp_millis=row.timestamp_millis,
        metadata=json.loads(row.metadata),
        origin=row.origin,
    )


def _columns(version: StoredVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "manifest_path": version.manifest_path,
        "manifest_size": version.manifest_size,
        "e_tag": version.e_tag,
        "timestamp_millis": version.timestamp_millis,
        "metadata": text_of(version.metadata),
        "origin": version.origin,
    }


def _forget(connection: Connection, before: int) -> None:
    """Delete a batch of old transactions; skip those that another commit is deleting."""
    old = (
        select(transactions.c.id)
        .where(transactions.c.created_millis < before)
        .order_by(transactions.c.created_millis)
        .limit(_PAGE)
        .with_for_update(skip_locked=True)
    )
    connection.execute(delete(transactions).where(transactions.c.id.in_(old)))


def _record(connection: Connection, identifier: str, *, lock: bool = False) -> TransactionRecord:
    query = select(transactions).where(transactions.c.id == identifier)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise transaction_not_found(identifier)
    return TransactionRecord(id=row.id, status=row.status, properties=json.loads(row.properties))
