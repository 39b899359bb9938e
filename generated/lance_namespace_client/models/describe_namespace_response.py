# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeNamespaceResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["DescribeNamespaceResponse"]


@define(kw_only=True)
class DescribeNamespaceResponse(Model):
    """What the catalog keeps about a namespace."""

    properties: dict[str, str] | None = None
    """All properties of the namespace; an empty map where none are set, null if
    the catalog stores no namespace properties.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DescribeNamespaceResponse._wire = (
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
