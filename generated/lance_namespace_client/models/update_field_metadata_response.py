# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `UpdateFieldMetadataResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["UpdateFieldMetadataResponse"]


@define(kw_only=True)
class UpdateFieldMetadataResponse(Model):
    """The columns' metadata after the change."""

    version: int
    """Version number of the table after the change."""

    fields: dict[str, dict[str, str]] | None = None
    """All metadata of every column that was changed, by its path."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


UpdateFieldMetadataResponse._wire = (
    Wire("version", "version", integer(0), required=True),
    Wire("fields", "fields", mapping(mapping(string))),
    Wire("context", "context", mapping(string)),
)
