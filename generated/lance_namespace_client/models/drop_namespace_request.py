# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DropNamespaceRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DropNamespaceRequest"]


@define(kw_only=True)
class DropNamespaceRequest(Model):
    """Request to remove a namespace from the catalog.

    The data of tables in it is never deleted, not even with `Cascade`.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    mode: str | None = None
    """What to do if the namespace is missing, in upper or lower case: `Fail`
    (default) returns NamespaceNotFound (1), `Skip` succeeds without doing
    anything. An Iceberg REST catalog succeeds in either mode. Any other value
    results in InvalidInput (13).
    """

    behavior: str | None = None
    """What to do if the namespace still contains objects of any kind, in upper or
    lower case: `Restrict` (default) fails with NamespaceNotEmpty (3), `Cascade`
    removes every child from the catalog first. A catalog without cascading
    drops rejects `Cascade` with Unsupported (0), and an unknown value results
    in InvalidInput (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


DropNamespaceRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("mode", "mode", string),
    Wire("behavior", "behavior", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
