# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BatchCommitTablesResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .commit_table_result import CommitTableResult

__all__ = ["BatchCommitTablesResponse"]


@define(kw_only=True)
class BatchCommitTablesResponse(Model):
    """Confirms that all changes of the batch were created."""

    transaction_id: str | None = None
    """Identifier of the one transaction that covers the whole batch, if the server
    stores transactions.
    """

    results: list[CommitTableResult]
    """One result per change, in the order of the request's operations."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


BatchCommitTablesResponse._wire = (
    Wire("transaction_id", "transaction_id", string),
    Wire("results", "results", array(model("CommitTableResult")), required=True),
    Wire("context", "context", mapping(string)),
)
