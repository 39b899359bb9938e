"""Builds parts of the requests of `Table` and `Search`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

    from .types import ColumnAlteration, Vector

__all__ = [
    "DEFAULT_LIMIT",
    "alteration",
    "column_expressions",
    "vector_field",
    "without_none",
]

DEFAULT_LIMIT = 10
"""Number of rows that a search returns without `Search.limit`."""


def vector_field(query: Vector) -> dict[str, Any]:
    """Return the request field for one vector or several.

    Raises:
        InvalidInputError: code 13, the query is not a list of numbers.
    """
    values: Any = query.tolist() if hasattr(query, "tolist") else query
    if hasattr(values, "to_pylist"):
        values = values.to_pylist()
    if not isinstance(values, list | tuple):
        raise InvalidInputError(
            f"search: a {type(query).__name__} is neither a vector nor a string; specify a list "
            f"of numbers or a string"
        )
    values = [each.tolist() if hasattr(each, "tolist") else each for each in values]
    try:
        if values and isinstance(values[0], list | tuple):
            return {"multi_vector": [list(map(float, each)) for each in values]}
        return {"single_vector": [float(value) for value in values]}
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError("search: a vector must be a list of numbers") from None


def column_expressions(
    transforms: Mapping[str, str] | pa.Field | Iterable[pa.Field] | None,
) -> Mapping[str, str]:
    """Return the SQL expression of each new column; for a field, a null of the field's type."""
    import pyarrow as pa

    from ..tables.lance_types import sql_type_name

    if transforms is None or isinstance(transforms, Mapping):
        return transforms or {}
    fields = [transforms] if isinstance(transforms, pa.Field) else list(transforms)
    return {each.name: f"arrow_cast(NULL, '{sql_type_name(each.type)}')" for each in fields}


def alteration(change: ColumnAlteration) -> dict[str, object]:
    """Return the request entry for the change of a column."""
    entry: dict[str, object] = dict(change)
    if "data_type" in change:
        import pyarrow as pa

        from ..tables.schema import to_json_schema

        described = to_json_schema(pa.schema([("changed", change["data_type"])]))
        entry["data_type"] = described.fields[0].type.to_dict()
    return entry


def without_none(fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields that are set."""
    return {key: value for key, value in fields.items() if value is not None}
