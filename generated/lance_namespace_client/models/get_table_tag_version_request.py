# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `GetTableTagVersionRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["GetTableTagVersionRequest"]


@define(kw_only=True)
class GetTableTagVersionRequest(Model):
    """Request to find out which version a tag references."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    tag: str
    """Name of the tag; an unknown name results in TableTagNotFound (8)."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


GetTableTagVersionRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("tag", "tag", string, required=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
