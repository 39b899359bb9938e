# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `RegisterTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["RegisterTableResponse"]


@define(kw_only=True)
class RegisterTableResponse(Model):
    """A table as the catalog has it after RegisterTable."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, where the catalog has
    one.
    """

    location: str | None = None
    """Location that the catalog now holds for the table, possibly in a normalised
    form.
    """

    properties: dict[str, str] | None = None
    """Properties of the table as the catalog now holds them."""

    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back
    as `header.<name>`.
    """


RegisterTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("location", "location", string),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
