# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DeclareTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, boolean, mapping, string

__all__ = ["DeclareTableResponse"]


@define(kw_only=True)
class DeclareTableResponse(Model):
    """The reserved table: where to write it and with which options."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    location: str | None = None
    """URI to which the client should write the dataset."""

    storage_options: dict[str, str] | None = None
    """Options for writing to `location`. Temporary credentials come with
    `expires_at_millis`, the time they end in milliseconds since 1970-01-01 UTC.
    """

    properties: dict[str, str] | None = None
    """The table's properties as stored in the catalog."""

    managed_versioning: bool | None = None
    """True when the namespace keeps the table's versions and commits must go
    through CreateTableVersion; false or absent when storage keeps them.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DeclareTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("location", "location", string),
    Wire("storage_options", "storage_options", mapping(string)),
    Wire("properties", "properties", mapping(string)),
    Wire("managed_versioning", "managed_versioning", boolean),
    Wire("context", "context", mapping(string)),
)
