"""A row for each table of a catalog: how big it is, how well it is kept, what is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen

from lance_namespace_client.errors import (
    InvalidTableStateError,
    LanceNamespaceError,
    TableNotFoundError,
)

from ..core.concurrent import ordered_map
from ..core.imports import load
from ..distributed.failures import protocol_error
from ..distributed.target import Target
from ..tables.layout import VERSIONS
from ..tables.orphans import find_orphans
from ..tables.stats import SMALL_FRAGMENT_ROWS
from .results import Rows, as_plain, from_plain
from .selection import Selection
from .state import job_state

if TYPE_CHECKING:
    import pyarrow as pa

    from ..catalog.namespace import Namespace
    from ..core.identifiers import Identifier
    from ..core.storage import TableStorage

__all__ = ["IndexRow", "TableRow", "inventory", "inventory_name", "schema_hash"]

MAX_CONCURRENCY = 8


@frozen(kw_only=True)
class IndexRow:
    """An index of a table."""

    name: str
    """Name of the index."""
    type: str
    """Its kind, as pylance calls it."""
    columns: tuple[str, ...]
    """What it indexes."""
    unindexed_rows: int
    """Rows that it does not hold yet."""


@frozen(kw_only=True)
class TableRow:
    """A table as `inventory` found it; what could not be found out is None."""

    table: tuple[str, ...]
    """Identifier of the table."""
    location: str | None = None
    """Root of its dataset."""
    declared_only: bool = False
    """Whether it is in the catalog and has no data."""
    problem: str | None = None
    """Why it could not be read; None where it could."""
    code: int | None = None
    """Error code of that."""
    version: int | None = None
    """Latest version."""
    last_commit: datetime | None = None
    """When that was committed, in UTC."""
    rows: int | None = None
    """Rows, without the deleted ones."""
    deleted_rows: int | None = None
    """Rows that are deleted and still in the data files."""
    fragments: int | None = None
    """Fragments."""
    small_fragments: int | None = None
    """Fragments of fewer than 1,048,576 rows, which compaction would put together."""
    bytes: int | None = None
    """Size of the data files of the latest version."""
    indices: tuple[IndexRow, ...] | None = None
    """Its indices."""
    unindexed_rows: int | None = None
    """Rows that some index does not hold yet, by the index that lacks most."""
    schema_hash: str | None = None
    """The same for the same names, types and nullability of columns in the same order."""
    orphan_files: int | None = None
    """Files that no version holds; None unless asked for."""
    orphan_bytes: int | None = None
    """Size of those files."""


def inventory(
    namespace: Namespace,
    selection: Selection | None = None,
    *,
    orphans_older_than: timedelta | None = None,
    state: Path | None = None,
    max_concurrency: int = MAX_CONCURRENCY,
    progress: Callable[[int, int], None] | None = None,
) -> Rows[TableRow]:
    """Return a row for each table; no rows of tables are read, and nothing is changed.

    A table that cannot be read has a row that says why. One that is dropped meanwhile has none.

    Args:
        namespace: the catalog.
        selection: which of its tables; all unless given.
        orphans_older_than: whether to count files that no version holds, and how old they have to
            be; that lists all of a table's files and reads all of its versions.
        state: a file that keeps what is done until all is, so that the same call goes on after a
            crash.
        max_concurrency: most tables that are looked at concurrently.
        progress: called with the tables done and the tables in all.

    Raises:
        NamespaceNotFoundError: code 1.
        ConcurrentModificationError: code 14, the same job is running with that state file.
        LanceNamespaceError: the catalog cannot be listed.
    """
    selection = selection or Selection()
    with job_state(state, "inventory", inventory_name(namespace, selection)) as kept:
        tables = list(selection.find(namespace))
        rows: list[TableRow] = []
        left = []
        for table in tables:
            known = kept.done.get(_key(table))
            if known is None:
                left.append(table)
            else:
                rows.append(from_plain(TableRow, known))
        gone = 0
        found = ordered_map(
            left,
            lambda table: (table, _look(namespace, table, orphans_older_than)),
            max_concurrency=max_concurrency,
            wanted=None,
        )
        for table, row in found:
            if row is None:
                gone += 1
            else:
                rows.append(row)
                kept.add(_key(table), as_plain(row))
            if progress is not None:
                progress(len(rows) + gone, len(tables))
    return Rows(TableRow, sorted(rows, key=lambda row: row.table))


def inventory_name(namespace: Namespace, selection: Selection) -> str:
    """Return what tells an inventory from others."""
    return f"{namespace.namespace_id()} {selection.shown()}"


def _key(table: Identifier) -> str:
    return "\0".join(table)


def _look(
    namespace: Namespace, table: Identifier, orphans_older_than: timedelta | None
) -> TableRow | None:
    target = Target(namespace=namespace, table=table)
    row = TableRow(table=table)
    try:
        storage = target.storage()
        row = attrs.evolve(row, location=storage.location)
        try:
            dataset = target.open(storage)
        except InvalidTableStateError:
            if _has_manifests(storage):
                raise
            return attrs.evolve(row, declared_only=True)
        row = _measured(row, dataset)
        if orphans_older_than is not None:
            orphans = find_orphans(dataset, orphans_older_than)
            row = attrs.evolve(
                row, orphan_files=len(orphans), orphan_bytes=sum(each.bytes for each in orphans)
            )
    except TableNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 it is what the row says
        failure = _failure(target, error)
        return attrs.evolve(row, problem=failure.message, code=int(failure.code))
    return row


def _has_manifests(storage: TableStorage) -> bool:
    """Return whether there is what once was a dataset, which tells a damaged one from none."""
    LanceFileSession = load("lance.file").LanceFileSession

    session = LanceFileSession(storage.location, storage_options=storage.lance_options())
    return any(path.endswith(".manifest") for path in session.list(VERSIONS))


def _failure(target: Target, error: Exception) -> LanceNamespaceError:
    return protocol_error(error, f"reading {target.name}", target.namespace.config.secrets())


def _measured(row: TableRow, dataset: Any) -> TableRow:
    """Fill in what the manifest of the latest version says."""
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    count = sum(fragment.num_rows for fragment in fragments)
    indices = tuple(
        IndexRow(
            name=index.name,
            type=index.index_type,
            columns=tuple(index.field_names),
            unindexed_rows=max(0, count - index.num_rows_indexed),
        )
        for index in sorted(dataset.describe_indices(), key=lambda index: str(index.name))
    )
    return attrs.evolve(
        row,
        version=int(dataset.version),
        # pylance gives the time of this machine's zone.
        last_commit=dataset.get_version()["timestamp"].astimezone(UTC),
        rows=count,
        deleted_rows=sum(fragment.num_deletions for fragment in fragments),
        fragments=len(fragments),
        small_fragments=sum(fragment.num_rows < SMALL_FRAGMENT_ROWS for fragment in fragments),
        bytes=sum(file.file_size_bytes or 0 for each in fragments for file in each.files),
        indices=indices,
        unindexed_rows=max((index.unindexed_rows for index in indices), default=0),
        schema_hash=schema_hash(dataset.schema),
    )


def schema_hash(schema: pa.Schema) -> str:
    """Return a hash of the names, types and nullability of columns, in 16 hexadecimal digits."""
    columns = "\n".join(
        f"{field.name!r} {field.type} {'null' if field.nullable else 'not null'}"
        for field in schema
    )
    return hashlib.sha256(columns.encode()).hexdigest()[:16]
