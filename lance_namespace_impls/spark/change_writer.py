"""Writes the changes of UPDATE, DELETE and MERGE in Spark SQL, in one commit.

Workers write the new rows to data files and return the addresses of the rows to remove. The driver
writes the deletion files and commits both as one version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, field, frozen
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from lance_namespace_client.errors import InvalidInputError, UnsupportedError

from ..distributed import write_plan
from ..distributed.casts import loses_digits
from ..distributed.columns import lance_schema, spark_arrow_schema, to_spark_schema
from .catalog_table import WriteKind
from .read_plan import ROW_ADDRESS
from .row_changes import Removals, offsets_by_fragment, removed, rows_in
from .row_writer import RowWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from ..distributed.write_plan import FileOptions, WritePlan
    from .catalog_table import TableWrite
    from .read_plan import Pinned

__all__ = ["LanceChangeWriter", "plan_change"]

WRITTEN = "_rowwritten"
_THREADS = 16


def plan_change(write: TableWrite, schema: StructType, files: FileOptions) -> WritePlan:
    """Return the plan for a change of rows, based on the version that the statement read.

    Args:
        write: the write.
        schema: columns of the rows from Spark, see `LanceChangeWriter`.
        files: how the rows are stored.

    Raises:
        ConcurrentModificationError: code 14, the table was dropped and created again.
        TableSchemaValidationError: code 20, the rows do not fit the table.
    """
    base = _base(write)
    base.open()
    names = [name for name in schema.names if name not in (ROW_ADDRESS, WRITTEN)]
    rows = lance_schema(type(schema)([schema[name] for name in names]))
    plan = write_plan.plan_write(
        base.target,
        rows if names else base.schema,
        write_plan.Mode.APPEND,
        files=files,
        writes_rows=bool(names),
    )
    assert plan is not None  # only EXIST_OK returns None
    return evolve(plan, read_version=base.version)


def _base(write: TableWrite) -> Pinned:
    assert write.base is not None  # the planner sets it for each change
    return write.base


@frozen
class WrittenChanges(WriterCommitMessage):
    """Fragments that one task wrote, and the addresses of the rows to remove.

    Args:
        fragments: the new fragments.
        inserted: number of new rows that replace no other row.
        addresses: the addresses as 64-bit integers.
    """

    fragments: Sequence[Any]
    inserted: int
    addresses: bytes = field(repr=False)


class LanceChangeWriter(RowWriter, DataSourceArrowWriter):
    """Writes new rows on the workers, and commits them together with the removal of old rows.

    Spark sends the columns of the table, then `ROW_ADDRESS` (the address of the row to remove, or
    null) and `WRITTEN` (whether the columns are a new row). For a MERGE that only inserts, Spark
    sends only the columns.

    Args:
        plan: the plan.
        write: the write.
        overflow: whether floating-point numbers that are too large for their column become
            infinite.
    """

    def __init__(self, plan: WritePlan, write: TableWrite, *, overflow: bool = False) -> None:
        super().__init__(plan, overflow=overflow)
        self._base = _base(write)
        self._kind = write.kind
        self._lossy = _lossy_columns(self._base)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenChanges:
        """Write the new rows of one task on a worker."""
        changes = _Changes()
        with self._coded():
            rows = changes.new_rows(iterator)
            fragments = self._write_rows(self._checked(rows, changes))
        addresses = pa.chunked_array(changes.addresses, pa.int64()).combine_chunks()
        return WrittenChanges(
            fragments,
            rows_in(fragments) - changes.updated,
            addresses.to_numpy(zero_copy_only=False).tobytes(),
        )

    def _checked(
        self, rows: Iterator[pa.RecordBatch], changes: _Changes
    ) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            if changes.updated and self._lossy:
                raise UnsupportedError(
                    f"{self._plan.target.name}: Spark would truncate the values of "
                    f"{', '.join(self._lossy)} in updated rows; use "
                    "lance_namespace_impls.spark.update, which does not read these values"
                )
            yield batch

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove the old rows and add the new ones, or neither."""
        found = [each for each in messages if isinstance(each, WrittenChanges)]
        fragments = [fragment for each in found for fragment in each.fragments]
        inserted = sum(each.inserted for each in found)
        with self._coded():
            removals = self._remove(found)
            if not removals.rows and not fragments:
                write_plan.abort(self._plan, [])
                return
            claims = self._kind is WriteKind.MERGE and inserted > 0
            removals.commit(self._plan, fragments, claims=claims)

    def _remove(self, found: Sequence[WrittenChanges]) -> Removals:
        """Write the deletion files."""
        import numpy as np

        addresses = np.concatenate(
            [np.frombuffer(each.addresses, np.int64) for each in found] or [np.empty(0, np.int64)]
        )
        if len(np.unique(addresses)) < len(addresses):
            raise InvalidInputError(
                f"{self._plan.target.name}: the statement changes a row more than once; keep one "
                "source row for each row in the table"
            )
        if not len(addresses):
            return Removals(changed=[], removed=[], rows=0)
        dataset = self._base.open()

        def remove(place: tuple[int, list[int]]) -> tuple[Any, Any]:
            fragment = dataset.get_fragment(place[0])
            return fragment, fragment.delete_rows(place[1])

        with ThreadPoolExecutor(_THREADS) as threads:
            places = sorted(offsets_by_fragment(addresses.tolist()).items())
            answer = removed(threads.map(remove, places))
        return Removals(**answer)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Delete the files of the tasks."""
        found = [each for each in messages if isinstance(each, WrittenChanges)]
        with self._coded():
            write_plan.abort(self._plan, [each for one in found for each in one.fragments])


class _Changes:
    """Separates the new rows of a task from the addresses of the rows to remove."""

    def __init__(self) -> None:
        self.addresses: list[pa.Array] = []
        self.updated = 0
        """Number of new rows that replace one."""

    def new_rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            index = batch.schema.get_field_index(ROW_ADDRESS)
            if index < 0:
                yield batch
                continue
            addresses = batch.column(index)
            written = batch.column(batch.schema.get_field_index(WRITTEN))
            self.addresses.append(addresses.drop_null())
            replaced = addresses.filter(written)
            self.updated += len(replaced) - replaced.null_count
            rows = batch.filter(written).select(range(index))
            if rows.num_rows:
                yield rows


def _lossy_columns(pinned: Pinned) -> list[str]:
    """Return the columns whose values Spark truncates."""
    there = spark_arrow_schema(to_spark_schema(pinned.schema))
    return [
        field.name
        for field in pinned.schema
        if loses_digits(field.type, there.field(field.name).type)
    ]
