"""Converts Arrow types to the names used in Lance's JSON and SQL.

These names are for readers that do not support the protocol's names; see `schema` for those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

from .schema import from_json_type

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.models import JsonArrowField, JsonArrowSchema

__all__ = ["sql_type_name", "to_lance_schema"]

_NAMES = {
    "halffloat": "halffloat",
    "float": "float",
    "double": "double",
    "date32[day]": "date32:day",
    "date64[ms]": "date64:ms",
}
_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}
_SQL_NAMES = {
    "null": "Null",
    "bool": "Boolean",
    "halffloat": "Float16",
    "float": "Float32",
    "double": "Float64",
    "string": "Utf8",
    "large_string": "LargeUtf8",
    "binary": "Binary",
    "large_binary": "LargeBinary",
    "date32[day]": "Date32",
    "date64[ms]": "Date64",
}


def to_lance_schema(schema: JsonArrowSchema) -> dict[str, Any]:
    """Convert a schema from the protocol's JSON to Lance's JSON format."""
    written: dict[str, Any] = {"fields": [_field(field) for field in schema.fields]}
    if schema.metadata:
        written["metadata"] = schema.metadata
    return written


def _field(field: JsonArrowField) -> dict[str, Any]:
    kind = field.type
    written: dict[str, Any] = {"type": _name(kind, field.name)}
    if kind.fields:
        written["fields"] = [_field(each) for each in kind.fields]
    if kind.length is not None and "decimal" not in kind.type:
        written["length"] = kind.length
    found: dict[str, Any] = {"name": field.name, "type": written, "nullable": field.nullable}
    if field.metadata:
        found["metadata"] = field.metadata
    return found


def _name(kind: Any, what: str) -> str:
    import pyarrow as pa

    name: str = kind.type.lower()
    if name in ("struct", "list", "large_list", "fixed_size_list", "fixed_size_binary", "map"):
        return name
    arrow = from_json_type(kind.to_dict(), what)
    is_ = pa.types
    if is_.is_dictionary(arrow):
        values = _NAMES.get(str(arrow.value_type), str(arrow.value_type))
        return f"dict:{values}:{arrow.index_type}:false"
    if is_.is_decimal(arrow):
        return f"decimal:{arrow.bit_width}:{arrow.precision}:{arrow.scale}"
    if is_.is_timestamp(arrow):
        return f"timestamp:{arrow.unit}:{arrow.tz or '-'}"
    if is_.is_time(arrow):
        return f"time{arrow.bit_width}:{arrow.unit}"
    if is_.is_duration(arrow):
        return f"duration:{arrow.unit}"
    return _NAMES.get(str(arrow), str(arrow))


def sql_type_name(kind: pa.DataType) -> str:
    """Return the name of an Arrow type for the function ``arrow_cast`` in Lance's SQL.

    Raises:
        InvalidInputError: code 13, ``arrow_cast`` does not support the type.
    """
    import pyarrow as pa

    is_ = pa.types
    if is_.is_fixed_size_list(kind):
        return f"FixedSizeList({kind.list_size}, {sql_type_name(kind.value_type)})"
    if is_.is_list(kind):
        return f"List({sql_type_name(kind.value_type)})"
    if is_.is_large_list(kind):
        return f"LargeList({sql_type_name(kind.value_type)})"
    if is_.is_struct(kind):
        fields = (f'"{each.name}": {sql_type_name(each.type)}' for each in kind)
        return f"Struct({', '.join(fields)})"
    if is_.is_dictionary(kind):
        return f"Dictionary({sql_type_name(kind.index_type)}, {sql_type_name(kind.value_type)})"
    if is_.is_fixed_size_binary(kind):
        return f"FixedSizeBinary({kind.byte_width})"
    if is_.is_decimal(kind):
        return f"Decimal{kind.bit_width}({kind.precision}, {kind.scale})"
    if is_.is_timestamp(kind):
        zone = "None" if kind.tz is None else f'Some("{kind.tz}")'
        return f"Timestamp({_UNITS[kind.unit]}, {zone})"
    if is_.is_time(kind):
        return f"Time{kind.bit_width}({_UNITS[kind.unit]})"
    if is_.is_duration(kind):
        return f"Duration({_UNITS[kind.unit]})"
    name = str(kind)
    if is_.is_integer(kind):
        return name.replace("uint", "UInt") if name.startswith("u") else name.capitalize()
    if name in _SQL_NAMES:
        return _SQL_NAMES[name]
    raise InvalidInputError(
        f"a column of nulls cannot have type {kind}; add the column together with its values"
    )
