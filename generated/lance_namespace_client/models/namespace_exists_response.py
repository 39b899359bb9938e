# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `NamespaceExistsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["NamespaceExistsResponse"]


@define(kw_only=True)
class NamespaceExistsResponse(Model):
    """The positive answer of NamespaceExists; it says nothing beyond its status,
    and over HTTP there is no body. A missing namespace is NamespaceNotFound
    (1).
    """

    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back
    as `header.<name>`.
    """


NamespaceExistsResponse._wire = (Wire("context", "context", mapping(string)),)
