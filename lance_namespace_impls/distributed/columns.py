"""Converts columns between Lance and Spark, and performs all casts of values.

Spark accepts record batches only in the exact Arrow representation of its own types. Values of
other Lance types are cast when they are read, and cast back when they are written.

| Lance | Spark |
|---|---|
| 8, 16, 32-bit unsigned | the next larger signed type |
| 64-bit unsigned | decimal(20,0) |
| half float | float |
| large, view, dictionary-encoded and ``arrow.json`` text | string |
| large, view, fixed-size and blob bytes, ``arrow.uuid`` | binary |
| fixed-size and large lists | array |
| timestamps of any unit, with a zone / without | timestamp / timestamp_ntz, in microseconds |
| durations of any unit | interval day to second, in microseconds |
| times of any unit | time, in microseconds |
| date64 | date |
| decimal256 of up to 38 digits | decimal |

Nanoseconds are truncated to microseconds. Row ids are long. Types that are neither in this table
nor Spark's own are rejected.
"""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types as is_

from lance_namespace_client.errors import (
    TableColumnNotFoundError,
    TableSchemaValidationError,
    UnsupportedError,
)

from ..core.errors import first_line
from ..core.imports import load
from ..tables.align import cast
from .casts import MISFITS, is_list, may_overflow
from .type_names import parse_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql.types import StructType

__all__ = [
    "batches_of_bounded_size",
    "cast_batch",
    "cast_rows",
    "check_compatible",
    "compatible",
    "is_blob",
    "lance_schema",
    "spark_arrow_schema",
    "to_spark_schema",
    "with_types",
]

MAX_DECIMAL_DIGITS = 38
# This is less than the limit of 2 GiB for one batch in Arrow and the JVM, so that values may grow
# in a cast.
BATCH_BYTES = 128 << 20

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}
_EXTENSIONS = {"arrow.json": pa.string(), "arrow.uuid": pa.binary(), "arrow.bool8": pa.bool_()}
_BLOB = "lance.blob.v2"
_MARK = "lance_type"
_SAME = frozenset(
    {
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.binary(),
        pa.date32(),
    }
)


def to_spark_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema of a Lance table's schema.

    Raises:
        UnsupportedError: code 0, a column has a type without an equivalent in Spark.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = pa.schema(
        [
            pa.field(field.name, _plain(field.type, field.name), nullable=field.nullable)
            for field in schema
        ]
    )
    # By default, Spark 4.1 reads timestamps without a zone as timestamps in UTC.
    found = from_arrow_schema(plain, prefer_timestamp_ntz=True)
    for stored, field in zip(found, schema, strict=True):
        if is_blob(field):
            # Spark keeps the metadata of columns that pass through unchanged, so blobs remain blobs
            # in copies.
            stored.metadata = {_MARK: _BLOB}
    return found


def spark_arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects from a data source with a Spark schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Up to Spark 4.1, timestamps with a zone are always in UTC, and this argument does not exist.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in _parameters(to_arrow_schema) else {}
    found: pa.Schema = to_arrow_schema(schema, **zone)
    return found


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(signature(function).parameters)


def lance_schema(schema: StructType, types: str | None = None) -> pa.Schema:
    """Return the Arrow schema of a new table for a DataFrame; every column is nullable.

    Args:
        schema: schema of the DataFrame.
        types: other types for some columns, such as ``"vector:float32[768], zip:string"``.

    Raises:
        UnsupportedError: code 0, a column has a type without an equivalent in Lance.
        TableColumnNotFoundError: code 12, `types` names an unknown column.
        TableSchemaValidationError: code 20, a column cannot be cast to the type specified for it.
    """
    lance = load("lance")
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.types import StructType

    fields = []
    for field in schema:
        try:
            plain = spark_arrow_schema(StructType([field])).field(0)
        except PySparkTypeError as error:
            raise _not_in_lance(field.name, field.dataType.simpleString()) from error
        if _is_tagged(plain.type):
            raise _not_in_lance(field.name, field.dataType.simpleString())
        if (field.metadata or {}).get(_MARK) == _BLOB and is_.is_binary(plain.type):
            fields.append(lance.blob_field(field.name))
        else:
            fields.append(pa.field(field.name, _nullable(plain.type)))
    found = pa.schema(fields)
    target = with_types(found, types)
    for before, after in zip(found, target, strict=True):
        if not compatible(before.type, after.type):
            raise TableSchemaValidationError(
                f"types: column {before.name} is {before.type} and cannot become {after.type}"
            )
    return target


def _not_in_lance(column: str, kind: str) -> UnsupportedError:
    return UnsupportedError(f"column {column}: Lance has no type for {kind}; cast it, or drop it")


def _is_tagged(kind: pa.DataType) -> bool:
    """Return whether a struct represents a Spark-specific type, such as variant."""
    if is_.is_struct(kind):
        tags = {tag for child in kind for tag in child.metadata or ()}
        return not tags.isdisjoint((b"variant", b"geometry", b"geography")) or any(
            _is_tagged(child.type) for child in kind
        )
    if is_.is_map(kind):
        return _is_tagged(kind.item_type)
    return is_list(kind) and _is_tagged(kind.value_type)


def _nullable(kind: pa.DataType) -> pa.DataType:
    if is_.is_struct(kind):
        return pa.struct([pa.field(child.name, _nullable(child.type)) for child in kind])
    if is_.is_map(kind):
        return pa.map_(_nullable(kind.key_type), _nullable(kind.item_type))
    return pa.list_(_nullable(kind.value_type)) if is_.is_list(kind) else kind


def with_types(schema: pa.Schema, types: str | None) -> pa.Schema:
    """Return a schema in which some columns have other types.

    Raises:
        InvalidInputError: code 13, `types` is not of the form ``column:type, column:type``.
        TableColumnNotFoundError: code 12, a column does not exist.
    """
    for column, kind in parse_types(types or "").items():
        index = schema.get_field_index(column)
        if index < 0:
            raise TableColumnNotFoundError(
                f"types: there is no column {column}; the columns are {', '.join(schema.names)}"
            )
        schema = schema.set(index, schema.field(index).with_type(kind))
    return schema


def _plain(kind: pa.DataType, column: str) -> pa.DataType:
    """Return the Arrow type that Spark uses for a Lance type."""
    if isinstance(kind, pa.BaseExtensionType):  # first, because some of them are not hashable
        if kind.extension_name == _BLOB:
            return pa.binary()
        if kind.extension_name in _EXTENSIONS:
            return _EXTENSIONS[kind.extension_name]
    elif kind in _SAME:
        return kind
    elif kind in _WIDER:
        return _WIDER[kind]
    elif is_.is_fixed_size_binary(kind):
        return pa.binary()
    elif is_.is_decimal(kind):
        if kind.precision <= MAX_DECIMAL_DIGITS:
            return pa.decimal128(kind.precision, kind.scale)
    elif is_.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    elif is_.is_duration(kind):
        return pa.duration("us")
    elif is_.is_time(kind):
        return pa.time64("ns")
    elif is_.is_dictionary(kind):
        return _plain(kind.value_type, column)
    elif is_.is_map(kind):
        key = _plain(kind.key_type, column)
        value = pa.field("value", _plain(kind.item_type, column), nullable=kind.item_field.nullable)
        return pa.map_(key, value)
    elif is_list(kind):
        element = pa.field(
            "element", _plain(kind.value_type, column), nullable=kind.value_field.nullable
        )
        return pa.list_(element)
    elif is_.is_struct(kind):
        return pa.struct(
            [
                pa.field(
                    child.name,
                    _plain(child.type, f"{column}.{child.name}"),
                    nullable=child.nullable,
                )
                for child in kind
            ]
        )
    raise UnsupportedError(
        f"column {column}: Spark has no type for {kind}; exclude the column with the option "
        "'columns'"
    )


def cast_batch(
    batch: pa.RecordBatch,
    target: pa.Schema,
    *,
    cut_fractions: bool = False,
    overflow: bool = False,
) -> pa.RecordBatch:
    """Return a batch cast to a schema; columns are matched by name, and missing ones become null.

    Args:
        batch: the rows.
        target: schema of the result.
        cut_fractions: whether values in a finer time unit may lose digits (they are truncated
            toward zero); otherwise, this is an error.
        overflow: whether a floating-point number that is too large for its column becomes infinite;
            otherwise, this is an error.

    Raises:
        TableSchemaValidationError: code 20, a value does not fit its column.
    """
    arrays = []
    for field in target:
        index = batch.schema.get_field_index(field.name)
        array = batch.column(index) if index >= 0 else _nulls(batch.num_rows, field.type)
        if array.type != field.type:
            source, array = array, _cast(array, field, safe=not cut_fractions)
            checked = not overflow and may_overflow(source.type, field.type)
            if checked and _infinite(array) > _infinite(source):
                raise TableSchemaValidationError(
                    f"column {field.name}: a value of type {source.type} is too large for "
                    f"{field.type}; the data source's option overflow=infinity stores it as "
                    "infinity"
                )
        if array.null_count and not field.nullable:
            raise TableSchemaValidationError(
                f"column {field.name}: the column is not nullable, but the rows contain nulls"
            )
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def cast_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, overflow: bool = False
) -> Iterator[pa.RecordBatch]:
    """Return an iterator over the batches of a task in the schema to write; see `cast_batch`."""
    from ..tables.align import aligned

    return (cast_batch(aligned(each), schema, overflow=overflow) for each in batches)


def _nulls(rows: int, kind: pa.DataType) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.nulls(rows, kind.storage_type))
    return pa.nulls(rows, kind)


def is_blob(field: pa.Field) -> bool:
    """Return whether Lance stores the values of a column as blobs, outside its pages."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        return bool(kind.extension_name == _BLOB)
    return (field.metadata or {}).get(b"lance-encoding:blob") == b"true"


def _to_blobs(array: Any, kind: Any) -> Any:
    """Return bytes as values of a blob column."""
    parts = [
        array.cast(field.type) if field.name == "data" else pa.nulls(len(array), field.type)
        for field in kind.storage_type
    ]
    whole = pa.StructArray.from_arrays(parts, fields=list(kind.storage_type), mask=array.is_null())
    return pa.ExtensionArray.from_storage(kind, whole)


def _cast(array: Any, field: pa.Field, *, safe: bool) -> Any:
    try:
        if _family(array.type) == "bytes" and getattr(field.type, "extension_name", None) == _BLOB:
            return _to_blobs(array, field.type)
        try:
            return cast(array, field.type)
        except pa.ArrowInvalid as error:
            if safe or "would lose data" not in str(error):
                raise
            return cast(array, field.type, safe=False)
    # Let Arrow decide, because each release supports different casts of nested and extension types.
    except MISFITS as error:
        raise TableSchemaValidationError(
            f"column {field.name}: a value of type {array.type} does not fit {field.type}: "
            f"{first_line(error)}"
        ) from error


def _infinite(array: Any) -> int:
    """Return the number of infinite values in an array, at any depth."""
    pc = load("pyarrow.compute")

    kind = array.type
    if is_.is_floating(kind):
        return pc.sum(pc.is_inf(array)).as_py() or 0
    if is_.is_map(kind):
        return _infinite(array.keys) + _infinite(array.items)
    if is_list(kind) or is_.is_struct(kind):
        parts = array.flatten() if is_.is_struct(kind) else [array.flatten()]
        return sum(map(_infinite, parts))
    return 0


def batches_of_bounded_size(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch into parts of at most about `BATCH_BYTES`, unless a single row is larger."""
    parts = max(1, -(-batch.nbytes // BATCH_BYTES))
    rows = max(1, -(-batch.num_rows // parts))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def check_compatible(source: pa.Schema, table: pa.Schema, what: str) -> None:
    """Reject rows that do not fit a table, before any row is read.

    Columns are matched by name. A column that the rows lack must be nullable in the table.

    Args:
        source: schema of the rows.
        table: schema of the table.
        what: the table, as the start of the message.

    Raises:
        TableSchemaValidationError: code 20, the message names the column.
    """
    unknown = [name for name in source.names if table.get_field_index(name) < 0]
    if unknown:
        raise TableSchemaValidationError(
            f"{what} has no column {', '.join(unknown)}; it has {', '.join(table.names)}"
        )
    for field in table:
        index = source.get_field_index(field.name)
        if index < 0:
            if not field.nullable:
                raise TableSchemaValidationError(
                    f"{what}: column {field.name} is not nullable, but the rows lack it"
                )
        elif not compatible(source.field(index).type, field.type):
            raise TableSchemaValidationError(
                f"{what}: column {field.name} is {field.type}, but the rows have "
                f"{source.field(index).type}; cast them first"
            )


def compatible(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether values of one type may be cast to another; the cast checks each value."""
    if is_.is_null(source) or source == target:
        return True
    if is_.is_dictionary(source) or is_.is_dictionary(target):
        return compatible(_values(source), _values(target))
    if is_list(source) and is_list(target):
        return compatible(source.value_type, target.value_type)
    if is_.is_map(source) and is_.is_map(target):
        return compatible(source.key_type, target.key_type) and compatible(
            source.item_type, target.item_type
        )
    if is_.is_struct(source) and is_.is_struct(target):
        children = {child.name: child.type for child in target}
        return all(
            child.name in children and compatible(child.type, children[child.name])
            for child in source
        )
    family = _family(target)
    return family is not None and _family(source) == family


def _values(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if is_.is_dictionary(kind) else kind


def _family(kind: pa.DataType) -> str | None:
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == _BLOB:
            return "bytes"
        if kind.extension_name not in _EXTENSIONS:
            return None
        kind = _EXTENSIONS[kind.extension_name]
    if is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind):
        return "number"
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return "text"
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_fixed_size_binary(kind):
        return "bytes"
    if is_.is_timestamp(kind):
        return "moment" if kind.tz else "wall clock"
    for family, check in (
        ("truth", is_.is_boolean),
        ("date", is_.is_date),
        ("time", is_.is_time),
        ("duration", is_.is_duration),
    ):
        if check(kind):
            return family
    return None
