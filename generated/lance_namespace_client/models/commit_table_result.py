# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CommitTableResult`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model

if TYPE_CHECKING:
    from .batch_delete_table_versions_response import BatchDeleteTableVersionsResponse
    from .create_table_version_response import CreateTableVersionResponse
    from .declare_table_response import DeclareTableResponse
    from .deregister_table_response import DeregisterTableResponse

__all__ = ["CommitTableResult"]


@define(kw_only=True)
class CommitTableResult(Model):
    """Result of one change in BatchCommitTables; the field with the same name as
    in the operation is filled.
    """

    declare_table: DeclareTableResponse | None = None
    """Result of declaring a table."""

    create_table_version: CreateTableVersionResponse | None = None
    """Result of recording a version."""

    delete_table_versions: BatchDeleteTableVersionsResponse | None = None
    """Result of removing versions."""

    deregister_table: DeregisterTableResponse | None = None
    """Result of removing a table from the catalog."""


CommitTableResult._wire = (
    Wire("declare_table", "declare_table", model("DeclareTableResponse")),
    Wire(
        "create_table_version",
        "create_table_version",
        model("CreateTableVersionResponse"),
    ),
    Wire(
        "delete_table_versions",
        "delete_table_versions",
        model("BatchDeleteTableVersionsResponse"),
    ),
    Wire("deregister_table", "deregister_table", model("DeregisterTableResponse")),
)
