# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTableTagsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["ListTableTagsRequest"]


@define(kw_only=True)
class ListTableTagsRequest(Model):
    """Asks for a table's tags, a page at a time; a table that is not there is
    TableNotFound (4).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here is InvalidInput (13).
    """

    page_token: str | None = None
    """Where to go on: the token of the page before. Absent starts at the
    beginning; a token of another listing is InvalidInput (13).
    """

    limit: int | None = None
    """Most entries on the page, 1 or more; absent leaves the size to the server."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win
    over it.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of
    a request is sent as that HTTP header.
    """


ListTableTagsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("page_token", "page_token", string),
    Wire("limit", "limit", integer()),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
