# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["AlterTableResponse"]


@define(kw_only=True)
class AlterTableResponse(Model):
    """The properties of a table after the change."""

    properties: dict[str, str] | None = None
    """All properties of the table after the change, not only those that changed."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


AlterTableResponse._wire = (
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
