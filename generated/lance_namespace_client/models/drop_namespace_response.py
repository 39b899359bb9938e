# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DropNamespaceResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, string

__all__ = ["DropNamespaceResponse"]


@define(kw_only=True)
class DropNamespaceResponse(Model):
    """What DropNamespace took out of the catalog."""

    properties: dict[str, str] | None = None
    """Properties the namespace had before it was dropped, where the catalog
    returns them.
    """

    transaction_id: list[str] | None = None
    """Identifiers of the transactions that carry out the drop, absent where it is
    already complete. This is a list, because a cascading drop may need several
    transactions; in other responses the field is one string.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back
    as `header.<name>`.
    """


DropNamespaceResponse._wire = (
    Wire("properties", "properties", mapping(string)),
    Wire("transaction_id", "transaction_id", array(string)),
    Wire("context", "context", mapping(string)),
)
