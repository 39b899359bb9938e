"""Derives the common schema for reading all files of an import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import evolve

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
)

from ..distributed.casts import uniform
from ..distributed.columns import with_types
from ..distributed.type_names import parse_types
from ..distributed.write_plan import check_schema, missing_columns
from .folder_names import folder_schema
from .readers import FileInfo, Format
from .readers.numbers import has_mixed

__all__ = ["agree", "changed_columns", "exact_columns"]


def agree(
    infos: Sequence[FileInfo], reader: Format, table: pa.Schema | None, name: str
) -> pa.Schema:
    """Return the common schema for reading all files.

    Args:
        infos: descriptions of the files.
        reader: reader of the format, with its options.
        table: schema of the table that receives the rows, if it exists.
        name: the table, for messages.

    Raises:
        TableColumnNotFoundError: code 12, the option ``types`` names an unknown column.
        InvalidInputError: code 13, the option ``types`` contradicts the types of the table.
        TableSchemaValidationError: code 20, a file does not fit; the message names it.
    """
    types = parse_types(reader.options.types or "")
    infos = _with_folder_columns([info for info in infos if info.schema.names], types, table)
    found: dict[str, pa.DataType] = {}
    for info in infos:
        for field in info.schema:
            kind = reader.unify(found.get(field.name, pa.null()), field.type)
            if kind is None:
                raise TableSchemaValidationError(
                    f"{info.file.name}: column {field.name} is {reader.shown(field.type)}, but "
                    f"{reader.shown(found[field.name])} in earlier files"
                )
            found[field.name] = kind
    in_folders = {name for info in infos for name, _ in info.file.folder_values}
    settled = pa.schema(
        [
            (column, uniform(kind if column in in_folders else reader.settled(kind)))
            for column, kind in found.items()
        ]
    )
    if table is None:
        schema = with_types(settled, reader.options.types)
        _check_digits(schema, name)
    else:
        new = missing_columns(settled, table) if reader.options.merge_schema else pa.schema([])
        new = pa.schema([field.with_type(types.get(field.name, field.type)) for field in new])
        _check_digits(new, name)
        schema = pa.schema([*table, *new])
        _check_types(types, schema, name)
    check_schema(schema, name)
    by_schema = {info.schema: info for info in reversed(infos)}  # the first file of each schema
    for info in by_schema.values():
        _check_file(info, reader, schema, name)
    return schema


def _with_folder_columns(
    infos: Sequence[FileInfo], types: Mapping[str, pa.DataType], table: pa.Schema | None
) -> list[FileInfo]:
    """Return files with the columns in the names of their folders, which follow those in the files.

    Raises:
        TableSchemaValidationError: code 20, a file also contains such a column.
    """
    columns = []
    for field in folder_schema([info.file for info in infos]):
        kind = types.get(field.name, field.type)
        if table is not None and field.name in table.names:
            kind = table.field(field.name).type
        columns.append(field.with_type(kind))
    for info in infos:
        for field in columns:
            if field.name in info.schema.names:
                raise TableSchemaValidationError(
                    f"{info.file.name}: column {field.name} is in the file and in the name of its "
                    "folder; import the files of each folder separately, or drop one of them"
                )
    return [evolve(info, schema=pa.schema([*info.schema, *columns])) for info in infos]


def exact_columns(infos: Sequence[FileInfo], reader: Format, schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns whose values must be compared with the file when they are read.

    Their types differ from those found in a file, and the option ``types`` does not name them.
    """
    asked = parse_types(reader.options.types or "")
    return tuple(name for name in changed_columns(infos, reader, schema) if name not in asked)


def changed_columns(
    infos: Sequence[FileInfo], reader: Format, schema: pa.Schema
) -> tuple[str, ...]:
    """Return the columns whose type differs from the type found in a file."""
    return tuple(
        {
            field.name: None
            for info in infos
            for field in info.schema
            if uniform(reader.settled(field.type)) != uniform(schema.field(field.name).type)
        }
    )


def _check_types(types: Mapping[str, pa.DataType], table: pa.Schema, name: str) -> None:
    """Reject types that contradict the table; a column's existing type permits losing digits."""
    for column, kind in types.items():
        index = table.get_field_index(column)
        if index < 0:
            raise TableColumnNotFoundError(
                f"types: {name} has no column {column}; it has {', '.join(table.names)}"
            )
        has = table.field(index).type
        if uniform(has) != uniform(kind):
            raise InvalidInputError(
                f"types: {name} exists and its column {column} is {has}, not {kind}: remove "
                f"it from the option 'types', or use {has} to accept the loss of digits"
            )


def _check_digits(schema: pa.Schema, name: str) -> None:
    """Reject a column whose numbers have no type that keeps all digits (code 20)."""
    for field in schema:
        if has_mixed(field.type):
            hint = (
                "write them as text in the files"
                if pa.types.is_struct(field.type)
                else "specify its type with the option types: a decimal, or double to round them"
            )
            raise TableSchemaValidationError(
                f"{name}: column {field.name} has numbers with more digits than a double can "
                f"hold; {hint}"
            )


def _check_file(info: FileInfo, reader: Format, schema: pa.Schema, name: str) -> None:
    """Reject a file that cannot be read in a schema (code 20)."""
    lenient = (reader.options.missing or reader.default_missing) == "null"
    known, given = set(schema.names), set(info.schema.names)
    for field in info.schema:
        if field.name not in known:
            raise TableSchemaValidationError(
                f"{info.file.name}: {name} has no column {field.name}; it has {', '.join(schema.names)}"
            )
        wanted = schema.field(field.name).type
        # Values in the names of folders are not read by the format.
        in_folders = field.name in dict(info.file.folder_values)
        if not (in_folders or reader.fits(field.type, wanted)):
            raise TableSchemaValidationError(
                f"{info.file.name}: column {field.name} is {reader.shown(field.type)}, which "
                f"cannot be read as {wanted}"
            )
    for field in schema:
        if field.name not in given and not (lenient and field.nullable):
            hint = "; the option missing=null reads it as null" if field.nullable else ""
            raise TableSchemaValidationError(
                f"{info.file.name}: column {field.name} is missing{hint}"
            )
