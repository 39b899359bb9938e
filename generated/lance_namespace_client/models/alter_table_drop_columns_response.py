# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableDropColumnsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["AlterTableDropColumnsResponse"]


@define(kw_only=True)
class AlterTableDropColumnsResponse(Model):
    """Confirms that the columns were removed."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    version: int
    """Version number of the table after the change."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


AlterTableDropColumnsResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("version", "version", integer(0), required=True),
    Wire("context", "context", mapping(string)),
)
