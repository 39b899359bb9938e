"""Converts between Arrow schemas and the protocol's JSON.

Types have Arrow's names (``utf8``, ``float32``, ``timestamp`` with a unit), as in rest.yaml. Two
other sets of names are also accepted: Lance's own (``string``, ``float``, ``timestamp:us:-``), and
those of Arrow's Java library, which have no underscores.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import evolve

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_client.models import JsonArrowDataType, JsonArrowField, JsonArrowSchema

from ..core.imports import load
from .errors import plain_message
from .zones import check_zone, is_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

__all__ = [
    "check_column_name",
    "check_columns",
    "check_metadata",
    "check_types",
    "column_types",
    "extension_of",
    "from_json_type",
    "storage_of",
    "to_json_schema",
    "type_name",
    "unpack_decimal",
]

# pylance adds these columns to rows, and fails if a table has its own column with such a name.
RESERVED = frozenset(
    ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
)
_UNREADABLE = {".": "a dot", "`": "a backtick", "\0": "a zero byte"}


MAX_FIELDS = 10_000
"""Maximum number of fields in a schema, including nested fields."""
MAX_NESTING = 64
"""Maximum nesting depth of a column's type; Arrow's own readers reject deeper nesting."""
MAX_METADATA_ENTRIES = 1_000
"""Maximum number of metadata entries in a schema, and in each of its fields."""
MAX_METADATA_BYTES = 4 << 20
"""Maximum size, in bytes, of all metadata in a schema."""


def check_columns(schema: pa.Schema) -> None:
    """Reject a schema with columns that could be written but not read.

    Raises:
        TableSchemaValidationError: code 20.
    """
    if not schema.names:
        raise TableSchemaValidationError("no columns to write; send at least one")
    for name in schema.names:
        check_column_name(name)
    check_types(schema)


def check_types(schema: pa.Schema) -> None:
    """Reject a schema with types, at any depth, that Lance cannot store and return unchanged.

    Unlike `check_columns`, this function accepts every name, because another tool may have created
    the table.

    Raises:
        TableSchemaValidationError: code 20, a type is unsupported; the message names the column.
    """
    _require_distinct(schema.names, "")
    if len(schema.names) > MAX_FIELDS:
        raise _too_wide()
    fields = 0
    size = check_metadata(schema.metadata, "the schema")
    for field in schema:
        for path, each, _ in _walk(field):
            fields += 1
            if fields > MAX_FIELDS:
                raise _too_wide()
            size += check_metadata(each.metadata, f"column {path[:200]!r}")
            if size > MAX_METADATA_BYTES:
                raise TableSchemaValidationError(
                    f"the schema has more than {MAX_METADATA_BYTES} bytes of metadata; remove some"
                )


def _too_wide() -> TableSchemaValidationError:
    return TableSchemaValidationError(
        f"the schema has more than {MAX_FIELDS} fields; store them in a list or map column, or in "
        "several tables"
    )


def check_metadata(metadata: Mapping[Any, Any] | None, owner: str) -> int:
    """Return the size of metadata in bytes.

    Args:
        metadata: the entries.
        owner: the schema or column, for messages.

    Raises:
        TableSchemaValidationError: code 20, there are too many entries, or they are too large.
    """
    if not metadata:
        return 0
    if len(metadata) > MAX_METADATA_ENTRIES:
        raise TableSchemaValidationError(
            f"{owner} has {len(metadata)} metadata entries; the maximum is {MAX_METADATA_ENTRIES}"
        )
    size = sum(len(key) + len(value) for key, value in metadata.items())
    if size > MAX_METADATA_BYTES:
        raise TableSchemaValidationError(
            f"{owner} has {size} bytes of metadata; the maximum is {MAX_METADATA_BYTES}"
        )
    return size


def _require_distinct(names: list[str], parent: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableSchemaValidationError(
                f"two columns are named {parent + name!r}; rename one of them"
            )
        seen.add(name)


def _walk(field: pa.Field) -> Iterator[tuple[str, pa.Field, int]]:
    """Yield a column and all nested fields, validated, with their paths and depths."""
    left = [(field.name, field, 1)]
    while left:
        path, field, depth = left.pop()
        yield path, field, depth
        kind = storage_of(field.type)
        if fault := _fault(kind) or _fault_of_extension(extension_of(field), kind):
            raise TableSchemaValidationError(f"column {path[:200]!r}: {fault}")
        if kind.num_fields and depth >= MAX_NESTING:
            raise TableSchemaValidationError(
                f"column {path[:60]!r} is nested deeper than {MAX_NESTING} levels; flatten it"
            )
        children = [kind.field(number) for number in range(kind.num_fields)]
        _require_distinct([child.name for child in children], f"{path}.")
        for child in children:
            if "\0" in child.name:
                raise TableSchemaValidationError(
                    f"column {path[:200]!r}: the name of field {child.name!r} contains a zero "
                    "byte; choose another name"
                )
        left += [(f"{path}.{child.name}", child, depth + 1) for child in reversed(children)]


def storage_of(kind: pa.DataType) -> pa.DataType:
    """Return the storage type of an extension type; other types are returned unchanged."""
    while (inner := getattr(kind, "storage_type", None)) is not None:
        kind = inner
    return kind


def extension_of(field: pa.Field) -> str:
    """Return the name of a column's extension type, even if pyarrow does not know it, or ""."""
    name = getattr(field.type, "extension_name", None)
    if name is None and field.metadata:
        name = field.metadata.get(b"ARROW:extension:name", b"").decode("utf-8", "replace")
    return name or ""


def _fault_of_extension(name: str, storage: pa.DataType) -> str | None:
    """Return why Lance cannot store an extension type, and the remedy; None if Lance can."""
    from pyarrow import types as is_

    if name == "arrow.json" and not (is_.is_string(storage) or is_.is_large_string(storage)):
        return (
            f"Lance cannot store {name} with storage type {_short(storage)}; cast it to {name} "
            "with storage type utf8"
        )
    return None


def _fault(kind: pa.DataType) -> str | None:
    """Return why Lance cannot store a type, and the remedy; None if Lance can.

    Only the type itself is examined, not its nested fields.
    """
    from pyarrow import types as is_

    if kind.id in _lacking():
        return f"Lance does not support type {_short(kind)}; cast the column to another type"
    zone = getattr(kind, "tz", None)
    if zone is not None and not is_zone(zone):
        return f"unknown time zone {zone[:100]!r}; use one such as UTC, Europe/Berlin or +02:00"
    if is_.is_struct(kind) and not kind.num_fields:
        return "Lance cannot store a struct without fields; add a field, or omit the column"
    if is_.is_map(kind) and kind.keys_sorted:
        return "Lance cannot store a map with sorted keys; cast it to a map with keys_sorted=False"
    if is_.is_fixed_size_list(kind):
        if kind.list_size < 1:
            return "Lance cannot store fixed-size lists of length 0; cast them to list"
        inner = kind.value_type
        if not (is_.is_fixed_size_list(inner) or _has_fixed_width(inner)):
            return (
                f"Lance cannot store fixed-size lists of {_short(inner)}; cast the column to a "
                f"variable-length list"
            )
    if is_.is_dictionary(kind) and not _is_dictionary_value(kind.value_type):
        return (
            f"Lance cannot store dictionaries of {_short(kind.value_type)}; cast the column to "
            "that type"
        )
    return None


def _short(kind: pa.DataType) -> str:
    text = str(kind)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _has_fixed_width(kind: pa.DataType) -> bool:
    from pyarrow import types as is_

    return bool(
        is_.is_null(kind)
        or is_.is_boolean(kind)
        or is_.is_integer(kind)
        or is_.is_floating(kind)
        or is_.is_decimal(kind)
        or is_.is_temporal(kind)
        or (is_.is_fixed_size_binary(kind) and kind.byte_width)
    )


def _is_dictionary_value(kind: pa.DataType) -> bool:
    from pyarrow import types as is_

    return bool(
        is_.is_string(kind)
        or is_.is_large_string(kind)
        or is_.is_binary(kind)
        or is_.is_large_binary(kind)
        or is_.is_boolean(kind)
        or is_.is_integer(kind)
        or is_.is_floating(kind)
    )


@cache
def _lacking() -> frozenset[int]:
    from pyarrow import lib

    names = (
        "DECIMAL32",
        "DECIMAL64",
        "INTERVAL_MONTH_DAY_NANO",
        "LIST_VIEW",
        "LARGE_LIST_VIEW",
        "RUN_END_ENCODED",
        "SPARSE_UNION",
        "DENSE_UNION",
    )
    return frozenset(getattr(lib, f"Type_{name}") for name in names)


def check_column_name(name: str) -> None:
    """Reject a column name that Lance would accept but could not find afterwards.

    Raises:
        TableSchemaValidationError: code 20.
    """
    if not name:
        raise TableSchemaValidationError("a column has an empty name; choose a name")
    if name in RESERVED:
        raise TableSchemaValidationError(
            f"column {name!r} is reserved by Lance; choose another name"
        )
    for character, shown in _UNREADABLE.items():
        if character in name:
            raise TableSchemaValidationError(
                f"column {name!r} has {shown} in its name, so Lance cannot find it; choose "
                "another name"
            )


def to_json_schema(schema: pa.Schema) -> JsonArrowSchema:
    """Convert an Arrow schema to the protocol's model."""
    return JsonArrowSchema(
        fields=[_field(field) for field in schema], metadata=_metadata(schema.metadata)
    )


def _metadata(metadata: Mapping[bytes, bytes] | None) -> dict[str, str] | None:
    if not metadata:
        return None
    return {k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, v in metadata.items()}


def _field(field: pa.Field) -> JsonArrowField:
    return JsonArrowField(
        name=field.name,
        nullable=field.nullable,
        type=_type(field.type),
        metadata=_metadata(field.metadata),
    )


# pyarrow's type names that differ from Arrow's. A view differs only in memory layout, so it has the
# name of the type without views.
_ARROW_NAMES = {
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "large_string": "large_utf8",
    "string_view": "utf8",
    "binary_view": "binary",
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
# The `length` of a decimal encodes two numbers: precision times this factor, plus scale.
_PRECISION_STEP = 1000
_MIN_SCALE = -128


def _type(kind: pa.DataType) -> JsonArrowDataType:
    import pyarrow as pa

    is_ = pa.types
    if is_.is_map(kind):
        entry = pa.struct([kind.key_field.with_nullable(False), kind.item_field])
        return JsonArrowDataType(type="map", fields=[_field(pa.field("entries", entry, False))])
    if is_.is_struct(kind):
        return JsonArrowDataType(type="struct", fields=[_field(field) for field in kind])
    if is_.is_fixed_size_list(kind):
        return JsonArrowDataType(
            type="fixed_size_list", fields=[_field(kind.value_field)], length=kind.list_size
        )
    if is_.is_large_list(kind):
        return JsonArrowDataType(type="large_list", fields=[_field(kind.value_field)])
    if is_.is_list(kind):
        return JsonArrowDataType(type="list", fields=[_field(kind.value_field)])
    if isinstance(kind, pa.BaseExtensionType):
        return _type(kind.storage_type)
    if is_.is_dictionary(kind):
        return evolve(_type(kind.value_type), index_type=str(kind.index_type))
    if is_.is_fixed_size_binary(kind):
        return JsonArrowDataType(type="fixed_size_binary", length=kind.byte_width)
    if is_.is_decimal(kind):
        packed = kind.precision * _PRECISION_STEP + kind.scale
        return JsonArrowDataType(type=f"decimal{kind.bit_width}", length=packed)
    if is_.is_timestamp(kind):
        return JsonArrowDataType(type="timestamp", unit=kind.unit, timezone=kind.tz)
    if is_.is_time(kind):
        return JsonArrowDataType(type=f"time{kind.bit_width}", unit=kind.unit)
    if is_.is_duration(kind):
        return JsonArrowDataType(type="duration", unit=kind.unit)
    return JsonArrowDataType(type=_ARROW_NAMES.get(str(kind), str(kind)))


def from_json_type(data: Mapping[str, Any], what: str) -> pa.DataType:
    """Convert an Arrow type from the protocol's JSON.

    Args:
        data: the JSON object.
        what: the owner of the type, as the start of messages.

    Raises:
        InvalidInputError: code 13, there is no such type.
    """
    return _read_type(JsonArrowDataType.from_dict(data, what), what)


def _read_field(field: JsonArrowField, what: str) -> pa.Field:
    import pyarrow as pa

    return pa.field(
        field.name,
        _read_type(field.type, f"{what}.{field.name}"),
        nullable=field.nullable,
        metadata=field.metadata,
    )


# Types without parameters, by their names without underscores.
_PLAIN = {
    "null": "null",
    "bool": "bool_",
    "boolean": "bool_",
    **{name: name for size in (8, 16, 32, 64) for name in (f"int{size}", f"uint{size}")},
    **{f"float{size}": f"float{size}" for size in (16, 32, 64)},
    "utf8": "utf8",
    "largeutf8": "large_utf8",
    "binary": "binary",
    "largebinary": "large_binary",
    "date32": "date32",
    "date64": "date64",
}
_DECIMALS = tuple(f"decimal{size}" for size in (32, 64, 128, 256))


def _read_type(kind: JsonArrowDataType, what: str) -> pa.DataType:
    import pyarrow as pa

    if kind.index_type is not None:
        values = _read_type(evolve(kind, index_type=None), what)
        index = _read_type(JsonArrowDataType(type=kind.index_type), what)
        return _checked_type(kind, what, lambda: pa.dictionary(index, values))
    name = kind.type.lower().replace("_", "")
    if name in _PLAIN:
        return getattr(pa, _PLAIN[name])()
    if name in ("struct", "list", "largelist", "fixedsizelist", "map"):
        return _read_nested(kind, name, what)
    if name == "fixedsizebinary":
        size = _length(kind, what)
        return _checked_type(kind, what, lambda: pa.binary(size))
    if name in _DECIMALS:
        numbers = unpack_decimal(_length(kind, what))
        return _checked_type(kind, what, lambda: getattr(pa, name)(*numbers))
    if name == "timestamp":
        zone = kind.timezone and check_zone(kind.timezone, what)
        return _checked_type(kind, what, lambda: pa.timestamp(kind.unit or "us", zone))
    if name in ("time32", "time64", "duration"):
        unit = kind.unit or ("s" if name == "time32" else "us")
        return _checked_type(kind, what, lambda: getattr(pa, name)(unit))
    return _read_lance_type(kind, what)


def unpack_decimal(length: int) -> tuple[int, int]:
    """Return the precision and scale that the length of a decimal type encodes."""
    precision, scale = divmod(length - _MIN_SCALE, _PRECISION_STEP)
    return precision, scale + _MIN_SCALE


def _checked_type(
    kind: JsonArrowDataType, what: str, make: Callable[[], pa.DataType]
) -> pa.DataType:
    try:
        return make()
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInputError(f"{what}: invalid type {kind.type}: {error}") from error


def _length(kind: JsonArrowDataType, what: str) -> int:
    if kind.length is None:
        raise InvalidInputError(f"{what}: type {kind.type} needs a length")
    return kind.length


def _read_nested(kind: JsonArrowDataType, name: str, what: str) -> pa.DataType:
    import pyarrow as pa

    fields = [_read_field(field, what) for field in kind.fields or ()]
    if name == "struct":
        return pa.struct(fields)
    if len(fields) != 1:
        raise InvalidInputError(
            f"{what}: type {kind.type} needs exactly one field, not {len(fields)}"
        )
    if name == "list":
        return pa.list_(fields[0])
    if name == "largelist":
        return pa.large_list(fields[0])
    if name == "fixedsizelist":
        size = _length(kind, what)
        return _checked_type(kind, what, lambda: pa.list_(fields[0], size))
    entry = fields[0].type
    if not pa.types.is_struct(entry) or entry.num_fields != 2:
        raise InvalidInputError(f"{what}: the entries of a map must be a struct of key and value")
    return pa.map_(entry[0], entry[1])


def _read_lance_type(kind: JsonArrowDataType, what: str) -> pa.DataType:
    json_to_schema = load("lance.schema").json_to_schema

    try:
        wrapped = {"fields": [{"name": "x", "nullable": True, "type": kind.to_dict()}]}
        found = json_to_schema(wrapped).field(0).type
    except Exception as error:
        raise InvalidInputError(
            f"{what}: unknown type {kind.type!r}: {plain_message(error)}"
        ) from error
    if zone := getattr(found, "tz", None):
        check_zone(zone, what)
    return found


def column_types(schema: pa.Schema) -> dict[str, str]:
    """Return the human-readable types of columns by name."""
    return {field.name: type_name(field.type) for field in to_json_schema(schema).fields}


def type_name(type: JsonArrowDataType) -> str:
    """Return the short form of an Arrow type, such as ``fixed_size_list<float32>[768]``."""
    inner = type.fields or []
    if type.type == "struct":
        parts = ", ".join(f"{field.name}: {type_name(field.type)}" for field in inner)
    else:
        parts = ", ".join(type_name(field.type) for field in inner)
    details = [str(part) for part in (_size(type), type.unit, type.timezone) if part is not None]
    tail = f"[{', '.join(details)}]" if details else ""
    kind = f"{type.type}<{parts}>{tail}" if inner else f"{type.type}{tail}"
    return kind if type.index_type is None else f"dictionary<{type.index_type}, {kind}>"


def _size(type: JsonArrowDataType) -> str | int | None:
    if type.length is None or not type.type.startswith("decimal"):
        return type.length
    return "{}, {}".format(*unpack_decimal(type.length))
