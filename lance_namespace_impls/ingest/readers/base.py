"""The common base of all file formats.

Workers first inspect each file (`Format.inspect`) to find its columns, their types and the possible
divisions. They then read it in the common schema of the import (`Format.read`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pyarrow as pa
from attrs import field, frozen

from lance_namespace_client.errors import TableSchemaValidationError

from ...core.errors import first_line
from ...distributed.casts import MISFITS
from ...distributed.columns import compatible
from ...distributed.failures import protocol_error
from ...distributed.options import choice, option, whole_number, yes_no
from ...distributed.write_plan import FORMAT_VERSIONS, FileOptions
from ..sources import SourceFile

__all__ = [
    "FileInfo",
    "Format",
    "ImportOptions",
    "Piece",
    "TextOptions",
    "named_once",
    "refused",
    "row_too_long",
]

MAX_ROWS_PER_FILE = 1 << 32
MAX_ROW_BYTES = 1 << 30


@frozen(kw_only=True)
class ImportOptions:
    """Options of every import."""

    types: str | None = option(
        doc="Arrow types of columns, such as 'zip:string, vector:float32[768]'; inferred by default"
    )
    missing: str | None = option(
        read=choice("error", "null"),
        doc="handling of columns that a file lacks; defaults to error (CSV, Parquet) or "
        "null (JSON)",
    )
    rows_per_file: int = option(
        1 << 20,
        read=whole_number(1, MAX_ROWS_PER_FILE),
        doc="maximum number of rows in a data file",
    )
    bytes_per_file: int | None = option(
        read=whole_number(1), doc="approximate maximum size of a data file in bytes"
    )
    data_storage_version: str | None = option(
        read=choice(*FORMAT_VERSIONS),
        doc="version of the file format of a new table: 2.0, 2.1, 2.2 or stable (the default)",
    )
    stable_row_ids: bool | None = option(
        read=yes_no,
        doc="whether rows of a new table keep their ids when they are updated or compacted; "
        "defaults to false",
    )
    merge_schema: bool = option(
        False,
        read=yes_no,
        doc="whether an append adds columns that the table lacks; they become nullable",
    )
    task_bytes: int | None = option(
        read=whole_number(1),
        doc="bytes of files that one task reads; defaults to 8 to 128 MiB, so that all "
        "cores are used",
    )

    def files(self) -> FileOptions:
        """Return how the import stores rows."""
        return FileOptions(
            rows=self.rows_per_file,
            bytes=self.bytes_per_file,
            data_storage_version=self.data_storage_version,
            stable_row_ids=self.stable_row_ids,
        )


@frozen(kw_only=True)
class TextOptions(ImportOptions):
    """Options of text files."""

    max_row_bytes: int = option(
        128 << 20,
        read=whole_number(1, MAX_ROW_BYTES),
        doc="maximum size of a row in bytes; reading a row needs about six times its "
        "size in memory",
    )


@frozen(kw_only=True)
class Piece:
    """A part of a file that one task reads as a whole."""

    file: SourceFile
    size: int
    """Approximate size in bytes."""
    start: int = 0
    """Text: lines that start at or after this byte."""
    end: int | None = None
    """Text: lines that start before this byte; None for the end of the file."""
    row_groups: Sequence[int] = ()
    """Parquet: the row groups."""
    int96_unit: str | None = None
    """Parquet: unit for reading INT96 timestamps; None if there are none."""
    columns: Sequence[str] = ()
    """CSV: the columns of the file, in order."""
    one_line_each: bool = False
    """CSV: whether no value contains a line break."""


@frozen(kw_only=True)
class FileInfo:
    """Description of a file, found by inspecting it."""

    file: SourceFile
    schema: pa.Schema
    """Columns in the file's order; a column without values has the type null."""
    divisible: bool = False
    """Text: whether the file can be divided between any two lines."""
    one_line_each: bool = False
    """CSV: whether no value contains a line break."""
    row_groups: Sequence[int] = field(factory=tuple)
    """Parquet: size of each row group in bytes."""
    int96_unit: str | None = None
    """Parquet: unit for reading INT96 timestamps; None if there are none."""

    def pieces(self, max_bytes: int) -> list[Piece]:
        """Divide the file into pieces of about `max_bytes`, if it is divisible."""
        if self.row_groups:
            return [
                Piece(
                    file=self.file,
                    size=sum(self.row_groups[i] for i in run),
                    row_groups=run,
                    int96_unit=self.int96_unit,
                )
                for run in _runs(self.row_groups, max_bytes)
            ]
        if not self.schema.names:
            return []
        size = self.file.size
        count = -(-size // max_bytes) if self.divisible else 1
        cuts = [size * number // count for number in range(count)]
        ends: list[int | None] = [*cuts[1:], None]
        return [
            Piece(
                file=self.file,
                size=size // count,
                start=start,
                end=end,
                columns=self.schema.names,
                one_line_each=self.one_line_each,
            )
            for start, end in zip(cuts, ends, strict=True)
        ]


def _runs(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Divide a sequence into runs with a sum of at most `most`; a larger element is its own run."""
    runs: list[list[int]] = []
    room = 0
    for index, size in enumerate(sizes):
        if not runs or size > room:
            runs.append([])
            room = most
        runs[-1].append(index)
        room -= size
    return runs


class Format(ABC):
    """A file format.

    Args:
        options: the format's options.
    """

    options_type: ClassVar[type[ImportOptions]] = ImportOptions
    default_missing: ClassVar[str] = "error"
    """Default of the option ``missing``: handling of a column that a file lacks."""

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def inspect(self, file: SourceFile) -> FileInfo:
        """Return a description of a file.

        Raises:
            TableSchemaValidationError: code 20, the file does not have this format; the message
                names it.
        """

    @abstractmethod
    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read a piece in a schema.

        Args:
            piece: the part of a file.
            schema: the schema of the rows.
            exact: columns whose numbers must keep all digits.

        Raises:
            TableSchemaValidationError: code 20, a value does not fit; the message names the file
                and the column.
        """

    @abstractmethod
    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type for parsing values of `kind`, or None if they cannot be parsed."""

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Return whether values of the found type may be read as the wanted type.

        Each value is checked when it is read.
        """
        carrier = self.carrier(wanted)
        return carrier is not None and compatible(found, carrier)

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Return the common type of two types, or None if there is none."""
        if one == other:
            return one
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            return None

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Return the column type of the table for the common type of all files."""
        return kind

    def described(self, files: Sequence[SourceFile]) -> dict[str, str]:
        """Return the settings for reading files, for review before an import."""
        return {}

    def shown(self, kind: pa.DataType) -> str:
        """Return the name of a found type for messages."""
        return str(kind)


_CSV_COLUMN = re.compile(r"In CSV column #(\d+): ")
_CSV_ROW = re.compile(r"Row #(\d+): ")
_DAMAGE = re.compile(r"compress|[Cc]orrupt|thrift|Unexpected end|Invalid")
_JSON_COLUMN = re.compile(r"Column\(/([^)]*)\)")
_JSON_ROW = re.compile(r" in row (\d+)$")


def _no_rows() -> int:
    return 0


@contextmanager
def refused(
    file: SourceFile, columns: Sequence[str] = (), rows_before: Callable[[], int] = _no_rows
) -> Iterator[None]:
    """Translate a read failure into an error that names the file, and the column and row if known.

    Args:
        file: the file.
        columns: the columns that are read, in order.
        rows_before: returns the number of rows before those that Arrow counts.

    Raises:
        TableSchemaValidationError: code 20, the content of the file does not fit.
        LanceNamespaceError: another code, the file could not be read.
    """
    try:
        yield
    except TableSchemaValidationError as error:
        raise TableSchemaValidationError(f"{file.name}: {error.message}") from error
    # Arrow reports unsupported content, such as a Parquet encoding, only during the read.
    except (*MISFITS, UnicodeError) as error:
        text = first_line(error)
        if match := _CSV_COLUMN.search(text):
            text = f"column {columns[int(match[1])]}: {_CSV_COLUMN.sub('', text)}"
        if match := _CSV_ROW.search(text):
            text = _CSV_ROW.sub(f"Row #{int(match[1]) + rows_before()}: ", text)
        if match := _JSON_ROW.search(text):
            text = _JSON_ROW.sub(f" in row {int(match[1]) + 1 + rows_before()}", text)
        if match := _JSON_COLUMN.search(text):
            text = f"column {match[1].replace('/', '.')}: {text}"
        raise TableSchemaValidationError(f"{file.name}: {text}") from error
    except OSError as error:
        if _is_damage(error, file):
            raise TableSchemaValidationError(
                f"{file.name}: the file is damaged or truncated: {first_line(error)}"
            ) from error
        raise protocol_error(error, f"reading {file.name}") from error


def _is_damage(error: OSError, file: SourceFile) -> bool:
    """Return whether an error means damaged content rather than a failed read."""
    return error.errno is None and (file.store is None or bool(_DAMAGE.search(str(error))))


def row_too_long(row: int, size: int, most: int) -> TableSchemaValidationError:
    """Return the error for a row that exceeds the option ``max_row_bytes``."""
    return TableSchemaValidationError(
        f"row {row} has at least {size:,} bytes, more than the limit of {most:,}; raise "
        "the option max_row_bytes"
    )


def named_once(names: Sequence[str]) -> None:
    """Reject duplicate column names (code 20)."""
    for name, times in Counter(names).items():
        if times > 1:
            raise TableSchemaValidationError(f"the file has {times} columns named {name!r}")
