"""CSV files."""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from pyarrow import csv as pa_csv
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

from ..casts import is_list
from ..columns import cast_batch
from ..options import character, name_list, option, yes_no
from . import lines, numbers
from .base import FileInfo, Format, ImportOptions, Piece, named_once, refused
from .lines import Lines
from .sources import SourceFile

__all__ = ["CsvFormat", "CsvOptions"]

_field_size = threading.Lock()  # Python's limit is one for all threads
_LINE_BREAK = re.compile(rb"[\r\n]")


def encoding(text: str) -> str:
    """Read the name of an encoding."""
    try:
        return codecs.lookup(text).name
    except LookupError:
        raise ValueError("the name of an encoding, such as utf-8 or latin1") from None


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
        read=character, doc="what parts the values, else a comma, or a tab in .tsv files"
    )
    quote: str = option('"', read=character, doc="what a value with a delimiter is wrapped in")
    escape: str | None = option(read=character, doc="what takes the meaning of the next character")
    nulls: tuple[str, ...] = option(
        (), read=name_list, doc="texts that stand for null, such as 'NA', besides the empty one"
    )
    encoding: str = option("utf-8", read=encoding, doc="encoding of the text")


class _EmptyFile(Exception):
    """There is not one line in a CSV file."""


class CsvFormat(Format):
    """CSV files: divided between lines, where no value holds a line break.

    A type is what all values of a column have in common: whole numbers, numbers, dates, times,
    moments, true and false, else text. A column without any value is text, and so is one with a
    number that would lose digits, such as ``01234``.
    """

    options_type = CsvOptions
    options: CsvOptions

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the whole file and see which types its values could have."""
        try:
            schema, one_line_each = self._inspect(file)
        except TableSchemaValidationError:
            self._check_quotes(file)  # Arrow does not say that one is the reason
            raise
        if not (schema.names and one_line_each):
            self._check_quotes(file)
        return FileInfo(
            file=file,
            schema=schema,
            divisible=one_line_each and self.options.encoding == "utf-8" and not file.is_compressed,
        )

    def _inspect(self, file: SourceFile) -> tuple[pa.Schema, bool]:
        """Return the columns, and whether every line is a row."""
        names = self._names(file)
        types = dict.fromkeys(names, pa.null())
        one_line_each = True
        with refused(file, names), file.open() as source:
            text = dict.fromkeys(names, pa.string())
            whole = Piece(file=file, size=file.size, columns=names)
            for batch in self._batches(source, whole, text):
                one_line_each = one_line_each and not _has_line_breaks(batch)
                for name, found in zip(names, self._types_in(batch), strict=True):
                    types[name] = self.unify(types[name], found) or pa.string()
        return pa.schema(types.items()), one_line_each

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Parse a range of lines, a block at a time."""
        types = {name: self.carrier(schema.field(name).type) for name in piece.columns}
        with (
            refused(piece.file, piece.columns, from_first_row=piece.start == 0),
            piece.file.open() as source,
        ):
            for batch in self._batches(source, piece, types):
                yield cast_batch(batch, schema)

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type that Arrow's parser reads in the place of one that it cannot."""
        if isinstance(kind, pa.BaseExtensionType):
            return pa.string() if kind.extension_name == "arrow.json" else None
        if is_list(kind) or is_.is_nested(kind):
            return None
        return pa.float32() if is_.is_float16(kind) else kind

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Return whether there is a parser for a type; whether the values are such, it will tell."""
        return self.carrier(wanted) is not None

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Return the type that both can be parsed as; a date is a moment at midnight too."""
        kind = numbers.unify(one, other)
        if kind is not None:
            return pa.string() if kind == numbers.MIXED else kind
        if is_.is_date32(one) and is_.is_timestamp(other) and other.tz is None:
            return other
        if is_.is_date32(other) and is_.is_timestamp(one) and one.tz is None:
            return one
        return super().unify(one, other) or pa.string()

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Text where there was no value; moments in microseconds, or finer."""
        if is_.is_null(kind):
            return pa.string()
        if is_.is_timestamp(kind) and kind.unit == "s":
            return pa.timestamp("us", kind.tz)
        return numbers.settled(kind)

    def described(self, files: Sequence[SourceFile]) -> dict[str, str]:
        """Return delimiters, quote, header and the texts that stand for null."""
        options = self.options
        return {
            "delimiter": " or ".join(sorted({repr(self._delimiter(file)) for file in files})),
            "quote": repr(options.quote),
            "header": "yes" if options.header else "no",
            "nulls": ", ".join(map(repr, ("", *options.nulls))),
            "encoding": options.encoding,
        }

    def shown(self, kind: pa.DataType) -> str:
        """Return the name of the type that the column of a table would have."""
        return str(self.settled(kind))

    def _names(self, file: SourceFile) -> list[str]:
        """Return the names of a file's columns; none where the file is empty."""
        unnamed = not self.options.header
        with refused(file), file.open() as source:
            try:
                with self._parser(source, file, autogenerate_column_names=unnamed) as parser:
                    header = list(parser.schema.names)
            except _EmptyFile:
                return []
            names = list(self.options.names) or header
            if len(names) != len(header):
                raise TableSchemaValidationError(
                    f"there are {len(header)} columns, and {len(names)} names were given for them"
                )
            named_once(names)
            return names

    def _batches(
        self, source: Any, piece: Piece, types: Mapping[str, Any]
    ) -> Iterator[pa.RecordBatch]:
        """Parse all columns of a piece as types."""
        header = self.options.header and piece.start == 0
        try:
            parser = self._parser(
                source,
                piece.file,
                piece.start,
                piece.end,
                types,
                column_names=list(piece.columns),
                skip_rows_after_names=int(header),
            )
        except _EmptyFile:
            return
        with parser:
            yield from parser

    def _parser(
        self,
        source: Any,
        file: SourceFile,
        start: int = 0,
        end: int | None = None,
        types: Mapping[str, Any] | None = None,
        **read: Any,
    ) -> pa_csv.CSVStreamingReader:
        options = self.options
        # Arrow stumbles over a last line that does not end.
        line_end = "\n".encode(options.encoding)
        text = Lines(source, start, end, line_end if line_end == b"\n" else b"")
        try:
            return pa_csv.open_csv(
                pa.PythonFile(text, mode="r"),
                read_options=pa_csv.ReadOptions(
                    use_threads=False,  # one core a worker; errors then tell the row
                    block_size=lines.BLOCK_BYTES,
                    encoding=options.encoding,
                    **read,
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self._delimiter(file),
                    quote_char=options.quote,
                    escape_char=options.escape or False,
                    newlines_in_values=True,
                ),
                convert_options=pa_csv.ConvertOptions(
                    column_types=types and dict(types),
                    null_values=["", *options.nulls],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                raise _EmptyFile from error
            raise

    def _check_quotes(self, file: SourceFile) -> None:
        """Refuse a quote that nothing closes, or that another one closes lines later.

        Arrow makes one value of all lines between the two, or to the end of the file.

        Raises:
            TableSchemaValidationError: code 20, the message names the line.
        """
        options = self.options
        encoding = "utf-8-sig" if options.encoding == "utf-8" else options.encoding
        with _field_size, refused(file), file.open() as source:
            text = io.TextIOWrapper(source, encoding, errors="replace", newline="")
            limit = csv.field_size_limit(2**31 - 1)
            try:
                rows = csv.reader(
                    text,
                    delimiter=self._delimiter(file),
                    quotechar=options.quote,
                    escapechar=options.escape,
                    strict=True,
                )
                _read_through(rows)
            finally:
                csv.field_size_limit(limit)

    def _delimiter(self, file: SourceFile) -> str:
        return self.options.delimiter or ("\t" if file.ending == ".tsv" else ",")

    def _types_in(self, batch: pa.RecordBatch) -> list[pa.DataType]:
        """Return the type of each column of text, by having Arrow parse it once more."""
        columns = [str(index) for index in range(batch.num_columns)]
        text = io.BytesIO()
        pa_csv.write_csv(
            batch.rename_columns(columns), text, pa_csv.WriteOptions(include_header=False)
        )
        found = self._inferred(text.getbuffer(), columns, {})
        kinds: list[pa.DataType] = []
        for name, values, given in zip(columns, found.columns, batch.columns, strict=True):
            kind = values.type
            if is_.is_integer(kind) or is_.is_floating(kind):
                values = values.combine_chunks()
                kind = numbers.numbers_in(given.drop_null(), values.drop_null())
            elif is_.is_timestamp(kind) and kind.unit == "ns":
                kind = self._coarser(name, kind, text.getbuffer(), columns)
            kinds.append(pa.string() if kind == numbers.MIXED else kind)
        return kinds

    def _coarser(
        self, name: str, kind: pa.DataType, text: memoryview, columns: Sequence[str]
    ) -> pa.DataType:
        """Return microseconds for moments that Arrow takes for nanoseconds, if they have no more."""
        coarser = pa.timestamp("us", kind.tz)
        try:
            self._inferred(text, columns, {name: coarser})
        except pa.ArrowInvalid:
            return kind  # more than six digits after the point
        return coarser

    def _inferred(
        self, text: memoryview, columns: Sequence[str], types: Mapping[str, Any]
    ) -> pa.Table:
        return pa_csv.read_csv(
            pa.BufferReader(text),
            read_options=pa_csv.ReadOptions(
                use_threads=False, block_size=len(text) + 1, column_names=list(columns)
            ),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                null_values=["", *self.options.nulls],
                strings_can_be_null=True,
                # Arrow's own lists hold 1 and 0 too, which are numbers as long as nobody says more.
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                column_types=dict(types),
            ),
        )


def _has_line_breaks(batch: pa.RecordBatch) -> bool:
    """Return whether a value holds a line break, looking at the bytes of all values at once."""
    buffers = [buffer for column in batch.columns for buffer in column.buffers()[2:]]
    return any(buffer is not None and _LINE_BREAK.search(buffer) for buffer in buffers)


def _read_through(rows: Any) -> None:
    """Read rows with Python's parser, which unlike Arrow's tells where quotes are wrong."""
    line = 0
    while True:
        try:
            next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if rows.line_num > line + 1 or "unexpected end" in str(error):
                raise TableSchemaValidationError(
                    f"a quote that opens in the row of line {line + 1} is not closed where the value "
                    "ends, and would swallow the lines after it; write a quote inside of quotes twice"
                ) from error
        line = rows.line_num
