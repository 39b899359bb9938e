# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `NamespaceExistsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["NamespaceExistsResponse"]


@define(kw_only=True)
class NamespaceExistsResponse(Model):
    """The response if the namespace exists; over HTTP, it has no body.

    A missing namespace results in NamespaceNotFound (1).
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


NamespaceExistsResponse._wire = (Wire("context", "context", mapping(string)),)
