"""Writing rows: the streams go through, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableAlreadyExistsError,
)

from ..core.errors import first_line
from ..core.modes import InsertMode
from ..core.storage import TableStorage
from .errors import from_lance

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RowCount", "create", "insert"]


class RowCount:
    """Hands record batches on and counts their rows; a broken stream is the caller's fault."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self.rows = 0
        self._reader = reader
        self._failure: InvalidInputError | None = None

    def reader(self) -> pa.RecordBatchReader:
        """Give the reader to consume."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._reader.schema, self._batches())

    @contextmanager
    def blaming_stream(self) -> Iterator[None]:
        """Raise the stream's own failure, which pylance would not tell from one of storage."""
        try:
            yield
        except Exception:
            if self._failure is not None:
                raise self._failure from self._failure.__cause__
            raise

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            for batch in self._reader:
                self.rows += batch.num_rows
                yield batch
        except (pa.ArrowException, OSError) as error:
            self._failure = InvalidInputError(f"the Arrow stream breaks off: {first_line(error)}")
            self._failure.__cause__ = error
            raise self._failure from error


def create(storage: TableStorage, reader: pa.RecordBatchReader, *, overwrite: bool) -> int:
    """Write the first rows of a table and give the dataset's version.

    Args:
        storage: where the dataset goes.
        reader: the rows.
        overwrite: whether a dataset that is there is replaced, in one commit.

    Raises:
        TableAlreadyExistsError: code 5, there is a dataset and `overwrite` is false.
        InvalidInputError: code 13, the stream breaks off.
    """
    import lance

    counted = RowCount(reader)
    try:
        with counted.blaming_stream():
            dataset = lance.write_dataset(
                counted.reader(),
                storage.location,
                mode="overwrite" if overwrite else "create",
                storage_options=dict(storage.options) or None,
            )
    except OSError as error:
        conflict = from_lance(error, storage.location)
        if not overwrite and isinstance(conflict, ConcurrentModificationError):
            raise TableAlreadyExistsError(
                f"{storage.location}: another writer made the table first"
            ) from error
        raise
    return int(dataset.version)


def insert(dataset: Any, reader: pa.RecordBatchReader, mode: InsertMode) -> int:
    """Add or replace rows in one commit; give the number of rows written.

    Raises:
        TableSchemaValidationError: code 20, the rows do not fit the table.
        InvalidInputError: code 13, the stream breaks off.
    """
    counted = RowCount(reader)
    with counted.blaming_stream():
        dataset.insert(counted.reader(), mode=mode.value)
    return counted.rows
