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
    """Asks to write rows into an existing table.

    Over HTTP the rows are the body, as an Arrow IPC stream, and these fields
    are path or query parameters; rows that do not fit the table's schema are
    TableSchemaValidationError (20).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here is InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if left out. One that does
    not exist is TableNotFound (4).
    """

    mode: str = "append"
    """How the rows are written, in any letter case: `append` (default) adds them
    to those in the table, `overwrite` makes a new version that holds only them.
    Any other value is InvalidInput (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win
    over it.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of
    a request is sent as that HTTP header.
    """


InsertIntoTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("mode", "mode", string, default="append"),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
