"""One version of a table, the tasks that it is read in, and the rows of each.

The data source and `read_table` read by this alone, so they give the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    TableVersionNotFoundError,
    UnsupportedError,
)

from ..distributed.casts import tell_losses
from ..distributed.columns import (
    batches_of_bounded_size,
    cast_batch,
    spark_arrow_schema,
    to_spark_schema,
)
from ..distributed.target import Target
from ..tables.schema import check_column_name
from ..tables.sql import check_sql

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = [
    "ROW_ADDRESS",
    "Piece",
    "Pinned",
    "cut_evenly",
    "group_by_size",
    "pin",
    "plan_tasks",
    "read_pieces",
    "size_of",
    "version_at",
]

ROW_ID = "_rowid"
ROW_ADDRESS = "_rowaddr"
# Arrow's hop to the JVM costs per batch; wide rows make a batch of that many bytes sooner.
BATCH_ROWS = 65_536
BATCH_BYTES = 8 << 20
# pylance reads up to 2 GiB ahead by default, and Spark runs one reader a core.
READ_AHEAD_BYTES = 128 << 20
# Where the cores are not known: small enough to part evenly among a few, large enough to be worth it.
TASK_BYTES = 32 << 20
# Where they are: each gets one task, and more only of large tables.
ROUND_BYTES = 512 << 20
# A part of a fragment smaller than this share of a task is left to its neighbour.
_SLIVER = 0.05


@frozen(kw_only=True)
class Pinned:
    """One version of a table, and the columns and rows of it that are read."""

    target: Target
    location: str
    version: int
    written: int | None
    """When the version was committed, see `_written`; None where another may be there too."""
    branch: str | None
    schema: pa.Schema
    filter: str | None
    lost: Mapping[str, str] = field(factory=dict)
    """Columns of the table that Lance cannot find by their names, and why."""

    def of_columns(self, wanted: StructType) -> Pinned:
        """Return the same with the columns of a Spark schema alone.

        Raises:
            TableColumnNotFoundError: code 12, the table has no such column.
            TableSchemaValidationError: code 20, a column is of another type.
            UnsupportedError: code 0, Lance cannot find a column by its name.
        """
        missing = [name for name in wanted.names if name not in self.schema.names]
        if missing:
            raise TableColumnNotFoundError(
                f"{self.target.name} has no column {', '.join(missing)}; it has "
                f"{', '.join(self.schema.names)}"
            )
        schema = pa.schema([self.schema.field(name) for name in wanted.names])
        own = to_spark_schema(schema)
        for there, given in zip(own, wanted, strict=True):
            asked, found = (
                spark_arrow_schema(type(own)([each])).field(0).type for each in (given, there)
            )
            if asked != found:
                raise TableSchemaValidationError(
                    f"{self.target.name}: column {there.name} is {there.dataType.simpleString()}, "
                    f"not {given.dataType.simpleString()}; read it so and cast it in Spark"
                )
        chosen = evolve(self, schema=schema)
        chosen.require_readable()
        return chosen

    def require_readable(self) -> None:
        """Reject columns that Lance cannot find by their names.

        Raises:
            UnsupportedError: code 0, the message names one and the way out.
        """
        for name in self.schema.names:
            if why := self.lost.get(name):
                raise UnsupportedError(
                    f"{self.target.name}: {why}; name the other columns to read (option 'columns'), "
                    "or rename it"
                )

    def open(self) -> Any:
        """Open the dataset at that version, with credentials from the namespace.

        Raises:
            ConcurrentModificationError: code 14, the table is elsewhere now, or another has its name
                and place.
            TableVersionNotFoundError: code 11, the version was cleaned up.
        """
        storage = self.target.storage_at(self.location)
        dataset = self.target.open(storage, self.version, self.branch)
        if self.written not in (None, _written(dataset)):
            raise ConcurrentModificationError(
                f"{self.target.name} was dropped and made again since it was looked up; try again"
            )
        return dataset


@frozen
class Piece:
    """Rows of one fragment.

    Args:
        fragment: number of the fragment.
        offset: rows to pass over, deleted ones not counted.
        rows: rows to read; None is all of the fragment.
    """

    fragment: int
    offset: int = 0
    rows: int | None = field(default=None)


def pin(
    target: Target,
    *,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    version: int | str | None = None,
    branch: str | None = None,
    timestamp: datetime | None = None,
    with_row_id: bool = False,
) -> Pinned:
    """Look a table up and settle what of it is read.

    Args:
        target: the table.
        columns: columns to read, else all.
        filter: rows to read, as a condition in Lance's SQL, else all.
        version: number or tag of the version, else the latest.
        branch: branch of the version, else the main one.
        timestamp: the version is the latest at that time; without a zone it is in UTC.
        with_row_id: whether there is a column `_rowid`.

    Raises:
        InvalidInputError: code 13, the filter is none.
        TableNotFoundError: code 4.
        TableTagNotFoundError: code 8.
        TableVersionNotFoundError: code 11.
        TableColumnNotFoundError: code 12.
        InvalidTableStateError: code 19, the table has no data.
        TableBranchNotFoundError: code 22.
    """
    check_sql(filter, "the filter")
    storage = target.storage()
    dataset = target.open(storage, version, branch)
    try:
        if timestamp is not None:
            dataset = target.open(storage, version_at(dataset, timestamp), branch)
        check_sql(filter, "the filter", dataset.schema)
        lost = _lost(dataset)
        schema = _schema(dataset, columns, lost, with_row_id=with_row_id)
        if filter is not None:
            # A bad filter fails here, before any task. Lance looks up all columns of a scan without
            # a projection, also one that it cannot find by its name.
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
    )


def _written(dataset: Any) -> int:
    """Return when a dataset's version was committed, in microseconds within a quarter of an hour.

    pylance tells the time of a machine's own zone. Zones are quarters of an hour apart.
    """
    moment: datetime = dataset.get_version()["timestamp"]
    return round(moment.timestamp() * 1e6) % (15 * 60 * 10**6)


def _schema(
    dataset: Any, columns: Sequence[str] | None, lost: Collection[str], *, with_row_id: bool
) -> pa.Schema:
    """Return the schema of columns of a dataset, or of all, as it stores them."""
    if columns is None:
        own = [pa.field(ROW_ID, pa.int64())] if with_row_id else []
        return pa.schema([*dataset.schema, *own])
    if found := [dataset.schema.field(name) for name in columns if name in lost]:
        return pa.schema(found)  # whoever reads them is told why that cannot be done
    if not columns:
        raise InvalidInputError("no column is named; leave the columns out to read all of them")
    scanner = dataset.scanner(
        columns=projection(columns), with_row_id=with_row_id, blob_handling="all_binary"
    )
    # What pylance projects says of a blob that it is binary; the dataset knows better.
    return pa.schema([_typed(each, dataset.schema) for each in scanner.projected_schema])


def projection(columns: Sequence[str]) -> list[str] | dict[str, str]:
    """Return columns as pylance's scanner accepts them; it reads the name ``*`` as all columns."""
    if "*" not in columns:
        return list(columns)
    return {name: f"`{name}`" for name in columns}


def _lost(dataset: Any) -> dict[str, str]:
    """Return the columns that Lance stores and cannot find by their names, and why.

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
        return found.with_type(pa.int64())  # else a decimal, as any uint64
    index = table.get_field_index(found.name)
    return found if index < 0 else table.field(index).with_nullable(found.nullable)


def version_at(dataset: Any, moment: datetime) -> int:
    """Return the latest version at a time; without a zone it is in UTC.

    Raises:
        TableVersionNotFoundError: code 11, there was none yet.
    """
    wanted = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    # pylance gives the time of this machine's zone.
    fitting = [
        int(each["version"])
        for each in dataset.versions()
        if each["timestamp"].astimezone(UTC) <= wanted
    ]
    if not fitting:
        raise TableVersionNotFoundError(f"there is no version as old as {wanted.isoformat()}")
    return max(fitting)


def plan_tasks(
    pinned: Pinned, tasks: int | None = None, cores: int | None = None, *, whole: bool = False
) -> list[list[Piece]]:
    """Return what each task reads: runs of neighbours, all of about one size.

    Args:
        pinned: what is read.
        tasks: most tasks, else as the size and the cores demand.
        cores: tasks that run at once; None where that cannot be known.
        whole: whether a fragment is never parted among tasks, as with a filter.
    """
    fragments = pinned.open().get_fragments()
    sizes = [size_of(fragment) for fragment in fragments]
    if tasks is None:
        tasks = _tasks(sum(sizes), cores)
    if (
        whole or pinned.filter is not None
    ):  # rows that are passed over are counted behind the filter
        groups = group_by_size(sizes, tasks)
        return [[Piece(fragments[i].fragment_id) for i in group] for group in groups]
    counts = [fragment.count_rows() for fragment in fragments]
    return [
        [
            Piece(fragments[i].fragment_id)
            if rows == counts[i]
            else Piece(fragments[i].fragment_id, offset, rows)
            for i, offset, rows in group
        ]
        for group in cut_evenly(sizes, counts, tasks)
    ]


def _tasks(size: int, cores: int | None) -> int:
    if cores is None:
        return max(1, -(-size // TASK_BYTES))
    rounds = max(1, -(-size // (ROUND_BYTES * cores)))
    return int(cores * rounds)


def read_pieces(
    pinned: Pinned, pieces: Sequence[Piece], target: pa.Schema, batch_rows: int | None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task, on a worker, in the Arrow form that Spark wants.

    Args:
        pinned: what is read.
        pieces: the task.
        target: Spark's Arrow schema of the columns.
        batch_rows: most rows in a batch, else as many as `BATCH_BYTES` hold, up to `BATCH_ROWS`.
    """
    dataset = pinned.open()
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
        scanner = dataset.scanner(
            columns=projection(pinned.schema.names),
            filter=pinned.filter,
            fragments=[dataset.get_fragment(number) for number in fragments],
            offset=part.offset if part else None,
            limit=part.rows if part else None,
            batch_size=batch_rows or BATCH_ROWS,
            batch_size_bytes=None if batch_rows else BATCH_BYTES,
            io_buffer_size=READ_AHEAD_BYTES,
            blob_handling="all_binary",
        )
        for batch in scanner.to_batches():
            yield from batches_of_bounded_size(cast_batch(batch, target, cut_fractions=True))


def size_of(fragment: Any) -> int:
    """Return the bytes of a fragment's files, or a guess where they are not on record."""
    known = [file.file_size_bytes for file in fragment.data_files()]
    return sum(known) if all(known) else fragment.metadata.physical_rows * 64


def group_by_size(sizes: Sequence[int], groups: int) -> list[list[int]]:
    """Part a sequence into at most so many runs of about one size; return the indices of each.

    >>> group_by_size([5, 5, 5, 5], 2)
    [[0, 1], [2, 3]]
    """
    parts: list[list[int]] = [[] for _ in range(min(groups, len(sizes)))]
    total, before = sum(sizes) or 1, 0
    for index, size in enumerate(sizes):
        middle = before + size / 2
        parts[min(len(parts) - 1, int(middle * len(parts) / total))].append(index)
        before += size
    return [part for part in parts if part]


def cut_evenly(
    sizes: Sequence[int], counts: Sequence[int], groups: int
) -> list[list[tuple[int, int, int]]]:
    """Part sized runs of rows into groups of one size, cutting runs where need be.

    Args:
        sizes: bytes of each run.
        counts: rows of each run.
        groups: most groups.

    Returns:
        for each group its parts: index of the run, offset in it and rows, in order.

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


def told(pinned: Pinned) -> StructType:
    """Return the Spark schema of what is read, and warn of columns that lose something."""
    pinned.require_readable()
    schema = to_spark_schema(pinned.schema)
    tell_losses(pinned.schema, spark_arrow_schema(schema), pinned.target.name)
    return schema
