# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `UpdateTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["UpdateTableRequest"]


@define(kw_only=True)
class UpdateTableRequest(Model):
    """Request to set columns to new values in the rows that meet a condition."""

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    predicate: str | None = None
    """SQL condition on the rows to update; absent or null updates every row. A
    condition that cannot be parsed results in InvalidInput (13).
    """

    updates: list[list[str]]
    """Pairs of column name and SQL expression for its new value, such as `price`
    and `price * 2`; the expressions see the old values. A column that is not in
    the table results in TableColumnNotFound (12), an entry that is not a pair
    InvalidInput (13).
    """

    properties: dict[str, str] | None = None
    """Properties to record for this update, none by default; an implementation
    that cannot store them ignores them.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


UpdateTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("predicate", "predicate", string),
    Wire("updates", "updates", array(array(string, 2, max_items=2)), required=True),
    Wire("properties", "properties", mapping(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
