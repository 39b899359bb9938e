# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Asks how many rows a table has, or how many meet a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import define

from .._model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["CountTableRowsRequest"]


@define(kw_only=True)
class CountTableRowsRequest(Model):
    """Asks how many rows a table has, or how many meet a condition."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent, null or empty
    is the root. On a route that names the object the route's identifier counts, and a
    different one here is InvalidInput.
    """
    version: int | None = None
    """Version to count in, the latest by default. A version that does not exist is code 11
    (TableVersionNotFound).
    """
    branch: str | None = None
    """Branch of the table to work on; absent is the main branch. An unknown one is
    TableBranchNotFound.
    """
    predicate: str | None = None
    """SQL condition on the rows to count, such as age > 30; all rows by default. One that
    cannot be parsed or names an unknown column is code 13 (InvalidInput).
    """
    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win over it."""
    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of a request is
    sent as that HTTP header.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("id", "id", array(string)),
        Wire("version", "version", integer(0)),
        Wire("branch", "branch", string),
        Wire("predicate", "predicate", string),
        Wire("identity", "identity", model("Identity")),
        Wire("context", "context", mapping(string)),
    )
