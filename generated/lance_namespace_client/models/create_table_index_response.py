# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateTableIndexResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["CreateTableIndexResponse"]


@define(kw_only=True)
class CreateTableIndexResponse(Model):
    """Confirms that the index was created or is being built; ListTableIndices
    shows its state.
    """

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


CreateTableIndexResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("context", "context", mapping(string)),
)
