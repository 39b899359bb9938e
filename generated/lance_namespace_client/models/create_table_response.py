# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["CreateTableResponse"]


@define(kw_only=True)
class CreateTableResponse(Model):
    """The table as it stands after CreateTable."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    location: str | None = None
    """URI of the directory that contains the table's data."""

    version: int | None = None
    """Version number of the table after the call, starting at 1."""

    storage_options: dict[str, str] | None = None
    """Options a client needs to reach `location`. Temporary credentials come with
    `expires_at_millis`, the time they end in milliseconds since 1970-01-01 UTC.
    """

    properties: dict[str, str] | None = None
    """The table's properties as stored in the catalog; with `ExistOk` on an
    existing table these are the ones it already had.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


CreateTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("location", "location", string),
    Wire("version", "version", integer(0)),
    Wire("storage_options", "storage_options", mapping(string)),
    Wire("properties", "properties", mapping(string)),
    Wire("context", "context", mapping(string)),
)
