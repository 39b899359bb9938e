# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DropTableIndexResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["DropTableIndexResponse"]


@define(kw_only=True)
class DropTableIndexResponse(Model):
    """Confirms that the index was removed."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DropTableIndexResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("context", "context", mapping(string)),
)
