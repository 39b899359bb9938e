# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `UpdateTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["UpdateTableResponse"]


@define(kw_only=True)
class UpdateTableResponse(Model):
    """What an update did."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    updated_rows: int
    """Number of rows that met the condition and were updated; may be 0."""

    version: int
    """Version of the table after the update."""

    properties: dict[str, str] | None = None
    """Properties recorded for the update, absent if the implementation stores
    none.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


UpdateTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("updated_rows", "updated_rows", integer(0), required=True),
    Wire("version", "version", integer(0), required=True),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
