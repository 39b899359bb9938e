"""Arrow schemas as the protocol's JSON, both ways.

pylance has the names of the plain types; the nested ones are put together here, since it knows
no map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError, TableSchemaValidationError
from lance_namespace_client.models import JsonArrowDataType, JsonArrowField, JsonArrowSchema

from .errors import plain_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

__all__ = ["check_column_name", "check_columns", "from_json_type", "to_json_schema"]

# pylance gives these of its own to each row, and breaks down where a table has one.
RESERVED = frozenset(
    ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
)
_UNREADABLE = {".": "a dot", "`": "a backtick", "\0": "a zero byte"}


def check_columns(schema: pa.Schema) -> None:
    """Refuse a schema whose columns could be written and then not be read.

    Raises:
        TableSchemaValidationError: code 20.
    """
    seen: set[str] = set()
    for name in schema.names:
        check_column_name(name)
        if name in seen:
            raise TableSchemaValidationError(f"two columns are named {name!r}; rename one of them")
        seen.add(name)


def check_column_name(name: str) -> None:
    """Refuse a name that Lance would take for a column and then not find.

    Raises:
        TableSchemaValidationError: code 20.
    """
    if not name:
        raise TableSchemaValidationError("a column has no name; give it one")
    if name in RESERVED:
        raise TableSchemaValidationError(f"column {name!r} is Lance's own; choose another name")
    for character, shown in _UNREADABLE.items():
        if character in name:
            raise TableSchemaValidationError(
                f"column {name!r} has {shown} in its name, with which Lance cannot find it; choose "
                "another name"
            )


def to_json_schema(schema: pa.Schema) -> JsonArrowSchema:
    """Write an Arrow schema as the protocol has it."""
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


def _type(kind: pa.DataType) -> JsonArrowDataType:
    import pyarrow as pa
    from lance.schema import schema_to_json

    if pa.types.is_map(kind):
        entry = pa.struct([kind.key_field.with_nullable(False), kind.item_field])
        return JsonArrowDataType(type="map", fields=[_field(pa.field("entries", entry, False))])
    if pa.types.is_struct(kind):
        return JsonArrowDataType(type="struct", fields=[_field(field) for field in kind])
    if pa.types.is_fixed_size_list(kind):
        return JsonArrowDataType(
            type="fixed_size_list", fields=[_field(kind.value_field)], length=kind.list_size
        )
    if pa.types.is_large_list(kind):
        return JsonArrowDataType(type="large_list", fields=[_field(kind.value_field)])
    if pa.types.is_list(kind):
        return JsonArrowDataType(type="list", fields=[_field(kind.value_field)])
    if isinstance(kind, pa.BaseExtensionType):
        return _type(kind.storage_type)
    plain = schema_to_json(pa.schema([pa.field("x", kind)]))["fields"][0]["type"]
    return JsonArrowDataType.from_dict(plain)


def from_json_type(data: Mapping[str, Any], what: str) -> pa.DataType:
    """Read an Arrow type as the protocol has it.

    Args:
        data: the JSON object.
        what: what the type is of, to open a message with.

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


def _read_type(kind: JsonArrowDataType, what: str) -> pa.DataType:
    import pyarrow as pa
    from lance.schema import json_to_schema

    name = kind.type.lower()
    fields = [_read_field(field, what) for field in kind.fields or ()]
    if name == "struct":
        return pa.struct(fields)
    if name in ("list", "large_list", "fixed_size_list", "map") and len(fields) != 1:
        raise InvalidInputError(f"{what}: type {name} needs one field, not {len(fields)}")
    if name == "list":
        return pa.list_(fields[0])
    if name == "large_list":
        return pa.large_list(fields[0])
    if name == "fixed_size_list":
        if kind.length is None:
            raise InvalidInputError(f"{what}: type fixed_size_list needs a length")
        return pa.list_(fields[0], kind.length)
    if name == "map":
        entry = fields[0].type
        return pa.map_(entry[0], entry[1])
    try:
        wrapped = {"fields": [{"name": "x", "nullable": True, "type": kind.to_dict()}]}
        return json_to_schema(wrapped).field(0).type
    except Exception as error:
        raise InvalidInputError(
            f"{what}: there is no type {kind.type!r}: {plain_message(error)}"
        ) from error
