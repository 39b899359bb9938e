# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"

"""The operation table: every operation of the protocol, its routes, parameters and codes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ._operation import Action, Body, Operation, Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from . import models

__all__ = ["COMMON_CODES", "OPERATIONS", "Action", "Body", "Operation", "Parameter"]

COMMON_CODES = (0, 13, 15, 16, 17, 18, 19, 21)
"""Error codes that any operation may return."""

CREATE_NAMESPACE: Operation[
    models.CreateNamespaceRequest, models.CreateNamespaceResponse
] = Operation(
    name="CreateNamespace",
    method_name="create_namespace",
    summary="Create a namespace",
    tag="Namespace",
    http_method="POST",
    path="/v1/namespace/{id}/create",
    request="CreateNamespaceRequest",
    response="CreateNamespaceResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 2, 3, 14),
    action=Action.MANAGE,
)
LIST_NAMESPACES: Operation[
    models.ListNamespacesRequest, models.ListNamespacesResponse
] = Operation(
    name="ListNamespaces",
    method_name="list_namespaces",
    summary="List the direct children of a namespace",
    tag="Namespace",
    http_method="GET",
    path="/v1/namespace/{id}/list",
    request="ListNamespacesRequest",
    response="ListNamespacesResponse",
    path_fields=("id",),
    query=(
        Parameter("page_token", "page_token", "string"),
        Parameter("limit", "limit", "integer"),
    ),
    body=Body.NONE,
    answer=Body.JSON,
    codes=(1,),
    action=Action.READ,
    repeatable=True,
)
DESCRIBE_NAMESPACE: Operation[
    models.DescribeNamespaceRequest, models.DescribeNamespaceResponse
] = Operation(
    name="DescribeNamespace",
    method_name="describe_namespace",
    summary="Read the properties of a namespace",
    tag="Namespace",
    http_method="POST",
    path="/v1/namespace/{id}/describe",
    request="DescribeNamespaceRequest",
    response="DescribeNamespaceResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1,),
    action=Action.READ,
    repeatable=True,
    aliases=("GetNamespace",),
)
DROP_NAMESPACE: Operation[models.DropNamespaceRequest, models.DropNamespaceResponse] = (
    Operation(
        name="DropNamespace",
        method_name="drop_namespace",
        summary="Drop a namespace",
        tag="Namespace",
        http_method="POST",
        path="/v1/namespace/{id}/drop",
        request="DropNamespaceRequest",
        response="DropNamespaceResponse",
        path_fields=("id",),
        body=Body.JSON,
        answer=Body.JSON,
        codes=(1, 3, 14),
        action=Action.MANAGE,
    )
)
NAMESPACE_EXISTS: Operation[
    models.NamespaceExistsRequest, models.NamespaceExistsResponse
] = Operation(
    name="NamespaceExists",
    method_name="namespace_exists",
    summary="Check whether a namespace exists",
    tag="Namespace",
    http_method="POST",
    path="/v1/namespace/{id}/exists",
    request="NamespaceExistsRequest",
    response="NamespaceExistsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.NONE,
    codes=(1,),
    action=Action.READ,
    repeatable=True,
)
LIST_TABLES: Operation[models.ListTablesRequest, models.ListTablesResponse] = Operation(
    name="ListTables",
    method_name="list_tables",
    summary="List the tables of a namespace",
    tag="Table",
    http_method="GET",
    path="/v1/namespace/{id}/table/list",
    request="ListTablesRequest",
    response="ListTablesResponse",
    path_fields=("id",),
    query=(
        Parameter("page_token", "page_token", "string"),
        Parameter("limit", "limit", "integer"),
        Parameter("include_declared", "include_declared", "boolean"),
    ),
    body=Body.NONE,
    answer=Body.JSON,
    codes=(1,),
    action=Action.READ,
    repeatable=True,
)
LIST_ALL_TABLES: Operation[models.ListTablesRequest, models.ListTablesResponse] = (
    Operation(
        name="ListAllTables",
        method_name="list_all_tables",
        summary="List the tables of every namespace",
        tag="Table",
        http_method="GET",
        path="/v1/table",
        request="ListTablesRequest",
        response="ListTablesResponse",
        query=(
            Parameter("page_token", "page_token", "string"),
            Parameter("limit", "limit", "integer"),
            Parameter("include_declared", "include_declared", "boolean"),
        ),
        body=Body.NONE,
        answer=Body.JSON,
        codes=(),
        action=Action.READ,
        repeatable=True,
    )
)
REGISTER_TABLE: Operation[models.RegisterTableRequest, models.RegisterTableResponse] = (
    Operation(
        name="RegisterTable",
        method_name="register_table",
        summary="Register an existing dataset as a table",
        tag="Table",
        http_method="POST",
        path="/v1/table/{id}/register",
        request="RegisterTableRequest",
        response="RegisterTableResponse",
        path_fields=("id",),
        body=Body.JSON,
        answer=Body.JSON,
        codes=(1, 5, 14),
        action=Action.MANAGE,
    )
)
DESCRIBE_TABLE: Operation[models.DescribeTableRequest, models.DescribeTableResponse] = (
    Operation(
        name="DescribeTable",
        method_name="describe_table",
        summary="Read a table's location and metadata",
        tag="Table",
        http_method="POST",
        path="/v1/table/{id}/describe",
        request="DescribeTableRequest",
        response="DescribeTableResponse",
        path_fields=("id",),
        query=(
            Parameter("with_table_uri", "with_table_uri", "boolean"),
            Parameter("load_detailed_metadata", "load_detailed_metadata", "boolean"),
            Parameter("check_declared", "check_declared", "boolean"),
        ),
        body=Body.JSON,
        answer=Body.JSON,
        codes=(1, 4, 11),
        action=Action.READ,
        repeatable=True,
        aliases=("GetTable",),
    )
)
TABLE_EXISTS: Operation[models.TableExistsRequest, models.TableExistsResponse] = (
    Operation(
        name="TableExists",
        method_name="table_exists",
        summary="Check whether a table exists",
        tag="Table",
        http_method="POST",
        path="/v1/table/{id}/exists",
        request="TableExistsRequest",
        response="TableExistsResponse",
        path_fields=("id",),
        body=Body.JSON,
        answer=Body.NONE,
        codes=(1, 4),
        action=Action.READ,
        repeatable=True,
    )
)
DROP_TABLE: Operation[models.DropTableRequest, models.DropTableResponse] = Operation(
    name="DropTable",
    method_name="drop_table",
    summary="Drop a table and delete its data",
    tag="Table",
    http_method="POST",
    path="/v1/table/{id}/drop",
    request="DropTableRequest",
    response="DropTableResponse",
    path_fields=("id",),
    body=Body.NONE,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.MANAGE,
)
DEREGISTER_TABLE: Operation[
    models.DeregisterTableRequest, models.DeregisterTableResponse
] = Operation(
    name="DeregisterTable",
    method_name="deregister_table",
    summary="Remove a table from the catalog and keep its data",
    tag="Table",
    http_method="POST",
    path="/v1/table/{id}/deregister",
    request="DeregisterTableRequest",
    response="DeregisterTableResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.MANAGE,
)
RESTORE_TABLE: Operation[models.RestoreTableRequest, models.RestoreTableResponse] = (
    Operation(
        name="RestoreTable",
        method_name="restore_table",
        summary="Restore a table to an earlier version",
        tag="Version",
        http_method="POST",
        path="/v1/table/{id}/restore",
        request="RestoreTableRequest",
        response="RestoreTableResponse",
        path_fields=("id",),
        body=Body.JSON,
        answer=Body.JSON,
        codes=(1, 4, 11, 14),
        action=Action.WRITE,
    )
)
RENAME_TABLE: Operation[models.RenameTableRequest, models.RenameTableResponse] = (
    Operation(
        name="RenameTable",
        method_name="rename_table",
        summary="Rename a table or move it to another namespace",
        tag="Table",
        http_method="POST",
        path="/v1/table/{id}/rename",
        request="RenameTableRequest",
        response="RenameTableResponse",
        path_fields=("id",),
        body=Body.JSON,
        answer=Body.JSON,
        codes=(1, 4, 5, 14),
        action=Action.MANAGE,
    )
)
UPDATE_TABLE_SCHEMA_METADATA: Operation[
    models.UpdateTableSchemaMetadataRequest, models.UpdateTableSchemaMetadataResponse
] = Operation(
    name="UpdateTableSchemaMetadata",
    method_name="update_table_schema_metadata",
    summary="Set key-value pairs in the schema metadata",
    tag="Table",
    http_method="POST",
    path="/v1/table/{id}/schema_metadata/update",
    request="UpdateTableSchemaMetadataRequest",
    response="UpdateTableSchemaMetadataResponse",
    path_fields=("id",),
    query=(Parameter("branch", "branch", "string"),),
    body=Body.FIELD,
    body_field="metadata",
    answer=Body.FIELD,
    answer_field="metadata",
    codes=(1, 4, 14),
    action=Action.WRITE,
)
LIST_TABLE_VERSIONS: Operation[
    models.ListTableVersionsRequest, models.ListTableVersionsResponse
] = Operation(
    name="ListTableVersions",
    method_name="list_table_versions",
    summary="List the versions of a table",
    tag="Version",
    http_method="POST",
    path="/v1/table/{id}/version/list",
    request="ListTableVersionsRequest",
    response="ListTableVersionsResponse",
    path_fields=("id",),
    query=(
        Parameter("branch", "branch", "string"),
        Parameter("page_token", "page_token", "string"),
        Parameter("limit", "limit", "integer"),
        Parameter("descending", "descending", "boolean"),
    ),
    body=Body.NONE,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.READ,
    repeatable=True,
)
CREATE_TABLE_VERSION: Operation[
    models.CreateTableVersionRequest, models.CreateTableVersionResponse
] = Operation(
    name="CreateTableVersion",
    method_name="create_table_version",
    summary="Commit a manifest as a new table version",
    tag="Version",
    http_method="POST",
    path="/v1/table/{id}/version/create",
    request="CreateTableVersionRequest",
    response="CreateTableVersionResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 14),
    action=Action.WRITE,
)
DESCRIBE_TABLE_VERSION: Operation[
    models.DescribeTableVersionRequest, models.DescribeTableVersionResponse
] = Operation(
    name="DescribeTableVersion",
    method_name="describe_table_version",
    summary="Read one version of a table",
    tag="Version",
    http_method="POST",
    path="/v1/table/{id}/version/describe",
    request="DescribeTableVersionRequest",
    response="DescribeTableVersionResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 11),
    action=Action.READ,
    repeatable=True,
)
BATCH_DELETE_TABLE_VERSIONS: Operation[
    models.BatchDeleteTableVersionsRequest, models.BatchDeleteTableVersionsResponse
] = Operation(
    name="BatchDeleteTableVersions",
    method_name="batch_delete_table_versions",
    summary="Delete ranges of a table's versions",
    tag="Version",
    http_method="POST",
    path="/v1/table/{id}/version/delete",
    request="BatchDeleteTableVersionsRequest",
    response="BatchDeleteTableVersionsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.WRITE,
)
BATCH_CREATE_TABLE_VERSIONS: Operation[
    models.BatchCreateTableVersionsRequest, models.BatchCreateTableVersionsResponse
] = Operation(
    name="BatchCreateTableVersions",
    method_name="batch_create_table_versions",
    summary="Commit new versions of several tables in one request",
    tag="Version",
    http_method="POST",
    path="/v1/table/version/batch-create",
    request="BatchCreateTableVersionsRequest",
    response="BatchCreateTableVersionsResponse",
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 14),
    action=Action.WRITE,
)
BATCH_COMMIT_TABLES: Operation[
    models.BatchCommitTablesRequest, models.BatchCommitTablesResponse
] = Operation(
    name="BatchCommitTables",
    method_name="batch_commit_tables",
    summary="Commit several table operations in one request",
    tag="Transaction",
    http_method="POST",
    path="/v1/table/batch-commit",
    request="BatchCommitTablesRequest",
    response="BatchCommitTablesResponse",
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 14),
    action=Action.MANAGE,
)
ALTER_TABLE_ALTER_COLUMNS: Operation[
    models.AlterTableAlterColumnsRequest, models.AlterTableAlterColumnsResponse
] = Operation(
    name="AlterTableAlterColumns",
    method_name="alter_table_alter_columns",
    summary="Change the name, type or nullability of columns",
    tag="Column",
    http_method="POST",
    path="/v1/table/{id}/alter_columns",
    request="AlterTableAlterColumnsRequest",
    response="AlterTableAlterColumnsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 12, 14, 20),
    action=Action.WRITE,
)
UPDATE_FIELD_METADATA: Operation[
    models.UpdateFieldMetadataRequest, models.UpdateFieldMetadataResponse
] = Operation(
    name="UpdateFieldMetadata",
    method_name="update_field_metadata",
    summary="Change the metadata of individual columns",
    tag="Column",
    http_method="POST",
    path="/v1/table/{id}/update_field_metadata",
    request="UpdateFieldMetadataRequest",
    response="UpdateFieldMetadataResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 12, 14),
    action=Action.WRITE,
)
ALTER_TABLE_DROP_COLUMNS: Operation[
    models.AlterTableDropColumnsRequest, models.AlterTableDropColumnsResponse
] = Operation(
    name="AlterTableDropColumns",
    method_name="alter_table_drop_columns",
    summary="Drop columns from a table",
    tag="Column",
    http_method="POST",
    path="/v1/table/{id}/drop_columns",
    request="AlterTableDropColumnsRequest",
    response="AlterTableDropColumnsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 12, 14),
    action=Action.WRITE,
)
GET_TABLE_STATS: Operation[
    models.GetTableStatsRequest, models.GetTableStatsResponse
] = Operation(
    name="GetTableStats",
    method_name="get_table_stats",
    summary="Read the size and fragment statistics of a table",
    tag="Table",
    http_method="POST",
    path="/v1/table/{id}/stats",
    request="GetTableStatsRequest",
    response="GetTableStatsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.READ,
    repeatable=True,
)
INSERT_INTO_TABLE: Operation[
    models.InsertIntoTableRequest, models.InsertIntoTableResponse
] = Operation(
    name="InsertIntoTable",
    method_name="insert_into_table",
    summary="Insert rows into a table",
    tag="Data",
    http_method="POST",
    path="/v1/table/{id}/insert",
    request="InsertIntoTableRequest",
    response="InsertIntoTableResponse",
    path_fields=("id",),
    query=(
        Parameter("branch", "branch", "string"),
        Parameter("mode", "mode", "string"),
    ),
    body=Body.ARROW,
    answer=Body.JSON,
    codes=(1, 4, 14, 19, 20),
    action=Action.WRITE,
)
MERGE_INSERT_INTO_TABLE: Operation[
    models.MergeInsertIntoTableRequest, models.MergeInsertIntoTableResponse
] = Operation(
    name="MergeInsertIntoTable",
    method_name="merge_insert_into_table",
    summary="Merge rows into a table by a key column",
    tag="Data",
    http_method="POST",
    path="/v1/table/{id}/merge_insert",
    request="MergeInsertIntoTableRequest",
    response="MergeInsertIntoTableResponse",
    path_fields=("id",),
    query=(
        Parameter("branch", "branch", "string"),
        Parameter("on", "on", "array", required=True),
        Parameter("when_matched_update_all", "when_matched_update_all", "boolean"),
        Parameter(
            "when_matched_update_all_filt", "when_matched_update_all_filt", "string"
        ),
        Parameter(
            "when_not_matched_insert_all", "when_not_matched_insert_all", "boolean"
        ),
        Parameter(
            "when_not_matched_by_source_delete",
            "when_not_matched_by_source_delete",
            "boolean",
        ),
        Parameter(
            "when_not_matched_by_source_delete_filt",
            "when_not_matched_by_source_delete_filt",
            "string",
        ),
        Parameter("timeout", "timeout", "string"),
        Parameter("use_index", "use_index", "boolean"),
    ),
    body=Body.ARROW,
    answer=Body.JSON,
    codes=(1, 4, 12, 14, 19),
    action=Action.WRITE,
)
UPDATE_TABLE: Operation[models.UpdateTableRequest, models.UpdateTableResponse] = (
    Operation(
        name="UpdateTable",
        method_name="update_table",
        summary="Update columns of the rows that match a predicate",
        tag="Data",
        http_method="POST",
        path="/v1/table/{id}/update",
        request="UpdateTableRequest",
        response="UpdateTableResponse",
        path_fields=("id",),
        body=Body.JSON,
        answer=Body.JSON,
        codes=(1, 4, 12, 14, 19),
        action=Action.WRITE,
    )
)
DELETE_FROM_TABLE: Operation[
    models.DeleteFromTableRequest, models.DeleteFromTableResponse
] = Operation(
    name="DeleteFromTable",
    method_name="delete_from_table",
    summary="Delete the rows that match a predicate",
    tag="Data",
    http_method="POST",
    path="/v1/table/{id}/delete",
    request="DeleteFromTableRequest",
    response="DeleteFromTableResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 12, 14, 19),
    action=Action.WRITE,
)
QUERY_TABLE: Operation[models.QueryTableRequest, pa.RecordBatchReader] = Operation(
    name="QueryTable",
    method_name="query_table",
    summary="Query a table by vector, full text or filter",
    tag="Data",
    http_method="POST",
    path="/v1/table/{id}/query",
    request="QueryTableRequest",
    response="QueryTableResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.ARROW,
    codes=(1, 4, 11, 12),
    action=Action.READ,
    repeatable=True,
)
COUNT_TABLE_ROWS: Operation[
    models.CountTableRowsRequest, models.CountTableRowsResponse
] = Operation(
    name="CountTableRows",
    method_name="count_table_rows",
    summary="Count the rows of a table",
    tag="Data",
    http_method="POST",
    path="/v1/table/{id}/count_rows",
    request="CountTableRowsRequest",
    response="CountTableRowsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.FIELD,
    answer_field="count",
    codes=(1, 4, 11, 12),
    action=Action.READ,
    repeatable=True,
)
CREATE_TABLE: Operation[models.CreateTableRequest, models.CreateTableResponse] = (
    Operation(
        name="CreateTable",
        method_name="create_table",
        summary="Create a table from an Arrow stream",
        tag="Table",
        http_method="POST",
        path="/v1/table/{id}/create",
        request="CreateTableRequest",
        response="CreateTableResponse",
        path_fields=("id",),
        query=(
            Parameter("mode", "mode", "string"),
            Parameter("properties", "properties", "object"),
            Parameter("storage_options", "storage_options", "object"),
        ),
        body=Body.ARROW,
        answer=Body.JSON,
        codes=(1, 5, 14, 20),
        action=Action.MANAGE,
    )
)
EXPLAIN_TABLE_QUERY_PLAN: Operation[
    models.ExplainTableQueryPlanRequest, models.ExplainTableQueryPlanResponse
] = Operation(
    name="ExplainTableQueryPlan",
    method_name="explain_table_query_plan",
    summary="Explain how a query would be run",
    tag="Data",
    http_method="POST",
    path="/v1/table/{id}/explain_plan",
    request="ExplainTableQueryPlanRequest",
    response="ExplainTableQueryPlanResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.FIELD,
    answer_field="plan",
    codes=(1, 4, 12),
    action=Action.READ,
    repeatable=True,
)
ANALYZE_TABLE_QUERY_PLAN: Operation[
    models.AnalyzeTableQueryPlanRequest, models.AnalyzeTableQueryPlanResponse
] = Operation(
    name="AnalyzeTableQueryPlan",
    method_name="analyze_table_query_plan",
    summary="Run a query and report its cost",
    tag="Data",
    http_method="POST",
    path="/v1/table/{id}/analyze_plan",
    request="AnalyzeTableQueryPlanRequest",
    response="AnalyzeTableQueryPlanResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.FIELD,
    answer_field="analysis",
    codes=(1, 4, 12),
    action=Action.READ,
    repeatable=True,
)
ALTER_TABLE_ADD_COLUMNS: Operation[
    models.AlterTableAddColumnsRequest, models.AlterTableAddColumnsResponse
] = Operation(
    name="AlterTableAddColumns",
    method_name="alter_table_add_columns",
    summary="Add columns to a table",
    tag="Column",
    http_method="POST",
    path="/v1/table/{id}/add_columns",
    request="AlterTableAddColumnsRequest",
    response="AlterTableAddColumnsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 12, 14, 20),
    action=Action.WRITE,
)
ALTER_TABLE_BACKFILL_COLUMNS: Operation[
    models.AlterTableBackfillColumnsRequest, models.AlterTableBackfillColumnsResponse
] = Operation(
    name="AlterTableBackfillColumns",
    method_name="alter_table_backfill_columns",
    summary="Start a job that fills a computed column",
    tag="Column",
    http_method="POST",
    path="/v1/table/{id}/backfill_column",
    request="AlterTableBackfillColumnsRequest",
    response="AlterTableBackfillColumnsResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    status=202,
    codes=(1, 4, 14),
    action=Action.WRITE,
)
REFRESH_MATERIALIZED_VIEW: Operation[
    models.RefreshMaterializedViewRequest, models.RefreshMaterializedViewResponse
] = Operation(
    name="RefreshMaterializedView",
    method_name="refresh_materialized_view",
    summary="Start a job that refreshes a materialized view",
    tag="MaterializedView",
    http_method="POST",
    path="/v1/materialized_view/{id}/refresh",
    request="RefreshMaterializedViewRequest",
    response="RefreshMaterializedViewResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    status=202,
    codes=(1, 4, 14),
    action=Action.WRITE,
)
CREATE_MATERIALIZED_VIEW: Operation[
    models.CreateMaterializedViewRequest, models.CreateMaterializedViewResponse
] = Operation(
    name="CreateMaterializedView",
    method_name="create_materialized_view",
    summary="Create a materialized view",
    tag="MaterializedView",
    http_method="POST",
    path="/v1/materialized_view/{id}/create",
    request="CreateMaterializedViewRequest",
    response="CreateMaterializedViewResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    status=201,
    codes=(1, 4, 14),
    action=Action.MANAGE,
)
CREATE_TABLE_INDEX: Operation[
    models.CreateTableIndexRequest, models.CreateTableIndexResponse
] = Operation(
    name="CreateTableIndex",
    method_name="create_table_index",
    summary="Create an index on a column",
    tag="Index",
    http_method="POST",
    path="/v1/table/{id}/create_index",
    request="CreateTableIndexRequest",
    response="CreateTableIndexResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 7, 12, 14),
    action=Action.WRITE,
)
CREATE_TABLE_SCALAR_INDEX: Operation[
    models.CreateTableIndexRequest, models.CreateTableScalarIndexResponse
] = Operation(
    name="CreateTableScalarIndex",
    method_name="create_table_scalar_index",
    summary="Create a scalar index on a column",
    tag="Index",
    http_method="POST",
    path="/v1/table/{id}/create_scalar_index",
    request="CreateTableIndexRequest",
    response="CreateTableScalarIndexResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 7, 12, 14),
    action=Action.WRITE,
)
LIST_TABLE_INDICES: Operation[
    models.ListTableIndicesRequest, models.ListTableIndicesResponse
] = Operation(
    name="ListTableIndices",
    method_name="list_table_indices",
    summary="List the indexes of a table",
    tag="Index",
    http_method="POST",
    path="/v1/table/{id}/index/list",
    request="ListTableIndicesRequest",
    response="ListTableIndicesResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.READ,
    repeatable=True,
)
DESCRIBE_TABLE_INDEX_STATS: Operation[
    models.DescribeTableIndexStatsRequest, models.DescribeTableIndexStatsResponse
] = Operation(
    name="DescribeTableIndexStats",
    method_name="describe_table_index_stats",
    summary="Read the statistics of an index",
    tag="Index",
    http_method="POST",
    path="/v1/table/{id}/index/{index_name}/stats",
    request="DescribeTableIndexStatsRequest",
    response="DescribeTableIndexStatsResponse",
    path_fields=("id", "index_name"),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 6),
    action=Action.READ,
    repeatable=True,
)
DROP_TABLE_INDEX: Operation[
    models.DropTableIndexRequest, models.DropTableIndexResponse
] = Operation(
    name="DropTableIndex",
    method_name="drop_table_index",
    summary="Drop an index from a table",
    tag="Index",
    http_method="POST",
    path="/v1/table/{id}/index/{index_name}/drop",
    request="DropTableIndexRequest",
    response="DropTableIndexResponse",
    path_fields=("id", "index_name"),
    query=(Parameter("branch", "branch", "string"),),
    body=Body.NONE,
    answer=Body.JSON,
    codes=(1, 4, 6),
    action=Action.WRITE,
)
LIST_TABLE_TAGS: Operation[
    models.ListTableTagsRequest, models.ListTableTagsResponse
] = Operation(
    name="ListTableTags",
    method_name="list_table_tags",
    summary="List the tags of a table",
    tag="Tag",
    http_method="POST",
    path="/v1/table/{id}/tags/list",
    request="ListTableTagsRequest",
    response="ListTableTagsResponse",
    path_fields=("id",),
    query=(
        Parameter("page_token", "page_token", "string"),
        Parameter("limit", "limit", "integer"),
    ),
    body=Body.NONE,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.READ,
    repeatable=True,
)
GET_TABLE_TAG_VERSION: Operation[
    models.GetTableTagVersionRequest, models.GetTableTagVersionResponse
] = Operation(
    name="GetTableTagVersion",
    method_name="get_table_tag_version",
    summary="Look up the version that a tag references",
    tag="Tag",
    http_method="POST",
    path="/v1/table/{id}/tags/version",
    request="GetTableTagVersionRequest",
    response="GetTableTagVersionResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 8),
    action=Action.READ,
    repeatable=True,
)
DECLARE_TABLE: Operation[models.DeclareTableRequest, models.DeclareTableResponse] = (
    Operation(
        name="DeclareTable",
        method_name="declare_table",
        summary="Reserve a table name before data is written",
        tag="Table",
        http_method="POST",
        path="/v1/table/{id}/declare",
        request="DeclareTableRequest",
        response="DeclareTableResponse",
        path_fields=("id",),
        body=Body.JSON,
        answer=Body.JSON,
        codes=(1, 5, 14),
        action=Action.MANAGE,
    )
)
CREATE_TABLE_TAG: Operation[
    models.CreateTableTagRequest, models.CreateTableTagResponse
] = Operation(
    name="CreateTableTag",
    method_name="create_table_tag",
    summary="Create a tag for a version of a table",
    tag="Tag",
    http_method="POST",
    path="/v1/table/{id}/tags/create",
    request="CreateTableTagRequest",
    response="CreateTableTagResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 9, 11, 14),
    action=Action.WRITE,
)
DELETE_TABLE_TAG: Operation[
    models.DeleteTableTagRequest, models.DeleteTableTagResponse
] = Operation(
    name="DeleteTableTag",
    method_name="delete_table_tag",
    summary="Delete a tag of a table",
    tag="Tag",
    http_method="POST",
    path="/v1/table/{id}/tags/delete",
    request="DeleteTableTagRequest",
    response="DeleteTableTagResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 8),
    action=Action.WRITE,
)
UPDATE_TABLE_TAG: Operation[
    models.UpdateTableTagRequest, models.UpdateTableTagResponse
] = Operation(
    name="UpdateTableTag",
    method_name="update_table_tag",
    summary="Move a tag to another version",
    tag="Tag",
    http_method="POST",
    path="/v1/table/{id}/tags/update",
    request="UpdateTableTagRequest",
    response="UpdateTableTagResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 8, 11, 14),
    action=Action.WRITE,
)
LIST_TABLE_BRANCHES: Operation[
    models.ListTableBranchesRequest, models.ListTableBranchesResponse
] = Operation(
    name="ListTableBranches",
    method_name="list_table_branches",
    summary="List the branches of a table",
    tag="Branch",
    http_method="POST",
    path="/v1/table/{id}/branches/list",
    request="ListTableBranchesRequest",
    response="ListTableBranchesResponse",
    path_fields=("id",),
    query=(
        Parameter("page_token", "page_token", "string"),
        Parameter("limit", "limit", "integer"),
    ),
    body=Body.NONE,
    answer=Body.JSON,
    codes=(1, 4),
    action=Action.READ,
    repeatable=True,
)
CREATE_TABLE_BRANCH: Operation[
    models.CreateTableBranchRequest, models.CreateTableBranchResponse
] = Operation(
    name="CreateTableBranch",
    method_name="create_table_branch",
    summary="Create a branch of a table",
    tag="Branch",
    http_method="POST",
    path="/v1/table/{id}/branches/create",
    request="CreateTableBranchRequest",
    response="CreateTableBranchResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 23),
    action=Action.WRITE,
)
DELETE_TABLE_BRANCH: Operation[
    models.DeleteTableBranchRequest, models.DeleteTableBranchResponse
] = Operation(
    name="DeleteTableBranch",
    method_name="delete_table_branch",
    summary="Delete a branch of a table",
    tag="Branch",
    http_method="POST",
    path="/v1/table/{id}/branches/delete",
    request="DeleteTableBranchRequest",
    response="DeleteTableBranchResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 22),
    action=Action.WRITE,
)
DESCRIBE_TRANSACTION: Operation[
    models.DescribeTransactionRequest, models.DescribeTransactionResponse
] = Operation(
    name="DescribeTransaction",
    method_name="describe_transaction",
    summary="Read the status of a transaction",
    tag="Transaction",
    http_method="POST",
    path="/v1/transaction/{id}/describe",
    request="DescribeTransactionRequest",
    response="DescribeTransactionResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(10,),
    action=Action.READ,
    repeatable=True,
)
ALTER_TRANSACTION: Operation[
    models.AlterTransactionRequest, models.AlterTransactionResponse
] = Operation(
    name="AlterTransaction",
    method_name="alter_transaction",
    summary="Change the status or properties of a transaction",
    tag="Transaction",
    http_method="POST",
    path="/v1/transaction/{id}/alter",
    request="AlterTransactionRequest",
    response="AlterTransactionResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(10, 14),
    action=Action.WRITE,
)
LIST_OPERATIONS: Operation[
    models.ListOperationsRequest, models.ListOperationsResponse
] = Operation(
    name="ListOperations",
    method_name="list_operations",
    summary="List the operations this server supports",
    tag="Service",
    http_method="GET",
    path="/v1/operations",
    request="ListOperationsRequest",
    response="ListOperationsResponse",
    body=Body.NONE,
    answer=Body.JSON,
    codes=(),
    action=Action.READ,
    repeatable=True,
)
ALTER_NAMESPACE: Operation[
    models.AlterNamespaceRequest, models.AlterNamespaceResponse
] = Operation(
    name="AlterNamespace",
    method_name="alter_namespace",
    summary="Set and unset properties of a namespace",
    tag="Namespace",
    http_method="POST",
    path="/v1/namespace/{id}/alter",
    request="AlterNamespaceRequest",
    response="AlterNamespaceResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 14),
    action=Action.MANAGE,
)
ALTER_TABLE: Operation[models.AlterTableRequest, models.AlterTableResponse] = Operation(
    name="AlterTable",
    method_name="alter_table",
    summary="Set and unset properties of a table",
    tag="Table",
    http_method="POST",
    path="/v1/table/{id}/alter",
    request="AlterTableRequest",
    response="AlterTableResponse",
    path_fields=("id",),
    body=Body.JSON,
    answer=Body.JSON,
    codes=(1, 4, 14),
    action=Action.MANAGE,
)

OPERATIONS: Mapping[str, Operation[Any, Any]] = MappingProxyType(
    {
        operation.name: operation
        for operation in (
            CREATE_NAMESPACE,
            LIST_NAMESPACES,
            DESCRIBE_NAMESPACE,
            DROP_NAMESPACE,
            NAMESPACE_EXISTS,
            LIST_TABLES,
            LIST_ALL_TABLES,
            REGISTER_TABLE,
            DESCRIBE_TABLE,
            TABLE_EXISTS,
            DROP_TABLE,
            DEREGISTER_TABLE,
            RESTORE_TABLE,
            RENAME_TABLE,
            UPDATE_TABLE_SCHEMA_METADATA,
            LIST_TABLE_VERSIONS,
            CREATE_TABLE_VERSION,
            DESCRIBE_TABLE_VERSION,
            BATCH_DELETE_TABLE_VERSIONS,
            BATCH_CREATE_TABLE_VERSIONS,
            BATCH_COMMIT_TABLES,
            ALTER_TABLE_ALTER_COLUMNS,
            UPDATE_FIELD_METADATA,
            ALTER_TABLE_DROP_COLUMNS,
            GET_TABLE_STATS,
            INSERT_INTO_TABLE,
            MERGE_INSERT_INTO_TABLE,
            UPDATE_TABLE,
            DELETE_FROM_TABLE,
            QUERY_TABLE,
            COUNT_TABLE_ROWS,
            CREATE_TABLE,
            EXPLAIN_TABLE_QUERY_PLAN,
            ANALYZE_TABLE_QUERY_PLAN,
            ALTER_TABLE_ADD_COLUMNS,
            ALTER_TABLE_BACKFILL_COLUMNS,
            REFRESH_MATERIALIZED_VIEW,
            CREATE_MATERIALIZED_VIEW,
            CREATE_TABLE_INDEX,
            CREATE_TABLE_SCALAR_INDEX,
            LIST_TABLE_INDICES,
            DESCRIBE_TABLE_INDEX_STATS,
            DROP_TABLE_INDEX,
            LIST_TABLE_TAGS,
            GET_TABLE_TAG_VERSION,
            DECLARE_TABLE,
            CREATE_TABLE_TAG,
            DELETE_TABLE_TAG,
            UPDATE_TABLE_TAG,
            LIST_TABLE_BRANCHES,
            CREATE_TABLE_BRANCH,
            DELETE_TABLE_BRANCH,
            DESCRIBE_TRANSACTION,
            ALTER_TRANSACTION,
            LIST_OPERATIONS,
            ALTER_NAMESPACE,
            ALTER_TABLE,
        )
    }
)
"""All operations by name, in the order of the specification."""
