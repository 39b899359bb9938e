"""JSON files, an object a line."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import json as pa_json
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

from ..columns import cast_batch, is_list
from .base import Format, Look, Piece, refused
from .lines import Lines
from .sources import SourceFile

__all__ = ["JsonFormat"]


class JsonFormat(Format):
    """JSON lines: divided between lines.

    Dates and times are text in JSON, and text here unless the option ``types`` says otherwise.
    A column without any value is text.
    """

    default_missing = "null"

    def look(self, file: SourceFile) -> Look:
        """Read the whole file and unify the types of its objects."""
        schema = pa.schema([])
        with refused(file), file.open() as source:
            for block in Lines(source).blocks():
                found = _without_moments(self._parse(block).schema)
                schema = self._merge(schema, found)
        return Look(file=file, schema=schema, divisible=not file.is_compressed)

    def read(self, piece: Piece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Parse a range of lines, a block at a time."""
        carriers = pa.schema([(f.name, self.carrier(f.type)) for f in schema])
        with refused(piece.file), piece.file.open() as source:
            for block in Lines(source, piece.start, piece.end).blocks():
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
    """Take back that Arrow takes text for a moment where it looks like one, and drops its zone."""

    def text(kind: pa.DataType) -> pa.DataType:
        if is_.is_timestamp(kind):
            return pa.string()
        if is_.is_struct(kind):
            return pa.struct([(child.name, text(child.type)) for child in kind])
        return pa.list_(text(kind.value_type)) if is_.is_list(kind) else kind

    return pa.schema([(column.name, text(column.type)) for column in schema])
