# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableDropColumnsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["AlterTableDropColumnsRequest"]


@define(kw_only=True)
class AlterTableDropColumnsRequest(Model):
    """Removes columns from a table and thereby makes a new version of it; older
    versions keep them.
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

    columns: list[str]
    """Paths of the columns, with dots between the levels of nested fields; one
    that does not exist is TableColumnNotFound (12), and then none is removed.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win
    over it.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of
    a request is sent as that HTTP header.
    """


AlterTableDropColumnsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("columns", "columns", array(string), required=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
