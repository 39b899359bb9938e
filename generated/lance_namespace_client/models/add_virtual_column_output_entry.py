# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AddVirtualColumnOutputEntry`."""

from __future__ import annotations

from typing import Any

from attrs import define

from ..model import Model, Wire, anything, boolean, mapping, string

__all__ = ["AddVirtualColumnOutputEntry"]


@define(kw_only=True)
class AddVirtualColumnOutputEntry(Model):
    """One column filled by a user-defined function."""

    column: str
    """Name of the column to fill."""

    struct_field: str
    """Field of the function's struct result from which the column is read."""

    data_type: dict[str, Any]
    """Arrow type of the column, written as in JsonArrowDataType; an unknown type
    results in TableSchemaValidationError (20).
    """

    nullable: bool
    """True if the column may contain nulls, which it does until it is filled."""

    metadata: dict[str, str] | None = None
    """Key-value metadata to set on this column."""


AddVirtualColumnOutputEntry._wire = (
    Wire("column", "column", string, required=True),
    Wire("struct_field", "struct_field", string, required=True),
    Wire("data_type", "data_type", mapping(anything), required=True),
    Wire("nullable", "nullable", boolean, required=True),
    Wire("metadata", "metadata", mapping(string)),
)
