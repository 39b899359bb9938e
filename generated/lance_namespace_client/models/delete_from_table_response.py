# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DeleteFromTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["DeleteFromTableResponse"]


@define(kw_only=True)
class DeleteFromTableResponse(Model):
    """What a deletion did."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    version: int | None = None
    """Version of the table after the delete."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DeleteFromTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("version", "version", integer(0)),
    Wire("context", "context", mapping(string)),
)
