# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTablesRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, boolean, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["ListTablesRequest"]


@define(kw_only=True)
class ListTablesRequest(Model):
    """Request for the tables directly in a namespace, or with ListAllTables for
    those of the whole catalog, one page at a time. A missing namespace results
    in NamespaceNotFound (1).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    page_token: str | None = None
    """Token of the previous page, if any; if absent, the listing starts at the
    beginning; a token from another listing results in InvalidInput (13).
    """

    limit: int | None = None
    """Maximum number of entries on the page, 1 or more; absent leaves the size to
    the server.
    """

    include_declared: bool = True
    """Whether tables that are only declared, with no dataset in storage yet, are
    listed; true by default. With false the storage of every table is examined,
    which is slower.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


ListTablesRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("page_token", "page_token", string),
    Wire("limit", "limit", integer()),
    Wire("include_declared", "include_declared", boolean, default=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
