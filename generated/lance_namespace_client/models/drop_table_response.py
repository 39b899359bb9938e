# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DropTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, string

__all__ = ["DropTableResponse"]


@define(kw_only=True)
class DropTableResponse(Model):
    """What was removed by DropTable."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    id: list[str] | None = None
    """Identifier of the dropped table, one entry per level."""

    location: str | None = None
    """URI where the table's data was; it is deleted by the call."""

    properties: dict[str, str] | None = None
    """The properties the table had in the catalog."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DropTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("id", "id", array(string)),
    Wire("location", "location", string),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
