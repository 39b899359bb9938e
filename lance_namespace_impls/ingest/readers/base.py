"""What all formats of files share.

A file is looked at once (`Format.inspect`: which columns and types it has, and how it can be divided)
and then read in the schema of the whole import (`Format.read`), both on workers.
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
from ...distributed.columns import compatible
from ...distributed.failures import protocol_error
from ...distributed.options import choice, option, whole_number
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
        doc="Arrow types of columns, such as 'zip:string, vector:float32[768]', else as found"
    )
    missing: str | None = option(
        read=choice("error", "null"),
        doc="what a column is that a file lacks, else error (CSV, Parquet) or null (JSON)",
    )
    rows_per_file: int = option(
        1 << 20, read=whole_number(1, MAX_ROWS_PER_FILE), doc="most rows in one data file"
    )
    task_bytes: int | None = option(
        read=whole_number(1),
        doc="bytes of files that one task reads, else 8 to 128 MiB, to keep all cores busy",
    )


@frozen(kw_only=True)
class TextOptions(ImportOptions):
    """Options of text files."""

    max_row_bytes: int = option(
        128 << 20,
        read=whole_number(1, MAX_ROW_BYTES),
        doc="bytes of the longest row; a row needs about six times its size in memory",
    )


@frozen(kw_only=True)
class Piece:
    """A part of a file that is read in one go."""

    file: SourceFile
    size: int
    """Bytes, about."""
    start: int = 0
    """Text: lines that start from this byte on."""
    end: int | None = None
    """Text: lines that start before this byte; None is the end of the file."""
    row_groups: Sequence[int] = ()
    """Parquet: the row groups."""
    int96_unit: str | None = None
    """Parquet: unit that timestamps of the type INT96 are read in; None where there are none."""
    columns: Sequence[str] = ()
    """CSV: the columns of the file, in order."""
    one_line_each: bool = False
    """CSV: whether no value holds a line break."""


@frozen(kw_only=True)
class FileInfo:
    """What was found in a file."""

    file: SourceFile
    schema: pa.Schema
    """Columns in the file's order; of type null where it has no values for them."""
    divisible: bool = False
    """Text: whether it can be cut anywhere between lines."""
    one_line_each: bool = False
    """CSV: whether no value holds a line break."""
    row_groups: Sequence[int] = field(factory=tuple)
    """Parquet: bytes of each row group."""
    int96_unit: str | None = None
    """Parquet: unit that timestamps of the type INT96 are read in; None where there are none."""

    def pieces(self, max_bytes: int) -> list[Piece]:
        """Divide the file into pieces of about `max_bytes`, where it can be."""
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
    """Part a sequence into runs of at most `most` together, where one alone is not more."""
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
    """One format of files.

    Args:
        options: the format's options.
    """

    options_type: ClassVar[type[ImportOptions]] = ImportOptions
    default_missing: ClassVar[str] = "error"
    """What a column is that a file lacks, unless the option ``missing`` says."""

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def inspect(self, file: SourceFile) -> FileInfo:
        """Find out what is in a file.

        Raises:
            TableSchemaValidationError: code 20, it is not of this format; the message names it.
        """

    @abstractmethod
    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read a piece in a schema.

        Args:
            piece: the part of a file.
            schema: the schema of the rows.
            exact: columns of which no number may lose digits.

        Raises:
            TableSchemaValidationError: code 20, a value does not fit; the message names file and
                column.
        """

    @abstractmethod
    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type that values of `kind` are read in, or None where they cannot be."""

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Return whether values that look like one type may be read as another.

        Each value is checked when it is read.
        """
        carrier = self.carrier(wanted)
        return carrier is not None and compatible(found, carrier)

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Return the type that holds values of both, or None where there is none."""
        if one == other:
            return one
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            return None

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Return the type of a table's column for the type that was found in all files together."""
        return kind

    def described(self, files: Sequence[SourceFile]) -> dict[str, str]:
        """Return how files are read, for whoever is to check it before an import."""
        return {}

    def shown(self, kind: pa.DataType) -> str:
        """Return the name, for messages, of a type that was found."""
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
    """Translate a failure to read a file to an error that names it, and column and row if known.

    Args:
        file: the file.
        columns: the columns that are read, in their order.
        rows_before: returns the rows of the file before those in which Arrow counts.

    Raises:
        TableSchemaValidationError: code 20, the content of the file does not fit.
        LanceNamespaceError: another code, it could not be read.
    """
    try:
        yield
    except TableSchemaValidationError as error:
        raise TableSchemaValidationError(f"{file.name}: {error.message}") from error
    # What Arrow cannot read of a file, such as an encoding of Parquet, shows only as it is read.
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeError) as error:
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
                f"{file.name}: the file is damaged or cut off: {first_line(error)}"
            ) from error
        raise protocol_error(error, f"reading {file.name}") from error


def _is_damage(error: OSError, file: SourceFile) -> bool:
    """Return whether what was read is wrong, rather than that it could not be read."""
    return error.errno is None and (file.store is None or bool(_DAMAGE.search(str(error))))


def row_too_long(row: int, size: int, most: int) -> TableSchemaValidationError:
    """Return the error of a row that has more bytes than the option ``max_row_bytes`` allows."""
    return TableSchemaValidationError(
        f"row {row} is at least {size:,} bytes long, more than the {most:,} that the option "
        "max_row_bytes allows; set it higher"
    )


def named_once(names: Sequence[str]) -> None:
    """Refuse two columns of one name (code 20)."""
    for name, times in Counter(names).items():
        if times > 1:
            raise TableSchemaValidationError(f"there are {times} columns {name!r}")
