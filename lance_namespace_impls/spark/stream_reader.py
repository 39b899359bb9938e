"""Streams from a table: reads the rows that its versions add, or all changes, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from lance_namespace_client.errors import InvalidInputError, TableVersionNotFoundError

from ..distributed.columns import spark_arrow_schema
from ..distributed.division import group_by_size
from ..distributed.failures import coded
from .change_plan import FEED, ChangedRows, Changes, feed_schema, read_changes
from .read_plan import TASK_BYTES, cut_evenly, read_pieces, version_at
from .stream_positions import Addition, History, Position

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from .read_plan import Pinned
    from .table_options import TableOptions

__all__ = ["ChangeStreamReader", "LanceStreamReader"]


class AddedRows(InputPartition):
    """Added rows that one task reads.

    Args:
        additions: rows that versions added.
    """

    def __init__(self, additions: Sequence[Addition]) -> None:
        super().__init__(tuple(additions))


class LanceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the rows that versions add to a table.

    Compactions, new columns, indices and properties add no rows. A change or deletion of rows stops
    the stream, unless the options skip such versions.

    Args:
        pinned: the table, its columns and the filter.
        schema: the columns as a Spark schema.
        options: start of the stream, and the limits.
    """

    def __init__(self, pinned: Pinned, schema: StructType, options: TableOptions) -> None:
        if options.version is not None or options.tag or options.timestamp:
            raise InvalidInputError(
                "a stream reads all versions from a starting point: pass startingVersion or "
                "startingTimestamp instead of version, tag or timestamp"
            )
        self._pinned = pinned
        self._schema = spark_arrow_schema(schema)
        self._options = options
        self._history = History(pinned, options.on_change == "skip")
        self._last: int | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return the start of a new stream."""
        with self._coded():
            latest = self._history.latest()
            begin = self._options.starting_version
            moment = self._options.starting_timestamp
            if moment is not None:
                dataset = self._pinned.target.open(
                    self._pinned.target.storage_at(self._pinned.location),
                    None,
                    self._pinned.branch,
                )
                try:
                    before = version_at(dataset, moment)
                except TableVersionNotFoundError:
                    before = 0
                return Position(version=before + 1).to_offset()
            if begin is None:
                return Position(version=latest, whole=True).to_offset()
            if begin == "latest":
                return Position(version=latest + 1).to_offset()
            if int(begin) > latest + 1:
                raise TableVersionNotFoundError(
                    f"{self._pinned.target.name} has no version {begin} yet; the latest is {latest}"
                )
            return Position(version=int(begin)).to_offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a batch; Spark's limit for files is used for versions."""
        if self._options.max_rows_per_trigger is not None:
            return ReadMaxRows(self._options.max_rows_per_trigger)
        if self._options.max_versions_per_trigger is not None:
            return ReadMaxFiles(self._options.max_versions_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """End the stream at the current latest version."""
        with self._coded():
            self._last = self._history.latest()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the batch that starts at `start`."""
        with self._coded():
            last = self._history.latest() if self._last is None else self._last
            limited = not isinstance(limit, ReadAllAvailable)
            end = self._history.after(
                Position.of(start),
                last,
                rows=limit.max_rows if isinstance(limit, ReadMaxRows) else None,
                versions=self._options.max_versions_per_trigger if limited else None,
            )
            return end.to_offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the rows of each task of a batch."""
        with self._coded():
            found = self._history.between(Position.of(start), Position.of(end))
            sizes = [each.bytes for each in found]
            tasks = self._options.splits or max(1, -(-sum(sizes) // TASK_BYTES))
            if self._pinned.filter is not None:
                groups = group_by_size(sizes, tasks)
                return [AddedRows([found[i] for i in group]) for group in groups]
            return [
                AddedRows(
                    [
                        evolve(found[i], offset=found[i].offset + first, rows=rows)
                        for i, first, rows in group
                    ]
                )
                for group in cut_evenly(sizes, [each.rows for each in found], tasks)
            ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task on a worker."""
        if not isinstance(partition, AddedRows):
            return  # Spark's own partition for a batch without rows
        with self._coded():
            for addition in partition.value:
                pinned = evolve(self._pinned, version=addition.version, written=None)
                names = pinned.open().schema.names
                # Columns that did not exist yet are null.
                known = [each for each in pinned.schema if each.name in names]
                pinned = evolve(pinned, schema=pa.schema(known))
                yield from read_pieces(
                    pinned, [addition.piece()], self._schema, self._options.batch_rows
                )

    def _coded(self) -> AbstractContextManager[None]:
        target = self._pinned.target
        return coded(f"reading {target.name}", target.namespace.config.secrets())


class ChangedPartition(InputPartition):
    """Changed rows that one task reads.

    Args:
        rows: the rows that changed, by version.
    """

    def __init__(self, rows: Sequence[ChangedRows]) -> None:
        super().__init__(tuple(rows))


class ChangeStreamReader(LanceStreamReader):
    """Reads the rows that versions insert, update and delete; see `change_plan`.

    A batch consists of whole versions.

    Args:
        pinned: the table and its columns.
        schema: the columns and those of the feed as a Spark schema.
        options: start of the stream, and the limits.
    """

    def __init__(self, pinned: Pinned, schema: StructType, options: TableOptions) -> None:
        if options.max_rows_per_trigger is not None:
            raise InvalidInputError(
                "a stream of changes reads whole versions: use maxVersionsPerTrigger instead of "
                "maxRowsPerTrigger"
            )
        if options.blobs != "binary":
            raise InvalidInputError(
                "a stream of changes reads blobs as binary: omit the option blobs, or exclude the "
                "columns with the option columns"
            )
        if options.filter is not None:
            raise InvalidInputError(
                "the option filter does not apply to a stream of changes, because a row may "
                "start or stop matching it: filter the stream with where()"
            )
        super().__init__(pinned, schema, options)
        feed_schema(pinned.schema, pinned.target.name)
        names = [name for name in schema.names if name not in FEED.names]
        own = type(schema)([schema[name] for name in names])
        self._pinned = pinned.of_columns(own)
        self._changes = Changes(self._pinned)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the batch that starts at `start`."""
        with self._coded():
            last = self._history.latest() if self._last is None else self._last
            place = Position.of(start)
            most = (
                None
                if isinstance(limit, ReadAllAvailable)
                else self._options.max_versions_per_trigger
            )
            if place.version > last:
                return start
            end = last if most is None else min(last, place.version + most - 1)
            return Position(version=end + 1).to_offset()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the rows of each task of a batch."""
        with self._coded():
            first = Position.of(start)
            rows = [
                each
                for version in range(first.version, Position.of(end).version)
                for each in (
                    self._changes.whole(version)
                    if first.whole and version == first.version
                    else self._changes.of(version)
                )
            ]
            sizes = [each.bytes for each in rows]
            tasks = self._options.splits or max(1, -(-sum(sizes) // TASK_BYTES))
            groups = group_by_size(sizes, tasks)
            return [ChangedPartition([rows[place] for place in group]) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task on a worker."""
        if not isinstance(partition, ChangedPartition):
            return  # Spark's own partition for a batch without rows
        with self._coded():
            yield from read_changes(
                self._pinned, partition.value, self._schema, self._options.batch_rows
            )
