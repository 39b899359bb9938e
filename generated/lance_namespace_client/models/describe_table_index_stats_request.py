# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTableIndexStatsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DescribeTableIndexStatsRequest"]


@define(kw_only=True)
class DescribeTableIndexStatsRequest(Model):
    """Asks for figures about one index of a table."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here is InvalidInput (13).
    """

    version: int | None = None
    """Version whose index is described; the latest when absent or null. One that
    does not exist is TableNotFound (4).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if left out. One that does
    not exist is TableNotFound (4).
    """

    index_name: str | None = None
    """Name of the index; on the /v1 route it is part of the path. One that does
    not exist is TableIndexNotFound (6).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win
    over it.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of
    a request is sent as that HTTP header.
    """


DescribeTableIndexStatsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0)),
    Wire("branch", "branch", string),
    Wire("index_name", "index_name", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
