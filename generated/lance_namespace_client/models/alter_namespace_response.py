# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterNamespaceResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["AlterNamespaceResponse"]


@define(kw_only=True)
class AlterNamespaceResponse(Model):
    """The properties of a namespace after the change."""

    properties: dict[str, str] | None = None
    """All properties of the namespace after the change, not only those that
    changed.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


AlterNamespaceResponse._wire = (
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
