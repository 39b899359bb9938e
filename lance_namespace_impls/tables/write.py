"""Writing rows: the streams go through, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lance_namespace_client.errors import InvalidInputError

from ..core.errors import first_line
from ..core.modes import InsertMode
from ..core.storage import TableStorage
from .dataset import open_dataset

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RowCount", "create", "insert"]


class RowCount:
    """Hands record batches on and counts their rows; a broken stream is the caller's fault."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self.rows = 0
        self._reader = reader
        self.failure: InvalidInputError | None = None

    def reader(self) -> pa.RecordBatchReader:
        """Give the reader to consume."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._reader.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            for batch in self._reader:
                self.rows += batch.num_rows
                yield batch
        except (pa.ArrowException, OSError) as error:
            # What pylance raises for it is not told apart from a failure of storage.
            self.failure = InvalidInputError(f"the Arrow stream breaks off: {first_line(error)}")
            self.failure.__cause__ = error
            raise self.failure from error


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
    return _write(storage, RowCount(reader), "overwrite" if overwrite else "create")


def insert(
    storage: TableStorage, reader: pa.RecordBatchReader, mode: InsertMode
) -> tuple[int, int]:
    """Add or replace rows; give the number of rows written and the new version.

    Raises:
        InvalidTableStateError: code 19, the table has no data yet.
        TableSchemaValidationError: code 20, the rows do not fit the table.
        InvalidInputError: code 13, the stream breaks off.
    """
    open_dataset(storage)
    counted = RowCount(reader)
    version = _write(storage, counted, mode.value)
    return counted.rows, version


def _write(storage: TableStorage, counted: RowCount, mode: str) -> int:
    import lance

    try:
        dataset = lance.write_dataset(
            counted.reader(),
            storage.location,
            mode=mode,
            storage_options=dict(storage.options) or None,
        )
    except Exception:
        if counted.failure is not None:
            raise counted.failure from counted.failure.__cause__
        raise
    return int(dataset.version)
