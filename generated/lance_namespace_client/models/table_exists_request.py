# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `TableExistsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["TableExistsRequest"]


@define(kw_only=True)
class TableExistsRequest(Model):
    """Request to find out whether a table exists; the response is 200 without a
    body, or TableNotFound (4), also if the parent namespace is missing.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    version: int | None = None
    """Version that must be there too; any will do if omitted. A missing one is
    treated like a missing table, with TableNotFound (4).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


TableExistsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
