# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `RenameTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["RenameTableRequest"]


@define(kw_only=True)
class RenameTableRequest(Model):
    """Renames a table and, if requested, moves it to another parent namespace.

    Catalogs that cannot rename return Unsupported (0).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    new_table_name: str
    """The new name, without its namespace; a name that is already in use results
    in TableAlreadyExists (5).
    """

    new_namespace_id: list[str] | None = None
    """Identifier of the namespace to move the table to, one entry per level; if
    omitted, or if it is empty and the root cannot contain tables, the table is
    not moved. A namespace that does not exist results in NamespaceNotFound (1).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


RenameTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("new_table_name", "new_table_name", string, required=True),
    Wire("new_namespace_id", "new_namespace_id", array(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
