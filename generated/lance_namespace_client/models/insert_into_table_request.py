# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Asks to write rows into an existing table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import define

from .._model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["InsertIntoTableRequest"]


@define(kw_only=True)
class InsertIntoTableRequest(Model):
    """Asks to write rows into an existing table. On the wire the rows are the body, as an
    Arrow IPC stream, and these fields are path or query parameters; rows that do not fit
    the table's schema are code 20 (TableSchemaValidationError).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent, null or empty
    is the root. On a route that names the object the route's identifier counts, and a
    different one here is InvalidInput.
    """
    branch: str | None = None
    """Branch of the table to work on; absent is the main branch. An unknown one is
    TableBranchNotFound.
    """
    mode: str = "append"
    """How the rows are written, in any letter case: append (default) adds them to those in the
    table, overwrite makes a new version that holds only them. Any other value is code 13
    (InvalidInput).
    """
    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win over it."""
    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of a request is
    sent as that HTTP header.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("id", "id", array(string)),
        Wire("branch", "branch", string),
        Wire("mode", "mode", string, default="append"),
        Wire("identity", "identity", model("Identity")),
        Wire("context", "context", mapping(string)),
    )
