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
    """Asks whether a table is there; the answer is 200 without a body, or
    TableNotFound (4), also where the parent namespace is missing.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here is InvalidInput (13).
    """

    version: int | None = None
    """Version that must be there too; any will do if left out. A missing one is
    answered like a missing table, with TableNotFound (4).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win
    over it.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of
    a request is sent as that HTTP header.
    """


TableExistsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
