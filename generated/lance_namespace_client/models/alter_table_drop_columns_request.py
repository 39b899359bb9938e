# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableDropColumnsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string, text

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["AlterTableDropColumnsRequest"]


@define(kw_only=True)
class AlterTableDropColumnsRequest(Model):
    """Removes columns from a table and thereby creates a new version of it; older
    versions still have them.
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

    columns: list[str]
    """Paths of the columns, with dots between the levels of nested fields; a path
    that does not exist results in TableColumnNotFound (12), and no column is
    removed.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


AlterTableDropColumnsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("columns", "columns", array(text(min_length=1)), required=True),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
