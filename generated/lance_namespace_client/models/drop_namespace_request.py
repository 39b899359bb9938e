# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Asks to remove a namespace from the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import define

from .._model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DropNamespaceRequest"]


@define(kw_only=True)
class DropNamespaceRequest(Model):
    """Asks to remove a namespace from the catalog. The data of tables in it is never deleted,
    not even with Cascade.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent, null or empty
    is the root. On a route that names the object the route's identifier counts, and a
    different one here is InvalidInput.
    """
    mode: str | None = None
    """What to do where the namespace is missing, in any letter case: Fail (default) gives code
    1 (NamespaceNotFound), Skip succeeds without doing anything. Any other value is code 13
    (InvalidInput).
    """
    behavior: str | None = None
    """What to do where the namespace still holds objects of any kind, in any letter case:
    Restrict (default) fails with code 3 (NamespaceNotEmpty), Cascade takes every child out
    of the catalog first. A catalog without cascading drops refuses Cascade with code 0
    (Unsupported), and an unknown value is code 13 (InvalidInput).
    """
    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win over it."""
    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of a request is
    sent as that HTTP header.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("id", "id", array(string)),
        Wire("mode", "mode", string),
        Wire("behavior", "behavior", string),
        Wire("identity", "identity", model("Identity")),
        Wire("context", "context", mapping(string)),
    )
