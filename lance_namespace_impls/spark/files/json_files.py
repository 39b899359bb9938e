"""JSON files, an object a line."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import json as pa_json
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

from ..casts import is_list
from ..columns import cast_batch
from . import numbers
from .base import FileInfo, Format, Piece, refused
from .lines import Lines
from .sources import SourceFile

__all__ = ["JsonFormat"]

Path = tuple[str, ...]
"""Names of nested columns; `ITEM` stands for the elements of a list."""

ITEM = "[]"
# Numbers of which a double could lose digits, or whole ones beyond 64 bits.
_LONG_NUMBER = re.compile(rb"-?\d[\d.]{15,}(?:[eE][+-]?\d+)?|-?\d[\d.]*[eE][+-]?\d{3,}")
_BEYOND_INT64 = r"^-?\d{19,}$"  # or nearly


class JsonFormat(Format):
    """JSON lines: divided between lines.

    Dates and times are text in JSON, and text here unless the option ``types`` says otherwise.
    A column without any value is text. Numbers whose digits a double would lose are decimals where
    they are whole, and refused where they are not, unless the option ``types`` says what they are.
    """

    default_missing = "null"

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the whole file and unify the types of its objects."""
        schema = pa.schema([])
        with refused(file), file.open() as source:
            for block in Lines(source).blocks():
                schema = self._merge(schema, _found(block, self._parse(block)))
        return FileInfo(file=file, schema=schema, divisible=not file.is_compressed)

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Parse a range of lines, a block at a time."""
        carriers = pa.schema([(f.name, self.carrier(f.type)) for f in schema])
        with refused(piece.file), piece.file.open() as source:
            for block in Lines(source, piece.start, piece.end).blocks():
                for batch in self._parse(block, carriers).to_batches():
                    yield cast_batch(batch, schema)

    def carrier(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type that Arrow's parser reads in the place of one that it cannot."""
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
        """Return whether values may be parsed as a type; text may be a moment, a decimal or bytes."""
        if super().fits(found, wanted):
            return True
        return is_.is_string(found) and any(
            check(wanted)
            for check in (
                is_.is_timestamp,
                is_.is_decimal,
                is_.is_binary,
                is_.is_large_binary,
                is_.is_fixed_size_binary,
            )
        )

    def unify(self, one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
        """Return the type that holds values of both, or None where there is none."""
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
        """Return the name of the type that the column of a table would have."""
        return numbers.shown(self.settled(kind))

    def settled(self, kind: pa.DataType) -> pa.DataType:
        """Text where there was no value."""
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


def _found(block: bytes, table: pa.Table) -> pa.Schema:
    """Return the types of the columns of a block, without loss.

    Arrow takes text for a moment where it looks like one, and drops its zone; and it takes numbers
    for doubles although they lose digits.
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
            return pa.list_(kind_of(values.flatten(), (*path, ITEM)))
        if is_.is_int64(kind):
            return numbers.whole_numbers(values)
        if is_.is_float64(kind) and path in texts():
            return numbers.numbers_in(texts()[path], texts()[path].cast(kind))
        return kind

    return pa.schema(
        [
            (name, kind_of(column.combine_chunks(), (name,)))
            for name, column in zip(table.schema.names, table.columns, strict=True)
        ]
    )


def _has_long_numbers(block: bytes) -> bool:
    """Return whether a block may have numbers that doubles are not good for."""
    found = pa.array(_LONG_NUMBER.findall(block), pa.binary()).cast(pa.string())
    found = found.filter(pc.less(pc.count_substring(found, "."), 2))  # else a part of some text
    whole = pc.match_substring_regex(found, _BEYOND_INT64)
    return bool(pc.any(whole).as_py()) or not numbers.given_back(found)


class _Number(str):
    """A number as it is written."""


def _number_texts(block: bytes) -> dict[Path, pa.Array]:
    """Return the numbers of every column of a block as they are written."""
    found: dict[Path, list[str]] = defaultdict(list)

    def walk(value: Any, path: Path) -> None:
        if isinstance(value, _Number):
            found[path].append(str(value))
        elif isinstance(value, dict):
            for name, child in value.items():
                walk(child, (*path, name))
        elif isinstance(value, list):
            for child in value:
                walk(child, (*path, ITEM))

    decoder = json.JSONDecoder(parse_int=_Number, parse_float=_Number)
    text = block.decode("utf-8-sig").rstrip()  # Arrow takes several objects in a line
    position = 0
    while position < len(text):
        while text[position].isspace():
            position += 1
        value, position = decoder.raw_decode(text, position)
        walk(value, ())
    return {path: pa.array(texts, pa.string()) for path, texts in found.items()}
