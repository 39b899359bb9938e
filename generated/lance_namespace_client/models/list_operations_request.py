# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListOperationsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["ListOperationsRequest"]


@define(kw_only=True)
class ListOperationsRequest(Model):
    """Request to find out which operations the namespace supports; it has no
    fields.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


ListOperationsRequest._wire = (
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
