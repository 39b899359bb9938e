# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Asks to set columns to new values in the rows that meet a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import define

from .._model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["UpdateTableRequest"]


@define(kw_only=True)
class UpdateTableRequest(Model):
    """Asks to set columns to new values in the rows that meet a condition."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent, null or empty
    is the root. On a route that names the object the route's identifier counts, and a
    different one here is InvalidInput.
    """
    branch: str | None = None
    """Branch of the table to work on; absent is the main branch. An unknown one is
    TableBranchNotFound.
    """
    predicate: str | None = None
    """SQL condition on the rows to update; absent or null updates every row. One that cannot
    be parsed is code 13 (InvalidInput).
    """
    updates: list[list[str]]
    """Pairs of column name and SQL expression for its new value, such as price and price * 2;
    the expressions see the old values. A column that is not in the table is code 12
    (TableColumnNotFound), an entry that is not a pair code 13 (InvalidInput).
    """
    properties: dict[str, str] | None = None
    """Properties to record for this update, none by default; an implementation that cannot
    keep them ignores them.
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
        Wire("predicate", "predicate", string),
        Wire("updates", "updates", array(array(string, 2)), required=True),
        Wire("properties", "properties", mapping(string)),
        Wire("identity", "identity", model("Identity")),
        Wire("context", "context", mapping(string)),
    )
