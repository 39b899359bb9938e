# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `RestoreTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["RestoreTableResponse"]


@define(kw_only=True)
class RestoreTableResponse(Model):
    """Confirms that the older version is current again."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


RestoreTableResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("context", "context", mapping(string)),
)
