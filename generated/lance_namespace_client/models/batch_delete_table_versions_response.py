# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BatchDeleteTableVersionsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["BatchDeleteTableVersionsResponse"]


@define(kw_only=True)
class BatchDeleteTableVersionsResponse(Model):
    """Reports how many versions were removed."""

    deleted_count: int | None = None
    """Number of versions that existed and were removed."""

    transaction_id: str | None = None
    """Identifier of the transaction that made the change, if the catalog has one."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


BatchDeleteTableVersionsResponse._wire = (
    Wire("deleted_count", "deleted_count", integer(0)),
    Wire("transaction_id", "transaction_id", string),
    Wire("context", "context", mapping(string)),
)
