# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DeleteTableTagRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DeleteTableTagRequest"]


@define(kw_only=True)
class DeleteTableTagRequest(Model):
    """Removes a tag; the version that it references is kept."""

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


DeleteTableTagRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("tag", "tag", string, required=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
