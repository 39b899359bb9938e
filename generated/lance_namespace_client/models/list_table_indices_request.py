# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTableIndicesRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["ListTableIndicesRequest"]


@define(kw_only=True)
class ListTableIndicesRequest(Model):
    """Request for the indexes of a table, one page at a time."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    version: int | None = None
    """Version whose indexes are listed; the latest when absent or null. A version
    that does not exist results in TableNotFound (4).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    page_token: str | None = None
    """Token of the previous page, if any; if absent, the listing starts at the
    beginning; a token from another listing results in InvalidInput (13).
    """

    limit: int | None = None
    """Maximum number of entries on the page, 1 or more; absent leaves the size to
    the server.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


ListTableIndicesRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0)),
    Wire("branch", "branch", string),
    Wire("page_token", "page_token", string),
    Wire("limit", "limit", integer()),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
