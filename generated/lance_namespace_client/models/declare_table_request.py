# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DeclareTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, boolean, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DeclareTableRequest"]


@define(kw_only=True)
class DeclareTableRequest(Model):
    """Asks the catalog to reserve a table name and a location without writing any
    data. A name in use results in TableAlreadyExists (5), a missing parent
    NamespaceNotFound (1).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    location: str | None = None
    """URI where the data is going to be written; if omitted, the namespace picks
    its default location; if it has none, the request results in InvalidInput
    (13).
    """

    vend_credentials: bool | None = None
    """Whether `storage_options` in the response should carry credentials for the
    location; if omitted, the server decides.
    """

    properties: dict[str, str] | None = None
    """Properties to store with the table in the catalog."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


DeclareTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("location", "location", string),
    Wire("vend_credentials", "vend_credentials", boolean),
    Wire("properties", "properties", mapping(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
