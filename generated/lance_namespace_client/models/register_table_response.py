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
    """Identifier of the transaction that made the change, if the catalog has one."""

    location: str | None = None
    """Location that the catalog now stores for the table, possibly in a normalized
    form.
    """

    properties: dict[str, str] | None = None
    """Properties of the table as stored in the catalog."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


RegisterTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("location", "location", string),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
