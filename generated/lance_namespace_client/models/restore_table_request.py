# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `RestoreTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["RestoreTableRequest"]


@define(kw_only=True)
class RestoreTableRequest(Model):
    """Restores the content of an older version as the latest; this adds a version
    and removes none.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    version: int
    """Version number to go back to; a name that does not exist results in
    TableVersionNotFound (11). A write at the same moment results in
    ConcurrentModification (14).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableVersionNotFound (11).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


RestoreTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0), required=True),
    Wire("branch", "branch", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
