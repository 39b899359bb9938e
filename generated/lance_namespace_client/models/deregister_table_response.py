# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DeregisterTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, string

__all__ = ["DeregisterTableResponse"]


@define(kw_only=True)
class DeregisterTableResponse(Model):
    """What was removed from the catalog by DeregisterTable, enough to register it
    again.
    """

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    id: list[str] | None = None
    """Identifier the table had, one entry per level."""

    location: str | None = None
    """URI where the table's data still is."""

    properties: dict[str, str] | None = None
    """The properties the table had in the catalog."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DeregisterTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("id", "id", array(string)),
    Wire("location", "location", string),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
