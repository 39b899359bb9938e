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
    """Request for statistics about one index of a table."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    version: int | None = None
    """Version whose index is described; the latest when absent or null. A version
    that does not exist results in TableNotFound (4).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    index_name: str | None = None
    """Name of the index; on the /v1 route it is part of the path. A name that does
    not exist results in TableIndexNotFound (6).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


DescribeTableIndexStatsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0)),
    Wire("branch", "branch", string),
    Wire("index_name", "index_name", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
