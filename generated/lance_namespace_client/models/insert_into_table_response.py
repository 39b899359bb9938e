# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `InsertIntoTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["InsertIntoTableResponse"]


@define(kw_only=True)
class InsertIntoTableResponse(Model):
    """What an insert did."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    num_inserted_rows: int | None = None
    """Number of rows that were written."""

    version: int | None = None
    """Version of the table that the write created."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


InsertIntoTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("num_inserted_rows", "num_inserted_rows", integer(0)),
    Wire("version", "version", integer(0)),
    Wire("context", "context", mapping(string)),
)
