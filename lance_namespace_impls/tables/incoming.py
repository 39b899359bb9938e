"""Validates incoming rows before Lance reads them; all writes use this module."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import TableSchemaValidationError

from ..core.imports import load
from .align import ROWS_PER_FILE, aligned, cast, split_at_files
from .schema import check_types, extension_of, storage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

__all__ = ["MAX_VALUE_NESTING", "MEASURED", "check_depth", "checked", "with_vectors_of", "writable"]

MAX_VALUE_NESTING = 128
"""Maximum nesting depth of a JSON value or a geometry. Lance parses such values recursively; a much
deeper value would crash the process.
"""

_JSONB_ARRAY, _JSONB_OBJECT, _JSONB_CONTAINER = 0x80, 0x40, 0x50


def writable(
    rows: RowStream, onto: pa.Schema | None = None, *, rows_per_file: int = ROWS_PER_FILE
) -> pa.RecordBatchReader:
    """Return a reader for rows that Lance can store without crashing.

    Args:
        rows: the rows.
        onto: the table's schema. Lists are converted to the table's fixed-size lists, so vectors
            that are sent as plain lists remain searchable.
        rows_per_file: number of rows after which Lance starts a new file.

    Raises:
        TableSchemaValidationError: code 20, Lance does not support a type. Raised while rows are
            read for values that are nested too deeply, nulls in a non-nullable column, and lists of
            the wrong length.
    """
    check_types(rows.schema)
    schema = rows.schema if onto is None else _with_vectors(rows.schema, onto)
    if schema is rows.schema:
        reader = rows.reader(checked)
    else:
        reader = rows.reader(lambda batch: checked(_cast_vectors(batch, schema)), schema)
    return split_at_files(reader, rows_per_file)


def with_vectors_of(rows: pa.Table | pa.RecordBatchReader, onto: pa.Schema) -> RowStream:
    """Return validated rows, with lists converted to a table's fixed-size lists.

    Args:
        rows: the rows, as returned by `writable`.
        onto: the table's schema.
    """
    import pyarrow as pa

    schema = _with_vectors(rows.schema, onto)
    if schema is rows.schema:
        return RowStream.of(rows)
    batches = rows.to_batches() if isinstance(rows, pa.Table) else rows
    return RowStream(schema, (_cast_vectors(batch, schema) for batch in batches))


def _with_vectors(schema: pa.Schema, onto: pa.Schema) -> pa.Schema:
    """Return the rows' schema with lists replaced by the table's fixed-size lists."""
    from pyarrow import types as is_

    for place, field in enumerate(schema):
        existing = onto.field(field.name) if field.name in onto.names else None
        if (
            existing is not None
            and is_.is_fixed_size_list(existing.type)
            and (is_.is_list(field.type) or is_.is_large_list(field.type))
            and _is_number(existing.type.value_type)
            and _is_number(field.type.value_type)
        ):
            schema = schema.set(place, field.with_type(existing.type))
    return schema


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types as is_

    return bool(is_.is_integer(kind) or is_.is_floating(kind))


def _cast_vectors(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if column.type != field.type:
            try:
                column = cast(column, field.type)
            except (pa.ArrowException, ValueError) as error:
                raise TableSchemaValidationError(
                    f"column {field.name!r} has type {field.type} in the table: "
                    f"{' '.join(str(error).split())[:200]}; send lists of that length, or change "
                    "the type by sending fixed-size lists with mode Overwrite"
                ) from error
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch in a form that Lance can read.

    Raises:
        TableSchemaValidationError: code 20, a value is nested too deeply, or a non-nullable column
            contains a null.
    """
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if not field.nullable and column.null_count:
            raise TableSchemaValidationError(
                f"column {field.name!r} is not nullable, but row {_first_null(column)} of a batch "
                f"is null; send a value, or declare the column nullable"
            )
        check_depth(field, column, field.name)
    return aligned(batch)


def _first_null(column: pa.Array) -> int:
    pc = load("pyarrow.compute")

    return int(pc.index(column.is_null(), True).as_py())


def check_depth(field: pa.Field, column: Any, path: str) -> None:
    """Reject values in a column or a nested field that are nested too deeply."""
    kind = storage_of(field.type)
    measure = MEASURED.get(extension_of(field))
    if measure is not None:
        for row, value in measure[0](_storage(column)):
            if measure[1](value) > MAX_VALUE_NESTING:
                raise TableSchemaValidationError(
                    f"column {path!r}: the value in row {row} of a batch is nested deeper than "
                    f"{MAX_VALUE_NESTING} levels; flatten it, or store it as a string"
                )
        return
    if not _has_measured(kind):
        return
    for child, values in _children(kind, _storage(column)):
        check_depth(child, values, f"{path}.{child.name}")


def _has_measured(kind: pa.DataType) -> bool:
    """Return whether a type contains a nested field whose values have a limited depth."""
    return any(
        extension_of(field) in MEASURED or _has_measured(storage_of(field.type))
        for field in (kind.field(number) for number in range(kind.num_fields))
    )


def _storage(column: Any) -> Any:
    while (inner := getattr(column, "storage", None)) is not None:
        column = inner
    return column


def _children(kind: pa.DataType, column: Any) -> Iterator[tuple[pa.Field, Any]]:
    from pyarrow import types as is_

    if is_.is_struct(kind):
        for number in range(kind.num_fields):
            yield kind.field(number), column.field(number)
    elif is_.is_map(kind):
        yield kind.key_field, column.keys
        yield kind.item_field, column.items
    elif hasattr(kind, "value_field"):
        yield kind.value_field, column.values


# --- Few values can be nested too deeply, and only those are examined one by one.


def _deep_texts(column: Any) -> Iterator[tuple[int, Any]]:
    """Yield the values that contain enough brackets to be nested too deeply, with their rows."""
    import pyarrow as pa

    pc = load("pyarrow.compute")

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        column = column.cast(pa.large_binary()).cast(pa.large_utf8())
    openings = [pc.count_substring(column, bracket) for bracket in "[{("]
    total = pc.add(pc.add(openings[0], openings[1]), openings[2])
    yield from _chosen(column, pc.greater(total, MAX_VALUE_NESTING))


def _long_values(column: Any) -> Iterator[tuple[int, Any]]:
    """Yield the values that are long enough to be nested too deeply, with their rows."""
    pc = load("pyarrow.compute")

    yield from _chosen(column, pc.greater(pc.binary_length(column), 4 * MAX_VALUE_NESTING))


def _chosen(column: Any, deep: Any) -> Iterator[tuple[int, Any]]:
    pc = load("pyarrow.compute")

    for row in pc.indices_nonzero(pc.fill_null(deep, False)).to_pylist():
        yield row, column[row].as_py()


def _text_depth(text: str) -> int:
    """Return the nesting depth of brackets in JSON or WKT, ignoring brackets in quotes."""
    depth = deepest = 0
    quoted = escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = quoted
        elif character == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif character in "[{(":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]})":
            depth -= 1
    return deepest


def _jsonb_depth(value: bytes) -> int:
    """Return the nesting depth of containers in Lance's binary JSON.

    Each container consists of a header, a 4-byte entry per value (and key) with its kind and
    length, and the values in sequence.
    """
    deepest = 0
    left = [(0, 1)]
    while left and deepest <= MAX_VALUE_NESTING:
        at, depth = left.pop()
        if at + 4 > len(value):
            continue
        (head,) = struct.unpack_from(">I", value, at)
        kind, count = (head >> 24) & 0xE0, head & 0x1FFFFFFF
        if kind not in (_JSONB_ARRAY, _JSONB_OBJECT):
            continue
        deepest = max(deepest, depth)
        entries = count if kind == _JSONB_ARRAY else 2 * count
        entries = min(entries, (len(value) - at - 4) // 4)
        offset = at + 4 + 4 * entries
        for number in range(entries):
            (entry,) = struct.unpack_from(">I", value, at + 4 + 4 * number)
            if (entry >> 24) & 0x70 == _JSONB_CONTAINER:
                left.append((offset, depth + 1))
            offset += entry & 0x0FFFFFFF
    return deepest


def _collections(column: Any) -> Iterator[tuple[int, Any]]:
    """Yield the WKB values that are geometry collections, with their rows."""
    import pyarrow as pa

    pc = load("pyarrow.compute")

    if not pa.types.is_large_binary(column.type):
        column = column.cast(pa.large_binary())
    heads = pc.binary_slice(column, 0, 5)
    found = [head for head in heads.unique().to_pylist() if head and _wkb_head(head, 0)[0] == 7]
    if found:
        yield from _chosen(column, pc.is_in(heads, pa.array(found, heads.type)))


def _wkb_head(value: bytes, at: int) -> tuple[int, str, int, int]:
    """Return a geometry's kind, byte order, number of doubles per point, and content offset.

    The kind is 0 if the value is too short.
    """
    if at + 5 > len(value):
        return 0, "<", 0, len(value)
    order = "<" if value[at] else ">"
    (code,) = struct.unpack_from(f"{order}I", value, at + 1)
    plain = code & 0x0FFFFFFF
    extra = {0: 0, 1: 1, 2: 1, 3: 2}.get(plain // 1000, 0)
    extra = max(extra, (code >> 31) + (code >> 30 & 1))
    return plain % 1000, order, 2 + extra, at + 5 + (4 if code & 0x20000000 else 0)


def _wkb_depth(value: bytes) -> int:
    """Return the nesting depth of geometry collections in a WKB value."""
    at = 0
    open_members: list[int] = []  # remaining members in each enclosing collection
    deepest = 0
    while True:
        kind, order, width, at = _wkb_head(value, at)
        if (kind not in _WKB_SIZES and kind not in _WKB_COLLECTIONS) or at + 4 > len(value):
            return deepest
        if kind in _WKB_COLLECTIONS:
            (members,) = struct.unpack_from(f"{order}I", value, at)
            at += 4
            open_members.append(members)
            deepest = max(deepest, len(open_members))
            if deepest > MAX_VALUE_NESTING:
                return deepest
        else:
            at = _WKB_SIZES[kind](value, at, order, 8 * width)
            if open_members:
                open_members[-1] -= 1
        while open_members and not open_members[-1]:
            open_members.pop()
            if open_members:
                open_members[-1] -= 1
        if not open_members:
            return deepest


def _end_of_points(value: bytes, at: int, order: str, size: int) -> int:
    if at + 4 > len(value):
        return len(value)
    return at + 4 + size * int(struct.unpack_from(f"{order}I", value, at)[0])


def _end_of_rings(value: bytes, at: int, order: str, size: int) -> int:
    (rings,) = struct.unpack_from(f"{order}I", value, at)
    at += 4
    while rings and at < len(value):
        at = _end_of_points(value, at, order, size)
        rings -= 1
    return at


_WKB_COLLECTIONS = frozenset((4, 5, 6, 7))
# Functions that return the end of a geometry that contains no other geometries.
_WKB_SIZES: dict[int, Callable[[bytes, int, str, int], int]] = {
    1: lambda value, at, order, size: at + size,
    2: _end_of_points,
    3: _end_of_rings,
}
MEASURED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], int]]] = {
    "arrow.json": (_deep_texts, _text_depth),
    "lance.json": (_long_values, _jsonb_depth),
    "geoarrow.wkt": (_deep_texts, _text_depth),
    "geoarrow.wkb": (_collections, _wkb_depth),
    "ogc.wkb": (_collections, _wkb_depth),
}
"""Extension types whose values have a limited depth. Each has two functions: one selects the values
to measure, and the other measures a value.
"""
