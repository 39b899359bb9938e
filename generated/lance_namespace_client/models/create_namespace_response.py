# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateNamespaceResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["CreateNamespaceResponse"]


@define(kw_only=True)
class CreateNamespaceResponse(Model):
    """The namespace after CreateNamespace."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    properties: dict[str, str] | None = None
    """Properties of the namespace as stored in the catalog; with `ExistOk`, those
    of the existing namespace.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


CreateNamespaceResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
