# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateNamespaceRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["CreateNamespaceRequest"]


@define(kw_only=True)
class CreateNamespaceRequest(Model):
    """Request for a new namespace below an existing parent.

    A missing parent results in NamespaceNotFound (1).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    mode: str | None = None
    """What to do if the namespace already exists, in upper or lower case: `Create`
    (default) fails with NamespaceAlreadyExists (2), `ExistOk` keeps it
    unchanged and returns its properties, `Overwrite` drops it and creates an
    empty one. `Overwrite` of a namespace that is not empty results in
    NamespaceNotEmpty (3), an unknown mode InvalidInput (13).
    """

    properties: dict[str, str] | None = None
    """Properties to store with the new namespace, none by default; `ExistOk` does
    not apply them to an existing namespace. Keys that the catalog cannot store
    result in InvalidInput (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


CreateNamespaceRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("mode", "mode", string),
    Wire("properties", "properties", mapping(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
