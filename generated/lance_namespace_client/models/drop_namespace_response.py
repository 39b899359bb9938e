# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DropNamespaceResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, string

__all__ = ["DropNamespaceResponse"]


@define(kw_only=True)
class DropNamespaceResponse(Model):
    """What DropNamespace removed from the catalog."""

    properties: dict[str, str] | None = None
    """Properties the namespace had before it was dropped, if the catalog returns
    them.
    """

    transaction_id: list[str] | None = None
    """Identifiers of the transactions that execute the drop, absent if it is
    already complete. This is a list, because a cascading drop may need several
    transactions; in other responses the field is one string.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DropNamespaceResponse._wire = (
    Wire("properties", "properties", mapping(string)),
    Wire("transaction_id", "transaction_id", array(string)),
    Wire("context", "context", mapping(string)),
)
