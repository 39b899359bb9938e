"""Reads the rows of a file in batches."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError

from .failures import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Format", "RowFile", "row_file"]


class Format(StrEnum):
    """Formats of files with rows."""

    ARROW = "arrow"
    """Arrow IPC, as a file (Feather) or as a stream."""
    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    """One object per line."""
    JSONL = "jsonl"
    """The same format under its most common extension."""


_ONE_OF = "--format " + ", ".join(Format)
_ARROW_ENDINGS = (".arrow", ".arrows", ".feather", ".ipc")


class RowFile:
    """A file with rows, which can be read once.

    Columns have the same types as in ``import``.

    Args:
        path: the file.
        format: format of the file; by default, its extension determines it.

    Raises:
        UsageError: the file name has no known extension.
        InvalidInputError: code 13, the file cannot be read as Arrow.
        TableSchemaValidationError: code 20, the file cannot be read in its other format.
    """

    def __init__(self, path: Path, format: Format | None) -> None:
        import pyarrow as pa

        self.path = path
        self.format = format or _format_of(path)
        self.total: int | None = None
        """Number of rows in the file, if its metadata contains it."""
        self.rows = 0
        """Number of rows read so far."""
        self.on_rows: Callable[[int], None] | None = None
        """Called after each batch, with the number of rows read so far."""
        self.failure: LanceNamespaceError | None = None
        """The error at which reading stopped; the reader's consumer may report a different
        error.
        """
        try:
            self._schema, self._batches = self._open()
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(error) from error

    def reader(self) -> pa.RecordBatchReader:
        """Return the reader."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._schema, self._counted())

    def _open(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        return _open_arrow(self.path) if self.format is Format.ARROW else self._open_other()

    def _open_other(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        from ..ingest.readers import FORMATS, SourceFile
        from ..ingest.schema import agree

        if self.format is Format.PARQUET:
            self.total = _rows_of_parquet(self.path)
        kind = FORMATS["json" if self.format is Format.JSONL else self.format]
        reader = kind(kind.options_type())
        file = SourceFile(path=str(self.path.absolute()), size=self.path.stat().st_size)
        info = reader.inspect(file)
        schema = agree([info], reader, None, str(self.path))
        pieces = info.pieces(max(1, file.size))
        return schema, (batch for piece in pieces for batch in reader.read(piece, schema))

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
        except LanceNamespaceError as error:
            self.failure = error
            raise

    def _unreadable(self, error: Exception) -> InvalidInputError:
        return InvalidInputError(f"{self.path} cannot be read as {self.format}: {error}")


@contextmanager
def row_file(path: Path, format: Format | None) -> Iterator[RowFile]:
    """Open a file with rows; ``-`` is standard input, which is copied to a temporary file.

    Raises:
        UsageError: the format is not specified and cannot be inferred from the file name.
        LanceNamespaceError: see `RowFile`.
    """
    if str(path) != "-":
        yield RowFile(path, format)
        return
    if format is None:
        raise UsageError(f"--data -: the format is unknown; pass {_ONE_OF}")
    from tempfile import NamedTemporaryFile

    # CSV and JSON must be read twice, because the types of their values are not known before the
    # end.
    with NamedTemporaryFile(prefix="standard-input-") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield RowFile(Path(file.name), format)


def _format_of(path: Path) -> Format:
    from ..ingest.readers import format_of

    if path.name.lower().endswith(_ARROW_ENDINGS):
        return Format.ARROW
    if found := format_of(path.name):
        return Format(found)
    raise UsageError(f"--data {path}: the file name has no known extension; pass {_ONE_OF}")


def _rows_of_parquet(path: Path) -> int | None:
    """Return the number of rows in a file's footer, or None if the footer cannot be read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return None


def _open_arrow(path: Path) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow as pa

    from lance_namespace_client.arrow import FILE_MAGIC, read_file_stream
    from lance_namespace_client.ipc import open_checked

    with path.open("rb") as file:
        is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
        if is_file:
            # A truncated file would otherwise look like a complete but shorter file.
            file.seek(-len(FILE_MAGIC), os.SEEK_END)
            if file.read() != FILE_MAGIC:
                raise pa.ArrowInvalid("it is truncated")
    opened = path.open("rb")
    reader = read_file_stream(opened) if is_file else open_checked(opened)
    return reader.schema, iter(reader)
