# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `UpdateTableSchemaMetadataResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["UpdateTableSchemaMetadataResponse"]


@define(kw_only=True)
class UpdateTableSchemaMetadataResponse(Model):
    """The schema's metadata after the change; over HTTP the body is the bare map."""

    metadata: dict[str, str] | None = None
    """All metadata of the table's schema after the change."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


UpdateTableSchemaMetadataResponse._wire = (
    Wire("metadata", "metadata", mapping(string)),
    Wire("transaction_id", "transaction_id", string),
    Wire("context", "context", mapping(string)),
)
