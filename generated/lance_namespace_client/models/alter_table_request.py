# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["AlterTableRequest"]


@define(kw_only=True)
class AlterTableRequest(Model):
    """Request to change the properties that the catalog stores for a table; its
    data and schema are unchanged. A missing table results in TableNotFound (4),
    a conflict with a concurrent change ConcurrentModification (14).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    set_properties: dict[str, str] | None = None
    """Properties to add or change; other properties are kept. A key that is also
    in `unset_properties`, or that the catalog cannot store, results in
    InvalidInput (13).
    """

    unset_properties: list[str] | None = None
    """Keys of the properties to remove; a value that is not set is ignored. A key
    that is also in `set_properties` results in InvalidInput (13).
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


AlterTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("set_properties", "set_properties", mapping(string)),
    Wire("unset_properties", "unset_properties", array(string)),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
