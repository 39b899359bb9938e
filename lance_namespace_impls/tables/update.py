"""Runs updates with expressions that read columns set by the same update.

pylance evaluates the expressions one after another, in no fixed order, each on the result of the
previous one. In SQL, however, all expressions use the values from before the update. Therefore, a
single scan computes all expressions for the matching rows, and a single commit adds the new rows as
fragments and deletes the old rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    UnsupportedError,
)

from ..core.errors import first_line
from ..core.imports import load
from ..core.storage import TableStorage
from .align import cast, split_at_files
from .dataset import follow
from .errors import from_lance, may_be_committed
from .sql import columns_read
from .write import delete_data_files

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["reads_updated_columns", "update_at_once"]

TRIES = 10


def reads_updated_columns(updates: Mapping[str, str]) -> bool:
    """Return whether any expression reads a column that another expression sets."""
    return any(
        other.lower() in read
        for column, read in ((name, columns_read(text)) for name, text in updates.items())
        for other in updates
        if other != column
    )


def update_at_once(
    dataset: Any, updates: Mapping[str, str], where: str | None, branch: str | None
) -> tuple[int, int]:
    """Set columns in the rows that match a predicate; all expressions use the old values.

    Args:
        dataset: the ``lance.LanceDataset``; the first attempt is based on its version, and
            afterwards it is at the committed version.
        updates: top-level columns and the SQL expressions for them.
        where: the predicate; defaults to all rows.
        branch: the dataset's branch; defaults to the main one.

    Returns:
        The number of updated rows, and the resulting version of the table.

    Raises:
        InvalidInputError: code 13, a value does not fit its column.
        ConcurrentModificationError: code 14, other writers keep changing the same rows.
        UnsupportedError: code 0, a column would be read as a type that cannot be written back.
    """
    onto = dataset
    for left in reversed(range(TRIES)):
        try:
            count, after = _try_once(onto, updates, where)
        except OSError as error:
            if (
                not left
                or may_be_committed(error)
                or not isinstance(from_lance(error, ""), ConcurrentModificationError)
            ):
                raise
            onto = dataset.checkout_version((branch or None, None))
            continue
        if count:
            follow(dataset, after)
        return count, int(after.version)
    raise AssertionError("the last attempt returns or raises")


def _try_once(dataset: Any, updates: Mapping[str, str], where: str | None) -> tuple[int, Any]:
    """Return the number of updated rows, and the resulting dataset."""
    lance = load("lance")
    write_fragments = load("lance.fragment").write_fragments

    count = dataset.count_rows(filter=where)
    if not count:
        return 0, dataset
    rows = _matching_rows(dataset, updates, where)
    try:
        written = write_fragments(split_at_files(rows.reader()), dataset, mode="append")
    except Exception:
        # If reading the rows fails, pylance replaces the error with its own; raise the original
        # error.
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
    except Exception as error:
        if may_be_committed(error):
            raise
        storage = TableStorage(location=dataset.uri, options=dataset.latest_storage_options() or {})
        delete_data_files(storage, [file.path for each in written for file in each.files])
        raise
    return count, after


def _matching_rows(dataset: Any, updates: Mapping[str, str], where: str | None) -> RowStream:
    """Return the matching rows with their new values, in the table's own types."""
    schema: pa.Schema = dataset.schema
    columns = {name: updates.get(name, f"`{name}`") for name in schema.names}
    scanned: pa.RecordBatchReader = dataset.scanner(columns=columns, filter=where).to_reader()
    for name in schema.names:
        kind = scanned.schema.field(name).type
        if name not in updates and kind != schema.field(name).type:
            raise UnsupportedError(
                f"column {name!r} is read as {kind}, which cannot be written back; update one "
                f"column at a time"
            )
    return RowStream(schema, (_cast_batch(batch, schema) for batch in scanned))


def _cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch converted to the types of a schema.

    Raises:
        InvalidInputError: code 13, a value does not fit.
    """
    import pyarrow as pa

    try:
        arrays = [_cast(batch.column(field.name), field) for field in schema]
    except pa.ArrowException as error:
        raise InvalidInputError(first_line(error)) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(values: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    if not field.nullable and values.null_count:
        raise pa.ArrowInvalid(f"column {field.name!r} is not nullable")
    return values if values.type == field.type else cast(values, field.type)
