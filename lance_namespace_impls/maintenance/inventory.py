"""Lists the tables of a catalog with their size, condition and problems."""

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
    """Index type, with pylance's name."""
    columns: tuple[str, ...]
    """Indexed columns."""
    unindexed_rows: int
    """Number of rows that the index does not contain yet."""


@frozen(kw_only=True)
class TableRow:
    """A table in an `inventory`; unknown values are None."""

    table: tuple[str, ...]
    """Identifier of the table."""
    location: str | None = None
    """Root of its dataset."""
    declared_only: bool = False
    """Whether the table is declared in the catalog but has no data."""
    problem: str | None = None
    """Reason why the table could not be read; None if it was read."""
    code: int | None = None
    """Error code of the problem."""
    version: int | None = None
    """Latest version."""
    last_commit: datetime | None = None
    """Commit time of the latest version, in UTC."""
    rows: int | None = None
    """Number of rows, excluding deleted rows."""
    deleted_rows: int | None = None
    """Number of deleted rows that are still in the data files."""
    fragments: int | None = None
    """Number of fragments."""
    small_fragments: int | None = None
    """Number of fragments with fewer than 1,048,576 rows, which compaction would merge."""
    bytes: int | None = None
    """Size of the data files of the latest version, in bytes."""
    indices: tuple[IndexRow, ...] | None = None
    """Indices of the table."""
    unindexed_rows: int | None = None
    """Largest number of unindexed rows of any index."""
    schema_hash: str | None = None
    """Hash of the names, types, nullability and order of the columns."""
    orphan_files: int | None = None
    """Number of files that no version references; None unless requested."""
    orphan_bytes: int | None = None
    """Size of these files in bytes."""


def inventory(
    namespace: Namespace,
    selection: Selection | None = None,
    *,
    orphans_older_than: timedelta | None = None,
    state: Path | None = None,
    max_concurrency: int = MAX_CONCURRENCY,
    progress: Callable[[int, int], None] | None = None,
) -> Rows[TableRow]:
    """Return a row for each table, without reading table rows or changing anything.

    If a table cannot be read, its row contains the problem. A table that is dropped during the
    inventory has no row.

    Args:
        namespace: the catalog.
        selection: tables to include; defaults to all.
        orphans_older_than: minimum age of files that count as orphans if no version references
            them. Counting orphans requires listing all files of a table and reading all of its
            versions; None disables it.
        state: file with the progress, so that the same call resumes after a crash; it is deleted
            when the job is complete.
        max_concurrency: maximum number of tables that are read concurrently.
        progress: called with the number of finished tables and the total.

    Raises:
        NamespaceNotFoundError: code 1.
        ConcurrentModificationError: code 14, another process runs the same job with that state
            file.
        LanceNamespaceError: the catalog cannot be listed.
    """
    selection = selection or Selection()
    with job_state(state, "inventory", inventory_name(namespace, selection)) as state_file:
        tables = list(selection.find(namespace))
        rows: list[TableRow] = []
        left = []
        for table in tables:
            recorded = state_file.done.get(_key(table))
            if recorded is None:
                left.append(table)
            else:
                rows.append(from_plain(TableRow, recorded))
        missing = 0
        found = ordered_map(
            left,
            lambda table: (table, _inspect(namespace, table, orphans_older_than)),
            max_concurrency=max_concurrency,
            wanted=None,
        )
        for table, row in found:
            if row is None:
                missing += 1
            else:
                rows.append(row)
                state_file.add(_key(table), as_plain(row))
            if progress is not None:
                progress(len(rows) + missing, len(tables))
    return Rows(TableRow, sorted(rows, key=lambda row: row.table))


def inventory_name(namespace: Namespace, selection: Selection) -> str:
    """Return a name that distinguishes an inventory from others."""
    return f"{namespace.namespace_id()} {selection.shown()}"


def _key(table: Identifier) -> str:
    return "\0".join(table)


def _inspect(
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
    except Exception as error:  # noqa: BLE001 the row reports it
        failure = _failure(target, error)
        return attrs.evolve(row, problem=failure.message, code=int(failure.code))
    return row


def _has_manifests(storage: TableStorage) -> bool:
    """Return whether manifests exist; if so, the dataset is damaged rather than missing."""
    LanceFileSession = load("lance.file").LanceFileSession

    session = LanceFileSession(storage.location, storage_options=storage.lance_options())
    return any(path.endswith(".manifest") for path in session.list(VERSIONS))


def _failure(target: Target, error: Exception) -> LanceNamespaceError:
    return protocol_error(error, f"reading {target.name}", target.namespace.config.secrets())


def _measured(row: TableRow, dataset: Any) -> TableRow:
    """Return the row, completed by values from the manifest of the latest version."""
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
        # pylance returns the time in the local time zone of the machine, so convert it to UTC.
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
    """Return a hash of the names, types and nullability of columns, as 16 hexadecimal digits."""
    columns = "\n".join(
        f"{field.name!r} {field.type} {'null' if field.nullable else 'not null'}"
        for field in schema
    )
    return hashlib.sha256(columns.encode()).hexdigest()[:16]
