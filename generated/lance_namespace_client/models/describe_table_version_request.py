# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTableVersionRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DescribeTableVersionRequest"]


@define(kw_only=True)
class DescribeTableVersionRequest(Model):
    """Request for one version of a table or of one of its branches."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    version: int | None = None
    """Version number; the latest if omitted. A version that does not exist results
    in TableVersionNotFound (11).
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


DescribeTableVersionRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0)),
    Wire("branch", "branch", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
