# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `RenameTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["RenameTableResponse"]


@define(kw_only=True)
class RenameTableResponse(Model):
    """Confirms that the table has its new name."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


RenameTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("context", "context", mapping(string)),
)
