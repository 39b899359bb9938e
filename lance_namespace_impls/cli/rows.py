"""Rows of a file, a batch at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace_client.errors import InvalidInputError

from .failures import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Format", "RowFile"]


class Format(StrEnum):
    """What a file of rows holds."""

    ARROW = "arrow"
    """Arrow IPC, as a file (Feather) or as a stream."""
    PARQUET = "parquet"
    CSV = "csv"


_ENDINGS = {
    ".arrow": Format.ARROW,
    ".arrows": Format.ARROW,
    ".feather": Format.ARROW,
    ".ipc": Format.ARROW,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".csv": Format.CSV,
    ".csv.gz": Format.CSV,
    ".csv.zst": Format.CSV,
}


class RowFile:
    """A file of rows, opened for one pass.

    Args:
        path: the file.
        format: what it holds; unless given, its name tells.

    Raises:
        UsageError: the name does not tell the format.
        InvalidInputError: code 13, the file cannot be read as that format.
    """

    def __init__(self, path: Path, format: Format | None) -> None:
        import pyarrow as pa

        self.path = path
        self.format = format or _format_of(path)
        self.total: int | None = None
        """Rows in the file, where its metadata tells."""
        self.rows = 0
        """Rows read so far."""
        self.on_rows: Callable[[int], None] | None = None
        """Is called with the number of rows read so far, after each batch."""
        self.failure: InvalidInputError | None = None
        """What broke the reading off; the reader's consumer may report it as something else."""
        try:
            self._schema, self._batches = self._open()
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    def reader(self) -> pa.RecordBatchReader:
        """Give the reader to consume."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._schema, self._counted())

    def _open(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        match self.format:
            case Format.PARQUET:
                from pyarrow import parquet

                from lance_namespace_client._ipc import validated

                file = parquet.ParquetFile(self.path)
                self.total = file.metadata.num_rows
                # Parquet may hold text that is not UTF-8, which nothing else would notice.
                return file.schema_arrow, validated(file.iter_batches())
            case Format.CSV:
                from pyarrow import csv

                reader = csv.open_csv(self.path)
                return reader.schema, iter(reader)
            case Format.ARROW:
                return _open_arrow(self.path)

    def _counted(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            for batch in self._batches:
                self.rows += batch.num_rows
                if self.on_rows is not None:
                    self.on_rows(self.rows)
                yield batch
        except (pa.ArrowException, OSError) as error:
            self.failure = self._unreadable(error)
            raise

    def _unreadable(self, error: Exception) -> InvalidInputError:
        return InvalidInputError(f"{self.path} cannot be read as {self.format}: {error}")


def _format_of(path: Path) -> Format:
    name = path.name.lower()
    for ending, format in _ENDINGS.items():
        if name.endswith(ending):
            return format
    raise UsageError(f"--data {path}: the name does not tell the format; give --format")


def _open_arrow(path: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow as pa

    from lance_namespace_client._arrow import FILE_MAGIC, read_file_stream
    from lance_namespace_client._ipc import open_checked

    with path.open("rb") as file:
        is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
        if is_file:
            # A file that is cut off would read like one that is shorter.
            file.seek(-len(FILE_MAGIC), os.SEEK_END)
            if file.read() != FILE_MAGIC:
                raise pa.ArrowInvalid("it is cut off")
    opened = path.open("rb")
    reader = read_file_stream(opened) if is_file else open_checked(opened)
    return reader.schema, iter(reader)
