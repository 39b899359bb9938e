"""Stores the versions of managed tables as rows in the manifest.

A version is a row ``<table>$<version>`` of type ``table_version``, or
``<table>$<branch>$<version>`` for a version of a branch. The metadata of the row is a JSON object
with pylance's keys and a few additional ones.

Source: what pylance 14.0.2 writes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence

from attrs import evolve

from lance_namespace_client.errors import InvalidInputError, InvalidTableStateError

from ..catalog.entry import TableEntry
from ..catalog.errors import table_not_found
from ..catalog.version_store import (
    AddTable,
    Change,
    RemoveTable,
    RemoveVersions,
    StoredVersion,
    VersionStore,
    version_conflict,
)
from ..core.identifiers import format_identifier
from . import manifest as store
from .manifest import TABLE, TABLE_VERSION, Row, Snapshot
from .names import DECLARED, DELIMITER, object_id
from .nested import NestedTables

__all__ = ["ManifestVersions"]

SCHEME = "V2"


class ManifestVersions(VersionStore):
    """The versions that a manifest stores.

    Args:
        nested: the tables in the manifest.
        lists_root: whether the tables in the root are its subdirectories, regardless of the rows.
    """

    def __init__(self, nested: NestedTables, *, lists_root: bool) -> None:
        self._nested = nested
        self._lists_root = lists_root
        self._manifest = nested.manifest

    def latest(self, table: TableEntry, branch: str | None) -> StoredVersion | None:
        """Return the latest version, or None if there is none."""
        snapshot = self._snapshot_with(table)
        return None if snapshot is None else self._latest(snapshot, table, branch)

    def version(self, table: TableEntry, branch: str | None, number: int) -> StoredVersion | None:
        """Return one version, or None if it does not exist."""
        snapshot = self._snapshot_with(table)
        row = snapshot and snapshot.row(_id(table, branch, number))
        return _read(row) if row else None

    def versions(
        self, table: TableEntry, branch: str | None, after: int | None, descending: bool
    ) -> Iterator[StoredVersion]:
        """Yield the versions in order, starting after `after`."""
        snapshot = self._snapshot_with(table)
        if snapshot is None:
            return
        for number in sorted(_numbers(snapshot, table, branch), reverse=descending):
            if after is None or (number < after if descending else number > after):
                row = snapshot.row(_id(table, branch, number))
                if row is not None:
                    yield _read(row)

    def commit(self, changes: Sequence[Change]) -> str:
        """Commit all changes atomically, in a single commit to the manifest."""
        for change in changes:
            self._refuse_listed(change)
        added: list[Row] = []

        def decide(snapshot: Snapshot) -> store.Change:
            after = snapshot
            rows = iter(added)
            remove: set[str] = set()
            put: dict[str, Row] = {}
            for change in changes:
                done = (
                    self._add_table(after, change, next(rows))
                    if isinstance(change, AddTable)
                    else self._apply(after, change)
                )
                for name in done.remove:
                    put.pop(name, None)
                    remove.add(name)
                put |= {row.id: row for row in done.put}
                table, ids = after.changed(done)
                after = evolve(after, table=table, ids=ids)
            return store.Change(remove=sorted(remove), put=list(put.values()))

        directory, made = self._nested.directory, []
        try:
            for change in changes:
                if isinstance(change, AddTable):
                    row = self._nested.row_to_add(change.id, change.location, change.properties)
                    added.append(row)
                    if directory.add(str(row.location), {DECLARED: b""}):
                        made.append(str(row.location))
            self._manifest.change(decide)
        except Exception:
            for folder in made:
                directory.delete(directory.move_to_trash(folder))
            raise
        return str(uuid.uuid4())

    def _refuse_listed(self, change: Change) -> None:
        """Reject a table in the root (code 13): it is added and removed with its subdirectory."""
        if isinstance(change, AddTable):
            identifier = change.id
        elif isinstance(change, RemoveTable):
            identifier = change.table.id
        else:
            return
        if self._lists_root and len(identifier) == 1:
            raise InvalidInputError(
                f"table {format_identifier(identifier)}: tables in the root are created and "
                f"removed individually, because clients list their directories; set "
                "dir_listing_enabled=false, or remove it from the batch"
            )

    def _add_table(self, snapshot: Snapshot, change: AddTable, row: Row) -> store.Change:
        self._nested.require_free(snapshot, change.id)
        return store.Change(put=[row])

    def _apply(self, snapshot: Snapshot, change: Change) -> store.Change:
        assert not isinstance(change, AddTable)
        table = change.table
        if not self._has(snapshot, table):
            raise table_not_found(table.id)
        name = object_id(table.id)
        if isinstance(change, RemoveTable):
            return store.Change(remove=[name, *snapshot.below(name)])
        if isinstance(change, RemoveVersions):
            numbers = _numbers(snapshot, table, change.branch)
            if change.versions is not None:
                numbers &= set(change.versions)
            return store.Change(remove=[_id(table, change.branch, each) for each in numbers])
        latest = self._latest(snapshot, table, change.branch)
        if change.onto != (None if latest is None else latest.version):
            raise version_conflict(table, change.branch, change.version.version, latest)
        return store.Change(put=[_row(table, change.branch, change.version)])

    def published(self, table: TableEntry, branch: str | None, version: StoredVersion) -> None:
        """Store the final path of a version's manifest."""
        row = _row(table, branch, version)

        def decide(snapshot: Snapshot) -> store.Change | None:
            there = self._has(snapshot, table) and snapshot.row(row.id)
            return store.Change(put=[row]) if there and there.raw != row.raw else None

        self._manifest.change(decide)

    def _snapshot_with(self, table: TableEntry) -> Snapshot | None:
        snapshot = self._manifest.snapshot()
        return snapshot if snapshot is not None and self._has(snapshot, table) else None

    def _has(self, snapshot: Snapshot, table: TableEntry) -> bool:
        row = snapshot.row(object_id(table.id))
        return row is not None and row.type == TABLE and row.location == self._nested.folder(table)

    def _latest(
        self, snapshot: Snapshot, table: TableEntry, branch: str | None
    ) -> StoredVersion | None:
        numbers = _numbers(snapshot, table, branch)
        row = snapshot.row(_id(table, branch, max(numbers))) if numbers else None
        return None if row is None else _read(row)


def _prefix(table: TableEntry, branch: str | None) -> str:
    return object_id(table.id if branch is None else (*table.id, branch)) + DELIMITER


def _id(table: TableEntry, branch: str | None, number: int) -> str:
    return f"{_prefix(table, branch)}{number}"


def _numbers(snapshot: Snapshot, table: TableEntry, branch: str | None) -> set[int]:
    prefix = _prefix(table, branch)
    ids = snapshot.below(prefix.removesuffix(DELIMITER))
    found = (each[len(prefix) :] for each in ids if snapshot.type_of(each) == TABLE_VERSION)
    return {int(number) for number in found if number.isascii() and number.isdigit()}


def _row(table: TableEntry, branch: str | None, kept: StoredVersion) -> Row:
    content = {
        "manifest_path": kept.manifest_path,
        "manifest_size": kept.manifest_size,
        "e_tag": kept.e_tag,
        "metadata": dict(kept.metadata) or None,
        "naming_scheme": SCHEME,
        "timestamp_millis": kept.timestamp_millis,
        "origin": kept.origin,
    }
    return Row(id=_id(table, branch, kept.version), type=TABLE_VERSION, raw=json.dumps(content))


def _read(row: Row) -> StoredVersion:
    try:
        content = json.loads(row.raw or "")
        return StoredVersion(
            version=int(row.id.rpartition(DELIMITER)[2]),
            manifest_path=content["manifest_path"],
            manifest_size=content.get("manifest_size"),
            e_tag=content.get("e_tag"),
            timestamp_millis=int(content.get("timestamp_millis") or 0),
            metadata=content.get("metadata") or {},
            origin=content.get("origin"),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidTableStateError(
            f"the row {row.id!r} in the manifest is not a readable version; remove it"
        ) from error
