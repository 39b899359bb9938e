"""The Avro format."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from struct import error as StructError
from typing import Any

import pyarrow as pa

from lance_namespace_client.errors import LanceNamespaceError, TableSchemaValidationError

from ...core.errors import first_line
from ..extras import load_extra
from ..sources import SourceFile
from .base import FileInfo, Piece, named_once, refused
from .typed import TypedFormat

__all__ = ["AvroFormat"]

BATCH_ROWS = 8192
_MAX_NESTING = 64
_WHAT = "importing Avro files"
_PRIMITIVES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
    ("string", "uuid"): pa.string(),
}
# Raised by fastavro for damaged content.
_DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    OverflowError,
    MemoryError,
    SystemError,
    zlib.error,
    StructError,
)

_Convert = Callable[[Any], Any]


class AvroFormat(TypedFormat):
    """Avro files, in which each record is a row; one task reads a whole file.

    Types follow the schema of the file. An enum becomes text, and a union must be of one type and
    null.
    """

    def inspect(self, file: SourceFile) -> FileInfo:
        """Read the schema in the header."""
        with _refused(file), file.open() as source:
            written = _schema(_open(source))
            if not isinstance(written, Mapping) or written["type"] != "record":
                raise TableSchemaValidationError("the rows of the file are not records")
            types = _Types()
            fields = [
                pa.field(each["name"], types.type_of(each["type"], each["name"])[0])
                for each in written["fields"]
            ]
            named_once([field.name for field in fields])
        return FileInfo(file=file, schema=pa.schema(fields))

    def read(
        self, piece: Piece, schema: pa.Schema, exact: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Read the whole file, one batch at a time."""
        with _refused(piece.file), piece.file.open() as source:
            rows = _open(source)
            yield from self.converted(_batches(rows), schema, exact)


def _open(source: Any) -> Any:
    return load_extra("fastavro", _WHAT, "avro").reader(source)


def _schema(rows: Any) -> Any:
    """Return the schema of a file, in which references to types are full names."""
    return load_extra("fastavro", _WHAT, "avro").parse_schema(rows.writer_schema)


@contextmanager
def _refused(file: SourceFile) -> Iterator[None]:
    """Translate a failure like `refused`, including those of fastavro."""
    with refused(file):
        try:
            yield
        except (LanceNamespaceError, pa.ArrowException, UnicodeError):
            raise
        except _DAMAGE as error:
            text = first_line(error) or type(error).__name__
            raise TableSchemaValidationError(f"the file cannot be read as Avro: {text}") from error


def _batches(rows: Any) -> Iterator[pa.RecordBatch]:
    types = _Types()
    columns = [
        (each["name"], *types.type_of(each["type"], each["name"]))
        for each in _schema(rows)["fields"]
    ]
    schema = pa.schema([(name, kind) for name, kind, _ in columns])
    while batch := list(islice(rows, BATCH_ROWS)):
        arrays = []
        for name, kind, convert in columns:
            values = [row[name] for row in batch]
            arrays.append(pa.array(values if convert is None else map(convert, values), kind))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Types:
    """Translates the types of an Avro schema; named types may be used again after their definition."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[pa.DataType, _Convert | None]] = {}

    def type_of(
        self, written: Any, column: str, depth: int = 0
    ) -> tuple[pa.DataType, _Convert | None]:
        """Return the Arrow type, and the function that converts fastavro's values, if needed.

        Raises:
            TableSchemaValidationError: code 20, there is no such Arrow type.
        """
        if depth > _MAX_NESTING:
            raise TableSchemaValidationError(
                f"column {column}: its type is nested deeper than {_MAX_NESTING} levels"
            )
        if isinstance(written, list):
            return self._union(written, column, depth)
        if isinstance(written, str):
            if written in _PRIMITIVES:
                return _PRIMITIVES[written], None
            if written in self._named:
                return self._named[written]
            raise TableSchemaValidationError(
                f"column {column}: the type {written} is recursive, which Arrow does not support"
            )
        kind = written["type"]
        if isinstance(kind, (list, Mapping)):
            return self.type_of(kind, column, depth)
        logical = written.get("logicalType")
        if logical == "decimal":
            return _decimal(written, column), None
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical], _text if logical == "uuid" else None
        if kind == "fixed" and logical == "uuid":
            return pa.string(), _text
        if kind in _PRIMITIVES:
            return _PRIMITIVES[kind], None
        return self._complex(kind, written, column, depth)

    def _union(
        self, written: list[Any], column: str, depth: int
    ) -> tuple[pa.DataType, _Convert | None]:
        kinds = [each for each in written if each != "null"]
        if not kinds:
            return pa.null(), None
        if len(kinds) > 1:
            raise TableSchemaValidationError(
                f"column {column}: a union of {len(kinds)} types cannot become a column of one "
                "type; convert the file first"
            )
        return self.type_of(kinds[0], column, depth)

    def _complex(
        self, kind: str, written: Mapping[str, Any], column: str, depth: int
    ) -> tuple[pa.DataType, _Convert | None]:
        if kind == "array":
            item, convert = self.type_of(written["items"], column, depth + 1)
            return pa.list_(item), None if convert is None else _list_of(convert)
        if kind == "map":
            item, convert = self.type_of(written["values"], column, depth + 1)
            return pa.map_(pa.string(), item), _pairs_of(convert)
        name = written.get("name", "")
        if kind == "enum":
            found: tuple[pa.DataType, _Convert | None] = (pa.string(), None)
        elif kind == "fixed":
            found = (pa.binary(int(written["size"])), None)
        elif kind == "record":
            fields = [
                (each["name"], *self.type_of(each["type"], f"{column}.{each['name']}", depth + 1))
                for each in written["fields"]
            ]
            struct = pa.struct([(each, type_of) for each, type_of, _ in fields])
            converts = {each: convert for each, _, convert in fields if convert is not None}
            found = (struct, _struct_of(converts) if converts else None)
        else:
            raise TableSchemaValidationError(
                f"column {column}: Arrow has no type for Avro's {kind}"
            )
        if name:
            self._named[name] = found
        return found


def _decimal(written: Mapping[str, Any], column: str) -> pa.DataType:
    try:
        return pa.decimal128(int(written["precision"]), int(written.get("scale", 0)))
    except (ValueError, pa.ArrowInvalid) as error:
        raise TableSchemaValidationError(
            f"column {column}: a decimal has {written['precision']} digits; the maximum is 38"
        ) from error


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _list_of(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else [convert(each) for each in value]


def _pairs_of(convert: _Convert | None) -> _Convert:
    def pairs(value: Any) -> Any:
        if value is None:
            return None
        return [(key, each if convert is None else convert(each)) for key, each in value.items()]

    return pairs


def _struct_of(converts: Mapping[str, _Convert]) -> _Convert:
    def struct(value: Any) -> Any:
        if value is None:
            return None
        return {key: converts.get(key, _same)(each) for key, each in value.items()}

    return struct


def _same(value: Any) -> Any:
    return value
