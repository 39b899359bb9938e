# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Asks whether a table is there; the answer is 200 without a body, or NamespaceNotFound (1)..."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import define

from .._model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["TableExistsRequest"]


@define(kw_only=True)
class TableExistsRequest(Model):
    """Asks whether a table is there; the answer is 200 without a body, or NamespaceNotFound
    (1) or TableNotFound (4).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent, null or empty
    is the root. On a route that names the object the route's identifier counts, and a
    different one here is InvalidInput.
    """
    version: int | None = None
    """Version that must exist too; left out, any will do. A missing version is answered like a
    missing table, with TableNotFound (4).
    """
    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win over it."""
    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of a request is
    sent as that HTTP header.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("id", "id", array(string)),
        Wire("version", "version", integer(0)),
        Wire("identity", "identity", model("Identity")),
        Wire("context", "context", mapping(string)),
    )
