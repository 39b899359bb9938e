# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `UpdateFieldMetadataEntry`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, boolean, mapping, nullable, string, text

__all__ = ["UpdateFieldMetadataEntry"]


@define(kw_only=True)
class UpdateFieldMetadataEntry(Model):
    """Change to the metadata of one column."""

    path: str
    """Path of the column, with dots between the levels of nested fields; a path
    that does not exist results in TableColumnNotFound (12).
    """

    metadata: dict[str, str | None]
    """Entries to set; a null value removes the key, and removing one that does not
    exist is allowed.
    """

    replace: bool | None = None
    """True to drop all entries that are not named; false (default) keeps them."""


UpdateFieldMetadataEntry._wire = (
    Wire("path", "path", text(min_length=1), required=True),
    Wire("metadata", "metadata", mapping(nullable(string)), required=True),
    Wire("replace", "replace", boolean),
)
