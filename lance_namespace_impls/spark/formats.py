"""Reads CSV, JSON and Parquet files with Arrow, on the workers of an import.

A file is looked at once (`look`: which columns and types it has, and how it can be divided) and
then read in the schema of the whole import (`read`).
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pyarrow as pa
from attrs import field, frozen
from pyarrow import csv as pa_csv
from pyarrow import json as pa_json
from pyarrow import parquet
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

from ..core.errors import first_line
from .columns import cast_batch, compatible, is_list
from .options import character, choice, name_list, option, whole_number, yes_no
from .sources import COMPRESSED, SourceFile, open_filesystem

__all__ = ["CsvFormat", "Format", "ImportOptions", "JsonFormat", "Look", "ParquetFormat", "Piece"]

BLOCK_BYTES = 8 << 20
BATCH_ROWS = 64 << 10


@frozen(kw_only=True)
class ImportOptions:
    """Options of every import."""

    types: str | None = option(
        doc="Arrow types of columns, such as 'zip:string, vector:float32[768]', else as found"
    )
    missing: str | None = option(
        read=choice("error", "null"),
        doc="whether a column that a file lacks is an error (CSV, Parquet) or null (JSON)",
    )
    rows_per_file: int = option(1 << 20, read=whole_number(1), doc="most rows in one data file")
    task_bytes: int | None = option(
        read=whole_number(1),
        doc="bytes of files that one task reads, else 8 to 128 MiB, to keep all cores busy",
    )


@frozen(kw_only=True)
class CsvOptions(ImportOptions):
    """Options of CSV files."""

    header: bool = option(True, read=yes_no, doc="whether the first line names the columns")
    names: tuple[str, ...] = option(
        (),
        read=name_list,
        doc="names of the columns, in the place of the header's or for want of one",
    )
    delimiter: str | None = option(
        read=character, doc="what parts the values, else a comma, or a tabulator in .tsv files"
    )
    quote: str = option('"', read=character, doc="what a value with a delimiter is wrapped in")
    escape: str | None = option(read=character, doc="what takes the meaning of the next character")
    nulls: tuple[str, ...] = option(
        (), read=name_list, doc="texts that stand for null, such as 'NA', besides the empty one"
    )
    encoding: str = option("utf8", doc="encoding of the text")


@frozen(kw_only=True)
class Piece:
    """A part of a file that is read in one go."""

    path: str
    size: int
    """Bytes, about."""
    start: int = 0
    """Text: lines that start from this byte on."""
    end: int | None = None
    """Text: lines that start before this byte; None is the end of the file."""
    row_groups: Sequence[int] | None = None
    """Parquet: the row groups; None for text."""


@frozen(kw_only=True)
class Look:
    """What was found in a file."""

    path: str
    size: int
    schema: pa.Schema
    """Columns in the file's order; of type null where it has no values for them."""
    divisible: bool = False
    """Text: whether every line is a row, so that it can be cut anywhere between lines."""
    row_groups: Sequence[int] = field(factory=tuple)
    """Parquet: bytes of each row group."""

    def pieces(self, most_bytes: int) -> list[Piece]:
        """Divide the file into pieces of about `most_bytes`, where it can be."""
        if self.row_groups:
            return [
                Piece(path=self.path, size=sum(self.row_groups[i] for i in run), row_groups=run)
                for run in _runs(self.row_groups, most_bytes)
            ]
        if not self.schema.names:
            return []
        count = -(-self.size // most_bytes) if self.divisible else 1
        cuts = [self.size * number // count for number in range(count)]
        ends: list[int | None] = [*cuts[1:], None]
        return [
            Piece(path=self.path, size=self.size // count, start=start, end=end)
            for start, end in zip(cuts, ends, strict=True)
        ]


def _runs(sizes: Sequence[int], most: int) -> list[list[int]]:
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
    """What a column that a file lacks is, unless the option ``missing`` says."""

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def look(self, file: SourceFile) -> Look:
        """Find out what is in a file.

        Raises:
            TableSchemaValidationError: code 20, it is not of this format; the message names it.
        """

    @abstractmethod
    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read a piece in a schema.

        Raises:
            TableSchemaValidationError: code 20, a value does not fit; the message names file and
                column.
        """

    @abstractmethod
    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Give the type that values of `kind` are read in, or None where they cannot be."""

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Say whether values that look like one type may be read as another.

        Each value is checked when it is read.
        """
        carrier = self.carrier(wanted)
        return carrier is not None and compatible(found, carrier)

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Give the type that holds values of both, or None where there is none."""
        if one == other:
            return one
        schemas = [pa.schema([("", kind)]) for kind in (one, other)]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        except (pa.ArrowTypeError, pa.ArrowInvalid):
            return None

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Give the type of a table's column for the type that was found in all files together."""
        return kind


class ParquetFormat(Format):
    """Parquet files: divided by row groups."""

    def look(self, file: SourceFile) -> Look:
        """Read the footer."""
        with refused(file.path), _open(file.path) as source:
            metadata = parquet.ParquetFile(source).metadata
        groups = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
        schema = metadata.schema.to_arrow_schema().remove_metadata()
        return Look(path=file.path, size=file.size, schema=schema, row_groups=groups)

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read row groups, a batch at a time."""
        with refused(piece.path), _open(piece.path) as source:
            file = parquet.ParquetFile(source, pre_buffer=True)
            for batch in file.iter_batches(BATCH_ROWS, row_groups=list(piece.row_groups or ())):
                yield cast_batch(batch, schema)

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Parquet files say themselves what type their values are read in."""
        return kind


class _LineFormat(Format):
    """Text with a row a line."""

    def divisible(self, file: SourceFile) -> bool:
        """Say whether a range of bytes can be read without what is before it."""
        return not file.path.lower().endswith(COMPRESSED)


class _EmptyFile(Exception):
    """There is not one line in a CSV file."""


class CsvFormat(_LineFormat):
    """CSV files.

    A type is what all values of a column have in common: whole numbers, numbers, dates, times,
    moments, true and false, else text. A column without any value is text.
    """

    options_type = CsvOptions
    options: CsvOptions

    def look(self, file: SourceFile) -> Look:
        """Read the whole file and see which types its values could have."""
        names = self._names(file.path)
        types = dict.fromkeys(names, pa.null())
        one_line_each = True
        with refused(file.path, names), _open(file.path) as source:
            text = dict.fromkeys(names, pa.string())
            lines = self._lines(source)
            for batch in self._batches(lines, file.path, names, self.options.header, text):
                one_line_each = one_line_each and not _has_line_breaks(batch)
                for name, found in zip(names, self._types_in(batch), strict=True):
                    types[name] = self.unify(types[name], found) or pa.string()
        divisible = one_line_each and self.options.encoding in ("utf8", "utf-8")
        return Look(
            path=file.path,
            size=file.size,
            schema=pa.schema(types.items()),
            divisible=divisible and self.divisible(file),
        )

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Parse a range of lines, a block at a time."""
        names = self._names(piece.path)
        wanted = {
            name: self.carrier(schema.field(name).type) for name in names if name in schema.names
        }
        with (
            refused(piece.path, list(wanted), from_first_row=piece.start == 0),
            _open(piece.path) as source,
        ):
            lines = self._lines(source, piece.start, piece.end)
            has_header = self.options.header and piece.start == 0
            for batch in self._batches(lines, piece.path, names, has_header, wanted):
                yield cast_batch(batch, schema)

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Give the type that Arrow's parser reads in the place of one that it cannot."""
        if isinstance(kind, pa.BaseExtensionType):
            return pa.string() if kind.extension_name == "arrow.json" else None
        if is_list(kind) or is_.is_nested(kind):
            return None
        return pa.float32() if is_.is_float16(kind) else kind

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Say whether there is a parser for a type: whether the values are such, it will tell."""
        return self.carrier(wanted) is not None

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Give the type that both can be parsed as; a date is a moment at midnight too."""
        if is_.is_date32(one) and is_.is_timestamp(other) and other.tz is None:
            return other
        if is_.is_date32(other) and is_.is_timestamp(one) and one.tz is None:
            return one
        return super().unify(one, other) or pa.string()

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Text where there was no value; moments in microseconds, or finer."""
        if is_.is_null(kind):
            return pa.string()
        return pa.timestamp("us", kind.tz) if is_.is_timestamp(kind) and kind.unit == "s" else kind

    def _names(self, path: str) -> list[str]:
        """Give the names of a file's columns; none where the file is empty."""
        with refused(path), _open(path) as source:
            try:
                with self._open_csv(
                    self._lines(source), path, autogenerate_column_names=not self.options.header
                ) as reader:
                    header = list(reader.schema.names)
            except _EmptyFile:
                return []
            names = list(self.options.names) or header
            if len(names) != len(header):
                raise TableSchemaValidationError(
                    f"there are {len(header)} columns, and {len(names)} names were given for them"
                )
            for name in names:
                if names.count(name) > 1:
                    raise TableSchemaValidationError(f"there are two columns {name!r}")
            return names

    def _lines(self, source: Any, start: int = 0, end: int | None = None) -> pa.PythonFile:
        """Give a range of lines; the last one ends too, without which Arrow stumbles."""
        line_end = "\n".encode(self.options.encoding)
        lines = _Lines(source, start, end, line_end if line_end == b"\n" else b"")
        return pa.PythonFile(lines, mode="r")

    def _batches(
        self,
        source: Any,
        path: str,
        names: Sequence[str],
        has_header: bool,
        types: Mapping[str, Any],
    ) -> Iterator[pa.RecordBatch]:
        """Parse columns as types; as text, everything is kept as it is.

        Args:
            source: the file, or lines of it.
            path: of the file.
            names: all columns.
            has_header: whether the first row is not a row.
            types: the columns to read, and their types.
        """
        convert = pa_csv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types),
            null_values=["", *self.options.nulls],
            strings_can_be_null=True,
        )
        try:
            reader = self._open_csv(
                source,
                path,
                convert,
                column_names=list(names),
                skip_rows_after_names=int(has_header),
            )
        except _EmptyFile:
            return
        with reader:
            yield from reader

    def _open_csv(
        self, source: Any, path: str, convert: pa_csv.ConvertOptions | None = None, **read: Any
    ) -> pa_csv.CSVStreamingReader:
        options = self.options
        try:
            return pa_csv.open_csv(
                source,
                read_options=pa_csv.ReadOptions(
                    use_threads=False,  # one core a worker; errors then tell the row
                    block_size=BLOCK_BYTES,
                    encoding=options.encoding,
                    **read,
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=options.delimiter or ("\t" if ".tsv" in path.lower() else ","),
                    quote_char=options.quote,
                    escape_char=options.escape or False,
                    newlines_in_values=True,
                ),
                convert_options=convert,
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                raise _EmptyFile from error
            raise

    def _types_in(self, batch: pa.RecordBatch) -> list[pa.DataType]:
        """Give the type of each column of text, by having Arrow parse it once more."""
        columns = [str(index) for index in range(batch.num_columns)]
        text = io.BytesIO()
        pa_csv.write_csv(
            batch.rename_columns(columns), text, pa_csv.WriteOptions(include_header=False)
        )
        found = _parsed(text.getbuffer(), columns, self.options.nulls, {})
        moments = [f for f in found if is_.is_timestamp(f.type) and f.type.unit == "ns"]
        microseconds = {f.name: pa.timestamp("us", f.type.tz) for f in moments}
        for name, kind in microseconds.items():
            try:
                found = found.set(
                    int(name),
                    _parsed(text.getbuffer(), columns, self.options.nulls, {name: kind}).field(
                        name
                    ),
                )
            except pa.ArrowInvalid:
                continue  # more than six digits after the point
        return [f.type for f in found]


def _parsed(
    text: memoryview, columns: Sequence[str], nulls: Sequence[str], types: Mapping[str, Any]
) -> pa.Schema:
    table = pa_csv.read_csv(
        pa.BufferReader(text),
        read_options=pa_csv.ReadOptions(
            use_threads=False, block_size=len(text) + 1, column_names=list(columns)
        ),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            null_values=["", *nulls],
            strings_can_be_null=True,
            # Arrow's own lists hold 1 and 0 too, which are numbers as long as nobody says more.
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            column_types=dict(types),
        ),
    )
    return table.schema


def _has_line_breaks(batch: pa.RecordBatch) -> bool:
    """Say whether a value holds a line break, looking at the bytes of all values at once."""
    buffers = [buffer for column in batch.columns for buffer in column.buffers()[2:]]
    return any(buffer is not None and _LINE_BREAK.search(buffer) for buffer in buffers)


class JsonFormat(_LineFormat):
    """JSON lines: an object a line.

    Dates and times are text in JSON, and text here unless the option ``types`` says otherwise.
    A column without any value is text.
    """

    default_missing = "null"

    def look(self, file: SourceFile) -> Look:
        """Read the whole file and unify the types of its objects."""
        schema = pa.schema([])
        with refused(file.path), _open(file.path) as source:
            for block in _Lines(source).blocks():
                found = _without_moments(self._parse(block).schema)
                schema = self._merge(schema, found)
        return Look(path=file.path, size=file.size, schema=schema, divisible=self.divisible(file))

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Parse a range of lines, a block at a time."""
        carriers = pa.schema([(f.name, self.carrier(f.type)) for f in schema])
        with refused(piece.path), _open(piece.path) as source:
            for block in _Lines(source, piece.start, piece.end).blocks():
                for batch in self._parse(block, carriers).to_batches():
                    yield cast_batch(batch, schema)

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Give the type that Arrow's parser reads in the place of one that it cannot."""
        if isinstance(kind, pa.BaseExtensionType):
            return pa.string() if kind.extension_name == "arrow.json" else None
        if is_.is_dictionary(kind):
            return self.carrier(kind.value_type)
        if is_list(kind):
            item = self.carrier(kind.value_type)
            return item and pa.list_(item)
        if is_.is_struct(kind):
            children = [(child.name, self.carrier(child.type)) for child in kind]
            return None if any(k is None for _, k in children) else pa.struct(children)
        if is_.is_map(kind):
            return None
        if is_.is_date(kind) or is_.is_time(kind):
            return pa.string()
        if is_.is_fixed_size_binary(kind):
            return pa.binary()
        if is_.is_duration(kind):
            return pa.int64()
        return pa.float32() if is_.is_float16(kind) else kind

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Say whether values may be parsed as a type; text may be a moment, a decimal or bytes."""
        if super().fits(found, wanted):
            return True
        return is_.is_string(found) and bool(
            is_.is_timestamp(wanted)
            or is_.is_decimal(wanted)
            or is_.is_binary(wanted)
            or is_.is_large_binary(wanted)
            or is_.is_fixed_size_binary(wanted)
        )

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Text where there was no value."""
        if is_.is_null(kind):
            return pa.string()
        if is_.is_struct(kind):
            return pa.struct([(child.name, self.settled(child.type)) for child in kind])
        return pa.list_(self.settled(kind.value_type)) if is_.is_list(kind) else kind

    def _parse(self, block: bytes, schema: pa.Schema | None = None) -> pa.Table:
        return pa_json.read_json(
            pa.BufferReader(block),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pa_json.ParseOptions(
                explicit_schema=schema,
                unexpected_field_behavior="infer" if schema is None else "error",
            ),
        )

    def _merge(self, schema: pa.Schema, found: pa.Schema) -> pa.Schema:
        for column in found:
            index = schema.get_field_index(column.name)
            if index < 0:
                schema = schema.append(column)
                continue
            kind = self.unify(schema.field(index).type, column.type)
            if kind is None:
                raise TableSchemaValidationError(
                    f"column {column.name}: some values are {schema.field(index).type}, others "
                    f"{column.type}"
                )
            schema = schema.set(index, column.with_type(kind))
        return schema


def _without_moments(schema: pa.Schema) -> pa.Schema:
    """Arrow takes text that looks like a moment for one, and drops its zone."""

    def text(kind: pa.DataType) -> pa.DataType:
        if is_.is_timestamp(kind):
            return pa.string()
        if is_.is_struct(kind):
            return pa.struct([(child.name, text(child.type)) for child in kind])
        return pa.list_(text(kind.value_type)) if is_.is_list(kind) else kind

    return pa.schema([(column.name, text(column.type)) for column in schema])


BY_NAME: Mapping[str, type[Format]] = {
    "csv": CsvFormat,
    "json": JsonFormat,
    "parquet": ParquetFormat,
}


@contextmanager
def _open(path: str) -> Iterator[Any]:
    """Open a file; compressed text is decompressed, and only that cannot be searched in."""
    filesystem, inner = open_filesystem(path)
    if path.lower().endswith(COMPRESSED):
        source = filesystem.open_input_stream(inner, compression="detect")
    else:
        source = filesystem.open_input_file(inner)
    with source:
        yield source


_LINE_BREAK = re.compile(rb"[\r\n]")
_CSV_COLUMN = re.compile(r"In CSV column #(\d+): ")
_ROW = re.compile(r"Row #\d+: ")
_JSON_COLUMN = re.compile(r"Column\(/([^)]*)\)")


@contextmanager
def refused(
    path: str, columns: Sequence[str] = (), *, from_first_row: bool = True
) -> Iterator[None]:
    """Turn what is wrong with a file into one error that names it, and the column (code 20).

    Args:
        path: the file.
        columns: the columns that are read, in their order.
        from_first_row: whether the numbers of rows in Arrow's messages are those of the file.
    """
    try:
        yield
    except TableSchemaValidationError as error:
        raise TableSchemaValidationError(f"{path}: {error.message}") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeError) as error:
        text = first_line(error)
        if match := _CSV_COLUMN.search(text):
            text = f"column {columns[int(match[1])]}: {_CSV_COLUMN.sub('', text)}"
        if not from_first_row:
            text = _ROW.sub("", text)
        if match := _JSON_COLUMN.search(text):
            text = f"column {match[1].replace('/', '.')}: {text}"
        raise TableSchemaValidationError(f"{path}: {text}") from error


def _line_start(source: Any, position: int) -> int:
    """Give where the first line starts that does not start before `position`."""
    if position == 0:
        return 0
    source.seek(position - 1)
    while block := bytes(source.read(BLOCK_BYTES)):
        found = block.find(b"\n")
        if found >= 0:
            return int(source.tell()) - len(block) + found + 1
    return int(source.tell())


class _Lines(io.RawIOBase):
    """The lines that start in a range of bytes, as a file.

    Args:
        source: the file; it need not be searchable for the range from 0 to None.
        start: first byte of the range.
        end: first byte after it; None is the end of the file.
        line_end: what to add where the last line of the file has none.
    """

    def __init__(
        self, source: Any, start: int = 0, end: int | None = None, line_end: bytes = b""
    ) -> None:
        first = _line_start(source, start)
        self._left = None if end is None else _line_start(source, end) - first
        self._source = source
        self._line_end = line_end
        self._chunks = self._read_chunks()
        self._rest = b""
        if start or end is not None:
            source.seek(first)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self._rest = self._rest or next(self._chunks, b"")
        size = len(self._rest) if size < 0 else size
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def blocks(self) -> Iterator[bytes]:
        """Give the lines, many at a time and each whole."""
        rest = b""
        for chunk in self._chunks:
            block = rest + chunk
            cut = block.rfind(b"\n") + 1
            if cut:
                yield block[:cut]
            rest = block[cut:]
        if rest:
            yield rest

    def _read_chunks(self) -> Iterator[bytes]:
        chunk = self._fetch()
        while chunk:
            following = self._fetch()
            ended = following or chunk.endswith((b"\n", b"\r"))
            yield chunk if ended else chunk + self._line_end
            chunk = following

    def _fetch(self) -> bytes:
        size = BLOCK_BYTES if self._left is None else min(BLOCK_BYTES, self._left)
        part = bytes(self._source.read(size))
        if self._left is not None:
            self._left -= len(part)
        return part
