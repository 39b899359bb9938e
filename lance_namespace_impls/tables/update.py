"""Updates whose expressions read columns that the same update sets.

pylance evaluates them one after the other, in no fixed order, each on what the last one left. In SQL
they see the values from before: so the rows that fit are read with all expressions at once, written
as new fragments and deleted where they were, in one commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    UnsupportedError,
)

from ..core.errors import first_line
from ..core.storage import TableStorage
from .errors import from_lance
from .write import delete_data_files

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["reads_own_columns", "update_at_once"]

TRIES = 10


def reads_own_columns(updates: Mapping[str, str]) -> bool:
    """Return whether an expression may read a column that another one sets.

    A name within a longer word counts too: that costs time and changes no result.
    """
    return any(
        other.lower() in expression.lower()
        for column, expression in updates.items()
        for other in updates
        if other != column
    )


def update_at_once(dataset: Any, updates: Mapping[str, str], where: str | None) -> tuple[int, int]:
    """Set columns of the rows that fit a predicate, all from the values before.

    Args:
        dataset: the ``lance.LanceDataset``; its version is where the first try starts.
        updates: top-level columns and the SQL expressions for them.
        where: the predicate; all rows unless given.

    Returns:
        The number of rows updated, and the version of the table then.

    Raises:
        InvalidInputError: code 13, a value does not fit its column.
        ConcurrentModificationError: code 14, others change the same rows all the time.
        UnsupportedError: code 0, a column cannot be written as it is read.
    """
    for left in reversed(range(TRIES)):
        try:
            return _try_once(dataset, updates, where)
        except OSError as error:
            if not left or not isinstance(from_lance(error, ""), ConcurrentModificationError):
                raise
            dataset.checkout_latest()
    raise AssertionError("the last try returns or raises")


def _try_once(dataset: Any, updates: Mapping[str, str], where: str | None) -> tuple[int, int]:
    import lance
    from lance.fragment import write_fragments

    count = dataset.count_rows(filter=where)
    if not count:
        return 0, int(dataset.version)
    rows = _Rewritten(dataset, updates, where)
    try:
        written = write_fragments(rows.reader(), dataset, mode="append")
    except Exception:
        if rows.failure is not None:
            raise rows.failure from rows.failure.__cause__
        raise
    changed, emptied = [], []
    for fragment in dataset.get_fragments():
        left = fragment.delete(where or "true")
        if left is None:
            emptied.append(fragment.fragment_id)
        elif left != fragment.metadata:
            changed.append(left)
    operation = lance.LanceOperation.Update(
        removed_fragment_ids=emptied, updated_fragments=changed, new_fragments=written
    )
    try:
        after = lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)
    except Exception:
        storage = TableStorage(location=dataset.uri, options=dataset.latest_storage_options() or {})
        delete_data_files(storage, [file.path for each in written for file in each.files])
        raise
    return count, int(after.version)


class _Rewritten:
    """The rows that fit, with their new values, in the table's own types."""

    def __init__(self, dataset: Any, updates: Mapping[str, str], where: str | None) -> None:
        self.failure: InvalidInputError | None = None
        self._schema: pa.Schema = dataset.schema
        columns = {name: updates.get(name, f"`{name}`") for name in self._schema.names}
        self._scanned: pa.RecordBatchReader = dataset.scanner(
            columns=columns, filter=where
        ).to_reader()
        for name in self._schema.names:
            kind = self._scanned.schema.field(name).type
            if name not in updates and kind != self._schema.field(name).type:
                raise UnsupportedError(
                    f"UpdateTable: column {name!r} is read as {kind} and cannot be written back; update "
                    "one column at a time"
                )

    def reader(self) -> pa.RecordBatchReader:
        """Return the rows as they are read."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in self._scanned:
            try:
                arrays = [self._fitting(batch.column(f.name), f) for f in self._schema]
            except pa.ArrowException as error:
                self.failure = InvalidInputError(f"UpdateTable: {first_line(error)}")
                self.failure.__cause__ = error
                raise self.failure from error
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _fitting(self, values: pa.Array, field: pa.Field) -> pa.Array:
        import pyarrow as pa

        if not field.nullable and values.null_count:
            raise pa.ArrowInvalid(f"column {field.name!r} takes no nulls")
        return values if values.type == field.type else values.cast(field.type)
