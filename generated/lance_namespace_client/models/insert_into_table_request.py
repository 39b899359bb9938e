# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `InsertIntoTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["InsertIntoTableRequest"]


@define(kw_only=True)
class InsertIntoTableRequest(Model):
    """Request to write rows into an existing table.

    Over HTTP the rows are the body, as an Arrow IPC stream, and these fields
    are path or query parameters; rows that do not match the table's schema
    result in TableSchemaValidationError (20).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    mode: str = "append"
    """How the rows are written, in upper or lower case: `append` (default) adds
    them to those in the table, `overwrite` creates a new version that contains
    only them. Any other value results in InvalidInput (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


InsertIntoTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("mode", "mode", string, default="append"),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
