# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"

"""The REST client: every operation over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import operations
from ._transport import Transport
from .namespace import LanceNamespace

if TYPE_CHECKING:
    import pyarrow as pa

    from . import models
    from .arrow import ArrowData
    from .model import RequestLike

__all__ = ["RestNamespace"]


class RestNamespace(Transport, LanceNamespace):
    """A namespace behind a server with the REST protocol.

    A failure reported by the server raises the error class for its code; if the server does not
    respond, `ServiceUnavailableError` (code 17) is raised.
    """

    def create_namespace(
        self, request: models.CreateNamespaceRequest | RequestLike
    ) -> models.CreateNamespaceResponse:
        """Create a namespace: ``POST /v1/namespace/{id}/create``."""
        return self._call(operations.CREATE_NAMESPACE, request)

    def list_namespaces(
        self, request: models.ListNamespacesRequest | RequestLike | None = None
    ) -> models.ListNamespacesResponse:
        """List the direct children of a namespace.

        ``GET /v1/namespace/{id}/list``
        """
        return self._call(operations.LIST_NAMESPACES, request)

    def describe_namespace(
        self, request: models.DescribeNamespaceRequest | RequestLike
    ) -> models.DescribeNamespaceResponse:
        """Read the properties of a namespace.

        ``POST /v1/namespace/{id}/describe``
        """
        return self._call(operations.DESCRIBE_NAMESPACE, request)

    def drop_namespace(
        self, request: models.DropNamespaceRequest | RequestLike
    ) -> models.DropNamespaceResponse:
        """Drop a namespace: ``POST /v1/namespace/{id}/drop``."""
        return self._call(operations.DROP_NAMESPACE, request)

    def namespace_exists(
        self, request: models.NamespaceExistsRequest | RequestLike
    ) -> models.NamespaceExistsResponse:
        """Check whether a namespace exists: ``POST /v1/namespace/{id}/exists``."""
        return self._call(operations.NAMESPACE_EXISTS, request)

    def list_tables(
        self, request: models.ListTablesRequest | RequestLike | None = None
    ) -> models.ListTablesResponse:
        """List the tables of a namespace: ``GET /v1/namespace/{id}/table/list``."""
        return self._call(operations.LIST_TABLES, request)

    def list_all_tables(
        self, request: models.ListTablesRequest | RequestLike | None = None
    ) -> models.ListTablesResponse:
        """List the tables of every namespace: ``GET /v1/table``."""
        return self._call(operations.LIST_ALL_TABLES, request)

    def register_table(
        self, request: models.RegisterTableRequest | RequestLike
    ) -> models.RegisterTableResponse:
        """Register an existing dataset as a table.

        ``POST /v1/table/{id}/register``
        """
        return self._call(operations.REGISTER_TABLE, request)

    def describe_table(
        self, request: models.DescribeTableRequest | RequestLike
    ) -> models.DescribeTableResponse:
        """Read a table's location and metadata: ``POST /v1/table/{id}/describe``."""
        return self._call(operations.DESCRIBE_TABLE, request)

    def table_exists(
        self, request: models.TableExistsRequest | RequestLike
    ) -> models.TableExistsResponse:
        """Check whether a table exists: ``POST /v1/table/{id}/exists``."""
        return self._call(operations.TABLE_EXISTS, request)

    def drop_table(
        self, request: models.DropTableRequest | RequestLike
    ) -> models.DropTableResponse:
        """Drop a table and delete its data: ``POST /v1/table/{id}/drop``."""
        return self._call(operations.DROP_TABLE, request)

    def deregister_table(
        self, request: models.DeregisterTableRequest | RequestLike
    ) -> models.DeregisterTableResponse:
        """Remove a table from the catalog and keep its data.

        ``POST /v1/table/{id}/deregister``
        """
        return self._call(operations.DEREGISTER_TABLE, request)

    def restore_table(
        self, request: models.RestoreTableRequest | RequestLike
    ) -> models.RestoreTableResponse:
        """Restore a table to an earlier version: ``POST /v1/table/{id}/restore``."""
        return self._call(operations.RESTORE_TABLE, request)

    def rename_table(
        self, request: models.RenameTableRequest | RequestLike
    ) -> models.RenameTableResponse:
        """Rename a table or move it to another namespace.

        ``POST /v1/table/{id}/rename``
        """
        return self._call(operations.RENAME_TABLE, request)

    def update_table_schema_metadata(
        self, request: models.UpdateTableSchemaMetadataRequest | RequestLike
    ) -> models.UpdateTableSchemaMetadataResponse:
        """Set key-value pairs in the schema metadata.

        ``POST /v1/table/{id}/schema_metadata/update``
        """
        return self._call(operations.UPDATE_TABLE_SCHEMA_METADATA, request)

    def list_table_versions(
        self, request: models.ListTableVersionsRequest | RequestLike
    ) -> models.ListTableVersionsResponse:
        """List the versions of a table: ``POST /v1/table/{id}/version/list``."""
        return self._call(operations.LIST_TABLE_VERSIONS, request)

    def create_table_version(
        self, request: models.CreateTableVersionRequest | RequestLike
    ) -> models.CreateTableVersionResponse:
        """Commit a manifest as a new table version.

        ``POST /v1/table/{id}/version/create``
        """
        return self._call(operations.CREATE_TABLE_VERSION, request)

    def describe_table_version(
        self, request: models.DescribeTableVersionRequest | RequestLike
    ) -> models.DescribeTableVersionResponse:
        """Read one version of a table: ``POST /v1/table/{id}/version/describe``."""
        return self._call(operations.DESCRIBE_TABLE_VERSION, request)

    def batch_delete_table_versions(
        self, request: models.BatchDeleteTableVersionsRequest | RequestLike
    ) -> models.BatchDeleteTableVersionsResponse:
        """Delete ranges of a table's versions.

        ``POST /v1/table/{id}/version/delete``
        """
        return self._call(operations.BATCH_DELETE_TABLE_VERSIONS, request)

    def batch_create_table_versions(
        self, request: models.BatchCreateTableVersionsRequest | RequestLike
    ) -> models.BatchCreateTableVersionsResponse:
        """Commit new versions of several tables in one request.

        ``POST /v1/table/version/batch-create``
        """
        return self._call(operations.BATCH_CREATE_TABLE_VERSIONS, request)

    def batch_commit_tables(
        self, request: models.BatchCommitTablesRequest | RequestLike
    ) -> models.BatchCommitTablesResponse:
        """Commit several table operations in one request.

        ``POST /v1/table/batch-commit``
        """
        return self._call(operations.BATCH_COMMIT_TABLES, request)

    def alter_table_alter_columns(
        self, request: models.AlterTableAlterColumnsRequest | RequestLike
    ) -> models.AlterTableAlterColumnsResponse:
        """Change the name, type or nullability of columns.

        ``POST /v1/table/{id}/alter_columns``
        """
        return self._call(operations.ALTER_TABLE_ALTER_COLUMNS, request)

    def update_field_metadata(
        self, request: models.UpdateFieldMetadataRequest | RequestLike
    ) -> models.UpdateFieldMetadataResponse:
        """Change the metadata of individual columns.

        ``POST /v1/table/{id}/update_field_metadata``
        """
        return self._call(operations.UPDATE_FIELD_METADATA, request)

    def alter_table_drop_columns(
        self, request: models.AlterTableDropColumnsRequest | RequestLike
    ) -> models.AlterTableDropColumnsResponse:
        """Drop columns from a table: ``POST /v1/table/{id}/drop_columns``."""
        return self._call(operations.ALTER_TABLE_DROP_COLUMNS, request)

    def get_table_stats(
        self, request: models.GetTableStatsRequest | RequestLike
    ) -> models.GetTableStatsResponse:
        """Read the size and fragment statistics of a table.

        ``POST /v1/table/{id}/stats``
        """
        return self._call(operations.GET_TABLE_STATS, request)

    def insert_into_table(
        self, request: models.InsertIntoTableRequest | RequestLike, data: ArrowData
    ) -> models.InsertIntoTableResponse:
        """Insert rows into a table: ``POST /v1/table/{id}/insert``."""
        return self._call_with_rows(operations.INSERT_INTO_TABLE, request, data)

    def merge_insert_into_table(
        self, request: models.MergeInsertIntoTableRequest | RequestLike, data: ArrowData
    ) -> models.MergeInsertIntoTableResponse:
        """Merge rows into a table by a key column.

        ``POST /v1/table/{id}/merge_insert``
        """
        return self._call_with_rows(operations.MERGE_INSERT_INTO_TABLE, request, data)

    def update_table(
        self, request: models.UpdateTableRequest | RequestLike
    ) -> models.UpdateTableResponse:
        """Update columns of the rows that match a predicate.

        ``POST /v1/table/{id}/update``
        """
        return self._call(operations.UPDATE_TABLE, request)

    def delete_from_table(
        self, request: models.DeleteFromTableRequest | RequestLike
    ) -> models.DeleteFromTableResponse:
        """Delete the rows that match a predicate: ``POST /v1/table/{id}/delete``."""
        return self._call(operations.DELETE_FROM_TABLE, request)

    def query_table(
        self, request: models.QueryTableRequest | RequestLike
    ) -> pa.RecordBatchReader:
        """Query a table by vector, full text or filter.

        ``POST /v1/table/{id}/query``
        """
        return self._call(operations.QUERY_TABLE, request)

    def count_table_rows(
        self, request: models.CountTableRowsRequest | RequestLike
    ) -> models.CountTableRowsResponse:
        """Count the rows of a table: ``POST /v1/table/{id}/count_rows``."""
        return self._call(operations.COUNT_TABLE_ROWS, request)

    def create_table(
        self, request: models.CreateTableRequest | RequestLike, data: ArrowData
    ) -> models.CreateTableResponse:
        """Create a table from an Arrow stream: ``POST /v1/table/{id}/create``."""
        return self._call_with_rows(operations.CREATE_TABLE, request, data)

    def explain_table_query_plan(
        self, request: models.ExplainTableQueryPlanRequest | RequestLike
    ) -> models.ExplainTableQueryPlanResponse:
        """Explain how a query would be run: ``POST /v1/table/{id}/explain_plan``."""
        return self._call(operations.EXPLAIN_TABLE_QUERY_PLAN, request)

    def analyze_table_query_plan(
        self, request: models.AnalyzeTableQueryPlanRequest | RequestLike
    ) -> models.AnalyzeTableQueryPlanResponse:
        """Run a query and report its cost: ``POST /v1/table/{id}/analyze_plan``."""
        return self._call(operations.ANALYZE_TABLE_QUERY_PLAN, request)

    def alter_table_add_columns(
        self, request: models.AlterTableAddColumnsRequest | RequestLike
    ) -> models.AlterTableAddColumnsResponse:
        """Add columns to a table: ``POST /v1/table/{id}/add_columns``."""
        return self._call(operations.ALTER_TABLE_ADD_COLUMNS, request)

    def alter_table_backfill_columns(
        self, request: models.AlterTableBackfillColumnsRequest | RequestLike
    ) -> models.AlterTableBackfillColumnsResponse:
        """Start a job that fills a computed column.

        ``POST /v1/table/{id}/backfill_column``
        """
        return self._call(operations.ALTER_TABLE_BACKFILL_COLUMNS, request)

    def refresh_materialized_view(
        self, request: models.RefreshMaterializedViewRequest | RequestLike
    ) -> models.RefreshMaterializedViewResponse:
        """Start a job that refreshes a materialized view.

        ``POST /v1/materialized_view/{id}/refresh``
        """
        return self._call(operations.REFRESH_MATERIALIZED_VIEW, request)

    def create_materialized_view(
        self, request: models.CreateMaterializedViewRequest | RequestLike
    ) -> models.CreateMaterializedViewResponse:
        """Create a materialized view: ``POST /v1/materialized_view/{id}/create``."""
        return self._call(operations.CREATE_MATERIALIZED_VIEW, request)

    def create_table_index(
        self, request: models.CreateTableIndexRequest | RequestLike
    ) -> models.CreateTableIndexResponse:
        """Create an index on a column: ``POST /v1/table/{id}/create_index``."""
        return self._call(operations.CREATE_TABLE_INDEX, request)

    def create_table_scalar_index(
        self, request: models.CreateTableIndexRequest | RequestLike
    ) -> models.CreateTableScalarIndexResponse:
        """Create a scalar index on a column.

        ``POST /v1/table/{id}/create_scalar_index``
        """
        return self._call(operations.CREATE_TABLE_SCALAR_INDEX, request)

    def list_table_indices(
        self, request: models.ListTableIndicesRequest | RequestLike
    ) -> models.ListTableIndicesResponse:
        """List the indexes of a table: ``POST /v1/table/{id}/index/list``."""
        return self._call(operations.LIST_TABLE_INDICES, request)

    def describe_table_index_stats(
        self, request: models.DescribeTableIndexStatsRequest | RequestLike
    ) -> models.DescribeTableIndexStatsResponse:
        """Read the statistics of an index.

        ``POST /v1/table/{id}/index/{index_name}/stats``
        """
        return self._call(operations.DESCRIBE_TABLE_INDEX_STATS, request)

    def drop_table_index(
        self, request: models.DropTableIndexRequest | RequestLike
    ) -> models.DropTableIndexResponse:
        """Drop an index from a table.

        ``POST /v1/table/{id}/index/{index_name}/drop``
        """
        return self._call(operations.DROP_TABLE_INDEX, request)

    def list_table_tags(
        self, request: models.ListTableTagsRequest | RequestLike
    ) -> models.ListTableTagsResponse:
        """List the tags of a table: ``POST /v1/table/{id}/tags/list``."""
        return self._call(operations.LIST_TABLE_TAGS, request)

    def get_table_tag_version(
        self, request: models.GetTableTagVersionRequest | RequestLike
    ) -> models.GetTableTagVersionResponse:
        """Look up the version that a tag references.

        ``POST /v1/table/{id}/tags/version``
        """
        return self._call(operations.GET_TABLE_TAG_VERSION, request)

    def declare_table(
        self, request: models.DeclareTableRequest | RequestLike
    ) -> models.DeclareTableResponse:
        """Reserve a table name before data is written.

        ``POST /v1/table/{id}/declare``
        """
        return self._call(operations.DECLARE_TABLE, request)

    def create_table_tag(
        self, request: models.CreateTableTagRequest | RequestLike
    ) -> models.CreateTableTagResponse:
        """Create a tag for a version of a table.

        ``POST /v1/table/{id}/tags/create``
        """
        return self._call(operations.CREATE_TABLE_TAG, request)

    def delete_table_tag(
        self, request: models.DeleteTableTagRequest | RequestLike
    ) -> models.DeleteTableTagResponse:
        """Delete a tag of a table: ``POST /v1/table/{id}/tags/delete``."""
        return self._call(operations.DELETE_TABLE_TAG, request)

    def update_table_tag(
        self, request: models.UpdateTableTagRequest | RequestLike
    ) -> models.UpdateTableTagResponse:
        """Move a tag to another version: ``POST /v1/table/{id}/tags/update``."""
        return self._call(operations.UPDATE_TABLE_TAG, request)

    def list_table_branches(
        self, request: models.ListTableBranchesRequest | RequestLike
    ) -> models.ListTableBranchesResponse:
        """List the branches of a table: ``POST /v1/table/{id}/branches/list``."""
        return self._call(operations.LIST_TABLE_BRANCHES, request)

    def create_table_branch(
        self, request: models.CreateTableBranchRequest | RequestLike
    ) -> models.CreateTableBranchResponse:
        """Create a branch of a table: ``POST /v1/table/{id}/branches/create``."""
        return self._call(operations.CREATE_TABLE_BRANCH, request)

    def delete_table_branch(
        self, request: models.DeleteTableBranchRequest | RequestLike
    ) -> models.DeleteTableBranchResponse:
        """Delete a branch of a table: ``POST /v1/table/{id}/branches/delete``."""
        return self._call(operations.DELETE_TABLE_BRANCH, request)

    def describe_transaction(
        self, request: models.DescribeTransactionRequest | RequestLike
    ) -> models.DescribeTransactionResponse:
        """Read the status of a transaction.

        ``POST /v1/transaction/{id}/describe``
        """
        return self._call(operations.DESCRIBE_TRANSACTION, request)

    def alter_transaction(
        self, request: models.AlterTransactionRequest | RequestLike
    ) -> models.AlterTransactionResponse:
        """Change the status or properties of a transaction.

        ``POST /v1/transaction/{id}/alter``
        """
        return self._call(operations.ALTER_TRANSACTION, request)

    def list_operations(
        self, request: models.ListOperationsRequest | RequestLike | None = None
    ) -> models.ListOperationsResponse:
        """List the operations this server supports: ``GET /v1/operations``."""
        return self._call(operations.LIST_OPERATIONS, request)

    def alter_namespace(
        self, request: models.AlterNamespaceRequest | RequestLike
    ) -> models.AlterNamespaceResponse:
        """Set and unset properties of a namespace.

        ``POST /v1/namespace/{id}/alter``
        """
        return self._call(operations.ALTER_NAMESPACE, request)

    def alter_table(
        self, request: models.AlterTableRequest | RequestLike
    ) -> models.AlterTableResponse:
        """Set and unset properties of a table: ``POST /v1/table/{id}/alter``."""
        return self._call(operations.ALTER_TABLE, request)
