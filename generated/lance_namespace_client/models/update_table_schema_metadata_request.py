# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `UpdateTableSchemaMetadataRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["UpdateTableSchemaMetadataRequest"]


@define(kw_only=True)
class UpdateTableSchemaMetadataRequest(Model):
    """Sets entries in the key-value metadata of a table's Arrow schema; over HTTP
    the body is the bare map.
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

    metadata: dict[str, str] | None = None
    """Entries to add or to overwrite; other keys keep their values."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


UpdateTableSchemaMetadataRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("metadata", "metadata", mapping(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
