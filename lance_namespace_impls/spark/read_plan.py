"""Plans the tasks for reading one version of a table, and reads the rows of each task.

The data source and `read_table` both read only through this module, so they return the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    UnsupportedError,
)

from ..core.imports import load
from ..distributed.casts import warn_of_losses
from ..distributed.columns import (
    batches_of_bounded_size,
    cast_batch,
    is_blob,
    spark_arrow_schema,
    to_spark_schema,
)
from ..distributed.division import group_by_size, size_of
from ..distributed.target import PartitionedTarget, Target, partitioned_target
from ..partitioned.namespace import empty_dataset, matching_partitions
from ..partitioned.spec import without_ids
from ..tables import history
from ..tables.schema import check_column_name
from ..tables.sql import check_sql

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from ..core.storage import TableStorage
    from ..partitioned.store import Partition, PartitionStore, State

__all__ = [
    "ROW_ADDRESS",
    "REFERENCE",
    "Piece",
    "Pinned",
    "PinnedPartitions",
    "cut_evenly",
    "pin",
    "pin_rows",
    "plan_tasks",
    "read_pieces",
    "scan_pieces",
    "version_at",
]

ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"
REFERENCE = pa.struct(
    [
        pa.field("column", pa.string()),
        pa.field("version", pa.int64()),
        pa.field("address", pa.int64()),
        pa.field("size", pa.int64()),
    ]
)
"""A reference to a blob: its column, and its row's address in a version of the table."""
# Arrow's transfer to the JVM has a cost per batch; wide rows reach the byte limit first.
BATCH_ROWS = 65_536
BATCH_BYTES = 8 << 20
# pylance reads up to 2 GiB ahead by default, and Spark runs one reader per core.
READ_AHEAD_BYTES = 128 << 20
# If the number of cores is unknown: small enough to divide evenly among a few cores, large enough
# to justify a task.
TASK_BYTES = 32 << 20
# If it is known: one task per core, and more only for large tables.
ROUND_BYTES = 512 << 20
OPEN_CONCURRENCY = 16
"""Number of partitions that are opened concurrently to plan a scan."""
# A part of a fragment that is smaller than this share of a task stays with the adjacent part.
_SLIVER = 0.05


@frozen(kw_only=True)
class Pinned:
    """One version of a table, and the columns and rows to read."""

    target: Target
    location: str
    version: int
    written: int | None
    """Commit time of the version, see `_written`; None disables the check for a replaced table."""
    branch: str | None
    schema: pa.Schema
    filter: str | None
    lost: Mapping[str, str] = field(factory=dict)
    """Columns of the table that Lance cannot look up by name, and the reasons."""
    references: frozenset[str] = frozenset()
    """Blob columns that are read as references."""

    def of_columns(self, requested: StructType) -> Pinned:
        """Return the same version with only the columns of a Spark schema.

        Raises:
            TableColumnNotFoundError: code 12, the table has no such column.
            TableSchemaValidationError: code 20, a column has a different type.
            UnsupportedError: code 0, Lance cannot look up a column by name.
        """
        missing = [name for name in requested.names if name not in self.schema.names]
        if missing:
            raise TableColumnNotFoundError(
                f"{self.target.name} has no column {', '.join(missing)}; it has "
                f"{', '.join(self.schema.names)}"
            )
        schema = pa.schema([self.schema.field(name) for name in requested.names])
        own = to_spark_schema(schema)
        for stored_field, requested_field in zip(own, requested, strict=True):
            requested_type, found = (
                spark_arrow_schema(type(own)([each])).field(0).type
                for each in (requested_field, stored_field)
            )
            if requested_type != found:
                raise TableSchemaValidationError(
                    f"{self.target.name}: column {stored_field.name} is "
                    f"{stored_field.dataType.simpleString()}, not "
                    f"{requested_field.dataType.simpleString()}; read it with its stored type "
                    "and cast it in Spark"
                )
        chosen = evolve(self, schema=schema)
        chosen.require_readable()
        return chosen

    def require_readable(self) -> None:
        """Reject columns that Lance cannot look up by name.

        Raises:
            UnsupportedError: code 0, the message names one and a workaround.
        """
        for name in self.schema.names:
            if why := self.lost.get(name):
                raise UnsupportedError(
                    f"{self.target.name}: {why}; select the other columns (option 'columns'), or "
                    "rename this one"
                )

    def open(self) -> Any:
        """Open the dataset at that version, with credentials from the namespace.

        Raises:
            ConcurrentModificationError: code 14, the table has moved, or another table has replaced
                it.
            TableVersionNotFoundError: code 11, the version was cleaned up.
        """
        storage = self.target.storage_at(self.location)
        dataset = self.target.open(storage, self.version, self.branch)
        if self.written not in (None, _written(dataset)):
            raise ConcurrentModificationError(
                f"{self.target.name} was dropped and created again since it was looked up; "
                "try again"
            )
        return dataset

    def datasets(self, limit: int | None = None) -> list[tuple[Partition | None, Any]]:
        """Return the opened datasets that may contain matching rows, with their partitions.

        Args:
            limit: maximum number of datasets to open.
        """
        return [(None, self.open())]

    def dataset(self, partition: Partition | None) -> Any:
        """Open the dataset of a partition; None stands for the only dataset of a table."""
        return self.open()

    def stored_schema(self) -> pa.Schema:
        """Return the stored schema of all columns."""
        schema: pa.Schema = self.open().schema
        return schema


@frozen(kw_only=True)
class PinnedPartitions(Pinned):
    """One version of a partitioned namespace, and the columns and rows to read."""

    target: PartitionedTarget

    def open(self) -> Any:
        """Reject operations that need a single dataset.

        Raises:
            UnsupportedError: code 0.
        """
        raise UnsupportedError(
            f"{self.target.name}: this operation needs a single table; use the table of one "
            "partition, or write the rows to a table"
        )

    def partitions(self) -> list[Partition]:
        """Return the partitions that may contain matching rows, without their values."""
        store, state = self._loaded()
        # Workers do not need the values.
        return [evolve(each, values={}) for each in matching_partitions(store, state, self.filter)]

    def datasets(self, limit: int | None = None) -> list[tuple[Partition | None, Any]]:
        """Return the opened datasets of the partitions that may contain matching rows."""
        store, _ = self._loaded()
        found = self.partitions()[:limit]
        with ThreadPoolExecutor(OPEN_CONCURRENCY, "lance-partitions") as pool:
            return list(zip(found, pool.map(store.open, found), strict=True))

    def dataset(self, partition: Partition | None) -> Any:
        """Open the dataset of a partition."""
        assert partition is not None
        return self.target.store().open(partition)

    def stored_schema(self) -> pa.Schema:
        """Return the stored schema of all columns."""
        return without_ids(self._loaded()[1].schema)

    def _loaded(self) -> tuple[PartitionStore, State]:
        store = self.target.store()
        return store, store.load(self.version)


@frozen
class Piece:
    """Rows of one fragment.

    Args:
        fragment: number of the fragment.
        offset: number of rows to skip, not counting deleted ones.
        rows: number of rows to read; None for the whole fragment.
        partition: the partition that contains the fragment; None for a table.
    """

    fragment: int
    offset: int = 0
    rows: int | None = field(default=None)
    partition: Partition | None = None


def pin(
    target: Target,
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    version: int | str | None = None,
    branch: str | None = None,
    timestamp: datetime | None = None,
    with_row_id: bool = False,
    blobs: str = "binary",
    storage: TableStorage | None = None,
) -> Pinned:
    """Look up a table and fix the version, columns and rows to read.

    Args:
        target: the table.
        columns: columns to read; defaults to all.
        filter: condition in Lance's SQL for the rows to read; defaults to all.
        version: number or tag of the version; defaults to the latest.
        branch: branch of the version; defaults to the main branch.
        timestamp: reads the latest version at that time; without a zone it is in UTC.
        with_row_id: whether to add a column `_rowid`.
        blobs: ``binary`` reads the values of blob columns, ``references`` only `REFERENCE` structs.
        storage: storage of the table, if it is known.

    Raises:
        InvalidInputError: code 13, the filter or `blobs` is invalid.
        TableNotFoundError: code 4.
        TableTagNotFoundError: code 8.
        TableVersionNotFoundError: code 11.
        TableColumnNotFoundError: code 12.
        InvalidTableStateError: code 19, the table has no data.
        TableBranchNotFoundError: code 22.
    """
    check_sql(filter, "the filter")
    if blobs not in ("binary", "references"):
        raise InvalidInputError(f"blobs must be binary or references, not {blobs!r}")
    storage = storage or target.storage()
    dataset = target.open(storage, version, branch)
    try:
        if timestamp is not None:
            dataset = target.open(storage, version_at(dataset, timestamp), branch)
        check_sql(filter, "the filter", dataset.schema)
        lost = _lost(dataset)
        schema = _schema(dataset, columns, lost, with_row_id=with_row_id)
        references = frozenset(
            each.name for each in schema if blobs == "references" and is_blob(each)
        )
        schema = pa.schema(
            [
                pa.field(each.name, REFERENCE, each.nullable) if each.name in references else each
                for each in schema
            ]
        )
        if filter is not None:
            # Report an invalid filter here, before any task runs. The empty projection is needed
            # because Lance otherwise looks up all columns, including those that it cannot find by
            # name.
            dataset.scanner(columns=[], filter=filter, with_row_id=True).explain_plan()
    except Exception as error:
        raise target.failure(error, "reading") from error
    return Pinned(
        target=target,
        location=storage.location,
        version=int(dataset.version),
        written=_written(dataset),
        branch=branch,
        schema=schema,
        filter=filter,
        lost=lost,
        references=references,
    )


def pin_rows(target: Target, **selection: Any) -> Pinned:
    """Look up a table or a partitioned namespace, and fix the version, columns and rows to read.

    Arguments and errors are those of `pin`.
    """
    try:
        return pin(target, **selection)
    except TableNotFoundError:
        found = partitioned_target(target)
        if found is None:
            raise
    return _pin_partitions(found, **selection)


def _pin_partitions(
    target: PartitionedTarget,
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    blobs: str = "binary",
    **selection: Any,
) -> PinnedPartitions:
    if selected := [
        name for name, value in selection.items() if value is not None and value is not False
    ]:
        raise UnsupportedError(
            f"{target.name}: {selected[0]} is not supported for partitioned namespaces; omit it, or "
            "read the table of one partition"
        )
    if blobs != "binary":
        raise UnsupportedError(
            f"{target.name}: blobs={blobs} is not supported for partitioned namespaces"
        )
    store = target.store()
    state = store.load()
    check_sql(filter, "the filter", without_ids(state.schema))
    try:
        empty = empty_dataset(state)
        lost = _lost(empty)
        schema = _schema(empty, columns, lost, with_row_id=False)
        if filter is not None:
            empty.scanner(columns=[], filter=filter, with_row_id=True).explain_plan()
    except Exception as error:
        raise target.failure(error, "reading") from error
    return PinnedPartitions(
        target=target,
        location=store.journal.location,
        version=state.version,
        written=None,
        branch=None,
        schema=schema,
        filter=filter,
        lost=lost,
    )


def _written(dataset: Any) -> int:
    """Return the commit time of a dataset's version, in microseconds modulo 15 minutes.

    pylance reports the time in the machine's local zone. Zones differ by multiples of 15 minutes.
    """
    moment: datetime = dataset.get_version()["timestamp"]
    return round(moment.timestamp() * 1e6) % (15 * 60 * 10**6)


def _schema(
    dataset: Any, columns: Sequence[str] | None, lost: Collection[str], *, with_row_id: bool
) -> pa.Schema:
    """Return the stored schema of the selected columns of a dataset, or of all."""
    if columns is None:
        own = [pa.field(ROW_ID, pa.int64())] if with_row_id else []
        return pa.schema([*dataset.schema, *own])
    if found := [dataset.schema.field(name) for name in columns if name in lost]:
        return pa.schema(found)  # reading them raises an error with the reason
    if not columns:
        raise InvalidInputError("columns is empty; omit it to read all columns")
    scanner = dataset.scanner(
        columns=projection(columns), with_row_id=with_row_id, blob_handling="all_binary"
    )
    # pylance's projection reports a blob as binary; the dataset has the actual type.
    return pa.schema([_typed(each, dataset.schema) for each in scanner.projected_schema])


def projection(columns: Sequence[str]) -> list[str] | dict[str, str]:
    """Return columns for pylance's scanner, which would read the name ``*`` as all columns."""
    if "*" not in columns:
        return list(columns)
    return {name: f"`{name}`" for name in columns}


def _lost(dataset: Any) -> dict[str, str]:
    """Return the columns that Lance stores but cannot look up by name, with the reasons.

    Other tools can write such columns.
    """
    lost = {}
    for name in dataset.schema.names:
        try:
            check_column_name(name)
        except TableSchemaValidationError as error:
            lost[name] = error.message.partition(";")[0]
    return lost


def _typed(found: pa.Field, table: pa.Schema) -> pa.Field:
    if found.name in (ROW_ID, ROW_ADDRESS) and found.name not in table.names:
        return found.with_type(pa.int64())  # otherwise a decimal, like any uint64
    index = table.get_field_index(found.name)
    return found if index < 0 else table.field(index).with_nullable(found.nullable)


def version_at(dataset: Any, moment: datetime) -> int:
    """Return the latest version at a time; without a zone it is in UTC.

    Raises:
        TableVersionNotFoundError: code 11, there was no version yet.
    """
    requested = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return history.version_at(history.commit_times(dataset), requested)


def plan_tasks(
    pinned: Pinned,
    tasks: int | None = None,
    cores: int | None = None,
    *,
    whole: bool = False,
    datasets: Sequence[tuple[Partition | None, Any]] | None = None,
    limit: int | None = None,
) -> list[list[Piece]]:
    """Return the pieces for each task: runs of adjacent rows, all of similar size.

    Args:
        pinned: the version, columns and rows to read.
        tasks: maximum number of tasks; by default it depends on the size and the cores.
        cores: number of concurrent tasks; None if it is unknown.
        whole: whether fragments are never divided among tasks, as with a filter.
        datasets: the opened datasets with their partitions, if they are open.
        limit: number of rows that suffice; without a filter, only the first rows are planned.
    """
    opened = pinned.datasets() if datasets is None else datasets
    fragments = [(part, each) for part, found in opened for each in found.get_fragments()]
    if limit is not None and pinned.filter is None:
        return _first_rows(fragments, limit)
    sizes = [size_of(fragment) for _, fragment in fragments]
    if tasks is None:
        tasks = _tasks(sum(sizes), cores)
    if whole or pinned.filter is not None:  # offset and limit apply after the filter
        groups = group_by_size(sizes, tasks)
        return [[_piece(fragments[i]) for i in group] for group in groups]
    counts = [fragment.count_rows() for _, fragment in fragments]
    return [
        [
            _piece(fragments[i]) if rows == counts[i] else _piece(fragments[i], offset, rows)
            for i, offset, rows in group
        ]
        for group in cut_evenly(sizes, counts, tasks)
    ]


def _piece(place: tuple[Partition | None, Any], offset: int = 0, rows: int | None = None) -> Piece:
    partition, fragment = place
    return Piece(fragment.fragment_id, offset, rows, partition)


def _first_rows(fragments: Sequence[tuple[Partition | None, Any]], limit: int) -> list[list[Piece]]:
    """Return one task for the first rows of a table."""
    pieces = []
    for place in fragments:
        if limit <= 0:
            break
        rows = place[1].count_rows()
        pieces.append(_piece(place, 0, limit if limit < rows else None))
        limit -= rows
    return [pieces] if pieces else []


def _tasks(size: int, cores: int | None) -> int:
    if cores is None:
        return max(1, -(-size // TASK_BYTES))
    rounds = max(1, -(-size // (ROUND_BYTES * cores)))
    return int(cores * rounds)


def read_pieces(
    pinned: Pinned,
    pieces: Sequence[Piece],
    target: pa.Schema,
    batch_rows: int | None,
    limit: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task on a worker, in Spark's Arrow representation.

    Args:
        pinned: the version, columns and rows to read.
        pieces: the pieces of the task.
        target: Spark's Arrow schema of the columns.
        batch_rows: maximum number of rows in a batch; defaults to as many as fit into
            `BATCH_BYTES`, up to `BATCH_ROWS`.
        limit: maximum number of rows; defaults to all.
    """
    for scanner in scan_pieces(pinned, pieces, batch_rows, limit):
        for stored in scanner.to_batches():
            batch = _with_references(pinned, stored)
            if limit is not None:
                if limit <= 0:
                    return
                batch = batch.slice(0, limit)
                limit -= batch.num_rows
            yield from batches_of_bounded_size(cast_batch(batch, target, cut_fractions=True))


def _with_references(pinned: Pinned, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with references in place of the descriptions of blobs."""
    pc = load("pyarrow.compute")
    for name in pinned.references.intersection(batch.schema.names):
        place = batch.schema.get_field_index(name)
        blobs = batch.column(place)
        parts = [
            pa.repeat(name, len(blobs)),
            pa.repeat(pa.scalar(pinned.version, pa.int64()), len(blobs)),
            batch.column(ROW_ADDRESS).cast(pa.int64()),
            pc.struct_field(blobs, "size").cast(pa.int64()),
        ]
        found = pa.StructArray.from_arrays(parts, fields=list(REFERENCE), mask=blobs.is_null())
        batch = batch.set_column(place, pa.field(name, REFERENCE), found)
    return batch


def scan_pieces(
    pinned: Pinned,
    pieces: Sequence[Piece],
    batch_rows: int | None = None,
    limit: int | None = None,
) -> Iterator[Any]:
    """Yield Lance's scanners for the pieces of one task; see `read_pieces`."""
    for partition, group in groupby(pieces, key=lambda piece: piece.partition):
        yield from _scan_dataset(pinned, pinned.dataset(partition), list(group), batch_rows, limit)


def _scan_dataset(
    pinned: Pinned, dataset: Any, pieces: Sequence[Piece], batch_rows: int | None, limit: int | None
) -> Iterator[Any]:
    by_reference = not pinned.references.isdisjoint(pinned.schema.names)
    whole = [piece.fragment for piece in pieces if piece.rows is None]
    parts = [piece for piece in pieces if piece.rows is not None]
    first = [piece for piece in parts if piece.offset]
    last = [piece for piece in parts if not piece.offset]
    runs: list[tuple[list[int], Piece | None]] = [
        *(([piece.fragment], piece) for piece in first),
        *([(whole, None)] if whole else []),
        *(([piece.fragment], piece) for piece in last),
    ]
    for fragments, part in runs:
        rows = [each for each in (part.rows if part else None, limit) if each is not None]
        yield dataset.scanner(
            columns=projection(pinned.schema.names),
            with_row_id=not pinned.schema.names,  # to count rows, Lance requires a column
            filter=pinned.filter,
            fragments=[dataset.get_fragment(number) for number in fragments],
            offset=part.offset if part else None,
            limit=min(rows, default=None),
            batch_size=batch_rows or BATCH_ROWS,
            batch_size_bytes=None if batch_rows else BATCH_BYTES,
            io_buffer_size=READ_AHEAD_BYTES,
            with_row_address=by_reference,
            blob_handling="blobs_descriptions" if by_reference else "all_binary",
        )


def cut_evenly(
    sizes: Sequence[int], counts: Sequence[int], groups: int
) -> list[list[tuple[int, int, int]]]:
    """Divide sized runs of rows into groups of equal size, cutting runs if necessary.

    Args:
        sizes: bytes of each run.
        counts: rows of each run.
        groups: maximum number of groups.

    Returns:
        the parts of each group, in order: index of the run, offset in it and number of rows.

    >>> cut_evenly([10, 10, 10], [6, 6, 6], 2)
    [[(0, 0, 6), (1, 0, 3)], [(1, 3, 3), (2, 0, 6)]]
    """
    goal = (sum(sizes) or 1) / groups
    parts: list[list[tuple[int, int, int]]] = [[] for _ in range(groups)]
    before = 0.0
    for index, (size, rows) in enumerate(zip(sizes, counts, strict=True)):
        start = 0
        first = min(groups - 1, int(before / goal + _SLIVER))
        for group in range(first, groups):
            share = ((group + 1) * goal - before) / max(size, 1)
            ends = group == groups - 1 or share * size > size - _SLIVER * goal
            end = rows if ends else min(rows, round(share * rows))
            if end > start:
                parts[group].append((index, start, end - start))
                start = end
            if ends:
                break
        before += size
    return [part for part in parts if part]


def readable_schema(pinned: Pinned) -> StructType:
    """Return the Spark schema of the columns, and warn about columns that lose precision."""
    pinned.require_readable()
    schema = to_spark_schema(pinned.schema)
    warn_of_losses(pinned.schema, spark_arrow_schema(schema), pinned.target.name)
    return schema
