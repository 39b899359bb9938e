# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DeleteFromTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DeleteFromTableRequest"]


@define(kw_only=True)
class DeleteFromTableRequest(Model):
    """Asks to delete the rows of a table that meet a condition."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here is InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if left out. One that does
    not exist is TableNotFound (4).
    """

    predicate: str
    """SQL condition on the rows to delete; `true` deletes all of them. One that is
    empty or cannot be parsed is InvalidInput (13), a column that is not there
    TableColumnNotFound (12).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win
    over it.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of
    a request is sent as that HTTP header.
    """


DeleteFromTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("predicate", "predicate", string, required=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
