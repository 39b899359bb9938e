# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateNamespaceResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["CreateNamespaceResponse"]


@define(kw_only=True)
class CreateNamespaceResponse(Model):
    """A namespace as it is after CreateNamespace."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, where the catalog has
    one.
    """

    properties: dict[str, str] | None = None
    """Properties of the namespace as the catalog holds them afterwards; with
    `ExistOk` those of the namespace that was already there.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back
    as `header.<name>`.
    """


CreateNamespaceResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
