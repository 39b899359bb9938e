# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `RegisterTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["RegisterTableRequest"]


@define(kw_only=True)
class RegisterTableRequest(Model):
    """Request to register a Lance table that already exists in storage.

    Its data is neither copied nor moved; a missing parent namespace results in
    NamespaceNotFound (1).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    location: str
    """Where the table's data is, as a URI or path that the catalog accepts. A
    location that cannot be used results in InvalidInput (13).
    """

    mode: str | None = None
    """What to do if the name is already in use, in upper or lower case: `Create`
    (default) fails with TableAlreadyExists (5), `Overwrite` replaces the
    catalog entry and leaves the data it pointed at alone. Any other value
    results in InvalidInput (13).
    """

    properties: dict[str, str] | None = None
    """Properties to store with the table in the catalog, none by default."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


RegisterTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("location", "location", string, required=True),
    Wire("mode", "mode", string),
    Wire("properties", "properties", mapping(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
