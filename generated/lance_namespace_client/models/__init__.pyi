# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
from .add_columns_entry import AddColumnsEntry as AddColumnsEntry
from .add_virtual_column_entry import AddVirtualColumnEntry as AddVirtualColumnEntry
from .add_virtual_column_output_entry import (
    AddVirtualColumnOutputEntry as AddVirtualColumnOutputEntry,
)
from .alter_columns_entry import AlterColumnsEntry as AlterColumnsEntry
from .alter_namespace_request import AlterNamespaceRequest as AlterNamespaceRequest
from .alter_namespace_response import AlterNamespaceResponse as AlterNamespaceResponse
from .alter_table_add_columns_request import (
    AlterTableAddColumnsRequest as AlterTableAddColumnsRequest,
)
from .alter_table_add_columns_response import (
    AlterTableAddColumnsResponse as AlterTableAddColumnsResponse,
)
from .alter_table_alter_columns_request import (
    AlterTableAlterColumnsRequest as AlterTableAlterColumnsRequest,
)
from .alter_table_alter_columns_response import (
    AlterTableAlterColumnsResponse as AlterTableAlterColumnsResponse,
)
from .alter_table_backfill_columns_request import (
    AlterTableBackfillColumnsRequest as AlterTableBackfillColumnsRequest,
)
from .alter_table_backfill_columns_response import (
    AlterTableBackfillColumnsResponse as AlterTableBackfillColumnsResponse,
)
from .alter_table_drop_columns_request import (
    AlterTableDropColumnsRequest as AlterTableDropColumnsRequest,
)
from .alter_table_drop_columns_response import (
    AlterTableDropColumnsResponse as AlterTableDropColumnsResponse,
)
from .alter_table_request import AlterTableRequest as AlterTableRequest
from .alter_table_response import AlterTableResponse as AlterTableResponse
from .alter_transaction_action import AlterTransactionAction as AlterTransactionAction
from .alter_transaction_request import AlterTransactionRequest as AlterTransactionRequest
from .alter_transaction_response import AlterTransactionResponse as AlterTransactionResponse
from .alter_transaction_set_property import (
    AlterTransactionSetProperty as AlterTransactionSetProperty,
)
from .alter_transaction_set_status import AlterTransactionSetStatus as AlterTransactionSetStatus
from .alter_transaction_unset_property import (
    AlterTransactionUnsetProperty as AlterTransactionUnsetProperty,
)
from .alter_virtual_column_entry import AlterVirtualColumnEntry as AlterVirtualColumnEntry
from .analyze_table_query_plan_request import (
    AnalyzeTableQueryPlanRequest as AnalyzeTableQueryPlanRequest,
)
from .analyze_table_query_plan_response import (
    AnalyzeTableQueryPlanResponse as AnalyzeTableQueryPlanResponse,
)
from .batch_commit_tables_request import BatchCommitTablesRequest as BatchCommitTablesRequest
from .batch_commit_tables_response import BatchCommitTablesResponse as BatchCommitTablesResponse
from .batch_create_table_versions_request import (
    BatchCreateTableVersionsRequest as BatchCreateTableVersionsRequest,
)
from .batch_create_table_versions_response import (
    BatchCreateTableVersionsResponse as BatchCreateTableVersionsResponse,
)
from .batch_delete_table_versions_request import (
    BatchDeleteTableVersionsRequest as BatchDeleteTableVersionsRequest,
)
from .batch_delete_table_versions_response import (
    BatchDeleteTableVersionsResponse as BatchDeleteTableVersionsResponse,
)
from .boolean_query import BooleanQuery as BooleanQuery
from .boost_query import BoostQuery as BoostQuery
from .branch_contents import BranchContents as BranchContents
from .commit_table_operation import CommitTableOperation as CommitTableOperation
from .commit_table_result import CommitTableResult as CommitTableResult
from .count_table_rows_request import CountTableRowsRequest as CountTableRowsRequest
from .count_table_rows_response import CountTableRowsResponse as CountTableRowsResponse
from .create_materialized_view_request import (
    CreateMaterializedViewRequest as CreateMaterializedViewRequest,
)
from .create_materialized_view_response import (
    CreateMaterializedViewResponse as CreateMaterializedViewResponse,
)
from .create_namespace_request import CreateNamespaceRequest as CreateNamespaceRequest
from .create_namespace_response import CreateNamespaceResponse as CreateNamespaceResponse
from .create_table_branch_request import CreateTableBranchRequest as CreateTableBranchRequest
from .create_table_branch_response import CreateTableBranchResponse as CreateTableBranchResponse
from .create_table_index_request import CreateTableIndexRequest as CreateTableIndexRequest
from .create_table_index_response import CreateTableIndexResponse as CreateTableIndexResponse
from .create_table_request import CreateTableRequest as CreateTableRequest
from .create_table_response import CreateTableResponse as CreateTableResponse
from .create_table_scalar_index_response import (
    CreateTableScalarIndexResponse as CreateTableScalarIndexResponse,
)
from .create_table_tag_request import CreateTableTagRequest as CreateTableTagRequest
from .create_table_tag_response import CreateTableTagResponse as CreateTableTagResponse
from .create_table_version_entry import CreateTableVersionEntry as CreateTableVersionEntry
from .create_table_version_request import CreateTableVersionRequest as CreateTableVersionRequest
from .create_table_version_response import CreateTableVersionResponse as CreateTableVersionResponse
from .declare_table_request import DeclareTableRequest as DeclareTableRequest
from .declare_table_response import DeclareTableResponse as DeclareTableResponse
from .delete_from_table_request import DeleteFromTableRequest as DeleteFromTableRequest
from .delete_from_table_response import DeleteFromTableResponse as DeleteFromTableResponse
from .delete_table_branch_request import DeleteTableBranchRequest as DeleteTableBranchRequest
from .delete_table_branch_response import DeleteTableBranchResponse as DeleteTableBranchResponse
from .delete_table_tag_request import DeleteTableTagRequest as DeleteTableTagRequest
from .delete_table_tag_response import DeleteTableTagResponse as DeleteTableTagResponse
from .deregister_table_request import DeregisterTableRequest as DeregisterTableRequest
from .deregister_table_response import DeregisterTableResponse as DeregisterTableResponse
from .describe_namespace_request import DescribeNamespaceRequest as DescribeNamespaceRequest
from .describe_namespace_response import DescribeNamespaceResponse as DescribeNamespaceResponse
from .describe_table_index_stats_request import (
    DescribeTableIndexStatsRequest as DescribeTableIndexStatsRequest,
)
from .describe_table_index_stats_response import (
    DescribeTableIndexStatsResponse as DescribeTableIndexStatsResponse,
)
from .describe_table_request import DescribeTableRequest as DescribeTableRequest
from .describe_table_response import DescribeTableResponse as DescribeTableResponse
from .describe_table_version_request import (
    DescribeTableVersionRequest as DescribeTableVersionRequest,
)
from .describe_table_version_response import (
    DescribeTableVersionResponse as DescribeTableVersionResponse,
)
from .describe_transaction_request import DescribeTransactionRequest as DescribeTransactionRequest
from .describe_transaction_response import (
    DescribeTransactionResponse as DescribeTransactionResponse,
)
from .drop_namespace_request import DropNamespaceRequest as DropNamespaceRequest
from .drop_namespace_response import DropNamespaceResponse as DropNamespaceResponse
from .drop_table_index_request import DropTableIndexRequest as DropTableIndexRequest
from .drop_table_index_response import DropTableIndexResponse as DropTableIndexResponse
from .drop_table_request import DropTableRequest as DropTableRequest
from .drop_table_response import DropTableResponse as DropTableResponse
from .error_response import ErrorResponse as ErrorResponse
from .explain_table_query_plan_request import (
    ExplainTableQueryPlanRequest as ExplainTableQueryPlanRequest,
)
from .explain_table_query_plan_response import (
    ExplainTableQueryPlanResponse as ExplainTableQueryPlanResponse,
)
from .fragment_stats import FragmentStats as FragmentStats
from .fragment_summary import FragmentSummary as FragmentSummary
from .fts_query import FtsQuery as FtsQuery
from .get_table_stats_request import GetTableStatsRequest as GetTableStatsRequest
from .get_table_stats_response import GetTableStatsResponse as GetTableStatsResponse
from .get_table_tag_version_request import GetTableTagVersionRequest as GetTableTagVersionRequest
from .get_table_tag_version_response import GetTableTagVersionResponse as GetTableTagVersionResponse
from .identity import Identity as Identity
from .index_content import IndexContent as IndexContent
from .insert_into_table_request import InsertIntoTableRequest as InsertIntoTableRequest
from .insert_into_table_response import InsertIntoTableResponse as InsertIntoTableResponse
from .json_arrow_data_type import JsonArrowDataType as JsonArrowDataType
from .json_arrow_field import JsonArrowField as JsonArrowField
from .json_arrow_schema import JsonArrowSchema as JsonArrowSchema
from .list_namespaces_request import ListNamespacesRequest as ListNamespacesRequest
from .list_namespaces_response import ListNamespacesResponse as ListNamespacesResponse
from .list_operations_request import ListOperationsRequest as ListOperationsRequest
from .list_operations_response import ListOperationsResponse as ListOperationsResponse
from .list_table_branches_request import ListTableBranchesRequest as ListTableBranchesRequest
from .list_table_branches_response import ListTableBranchesResponse as ListTableBranchesResponse
from .list_table_indices_request import ListTableIndicesRequest as ListTableIndicesRequest
from .list_table_indices_response import ListTableIndicesResponse as ListTableIndicesResponse
from .list_table_tags_request import ListTableTagsRequest as ListTableTagsRequest
from .list_table_tags_response import ListTableTagsResponse as ListTableTagsResponse
from .list_table_versions_request import ListTableVersionsRequest as ListTableVersionsRequest
from .list_table_versions_response import ListTableVersionsResponse as ListTableVersionsResponse
from .list_tables_request import ListTablesRequest as ListTablesRequest
from .list_tables_response import ListTablesResponse as ListTablesResponse
from .match_query import MatchQuery as MatchQuery
from .materialized_view_udtf_entry import MaterializedViewUdtfEntry as MaterializedViewUdtfEntry
from .merge_insert_into_table_request import (
    MergeInsertIntoTableRequest as MergeInsertIntoTableRequest,
)
from .merge_insert_into_table_response import (
    MergeInsertIntoTableResponse as MergeInsertIntoTableResponse,
)
from .multi_match_query import MultiMatchQuery as MultiMatchQuery
from .namespace_exists_request import NamespaceExistsRequest as NamespaceExistsRequest
from .namespace_exists_response import NamespaceExistsResponse as NamespaceExistsResponse
from .partition_field import PartitionField as PartitionField
from .partition_spec import PartitionSpec as PartitionSpec
from .partition_transform import PartitionTransform as PartitionTransform
from .phrase_query import PhraseQuery as PhraseQuery
from .query_table_request import QueryTableRequest as QueryTableRequest
from .query_table_request_columns import QueryTableRequestColumns as QueryTableRequestColumns
from .query_table_request_full_text_query import (
    QueryTableRequestFullTextQuery as QueryTableRequestFullTextQuery,
)
from .query_table_request_vector import QueryTableRequestVector as QueryTableRequestVector
from .query_table_response import QueryTableResponse as QueryTableResponse
from .refresh_materialized_view_request import (
    RefreshMaterializedViewRequest as RefreshMaterializedViewRequest,
)
from .refresh_materialized_view_response import (
    RefreshMaterializedViewResponse as RefreshMaterializedViewResponse,
)
from .register_table_request import RegisterTableRequest as RegisterTableRequest
from .register_table_response import RegisterTableResponse as RegisterTableResponse
from .rename_table_request import RenameTableRequest as RenameTableRequest
from .rename_table_response import RenameTableResponse as RenameTableResponse
from .restore_table_request import RestoreTableRequest as RestoreTableRequest
from .restore_table_response import RestoreTableResponse as RestoreTableResponse
from .string_fts_query import StringFtsQuery as StringFtsQuery
from .structured_fts_query import StructuredFtsQuery as StructuredFtsQuery
from .table_basic_stats import TableBasicStats as TableBasicStats
from .table_exists_request import TableExistsRequest as TableExistsRequest
from .table_exists_response import TableExistsResponse as TableExistsResponse
from .table_version import TableVersion as TableVersion
from .tag_contents import TagContents as TagContents
from .update_field_metadata_entry import UpdateFieldMetadataEntry as UpdateFieldMetadataEntry
from .update_field_metadata_request import UpdateFieldMetadataRequest as UpdateFieldMetadataRequest
from .update_field_metadata_response import (
    UpdateFieldMetadataResponse as UpdateFieldMetadataResponse,
)
from .update_table_request import UpdateTableRequest as UpdateTableRequest
from .update_table_response import UpdateTableResponse as UpdateTableResponse
from .update_table_schema_metadata_request import (
    UpdateTableSchemaMetadataRequest as UpdateTableSchemaMetadataRequest,
)
from .update_table_schema_metadata_response import (
    UpdateTableSchemaMetadataResponse as UpdateTableSchemaMetadataResponse,
)
from .update_table_tag_request import UpdateTableTagRequest as UpdateTableTagRequest
from .update_table_tag_response import UpdateTableTagResponse as UpdateTableTagResponse
from .version_range import VersionRange as VersionRange

__all__ = [
    "AddColumnsEntry",
    "AddVirtualColumnEntry",
    "AddVirtualColumnOutputEntry",
    "AlterColumnsEntry",
    "AlterNamespaceRequest",
    "AlterNamespaceResponse",
    "AlterTableAddColumnsRequest",
    "AlterTableAddColumnsResponse",
    "AlterTableAlterColumnsRequest",
    "AlterTableAlterColumnsResponse",
    "AlterTableBackfillColumnsRequest",
    "AlterTableBackfillColumnsResponse",
    "AlterTableDropColumnsRequest",
    "AlterTableDropColumnsResponse",
    "AlterTableRequest",
    "AlterTableResponse",
    "AlterTransactionAction",
    "AlterTransactionRequest",
    "AlterTransactionResponse",
    "AlterTransactionSetProperty",
    "AlterTransactionSetStatus",
    "AlterTransactionUnsetProperty",
    "AlterVirtualColumnEntry",
    "AnalyzeTableQueryPlanRequest",
    "AnalyzeTableQueryPlanResponse",
    "BatchCommitTablesRequest",
    "BatchCommitTablesResponse",
    "BatchCreateTableVersionsRequest",
    "BatchCreateTableVersionsResponse",
    "BatchDeleteTableVersionsRequest",
    "BatchDeleteTableVersionsResponse",
    "BooleanQuery",
    "BoostQuery",
    "BranchContents",
    "CommitTableOperation",
    "CommitTableResult",
    "CountTableRowsRequest",
    "CountTableRowsResponse",
    "CreateMaterializedViewRequest",
    "CreateMaterializedViewResponse",
    "CreateNamespaceRequest",
    "CreateNamespaceResponse",
    "CreateTableBranchRequest",
    "CreateTableBranchResponse",
    "CreateTableIndexRequest",
    "CreateTableIndexResponse",
    "CreateTableRequest",
    "CreateTableResponse",
    "CreateTableScalarIndexResponse",
    "CreateTableTagRequest",
    "CreateTableTagResponse",
    "CreateTableVersionEntry",
    "CreateTableVersionRequest",
    "CreateTableVersionResponse",
    "DeclareTableRequest",
    "DeclareTableResponse",
    "DeleteFromTableRequest",
    "DeleteFromTableResponse",
    "DeleteTableBranchRequest",
    "DeleteTableBranchResponse",
    "DeleteTableTagRequest",
    "DeleteTableTagResponse",
    "DeregisterTableRequest",
    "DeregisterTableResponse",
    "DescribeNamespaceRequest",
    "DescribeNamespaceResponse",
    "DescribeTableIndexStatsRequest",
    "DescribeTableIndexStatsResponse",
    "DescribeTableRequest",
    "DescribeTableResponse",
    "DescribeTableVersionRequest",
    "DescribeTableVersionResponse",
    "DescribeTransactionRequest",
    "DescribeTransactionResponse",
    "DropNamespaceRequest",
    "DropNamespaceResponse",
    "DropTableIndexRequest",
    "DropTableIndexResponse",
    "DropTableRequest",
    "DropTableResponse",
    "ErrorResponse",
    "ExplainTableQueryPlanRequest",
    "ExplainTableQueryPlanResponse",
    "FragmentStats",
    "FragmentSummary",
    "FtsQuery",
    "GetTableStatsRequest",
    "GetTableStatsResponse",
    "GetTableTagVersionRequest",
    "GetTableTagVersionResponse",
    "Identity",
    "IndexContent",
    "InsertIntoTableRequest",
    "InsertIntoTableResponse",
    "JsonArrowDataType",
    "JsonArrowField",
    "JsonArrowSchema",
    "ListNamespacesRequest",
    "ListNamespacesResponse",
    "ListOperationsRequest",
    "ListOperationsResponse",
    "ListTableBranchesRequest",
    "ListTableBranchesResponse",
    "ListTableIndicesRequest",
    "ListTableIndicesResponse",
    "ListTableTagsRequest",
    "ListTableTagsResponse",
    "ListTableVersionsRequest",
    "ListTableVersionsResponse",
    "ListTablesRequest",
    "ListTablesResponse",
    "MatchQuery",
    "MaterializedViewUdtfEntry",
    "MergeInsertIntoTableRequest",
    "MergeInsertIntoTableResponse",
    "MultiMatchQuery",
    "NamespaceExistsRequest",
    "NamespaceExistsResponse",
    "PartitionField",
    "PartitionSpec",
    "PartitionTransform",
    "PhraseQuery",
    "QueryTableRequest",
    "QueryTableRequestColumns",
    "QueryTableRequestFullTextQuery",
    "QueryTableRequestVector",
    "QueryTableResponse",
    "RefreshMaterializedViewRequest",
    "RefreshMaterializedViewResponse",
    "RegisterTableRequest",
    "RegisterTableResponse",
    "RenameTableRequest",
    "RenameTableResponse",
    "RestoreTableRequest",
    "RestoreTableResponse",
    "StringFtsQuery",
    "StructuredFtsQuery",
    "TableBasicStats",
    "TableExistsRequest",
    "TableExistsResponse",
    "TableVersion",
    "TagContents",
    "UpdateFieldMetadataEntry",
    "UpdateFieldMetadataRequest",
    "UpdateFieldMetadataResponse",
    "UpdateTableRequest",
    "UpdateTableResponse",
    "UpdateTableSchemaMetadataRequest",
    "UpdateTableSchemaMetadataResponse",
    "UpdateTableTagRequest",
    "UpdateTableTagResponse",
    "VersionRange",
]
