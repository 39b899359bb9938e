"""The CSV format."""

from __future__ import annotations

import codecs
import csv
import io
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
from attrs import frozen
from pyarrow import compute as pc
from pyarrow import csv as pa_csv
from pyarrow import types as is_

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError

from ...distributed.casts import is_list
from ...distributed.columns import cast_batch
from ...distributed.options import character, name_list, option, yes_no
from ..sources import SourceFile
from . import numbers
from .base import (
    MAX_ROW_BYTES,
    FileInfo,
    Format,
    Piece,
    TextOptions,
    named_once,
    refused,
    row_too_long,
)
from .lines import Lines, RowTooLong, decoded, row_blocks, row_end, rows_end

__all__ = ["CsvFormat", "CsvOptions"]

_field_size = threading.Lock()  # guards csv.field_size_limit, which all threads share
_LINE_BREAK = re.compile(rb"[\r\n]")
_LINE_ENDS = b"\r\n"
MAX_NANOSECONDS = 2**63 // 10**9 - 1
"""Maximum distance from 1970 in seconds that fits into 64-bit nanoseconds."""
LONGEST_TYPED = 1000
"""Maximum length in bytes of a text value that may have another type, such as a number."""
_CARRIERS = {
    pa.float16(): pa.float32(),
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}


def encoding(text: str) -> str:
    """Parse the name of a text encoding."""
    try:
        found = codecs.lookup(text)
    except (LookupError, ValueError):
        found = None
    # Python also has codecs that convert bytes to bytes, such as base64; reject them.
    if found is None or not found._is_text_encoding or found.incrementaldecoder is None:
        raise ValueError("the name of an encoding, such as utf-8 or latin1")
    return found.name


def sign(text: str) -> str:
    """Parse one of the special characters of CSV, such as the delimiter."""
    found = character(text)
    if not found.isascii() or found in "\r\n\0":
        raise ValueError("one ASCII character that does not end a line")
    return found


@frozen(kw_only=True)
class CsvOptions(TextOptions):
    """Options of CSV files."""

    header: bool = option(True, read=yes_no, doc="whether the first line contains the column names")
    names: tuple[str, ...] = option(
        (),
        read=name_list,
        doc="column names, for files without a header or to replace the header",
    )
    delimiter: str | None = option(
        read=sign, doc="delimiter between values; defaults to a comma, or a tab in .tsv files"
    )
    quote: str = option(
        '"', read=sign, doc="quote character around a value that contains a delimiter"
    )
    escape: str | None = option(read=sign, doc="escape character")
    nulls: tuple[str, ...] = option(
        (),
        read=name_list,
        doc="texts that stand for null, such as 'NA', in addition to the empty text",
    )
    encoding: str = option("utf-8", read=encoding, doc="encoding of the text")

    def __attrs_post_init__(self) -> None:
        """Reject duplicate special characters and duplicate column names."""
        signs = [self.delimiter or ",", self.quote, *filter(None, [self.escape])]
        if len(set(signs)) < len(signs):
            raise InvalidInputError(
                "csv import: the options delimiter, quote and escape must be different characters"
            )
        if len(set(self.names)) < len(self.names):
            raise InvalidInputError("csv import: option 'names' contains a name twice")


class CsvFormat(Format):
    """CSV files; they are divided between lines if no value contains a line break.

    An empty value is null. A quoted empty value is empty text, or null in a column of another type.
    In a file with one column, an empty line is a null; in other files it is not a row.

    The type of a column is the common type of all its values: integer, number, date, time,
    timestamp or boolean, otherwise text. A column without values is text. A column with a number
    that would lose digits, such as ``01234``, is also text.
    """

    options_type = CsvOptions
    options: CsvOptions

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the whole file and return the types that its values can have."""
        try:
            schema, one_line_each = self._inspect(file)
        except TableSchemaValidationError:
            # The reason may be an unclosed quote, which Arrow does not report.
            self._check_quotes(file)
            raise
        if not (schema.names and one_line_each):
            self._check_quotes(file)
        return FileInfo(
            file=file,
            schema=schema,
            divisible=one_line_each and self.options.encoding == "utf-8" and not file.is_compressed,
            one_line_each=one_line_each,
        )

    def _inspect(self, file: SourceFile) -> tuple[pa.Schema, bool]:
        """Return the columns, and whether every line is a row."""
        names = self._names(file)
        types = dict.fromkeys(names, pa.null())
        one_line_each = True
        whole = Piece(file=file, size=file.size, columns=names)
        text = dict.fromkeys(names, pa.string())
        for _, _, batch in self._parsed(whole, text):
            one_line_each = one_line_each and not _has_line_breaks(batch)
            for name, found in zip(names, self._types_in(batch), strict=True):
                types[name] = self.unify(types[name], found) or pa.string()
        return pa.schema(types.items()), one_line_each

    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Parse a range of lines, one block at a time."""
        types = {name: self.carrier(schema.field(name).type) for name in piece.columns}
        for block, first_row, batch in self._parsed(piece, types):
            with refused(piece.file):
                rows = cast_batch(batch, schema)
            self._check_numbers(piece, block, first_row, rows, exact)
            yield rows

    def _check_numbers(
        self,
        piece: Piece,
        block: bytes,
        first_row: Callable[[], int],
        rows: pa.RecordBatch,
        exact: Collection[str],
    ) -> None:
        """Reject text that the number read from it does not reproduce (code 20).

        Args:
            piece: the part of a file.
            block: the text.
            first_row: returns the number of the first row of the text.
            rows: the rows read from the text.
            exact: columns that must keep every digit; in others, numbers must only stay finite.
        """
        columns = [
            name
            for name in piece.columns
            if (name in exact and numbers.may_differ(rows[name].type))
            or (is_.is_floating(rows[name].type) and pc.any(pc.is_inf(rows[name])).as_py())
        ]
        if not columns:
            return
        with refused(piece.file):
            texts = self._parse(piece, block, dict.fromkeys(columns, pa.string()), columns)
            for name in columns:
                index = numbers.first_lost(texts[name], rows[name], exact=name in exact)
                if index is not None:
                    kind = rows[name].type
                    raise numbers.lost(name, first_row() + index, texts[name][index].as_py(), kind)

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type for Arrow's parser, which replaces types that it cannot parse."""
        if isinstance(kind, pa.BaseExtensionType):
            return pa.string() if kind.extension_name == "arrow.json" else None
        if is_list(kind) or is_.is_nested(kind):
            return None
        if is_.is_dictionary(kind):
            return self.carrier(kind.value_type)
        if is_.is_decimal(kind) and not is_.is_decimal128(kind):
            return pa.string()
        return _CARRIERS.get(kind, kind)

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Return whether a type has a parser; reading checks the values themselves."""
        return self.carrier(wanted) is not None

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Return the type that both can be parsed as; a date is also a timestamp at midnight."""
        kind = numbers.unify(one, other)
        if kind is not None:
            return pa.string() if kind == numbers.MIXED else kind
        if _is_moment(one) and _is_moment(other):
            return _unify_moments(one, other)
        return super().unify(one, other) or pa.string()

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Return text for columns without values, and timestamps in microseconds or finer."""
        if is_.is_null(kind):
            return pa.string()
        if is_.is_timestamp(kind) and kind.unit != "ns":
            return pa.timestamp("us", kind.tz)
        if is_.is_date(kind):
            return pa.date32()
        return numbers.settled(kind)

    def described(self, files: Sequence[SourceFile]) -> dict[str, str]:
        """Return the delimiters, the quote, the header, the encoding and the null texts."""
        options = self.options
        return {
            "delimiter": " or ".join(sorted({repr(self._delimiter(file)) for file in files})),
            "quote": repr(options.quote),
            "header": "yes" if options.header else "no",
            "nulls": ", ".join(map(repr, ("", *options.nulls))),
            "encoding": options.encoding,
        }

    def shown(self, kind: pa.DataType) -> str:
        """Return the name of the table's column type."""
        return str(self.settled(kind))

    def _names(self, file: SourceFile) -> list[str]:
        """Return the column names of a file; an empty list if the file is empty."""
        options = self.options
        with refused(file):
            row = self._first_row(file)
            if not row:
                return []
            head = pa_csv.ReadOptions(
                use_threads=False,
                block_size=len(row) + 1,
                autogenerate_column_names=not options.header,
            )
            header = pa_csv.read_csv(
                pa.BufferReader(row), head, self._parse_options(file)
            ).schema.names
            names = list(options.names) or list(header)
            if len(names) != len(header):
                raise TableSchemaValidationError(
                    f"the file has {len(header)} columns, but the option 'names' contains "
                    f"{len(names)}"
                )
            named_once(names)
            return names

    def _first_row(self, file: SourceFile) -> bytes:
        """Return the first row of a file that is not an empty line."""
        whole = Piece(file=file, size=file.size)
        with file.open() as source:
            try:
                for block in self._blocks(source, whole):
                    if text := block.lstrip(_LINE_ENDS):
                        return text[: row_end(text, *self._signs(file))] or _ended(text)
            except RowTooLong as error:
                raise row_too_long(1, error.size, self.options.max_row_bytes) from error
        return b""

    def _signs(self, file: SourceFile) -> tuple[str, str, str | None]:
        return self._delimiter(file), self.options.quote, self.options.escape

    def _blocks(self, source: Any, piece: Piece) -> Iterator[bytes]:
        """Return the text of a piece as UTF-8, in blocks of whole rows.

        Arrow's own division loses a line feed inside quotes (apache/arrow#51368), and it rejects
        rows that span more than two blocks.
        """
        signs = self._signs(piece.file)
        chunks = Lines(source, piece.start, piece.end).chunks()
        if piece.start == 0:
            chunks = decoded(chunks, self.options.encoding)
        return row_blocks(
            chunks,
            lambda data: rows_end(data, *signs, one_line_each=piece.one_line_each),
            self.options.max_row_bytes,
        )

    def _parsed(
        self, piece: Piece, types: Mapping[str, Any]
    ) -> Iterator[tuple[bytes, Callable[[], int], pa.RecordBatch]]:
        """Parse all columns of a piece.

        Returns:
            for each block: its text, a function that returns the number of its first row (the
            header counts as a row), and its rows.
        """
        rows = 0

        @cache
        def before() -> int:
            return self._rows_before(piece)

        def first_row() -> int:
            return before() + rows + 1

        header = self.options.header and piece.start == 0
        with (
            refused(piece.file, piece.columns, lambda: first_row() - 1),
            piece.file.open() as source,
        ):
            try:
                for text in self._blocks(source, piece):
                    block = text
                    if header and (block := text.lstrip(_LINE_ENDS)):
                        block = block[row_end(block, *self._signs(piece.file)) or len(block) :]
                        header, rows = False, 1
                    if block:
                        batch = self._parse(piece, block, types, piece.columns)
                        yield block, first_row, batch
                        rows += batch.num_rows
            except RowTooLong as error:
                limit = self.options.max_row_bytes
                raise row_too_long(first_row(), error.size, limit) from error

    def _rows_before(self, piece: Piece) -> int:
        """Return the number of rows before a piece; the header counts as a row."""
        if piece.start == 0:
            return 0
        before = Piece(
            file=piece.file,
            size=piece.start,
            end=piece.start,
            columns=piece.columns,
            one_line_each=piece.one_line_each,
        )
        text = dict.fromkeys(piece.columns, pa.binary())
        found = sum(batch.num_rows for _, _, batch in self._parsed(before, text))
        return int(found) + self.options.header

    def _parse(
        self, piece: Piece, block: bytes, types: Mapping[str, Any], columns: Sequence[str]
    ) -> pa.RecordBatch:
        """Parse the selected columns of whole rows as the given types."""
        block = _ended(block)
        if self.options.quote.encode() not in block:
            return self._parse_columns(piece, block, types, columns)
        # Only text columns distinguish empty values from null.
        parts = [
            self._parse_columns(piece, block, types, part, are_text=are_text)
            for are_text in (True, False)
            if (part := [name for name in columns if _is_text(types[name]) is are_text])
        ]
        arrays = {name: part[name] for part in parts for name in part.schema.names}
        return pa.record_batch([arrays[name] for name in columns], list(columns))

    def _parse_columns(
        self,
        piece: Piece,
        block: bytes,
        types: Mapping[str, Any],
        columns: Sequence[str],
        *,
        are_text: bool = False,
    ) -> pa.RecordBatch:
        if not block.strip(_LINE_ENDS):
            rows = _empty_rows(block, piece.columns)
            return pa.record_batch([pa.nulls(rows, types[name]) for name in columns], list(columns))
        table = pa_csv.read_csv(
            pa.BufferReader(block),
            read_options=pa_csv.ReadOptions(
                use_threads=False,  # one core per worker; errors then contain the row
                block_size=len(block) + 1,
                column_names=list(piece.columns),
            ),
            parse_options=self._parse_options(piece.file, piece.columns),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: types[name] for name in columns},
                include_columns=list(columns),
                null_values=["", *self.options.nulls],
                strings_can_be_null=True,
                quoted_strings_can_be_null=not are_text,
            ),
        )
        arrays = [_one_array(column) for column in table.columns]
        if are_text and self.options.nulls:
            arrays = [self._without_nulls(array) for array in arrays]
        return pa.record_batch(arrays, list(columns))

    def _without_nulls(self, array: pa.Array) -> pa.Array:
        """Return text in which quoted null texts are also null."""
        nulls = pa.array(self.options.nulls, pa.string()).cast(array.type)
        return pc.if_else(pc.is_in(array, nulls), pa.scalar(None, array.type), array)

    def _parse_options(self, file: SourceFile, columns: Sequence[str] = ()) -> pa_csv.ParseOptions:
        delimiter, quote, escape = self._signs(file)
        return pa_csv.ParseOptions(
            delimiter=delimiter,
            quote_char=quote,
            escape_char=escape or False,
            newlines_in_values=True,
            ignore_empty_lines=len(columns) != 1,
        )

    def _check_quotes(self, file: SourceFile) -> None:
        """Reject an unclosed quote, and a quote that is closed only on a later line.

        Arrow reads all lines between two quotes, or up to the end of the file, as one value.

        Raises:
            TableSchemaValidationError: code 20, the message names the line.
        """
        options = self.options
        encoding = "utf-8-sig" if options.encoding == "utf-8" else options.encoding
        with _field_size, refused(file), file.open() as source:
            text = io.TextIOWrapper(source, encoding, errors="replace", newline="")
            limit = csv.field_size_limit(MAX_ROW_BYTES)
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
        """Return the type of each text column, found by parsing it again with Arrow."""
        longest = [pc.max(pc.binary_length(column)).as_py() or 0 for column in batch.columns]
        short = [index for index, length in enumerate(longest) if length <= LONGEST_TYPED]
        kinds = [pa.string()] * batch.num_columns
        for index, kind in zip(short, self._short_types_in(batch.select(short)), strict=True):
            kinds[index] = kind
        return kinds

    def _short_types_in(self, batch: pa.RecordBatch) -> list[pa.DataType]:
        columns = [str(index) for index in range(batch.num_columns)]
        if not columns:
            return []
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
                kind = numbers.numbers_in(given.filter(values.is_valid()), values.drop_null())
            elif is_.is_timestamp(kind) and kind.unit == "ns":
                kind = self._coarser(name, kind, text.getbuffer(), columns)
            if _is_moment(kind):
                kind = _with_reach(kind, values)
            kinds.append(pa.string() if kind == numbers.MIXED else kind)
        return kinds

    def _coarser(
        self, name: str, kind: pa.DataType, text: memoryview, columns: Sequence[str]
    ) -> pa.DataType:
        """Return microseconds for timestamps inferred as nanoseconds, if no digit is lost."""
        coarser = pa.timestamp("us", kind.tz)
        try:
            self._inferred(text, columns, {name: coarser})
        except pa.ArrowInvalid:
            return kind  # more than six decimal places
        return coarser

    def _inferred(
        self, text: memoryview, columns: Sequence[str], types: Mapping[str, Any]
    ) -> pa.Table:
        if not bytes(text[:2]).strip(_LINE_ENDS) and not bytes(text).strip(_LINE_ENDS):
            rows = _empty_rows(bytes(text), columns)
            return pa.table([pa.nulls(rows) for _ in columns], list(columns))
        return pa_csv.read_csv(
            pa.BufferReader(text),
            read_options=pa_csv.ReadOptions(
                use_threads=False, block_size=len(text) + 1, column_names=list(columns)
            ),
            parse_options=pa_csv.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=len(columns) != 1
            ),
            convert_options=pa_csv.ConvertOptions(
                null_values=["", *self.options.nulls],
                strings_can_be_null=True,
                # Arrow's defaults include 1 and 0, which are numbers here.
                true_values=["true", "True", "TRUE"],
                false_values=["false", "False", "FALSE"],
                column_types=dict(types),
            ),
        )


def _empty_rows(block: bytes, columns: Sequence[str]) -> int:
    """Return the number of rows in text that consists only of line breaks, which Arrow rejects."""
    return len(block.splitlines()) if len(columns) == 1 else 0


def _ended(text: bytes) -> bytes:
    """Return text with a final line break, which Arrow requires."""
    return text if text.endswith((b"\n", b"\r")) else text + b"\n"


def _is_moment(kind: pa.DataType) -> bool:
    return bool(is_.is_date(kind) or is_.is_timestamp(kind))


def _with_reach(kind: pa.DataType, values: pa.ChunkedArray) -> pa.DataType:
    """Return the type for dates or timestamps found in a part of a column.

    If some are outside the range of nanoseconds, the type is date64, or a timestamp in
    milliseconds.
    """
    if is_.is_timestamp(kind) and kind.unit == "ns":
        return kind
    days = pc.min_max(values.cast(pa.timestamp("s", getattr(values.type, "tz", None)), safe=False))
    ends = [days[end].cast(pa.int64()).as_py() for end in ("min", "max")]
    if all(end is None or abs(end) <= MAX_NANOSECONDS for end in ends):
        return kind
    return pa.timestamp("ms", kind.tz) if is_.is_timestamp(kind) else pa.date64()


def _unify_moments(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the common type of dates and timestamps; a date is also a timestamp at midnight."""
    both = (one, other)
    times = [kind for kind in both if is_.is_timestamp(kind)]
    if not times:
        return one if one == other else pa.date64()
    units = {kind.unit for kind in times}
    far = "ms" in units or any(map(is_.is_date64, both))
    zones = {kind.tz if is_.is_timestamp(kind) else None for kind in both}
    if len(zones) > 1 or (far and "ns" in units):
        return pa.string()
    unit = "ns" if "ns" in units else "ms" if far else "us" if "us" in units else "s"
    return pa.timestamp(unit, zones.pop())


def _is_text(kind: pa.DataType) -> bool:
    """Return whether a quoted empty value of a type is empty text rather than null."""
    return bool(
        is_.is_string(kind)
        or is_.is_large_string(kind)
        or is_.is_binary(kind)
        or is_.is_large_binary(kind)
    )


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _has_line_breaks(batch: pa.RecordBatch) -> bool:
    """Return whether a value contains a line break, by scanning the buffers of all values."""
    buffers = [buffer for column in batch.columns for buffer in column.buffers()[2:]]
    return any(buffer is not None and _LINE_BREAK.search(buffer) for buffer in buffers)


def _read_through(rows: Any) -> None:
    """Read rows with Python's parser, which reports where quotes are invalid; Arrow's does not."""
    line = 0
    while True:
        try:
            next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            if rows.line_num > line + 1 or "unexpected end" in str(error):
                raise TableSchemaValidationError(
                    f"a quote that opens in the row at line {line + 1} is not closed at the end "
                    "of its value and would include the following lines; double each quote "
                    "inside a quoted value"
                ) from error
        line = rows.line_num
