"""Adds, alters and drops columns; changes the metadata of fields and schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    UnsupportedError,
)

from .schema import check_column_name, check_metadata, check_types, from_json_type
from .sql import SqlCheck

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        AddColumnsEntry,
        AlterColumnsEntry,
        UpdateFieldMetadataEntry,
    )

    from .lineage import OpenedVersion

__all__ = ["add", "alter", "drop", "field_metadata", "require", "schema_metadata"]


def require(dataset: Any, path: str) -> Any:
    """Find a column by its path; dots separate the levels of nested fields.

    Returns:
        the ``pyarrow.Field``.

    Raises:
        TableColumnNotFoundError: code 12.
    """
    fields = {field.name: field for field in dataset.schema}
    if path in fields:
        return fields[path]
    found = None
    for part in path.split("."):
        found = fields.get(part)
        if found is None:
            raise TableColumnNotFoundError(f"column {path!r} does not exist")
        fields = _below(found)
    return found


def _below(field: Any) -> dict[str, Any]:
    """Return the fields of a struct, or the value field of a list, by name."""
    kind = field.type
    if hasattr(kind, "get_field_index"):
        return {kind.field(i).name: kind.field(i) for i in range(kind.num_fields)}
    return {kind.value_field.name: kind.value_field} if hasattr(kind, "value_field") else {}


def _require_once(paths: Iterable[str]) -> None:
    """Reject duplicate paths: a later entry would silently override an earlier one."""
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise InvalidInputError(
                f"column {path!r} occurs twice; combine both changes in one entry"
            )
        seen.add(path)


def add(dataset: Any, entries: list[AddColumnsEntry]) -> None:
    """Add columns computed by SQL expressions over the existing columns.

    Raises:
        TableSchemaValidationError: code 20, a column already exists or has an invalid name.
        UnsupportedError: code 0, a virtual column is requested.
        InvalidInputError: code 13, a column does not have exactly one of expression, computed and
            virtual_column; or its expression is empty.
    """
    expressions: dict[str, str] = {}
    check = SqlCheck(dataset.schema)
    for entry in entries:
        _require_one_source(entry)
        if entry.expression is None:
            raise UnsupportedError(
                f"column {entry.name!r}: Lance tables have no computed or virtual columns; "
                f"specify an expression"
            )
        if not entry.expression.strip():
            raise InvalidInputError(f"the expression for column {entry.name!r} is empty")
        check_column_name(entry.name)
        if entry.name in dataset.schema.names or entry.name in expressions:
            raise TableSchemaValidationError(f"column {entry.name!r} already exists")
        check.value(entry.expression, f"the expression of column {entry.name[:100]!r}")
        expressions[entry.name] = entry.expression
    if not expressions:
        raise InvalidInputError("no column to add; specify at least one")
    # Row ids are included because Lance does not scan a projection that consists only of constants.
    scanner = dataset.scanner(columns=expressions, limit=0, with_row_id=True)
    check_types(scanner.projected_schema)
    dataset.add_columns(expressions)


def _require_one_source(entry: AddColumnsEntry) -> None:
    """Reject a new column that does not have exactly one source of values (code 13)."""
    sources = ("expression", "computed", "virtual_column")
    specified = [name for name in sources if getattr(entry, name) is not None]
    if len(specified) != 1:
        raise InvalidInputError(
            f"column {entry.name!r} specifies {' and '.join(specified) or 'no source of values'}; "
            f"specify exactly one of {', '.join(sources)}"
        )


def alter(dataset: Any, entries: list[AlterColumnsEntry], opened: OpenedVersion) -> None:
    """Rename columns, or change their type or nullability.

    Args:
        dataset: the ``lance.LanceDataset``.
        entries: the columns and their changes.
        opened: records the first commit if there are two.

    Raises:
        TableColumnNotFoundError: code 12.
        TableSchemaValidationError: code 20, the new name is in use or invalid, or the type cannot
            be cast.
        UnsupportedError: code 0, a virtual column is requested.
        InvalidInputError: code 13, there is nothing to change, or two entries are for the same
            column.
    """
    import pyarrow as pa

    renamed: set[tuple[str, str]] = set()
    alterations: list[dict[str, Any]] = []
    lost: dict[str, dict[str, str]] = {}
    for entry in entries:
        if entry.virtual_column is not None:
            raise UnsupportedError(f"column {entry.path!r}: Lance tables have no virtual columns")
        field = require(dataset, entry.path)
        change: dict[str, Any] = {"path": entry.path}
        if entry.rename is not None:
            check_column_name(entry.rename)
            parent = "" if entry.path in dataset.schema.names else entry.path.rpartition(".")[0]
            siblings = _below(require(dataset, parent)) if parent else dataset.schema.names
            # Lance does not check the names of nested fields, but cannot read two fields with the
            # same name.
            if entry.rename in siblings or (parent, entry.rename) in renamed:
                name = f"{parent}.{entry.rename}" if parent else entry.rename
                raise TableSchemaValidationError(f"column {name!r} already exists")
            renamed.add((parent, entry.rename))
            change["name"] = entry.rename
        if entry.nullable is not None:
            change["nullable"] = entry.nullable
        if entry.data_type is not None:
            change["data_type"] = from_json_type(entry.data_type, entry.path)
            check_types(pa.schema([pa.field(entry.path, change["data_type"])]))
            if field.metadata:
                parent, dot, name = entry.path.rpartition(".")
                lost[f"{parent}{dot}{entry.rename or name}"] = _metadata(field)
        if len(change) == 1:
            raise InvalidInputError(
                f"no change is specified for column {entry.path!r}; set a new name, type or "
                f"nullability"
            )
        alterations.append(change)
    if not alterations:
        raise InvalidInputError("no column to alter; specify at least one")
    _require_once(entry.path for entry in entries)
    dataset.alter_columns(*alterations)
    if lost:  # if the type changes, Lance loses the column's metadata when it rewrites the column
        opened.note(dataset)
        dataset.update_field_metadata(lost)


def drop(dataset: Any, columns: list[str]) -> None:
    """Remove columns; their data remains in the files until the files are rewritten.

    Raises:
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, no column is specified, or no column would remain.
    """
    if not columns:
        raise InvalidInputError("no column to drop; specify at least one")
    for column in columns:
        require(dataset, column)
    if set(dataset.schema.names) <= set(columns):
        raise InvalidInputError("a table needs at least one column")
    dataset.drop_columns(columns)


def field_metadata(
    dataset: Any, entries: list[UpdateFieldMetadataEntry], opened: OpenedVersion
) -> dict[str, dict[str, str]]:
    """Change the metadata of columns and return the resulting metadata of each.

    Args:
        dataset: the ``lance.LanceDataset``.
        entries: the columns and the metadata.
        opened: records the first commit if there are two.

    Raises:
        TableColumnNotFoundError: code 12.
        InvalidInputError: code 13, two entries are for the same column."""
    for entry in entries:
        require(dataset, entry.path)
    _require_once(entry.path for entry in entries)
    for entry in entries:
        before = {} if entry.replace else _metadata(require(dataset, entry.path))
        _check_merged(before, entry.metadata, f"column {entry.path!r}")
    for replace in (False, True):
        updates = {e.path: dict(e.metadata) for e in entries if bool(e.replace) is replace}
        if updates:
            opened.note(dataset)
            dataset.update_field_metadata(updates, replace=replace)
    return {entry.path: _metadata(require(dataset, entry.path)) for entry in entries}


def _check_merged(before: Mapping[str, str], entries: Mapping[str, str | None], owner: str) -> None:
    """Reject a change that would result in too much metadata (code 20); null values remove keys."""
    merged = {**before, **entries}
    check_metadata({key: value for key, value in merged.items() if value is not None}, owner)


def schema_metadata(dataset: Any, entries: Mapping[str, Any]) -> dict[str, str]:
    """Merge entries into the metadata of a table's schema and return the merged metadata.

    Raises:
        TableSchemaValidationError: code 20, there would be too much metadata.
    """
    before = {key.decode(): value for key, value in (dataset.schema.metadata or {}).items()}
    _check_merged(before, entries, "the schema")
    return dict(dataset.update_schema_metadata(dict(entries)))


def _metadata(field: Any) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
