# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BatchCommitTablesRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .commit_table_operation import CommitTableOperation
    from .identity import Identity

__all__ = ["BatchCommitTablesRequest"]


@define(kw_only=True)
class BatchCommitTablesRequest(Model):
    """Executes changes to several tables in one request, atomically.

    Namespaces that leave versions to storage return Unsupported (0).
    """

    operations: list[CommitTableOperation]
    """The changes, applied in the specified order."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


BatchCommitTablesRequest._wire = (
    Wire(
        "operations", "operations", array(model("CommitTableOperation")), required=True
    ),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
