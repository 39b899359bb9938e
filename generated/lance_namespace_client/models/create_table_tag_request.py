# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableTagRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["CreateTableTagRequest"]


@define(kw_only=True)
class CreateTableTagRequest(Model):
    """Creates a tag for a version of a table."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    tag: str
    """Name of the new tag; a name that exists results in TableTagAlreadyExists
    (9).
    """

    version: int
    """Version number to be tagged; a name that does not exist results in
    TableVersionNotFound (11).
    """

    branch: str | None = None
    """Branch the version belongs to; the main branch if omitted. A branch that
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


CreateTableTagRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("tag", "tag", string, required=True),
    Wire("version", "version", integer(0), required=True),
    Wire("branch", "branch", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
