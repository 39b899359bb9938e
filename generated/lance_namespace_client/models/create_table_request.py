# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["CreateTableRequest"]


@define(kw_only=True)
class CreateTableRequest(Model):
    """What CreateTable needs besides the rows, which are sent as the Arrow IPC
    stream in the body; over HTTP these fields are therefore query parameters.
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    mode: str | None = None
    """What to do if the name is already in use, in upper or lower case: `Create`
    (default) fails with TableAlreadyExists (5), `ExistOk` keeps the table and
    returns its properties, `Overwrite` replaces its rows, schema and
    properties. Any other value results in InvalidInput (13).
    """

    properties: dict[str, str] | None = None
    """Properties to store with the table in the catalog; as a query parameter it
    is the text of a JSON object; malformed text results in InvalidInput (13).
    """

    storage_options: dict[str, str] | None = None
    """Options for the object store the table is written to, such as region or
    credentials, overriding the namespace's own key by key; as a query parameter
    it is the text of a JSON object; malformed text results in InvalidInput
    (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


CreateTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("mode", "mode", string),
    Wire("properties", "properties", mapping(string)),
    Wire("storage_options", "storage_options", mapping(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
