"""Merges rows by key; concurrent merges insert each new key only once.

pylance commits a merge on top of concurrent changes to other rows, so two concurrent merges that
insert the same key would both succeed. Therefore, every merge that may insert rows declares a
change to a fragment number that no table uses. pylance treats two changes to the same fragment as a
conflict; it checks for conflicts atomically with the commit, on every kind of storage. The losing
merge runs again on the newer version, where it finds the key and updates the row.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from attrs import frozen

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableColumnNotFoundError,
)

from ..core.imports import load
from ..core.storage import TableStorage
from .align import aligned
from .dataset import follow
from .errors import from_lance, may_be_committed
from .incoming import writable
from .write import delete_data_files

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CLAIMED_FRAGMENT",
    "MergeRows",
    "duplicate_key",
    "merge_exclusively",
    "merge_rows",
    "pauses",
]

# The largest fragment number. Row addresses store it in 32 bits, and fragments are numbered from 0.
CLAIMED_FRAGMENT = 2**32 - 1
TRIES = 200
TIMEOUT = timedelta(seconds=30)
_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.005, 0.5
# Maximum number of bytes in memory; larger data is written to a temporary file. The rows are kept
# because a merge that loses a race reads them again.
_BYTES_IN_MEMORY = 64 * 2**20
_LONGEST_KEY = 100


@frozen(kw_only=True)
class MergeRows:
    """The rows of a merge, which can be read more than once."""

    schema: pa.Schema
    rows: int
    has_null_keys: bool
    """Whether any key column contains a null."""
    read: Callable[[], pa.Table | pa.RecordBatchReader]
    """Returns a reader for all rows."""


@contextmanager
def merge_rows(rows: RowStream, keys: Sequence[str]) -> Iterator[MergeRows]:
    """Read the rows of a merge and validate their keys.

    Args:
        rows: the rows.
        keys: the key columns.

    Raises:
        TableColumnNotFoundError: code 12, the rows lack a key column.
        InvalidInputError: code 13, two rows have the same key, or reading the rows fails.
        TableSchemaValidationError: code 20, Lance cannot store the rows.
    """
    import pyarrow as pa

    for key in keys:
        if key not in rows.schema.names:
            raise TableColumnNotFoundError(f"the rows lack the key column {key!r}")
    buffered: list[pa.RecordBatch] = []
    buffered_keys: list[pa.RecordBatch] = []
    size = 0
    with TemporaryFile() as file, rows.guarded():
        writer: Any = None
        for batch in writable(rows):
            buffered.append(batch)
            buffered_keys.append(batch.select(keys))
            size += batch.nbytes
            if size <= _BYTES_IN_MEMORY:
                continue
            if writer is None:
                writer = pa.ipc.new_stream(file, rows.schema)
            for each in buffered:
                writer.write_batch(each)
            # A column from a stream keeps its whole batch in memory, so the column is copied.
            buffered_keys[-len(buffered) :] = [
                _copied(each) for each in buffered_keys[-len(buffered) :]
            ]
            buffered.clear()
        columns = pa.schema([rows.schema.field(key) for key in keys])
        found = pa.Table.from_batches(buffered_keys, columns).unify_dictionaries()
        _check_keys(found)
        if writer is not None:
            writer.close()
        table = pa.Table.from_batches(buffered, rows.schema)
        yield MergeRows(
            schema=rows.schema,
            rows=found.num_rows,
            has_null_keys=any(column.null_count for column in found.columns),
            read=(lambda: table) if writer is None else (lambda: _read_again(file)),
        )


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [pa.concat_arrays([column]) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _read_again(file: Any) -> pa.RecordBatchReader:
    import pyarrow as pa

    file.seek(0)
    reader = pa.ipc.open_stream(pa.PythonFile(file, mode="r"))
    return pa.RecordBatchReader.from_batches(reader.schema, (aligned(each) for each in reader))


def _check_keys(keys: pa.Table) -> None:
    """Reject rows with the same key; nulls never count as equal.

    Raises:
        InvalidInputError: code 13.
    """
    import pyarrow as pa

    names = keys.column_names
    whole = keys.drop_null() if any(column.null_count for column in keys.columns) else keys
    try:
        counted = whole.group_by(names).aggregate([([], "count_all")])
    except pa.ArrowNotImplementedError:  # lists, structs and extension types
        whole = pa.table({name: [repr(each) for each in whole[name].to_pylist()] for name in names})
        counted = whole.group_by(names).aggregate([([], "count_all")])
    if counted.num_rows == whole.num_rows:
        return
    several = counted.filter(pa.compute.greater(counted["count_all"], 1)).slice(0, 1).to_pylist()[0]
    raise duplicate_key({name: several[name] for name in names}, several["count_all"])


def duplicate_key(key: dict[str, Any], rows: int) -> InvalidInputError:
    """Build the error for a key that occurs in several source rows (code 13).

    Args:
        key: the key's columns and their values.
        rows: the number of rows.
    """
    shown = ", ".join(f"{name} = {str(value)[:_LONGEST_KEY]}" for name, value in key.items())
    return InvalidInputError(
        f"{rows} of the rows to merge have the key {shown}; send only one row per key"
    )


def merge_exclusively(
    dataset: Any,
    branch: str | None,
    uncommitted: Callable[[Any], tuple[Any, dict[str, Any]]],
    timeout: timedelta | None,
) -> dict[str, Any]:
    """Merge rows, preventing concurrent inserts of the same keys; return pylance's row counts.

    A merge that loses a race runs again on the newer version.

    Args:
        dataset: the ``lance.LanceDataset``; afterwards, it is at the new version.
        branch: its branch; defaults to the main one.
        uncommitted: merges into a dataset without committing; returns pylance's transaction and row
            counts.
        timeout: how long to retry.

    Raises:
        ConcurrentModificationError: code 14, another change was committed first in every attempt;
            nothing is merged.
    """
    onto = dataset
    for pause in pauses(timeout):
        transaction, counts = uncommitted(onto)
        try:
            follow(dataset, _commit(onto, transaction, claims=counts["num_inserted_rows"] > 0))
        except OSError as error:
            if may_be_committed(error) or not isinstance(
                from_lance(error, ""), ConcurrentModificationError
            ):
                raise
            if pause is None:
                raise ConcurrentModificationError(
                    "other changes to the table were committed first in every attempt; nothing "
                    "was merged, send the rows again"
                ) from error
            time.sleep(pause)
            onto = dataset.checkout_version((branch or None, None))
            continue
        return counts
    raise AssertionError("the last attempt returns or raises")


def pauses(timeout: timedelta | None = None) -> Iterator[float | None]:
    """For each attempt, yield the seconds to wait if it loses a race; None for the last attempt.

    Args:
        timeout: how long to start new attempts; defaults to 30 seconds.
    """
    deadline = time.monotonic() + (TIMEOUT if timeout is None else timeout).total_seconds()
    pause = _SHORTEST_PAUSE_SECONDS
    for _ in range(TRIES - 1):
        if time.monotonic() >= deadline:
            break
        yield pause * random.uniform(0.5, 1)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
    yield None


def _commit(dataset: Any, transaction: Any, *, claims: bool) -> Any:
    """Commit a merge and return the dataset at its new version; delete the new files on failure."""
    lance = load("lance")

    operation = transaction.operation
    if claims:
        operation.removed_fragment_ids = [*operation.removed_fragment_ids, CLAIMED_FRAGMENT]
    try:
        # If it retried more often, pylance would wait seconds in between; the caller runs the merge
        # again instead.
        return lance.LanceDataset.commit(dataset, transaction, max_retries=1)
    except Exception as error:
        if may_be_committed(error):
            raise
        before = {f.path for each in dataset.get_fragments() for f in each.metadata.files}
        changed = [*operation.updated_fragments, *operation.new_fragments]
        written = {file.path for each in changed for file in each.files} - before
        storage = TableStorage(location=dataset.uri, options=dataset.latest_storage_options() or {})
        delete_data_files(storage, written)
        raise
