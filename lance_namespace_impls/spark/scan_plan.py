"""Plans the part of a table that a Spark query reads: columns, filters, a limit and aggregates.

The JVM's scan builder (`jvm/`) sends the parts of the query that Spark pushes down, and `planner`
calls these functions. A scan reads with `read_plan`, as the data source and `read_table` do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, frozen
from pyarrow import types as is_

from ..core.imports import load
from ..distributed.columns import cast_batch, spark_arrow_schema, to_spark_schema
from ..distributed.division import size_of
from ..distributed.failures import coded
from ..distributed.secrets import freeze_loaded_modules
from .filters import MAX_CONDITIONS, REJECT_NULL, column_of, has_plain_nulls, to_lance
from .read_plan import (
    ROW_ADDRESS,
    Piece,
    Pinned,
    PinnedPartitions,
    plan_tasks,
    read_pieces,
    scan_pieces,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from ..partitioned.store import Partition
    from .filters import Tree
    from .table_options import TableOptions

__all__ = ["ScanTask", "Source", "pack", "plan_aggregates", "plan_scan", "translate"]

SAMPLED_PARTITIONS = 32
"""Number of partitions that are opened to estimate the size of a partitioned namespace."""
_AGGREGATES = {"COUNT": "count", "MIN": "min", "MAX": "max"}


@frozen
class Source:
    """One version of a table and the options of its reader, shared by the scans of a DataFrame."""

    pinned: Pinned
    options: TableOptions

    def datasets(self) -> list[tuple[Partition | None, Any]]:
        """Return the opened datasets that may contain matching rows, with their partitions.

        This process keeps the last versions of tables open.
        """
        if isinstance(self.pinned, PinnedPartitions):
            return self.pinned.datasets()
        return [(None, _opened(self.pinned))]

    def stored_schema(self) -> pa.Schema:
        """Return the stored schema of all columns."""
        if isinstance(self.pinned, PinnedPartitions):
            return self.pinned.stored_schema()
        schema: pa.Schema = _opened(self.pinned).schema
        return schema

    def rows(self) -> int:
        """Return the number of rows of the version, without the reader's own filter."""
        whole = Source(evolve(self.pinned, filter=None), self.options)
        return sum(int(found.count_rows()) for _, found in whole.datasets())

    def statistics(self) -> tuple[int, dict[str, float]]:
        """Return the number of rows, and the estimated bytes per row of each column.

        For a partitioned namespace, both are estimated from its first partitions.
        """
        if not isinstance(self.pinned, PinnedPartitions):
            return self.rows(), self._widths([_opened(self.pinned)])
        whole = evolve(self.pinned, filter=None)
        sample = [found for _, found in whole.datasets(SAMPLED_PARTITIONS)]
        rows = sum(int(found.count_rows()) for found in sample)
        return rows * len(whole.partitions()) // max(len(sample), 1), self._widths(sample)

    def _widths(self, datasets: Sequence[Any]) -> dict[str, float]:
        fixed = {field.name: _width(field.type) for field in self.pinned.schema}
        fragments = [each for dataset in datasets for each in dataset.get_fragments()]
        rows = sum(fragment.metadata.physical_rows for fragment in fragments) or 1
        total = sum(map(size_of, fragments)) / rows
        unknown = [name for name, width in fixed.items() if width is None]
        known = sum(width for width in fixed.values() if width is not None)
        rest = max(total - known, 8.0 * len(unknown)) / max(len(unknown), 1)
        return {name: rest if width is None else width for name, width in fixed.items()}


@lru_cache(maxsize=64)
def _opened_by_key(key: _Key) -> Any:
    return key.pinned.open()


class _Key:
    """Cache key of an open dataset; two keys are equal only if they share a namespace object."""

    def __init__(self, pinned: Pinned) -> None:
        self.pinned = pinned
        self._key = (id(pinned.target.namespace), pinned.location, pinned.version, pinned.branch)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _opened(pinned: Pinned) -> Any:
    return _opened_by_key(_Key(pinned))


def _width(kind: pa.DataType) -> float | None:
    if is_.is_fixed_size_list(kind):
        inner = _width(kind.value_type)
        return None if inner is None else inner * kind.list_size
    try:
        return float(kind.bit_width) / 8
    except ValueError:
        return None


def translate(source: Source, predicates: Sequence[Tree]) -> list[str | None]:
    """Return each filter in Lance's SQL, or None if it stays in Spark.

    A filter becomes an empty string if another one implies it: Spark adds `IS NOT NULL` to every
    comparison.
    """
    schema = _stored(source)
    found = [
        to_lance(predicate, schema) if number < MAX_CONDITIONS else None
        for number, predicate in enumerate(predicates)
    ]
    compared = [
        predicate["args"][0]
        for predicate, condition in zip(predicates, found, strict=True)
        if condition is not None and predicate.get("op") in REJECT_NULL
    ]
    return [
        "" if predicate.get("op") == "IS_NOT_NULL" and predicate["args"][0] in compared else each
        for predicate, each in zip(predicates, found, strict=True)
    ]


def _stored(source: Source) -> pa.Schema:
    """Return the stored schema of the columns that the reader returns, without row ids."""
    stored = source.stored_schema()
    names = [name for name in source.pinned.schema.names if name in stored.names]
    return pa.schema([stored.field(name) for name in names])


@frozen
class Aggregate:
    """An aggregate of a column, or of all rows."""

    function: str
    column: str | None


@frozen
class Aggregates:
    """The plan for pushed aggregates.

    Args:
        schema: Spark's schema of the partial results.
        counts: the only row, if the metadata contains the results; otherwise tasks compute them.
    """

    schema: StructType
    counts: list[int] | None


def plan_aggregates(
    source: Source, conditions: Sequence[str], trees: Sequence[Tree]
) -> Aggregates | None:
    """Return the plan by which Lance computes aggregates, or None if Spark has to compute them.

    Args:
        source: the version.
        conditions: the pushed filters.
        trees: the aggregates, as the JVM's `Trees` describes them.
    """
    from pyspark.sql.types import LongType, StructType

    found = _aggregates(source, trees)
    if found is None:
        return None
    columns = to_spark_schema(source.pinned.schema)
    schema = StructType()
    for number, each in enumerate(found):
        counts = each.function == "count"
        kind = LongType() if counts or each.column is None else columns[each.column].dataType
        schema = schema.add(f"{each.function}{number}", kind, not counts)
    if all(each == Aggregate("count", None) for each in found) and not (
        conditions or source.pinned.filter
    ):
        return Aggregates(schema, [source.rows()] * len(found))
    if not any(found.get_fragments() for _, found in source.datasets()):
        # Spark adds up the counts of tasks, and the sum over no task is null.
        counted = all(each.function == "count" for each in found)
        return Aggregates(schema, [0] * len(found)) if counted else None
    return Aggregates(schema, None)


def _aggregates(source: Source, trees: Sequence[Tree]) -> list[Aggregate] | None:
    schema = _stored(source)
    found = []
    for tree in trees:
        match tree:
            case {"op": "COUNT", "args": []}:
                found.append(Aggregate("count", None))
            case {"op": op, "args": [reference]} if op in _AGGREGATES:
                field = column_of(reference, schema)
                if field is None or not has_plain_nulls(field):
                    return None
                if op != "COUNT" and not _has_same_order(field.type):
                    return None
                found.append(Aggregate(_AGGREGATES[op], field.name))
            case _:
                return None
    return found


def _has_same_order(kind: pa.DataType) -> bool:
    """Return whether Arrow and Spark order values the same way; they differ for floats, because of NaN."""
    return bool(
        is_.is_integer(kind)
        or is_.is_date32(kind)
        or is_.is_timestamp(kind)
        or is_.is_decimal128(kind)
        or is_.is_string(kind)
        or is_.is_large_string(kind)
    )


def plan_scan(
    source: Source,
    schema: StructType,
    *,
    conditions: Sequence[str] = (),
    limit: int | None = None,
    aggregates: Sequence[Tree] | None = None,
    cores: int | None = None,
) -> tuple[ScanTask, list[list[Piece]]]:
    """Return the function that every task runs, and the pieces of each task.

    Args:
        source: the version.
        schema: Spark's schema of the result.
        conditions: pushed filters in Lance's SQL; all of them apply.
        limit: number of rows that suffice.
        aggregates: the aggregates that a task returns instead of rows.
        cores: number of concurrent tasks.
    """
    found = None if aggregates is None else _aggregates(source, aggregates)
    stored = source.pinned.schema
    names = (
        schema.names
        if found is None
        else list(dict.fromkeys(each.column for each in found if each.column is not None))
    )
    filters = [each for each in (source.pinned.filter, *conditions) if each]
    pinned = evolve(
        source.pinned,
        schema=pa.schema([_stored_field(stored, name) for name in names]),
        filter=" AND ".join(f"({each})" for each in filters) or None,
    )
    opened = Source(pinned, source.options).datasets()
    tasks = plan_tasks(pinned, source.options.splits, cores, datasets=opened, limit=limit)
    return ScanTask(pinned, schema, source.options.batch_rows, limit, found), tasks


def _stored_field(schema: pa.Schema, name: str) -> pa.Field:
    """Return the field of a column, or of the row address, which is not part of the schema."""
    if name == ROW_ADDRESS:
        return pa.field(name, pa.int64())
    return schema.field(name)


@frozen
class ScanTask:
    """Reads the pieces of a task on a worker; Spark calls it with the pickled pieces.

    Args:
        pinned: the version, columns and rows.
        schema: Spark's schema of the result.
        batch_rows: maximum number of rows in a batch.
        limit: maximum number of rows.
        aggregates: the aggregates to return instead of rows.
    """

    pinned: Pinned
    schema: StructType
    batch_rows: int | None
    limit: int | None
    aggregates: list[Aggregate] | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the task whose pickled pieces are the only value in the batches."""
        from pickle import loads

        target = self.pinned.target
        with coded(f"reading {target.name}", target.namespace.config.secrets()):
            for batch in batches:
                for pieces in batch.column(0).to_pylist():
                    yield from self.read(loads(pieces))
        freeze_loaded_modules()

    def read(self, pieces: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the pieces, or the row of their aggregates."""
        if self.aggregates is None:
            target = spark_arrow_schema(self.schema)
            yield from read_pieces(self.pinned, pieces, target, self.batch_rows, self.limit)
        else:
            yield self._aggregated(pieces, self.aggregates)

    def _aggregated(
        self, pieces: Sequence[Piece], aggregates: Sequence[Aggregate]
    ) -> pa.RecordBatch:
        columns = spark_arrow_schema(to_spark_schema(self.pinned.schema))
        if not columns.names:
            rows = sum(scanner.count_rows() for scanner in scan_pieces(self.pinned, pieces))
            results: list[list[Any]] = [[rows] for _ in aggregates]
        else:
            results = [[] for _ in aggregates]
            for scanner in scan_pieces(self.pinned, pieces):
                for stored in scanner.to_batches():
                    batch = cast_batch(stored, columns, cut_fractions=True)
                    for values, each in zip(results, aggregates, strict=True):
                        values.append(_partial(each, batch))
        schema = spark_arrow_schema(self.schema)
        row = [
            pa.array([_combined(each, values, field.type)], field.type)
            for each, values, field in zip(aggregates, results, schema, strict=True)
        ]
        return pa.record_batch(row, schema=schema)


def _partial(aggregate: Aggregate, batch: pa.RecordBatch) -> Any:
    if aggregate.column is None:
        return batch.num_rows
    column = batch.column(aggregate.column)
    if aggregate.function == "count":
        return batch.num_rows - column.null_count
    return load("pyarrow.compute").min_max(column)[aggregate.function]


def _combined(aggregate: Aggregate, values: Sequence[Any], kind: pa.DataType) -> Any:
    if aggregate.function == "count":
        return sum(values)
    return load("pyarrow.compute").min_max(pa.array(values, kind))[aggregate.function]


def pack(task: ScanTask, tasks: Sequence[Sequence[Piece]]) -> tuple[bytes, list[bytes]]:
    """Return the function and the partitions as Spark sends them to its workers."""
    from pickle import dumps

    from pyspark import cloudpickle

    function: bytes = cloudpickle.dumps((task, task.schema))  # type: ignore[no-untyped-call]
    return function, [dumps(list(pieces)) for pieces in tasks]
