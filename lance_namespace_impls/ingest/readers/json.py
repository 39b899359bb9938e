"""The JSON format, with one object per line."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import json as pa_json
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

from ...distributed.casts import is_list
from ...distributed.columns import cast_batch
from ..sources import SourceFile
from . import numbers
from .base import FileInfo, Format, Piece, TextOptions, refused, row_too_long
from .lines import Lines, RowTooLong, decoded, line_end, row_blocks

__all__ = ["JsonFormat"]

Path = tuple[str, ...]
"""Path of a nested column; `ITEM` represents the elements of a list."""

ITEM = "[]"
MAX_NESTING = 100
_NULL = re.compile(rb"^[ \t]*null[ \t\r]*$", re.MULTILINE)
_NO_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[^\[\]{}"]++|"', re.DOTALL)
# Numbers that a double might round, and integers beyond 64 bits.
_LONG_NUMBER = re.compile(rb"-?\d[\d.]{15,}(?:[eE][+-]?\d+)?|-?\d[\d.]*[eE][+-]?\d{3,}")
_BEYOND_INT64 = r"^-?\d{19,}$"  # at least 19 digits: beyond 64 bits, or close


class JsonFormat(Format):
    """JSON lines files; they are divided between lines.

    Dates and times are text in JSON and stay text unless the option ``types`` specifies a type. A
    column without values is text. If a double would lose digits of a column's numbers, integers
    become decimals and other numbers are rejected, unless the option ``types`` specifies a type.
    """

    default_missing = "null"
    options_type = TextOptions
    options: TextOptions

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the whole file and unify the types of its objects."""
        schema = pa.schema([])
        whole = Piece(file=file, size=file.size)
        for block, rows_before in self._blocks(whole):
            with refused(file, rows_before=rows_before):
                schema = self._merge(schema, _found(block, self._inferred(block)))
        return FileInfo(file=file, schema=schema, divisible=not file.is_compressed)

    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Parse a range of lines, one block at a time."""
        carriers = pa.schema([(f.name, self.carrier(f.type)) for f in schema])
        floats = {
            path: kind for name in exact for path, kind in _floats(schema.field(name).type, (name,))
        }
        for block, rows_before in self._blocks(piece):
            with refused(piece.file, rows_before=rows_before):
                table = self._parse(block, carriers)
                batches = [cast_batch(batch, schema) for batch in table.to_batches()]
                if floats:
                    _check_numbers(block, rows_before, floats)
            yield from batches

    def _blocks(self, piece: Piece) -> Iterator[tuple[bytes, Callable[[], int]]]:
        """Return blocks of whole lines, each with a function that counts the rows before it."""
        rows = 0

        @cache
        def before() -> int:
            return _rows_before(piece)

        limit = self.options.max_row_bytes
        with refused(piece.file), piece.file.open() as source:
            try:
                chunks = Lines(source, piece.start, piece.end).chunks()
                if piece.start == 0:
                    chunks = decoded(chunks, "utf-8")
                for block in row_blocks(chunks, line_end, limit):
                    if block.strip():
                        rows_before = partial(_sum, before, rows)
                        _check_text(block, rows_before)
                        _check_nesting(block, rows_before)
                        yield block, rows_before
                    rows += _rows_in(block)
            except RowTooLong as error:
                raise row_too_long(before() + rows + 1, error.size, limit) from error

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type for Arrow's parser, which replaces types that it cannot parse."""
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
        # Arrow's parser drops or adds time zones of timestamps, and it makes large numbers
        # infinite.
        if is_.is_date(kind) or is_.is_time(kind) or is_.is_timestamp(kind) or _is_bytes(kind):
            return pa.string()
        if is_.is_duration(kind):
            return pa.int64()
        return pa.float64() if is_.is_floating(kind) else kind

    def fits(self, found: pa.DataType, wanted: pa.DataType) -> bool:
        """Return whether values may be parsed as a type; text may be a time, a decimal or bytes."""
        return super().fits(found, wanted) or (
            bool(is_.is_string(found)) and bool(is_.is_decimal(wanted) or _is_bytes(wanted))
        )

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Return the common type of two types, or None if there is none."""
        if is_.is_list(one) and is_.is_list(other):
            item = self.unify(one.value_type, other.value_type)
            return item and pa.list_(item)
        if is_.is_struct(one) and is_.is_struct(other):
            children = {child.name: child.type for child in one}
            for child in other:
                kind = self.unify(children.get(child.name, pa.null()), child.type)
                if kind is None:
                    return None
                children[child.name] = kind
            return pa.struct(children.items())
        return numbers.unify(one, other) or super().unify(one, other)

    def shown(self, kind: pa.DataType) -> str:
        """Return the name of the table's column type."""
        return numbers.shown(self.settled(kind))

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Return the column type of the table; text if there were no values."""
        if is_.is_null(kind):
            return pa.string()
        if is_.is_struct(kind):
            return pa.struct([(child.name, self.settled(child.type)) for child in kind])
        if is_.is_list(kind):
            return pa.list_(self.settled(kind.value_type))
        return numbers.settled(kind)

    def _parse(self, block: bytes, schema: pa.Schema | None = None) -> pa.Table:
        return pa_json.read_json(
            pa.BufferReader(block),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pa_json.ParseOptions(
                explicit_schema=schema,
                unexpected_field_behavior="infer" if schema is None else "error",
            ),
        )

    def _inferred(self, block: bytes) -> pa.Table:
        table = self._parse(block)
        # If the first values of a list are null, Arrow infers its type but loses values. With the
        # inferred type, a second pass reads all of them.
        has_lists = any(map(_has_list, table.schema.types))
        return self._parse(block, table.schema) if has_lists else table

    def _merge(self, schema: pa.Schema, found: pa.Schema) -> pa.Schema:
        for column in found:
            index = schema.get_field_index(column.name)
            if index < 0:
                schema = schema.append(column)
                continue
            kind = self.unify(schema.field(index).type, column.type)
            if kind is None:
                raise TableSchemaValidationError(
                    f"column {column.name}: some values are "
                    f"{self.shown(schema.field(index).type)}, others {self.shown(column.type)}"
                )
            schema = schema.set(index, column.with_type(kind))
        return schema


def _has_list(kind: pa.DataType) -> bool:
    return is_list(kind) or (is_.is_struct(kind) and any(_has_list(child.type) for child in kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        is_.is_binary(kind)
        or is_.is_large_binary(kind)
        or is_.is_binary_view(kind)
        or is_.is_fixed_size_binary(kind)
    )


def _floats(kind: pa.DataType, path: Path) -> Iterator[tuple[Path, pa.DataType]]:
    """Return the floating-point columns inside a column."""
    if is_.is_dictionary(kind):
        kind = kind.value_type
    if is_.is_floating(kind):
        yield path, kind
    elif is_.is_struct(kind):
        for child in kind:
            yield from _floats(child.type, (*path, child.name))
    elif is_list(kind):
        yield from _floats(kind.value_type, (*path, ITEM))


def _check_numbers(
    block: bytes, rows_before: Callable[[], int], floats: Mapping[Path, pa.DataType]
) -> None:
    """Reject a number that its column does not reproduce (code 20)."""
    if all(map(is_.is_float64, floats.values())) and not _has_long_numbers(block):
        return
    for row, path, text in _numbers(block):
        kind = floats.get(path)
        if kind is not None and not numbers.is_given_back(text, kind):
            column = ".".join(path).replace(f".{ITEM}", ITEM)
            raise numbers.lost(column, rows_before() + row + 1, text, kind)


def _check_text(block: bytes, rows_before: Callable[[], int]) -> None:
    """Reject invalid UTF-8 and values other than objects (code 20); a null crashes Arrow."""
    found = "not UTF-8"
    try:
        block.decode()
    except UnicodeDecodeError as error:
        position = error.start
    else:
        found = "not an object"
        null = _NULL.search(block)
        position = null.start() if null else -1
        if not block.lstrip().startswith(b"{"):
            position = 0
    if position >= 0:
        row = rows_before() + _rows_in(block[: block.rfind(b"\n", 0, position) + 1]) + 1
        raise TableSchemaValidationError(f"row {row} is {found}")


def _check_nesting(block: bytes, rows_before: Callable[[], int]) -> None:
    """Reject lines with nesting that is too deep for the parsers (code 20)."""
    found = np.frombuffer(block, np.uint8)
    opened = np.cumsum((found == ord("[")) | (found == ord("{")))
    ends = np.flatnonzero(found == ord("\n"))
    before = np.concatenate(([0], opened[ends]))
    suspects = np.flatnonzero(np.diff(np.append(before, opened[-1])) > MAX_NESTING)
    if not len(suspects):
        return
    for index, line in enumerate(block.split(b"\n")):
        if index in suspects:
            signs = np.frombuffer(_NO_BRACKET.sub(b"", line), np.uint8)
            steps = np.where((signs == ord("[")) | (signs == ord("{")), 1, -1)
            if np.cumsum(steps).max(initial=0) > MAX_NESTING:
                row = rows_before() + 1 + _rows_in(b"\n".join(block.split(b"\n")[:index]))
                raise TableSchemaValidationError(
                    f"row {row} has more than {MAX_NESTING} nested levels; flatten it, or write "
                    "the inner levels as text"
                )


def _sum(before: Callable[[], int], rows: int) -> int:
    return before() + rows


def _rows_in(block: bytes) -> int:
    return sum(1 for line in block.split(b"\n") if line.strip())


def _rows_before(piece: Piece) -> int:
    """Return the number of nonempty lines before a piece."""
    if piece.start == 0:
        return 0
    with piece.file.open() as source:
        chunks = Lines(source, 0, piece.start).chunks()
        return sum(map(_rows_in, row_blocks(chunks, line_end, piece.start)))


def _found(block: bytes, table: pa.Table) -> pa.Schema:
    """Return the column types of a block, without loss.

    Arrow infers timestamps from text and drops their time zone. It also infers doubles for numbers
    that then lose digits.
    """

    @cache
    def texts() -> Mapping[Path, pa.Array]:
        return _number_texts(block) if _has_long_numbers(block) else {}

    def kind_of(values: Any, path: Path) -> pa.DataType:
        kind = values.type
        if is_.is_timestamp(kind):
            return pa.string()
        if is_.is_struct(kind):
            children = [
                (child.name, kind_of(values.field(child.name), (*path, child.name)))
                for child in kind
            ]
            return pa.struct(children)
        if is_.is_list(kind):
            # Arrow may have lost some nulls of a list without other values.
            if is_.is_null(kind.value_type):
                return kind
            return pa.list_(kind_of(values.flatten(), (*path, ITEM)))
        if is_.is_int64(kind):
            return numbers.whole_numbers(values)
        if is_.is_float64(kind) and path in texts():
            return numbers.numbers_in(texts()[path], texts()[path].cast(kind))
        return kind

    return pa.schema(
        [
            (name, kind_of(column.chunk(0), (name,)))
            for name, column in zip(table.schema.names, table.columns, strict=True)
        ]
    )


def _has_long_numbers(block: bytes) -> bool:
    """Return whether a block may contain numbers that doubles do not reproduce."""
    found = pa.array(_LONG_NUMBER.findall(block), pa.binary()).cast(pa.string())
    found = found.filter(pc.less(pc.count_substring(found, "."), 2))  # others are parts of a text
    whole = pc.match_substring_regex(found, _BEYOND_INT64)
    return bool(pc.any(whole).as_py()) or not numbers.given_back(found)


class _Number(str):
    """A number in its original notation."""


def _number_texts(block: bytes) -> dict[Path, pa.Array]:
    """Return the numbers of every column of a block in their original notation."""
    found: dict[Path, list[str]] = defaultdict(list)
    for _, path, text in _numbers(block):
        found[path].append(text)
    return {path: pa.array(texts, pa.string()) for path, texts in found.items()}


def _numbers(block: bytes) -> Iterator[tuple[int, Path, str]]:
    """Return the row, the column and the text of every number of a block."""

    def walk(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
        if isinstance(value, _Number):
            yield path, str(value)
        elif isinstance(value, dict):
            for name, child in value.items():
                yield from walk(child, (*path, name))
        elif isinstance(value, list):
            for child in value:
                yield from walk(child, (*path, ITEM))

    decoder = json.JSONDecoder(parse_int=_Number, parse_float=_Number)
    text = block.decode("utf-8-sig").rstrip()  # Arrow accepts several objects on a line
    position = row = 0
    while position < len(text):
        while text[position].isspace():
            position += 1
        value, position = decoder.raw_decode(text, position)
        for path, number in walk(value, ()):
            yield row, path, number
        row += 1
