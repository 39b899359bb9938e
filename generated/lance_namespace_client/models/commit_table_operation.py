# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CommitTableOperation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model

if TYPE_CHECKING:
    from .batch_delete_table_versions_request import BatchDeleteTableVersionsRequest
    from .create_table_version_request import CreateTableVersionRequest
    from .declare_table_request import DeclareTableRequest
    from .deregister_table_request import DeregisterTableRequest

__all__ = ["CommitTableOperation"]


@define(kw_only=True)
class CommitTableOperation(Model):
    """One change in BatchCommitTables; exactly one of its fields must be set;
    otherwise, the request results in InvalidInput (13).
    """

    declare_table: DeclareTableRequest | None = None
    """Declares a table."""

    create_table_version: CreateTableVersionRequest | None = None
    """Records a new version of a table."""

    delete_table_versions: BatchDeleteTableVersionsRequest | None = None
    """Removes versions of a table."""

    deregister_table: DeregisterTableRequest | None = None
    """Removes a table from the catalog but keeps its data."""


CommitTableOperation._wire = (
    Wire("declare_table", "declare_table", model("DeclareTableRequest")),
    Wire(
        "create_table_version",
        "create_table_version",
        model("CreateTableVersionRequest"),
    ),
    Wire(
        "delete_table_versions",
        "delete_table_versions",
        model("BatchDeleteTableVersionsRequest"),
    ),
    Wire("deregister_table", "deregister_table", model("DeregisterTableRequest")),
)
