# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
from .models import AddColumnsEntry as AddColumnsEntry
from .models import AddVirtualColumnEntry as AddVirtualColumnEntry
from .models import AddVirtualColumnOutputEntry as AddVirtualColumnOutputEntry
from .models import AlterColumnsEntry as AlterColumnsEntry
from .models import AlterNamespaceRequest as AlterNamespaceRequest
from .models import AlterNamespaceResponse as AlterNamespaceResponse
from .models import AlterTableAddColumnsRequest as AlterTableAddColumnsRequest
from .models import AlterTableAddColumnsResponse as AlterTableAddColumnsResponse
from .models import AlterTableAlterColumnsRequest as AlterTableAlterColumnsRequest
from .models import AlterTableAlterColumnsResponse as AlterTableAlterColumnsResponse
from .models import AlterTableBackfillColumnsRequest as AlterTableBackfillColumnsRequest
from .models import AlterTableBackfillColumnsResponse as AlterTableBackfillColumnsResponse
from .models import AlterTableDropColumnsRequest as AlterTableDropColumnsRequest
from .models import AlterTableDropColumnsResponse as AlterTableDropColumnsResponse
from .models import AlterTableRequest as AlterTableRequest
from .models import AlterTableResponse as AlterTableResponse
from .models import AlterTransactionAction as AlterTransactionAction
from .models import AlterTransactionRequest as AlterTransactionRequest
from .models import AlterTransactionResponse as AlterTransactionResponse
from .models import AlterTransactionSetProperty as AlterTransactionSetProperty
from .models import AlterTransactionSetStatus as AlterTransactionSetStatus
from .models import AlterTransactionUnsetProperty as AlterTransactionUnsetProperty
from .models import AlterVirtualColumnEntry as AlterVirtualColumnEntry
from .models import AnalyzeTableQueryPlanRequest as AnalyzeTableQueryPlanRequest
from .models import AnalyzeTableQueryPlanResponse as AnalyzeTableQueryPlanResponse
from .models import BatchCommitTablesRequest as BatchCommitTablesRequest
from .models import BatchCommitTablesResponse as BatchCommitTablesResponse
from .models import BatchCreateTableVersionsRequest as BatchCreateTableVersionsRequest
from .models import BatchCreateTableVersionsResponse as BatchCreateTableVersionsResponse
from .models import BatchDeleteTableVersionsRequest as BatchDeleteTableVersionsRequest
from .models import BatchDeleteTableVersionsResponse as BatchDeleteTableVersionsResponse
from .models import BooleanQuery as BooleanQuery
from .models import BoostQuery as BoostQuery
from .models import BranchContents as BranchContents
from .models import CommitTableOperation as CommitTableOperation
from .models import CommitTableResult as CommitTableResult
from .errors import ConcurrentModificationError as ConcurrentModificationError
from .models import CountTableRowsRequest as CountTableRowsRequest
from .models import CountTableRowsResponse as CountTableRowsResponse
from .models import CreateMaterializedViewRequest as CreateMaterializedViewRequest
from .models import CreateMaterializedViewResponse as CreateMaterializedViewResponse
from .models import CreateNamespaceRequest as CreateNamespaceRequest
from .models import CreateNamespaceResponse as CreateNamespaceResponse
from .models import CreateTableBranchRequest as CreateTableBranchRequest
from .models import CreateTableBranchResponse as CreateTableBranchResponse
from .models import CreateTableIndexRequest as CreateTableIndexRequest
from .models import CreateTableIndexResponse as CreateTableIndexResponse
from .models import CreateTableRequest as CreateTableRequest
from .models import CreateTableResponse as CreateTableResponse
from .models import CreateTableScalarIndexResponse as CreateTableScalarIndexResponse
from .models import CreateTableTagRequest as CreateTableTagRequest
from .models import CreateTableTagResponse as CreateTableTagResponse
from .models import CreateTableVersionEntry as CreateTableVersionEntry
from .models import CreateTableVersionRequest as CreateTableVersionRequest
from .models import CreateTableVersionResponse as CreateTableVersionResponse
from .models import DeclareTableRequest as DeclareTableRequest
from .models import DeclareTableResponse as DeclareTableResponse
from .models import DeleteFromTableRequest as DeleteFromTableRequest
from .models import DeleteFromTableResponse as DeleteFromTableResponse
from .models import DeleteTableBranchRequest as DeleteTableBranchRequest
from .models import DeleteTableBranchResponse as DeleteTableBranchResponse
from .models import DeleteTableTagRequest as DeleteTableTagRequest
from .models import DeleteTableTagResponse as DeleteTableTagResponse
from .models import DeregisterTableRequest as DeregisterTableRequest
from .models import DeregisterTableResponse as DeregisterTableResponse
from .models import DescribeNamespaceRequest as DescribeNamespaceRequest
from .models import DescribeNamespaceResponse as DescribeNamespaceResponse
from .models import DescribeTableIndexStatsRequest as DescribeTableIndexStatsRequest
from .models import DescribeTableIndexStatsResponse as DescribeTableIndexStatsResponse
from .models import DescribeTableRequest as DescribeTableRequest
from .models import DescribeTableResponse as DescribeTableResponse
from .models import DescribeTableVersionRequest as DescribeTableVersionRequest
from .models import DescribeTableVersionResponse as DescribeTableVersionResponse
from .models import DescribeTransactionRequest as DescribeTransactionRequest
from .models import DescribeTransactionResponse as DescribeTransactionResponse
from .models import DropNamespaceRequest as DropNamespaceRequest
from .models import DropNamespaceResponse as DropNamespaceResponse
from .models import DropTableIndexRequest as DropTableIndexRequest
from .models import DropTableIndexResponse as DropTableIndexResponse
from .models import DropTableRequest as DropTableRequest
from .models import DropTableResponse as DropTableResponse
from .errors import ErrorCode as ErrorCode
from .models import ErrorResponse as ErrorResponse
from .models import ExplainTableQueryPlanRequest as ExplainTableQueryPlanRequest
from .models import ExplainTableQueryPlanResponse as ExplainTableQueryPlanResponse
from .errors import ForbiddenError as ForbiddenError
from .models import FragmentStats as FragmentStats
from .models import FragmentSummary as FragmentSummary
from .models import FtsQuery as FtsQuery
from .models import GetTableStatsRequest as GetTableStatsRequest
from .models import GetTableStatsResponse as GetTableStatsResponse
from .models import GetTableTagVersionRequest as GetTableTagVersionRequest
from .models import GetTableTagVersionResponse as GetTableTagVersionResponse
from .models import Identity as Identity
from .models import IndexContent as IndexContent
from .models import InsertIntoTableRequest as InsertIntoTableRequest
from .models import InsertIntoTableResponse as InsertIntoTableResponse
from .errors import InternalError as InternalError
from .errors import InvalidInputError as InvalidInputError
from .errors import InvalidTableStateError as InvalidTableStateError
from .models import JsonArrowDataType as JsonArrowDataType
from .models import JsonArrowField as JsonArrowField
from .models import JsonArrowSchema as JsonArrowSchema
from .namespace import LanceNamespace as LanceNamespace
from .errors import LanceNamespaceError as LanceNamespaceError
from .models import ListNamespacesRequest as ListNamespacesRequest
from .models import ListNamespacesResponse as ListNamespacesResponse
from .models import ListOperationsRequest as ListOperationsRequest
from .models import ListOperationsResponse as ListOperationsResponse
from .models import ListTableBranchesRequest as ListTableBranchesRequest
from .models import ListTableBranchesResponse as ListTableBranchesResponse
from .models import ListTableIndicesRequest as ListTableIndicesRequest
from .models import ListTableIndicesResponse as ListTableIndicesResponse
from .models import ListTableTagsRequest as ListTableTagsRequest
from .models import ListTableTagsResponse as ListTableTagsResponse
from .models import ListTableVersionsRequest as ListTableVersionsRequest
from .models import ListTableVersionsResponse as ListTableVersionsResponse
from .models import ListTablesRequest as ListTablesRequest
from .models import ListTablesResponse as ListTablesResponse
from .models import MatchQuery as MatchQuery
from .models import MaterializedViewUdtfEntry as MaterializedViewUdtfEntry
from .models import MergeInsertIntoTableRequest as MergeInsertIntoTableRequest
from .models import MergeInsertIntoTableResponse as MergeInsertIntoTableResponse
from ._model import Model as Model
from .models import MultiMatchQuery as MultiMatchQuery
from .errors import NamespaceAlreadyExistsError as NamespaceAlreadyExistsError
from .models import NamespaceExistsRequest as NamespaceExistsRequest
from .models import NamespaceExistsResponse as NamespaceExistsResponse
from .errors import NamespaceNotEmptyError as NamespaceNotEmptyError
from .errors import NamespaceNotFoundError as NamespaceNotFoundError
from .operations import OPERATIONS as OPERATIONS
from ._operation import Operation as Operation
from .models import PartitionField as PartitionField
from .models import PartitionSpec as PartitionSpec
from .models import PartitionTransform as PartitionTransform
from .errors import PermissionDeniedError as PermissionDeniedError
from .models import PhraseQuery as PhraseQuery
from .models import QueryTableRequest as QueryTableRequest
from .models import QueryTableRequestColumns as QueryTableRequestColumns
from .models import QueryTableRequestFullTextQuery as QueryTableRequestFullTextQuery
from .models import QueryTableRequestVector as QueryTableRequestVector
from .models import QueryTableResponse as QueryTableResponse
from .models import RefreshMaterializedViewRequest as RefreshMaterializedViewRequest
from .models import RefreshMaterializedViewResponse as RefreshMaterializedViewResponse
from .models import RegisterTableRequest as RegisterTableRequest
from .models import RegisterTableResponse as RegisterTableResponse
from .models import RenameTableRequest as RenameTableRequest
from .models import RenameTableResponse as RenameTableResponse
from ._model import RequestLike as RequestLike
from .rest import RestNamespace as RestNamespace
from .models import RestoreTableRequest as RestoreTableRequest
from .models import RestoreTableResponse as RestoreTableResponse
from .errors import ServiceUnavailableError as ServiceUnavailableError
from .models import StringFtsQuery as StringFtsQuery
from .models import StructuredFtsQuery as StructuredFtsQuery
from .errors import TableAlreadyExistsError as TableAlreadyExistsError
from .models import TableBasicStats as TableBasicStats
from .errors import TableBranchAlreadyExistsError as TableBranchAlreadyExistsError
from .errors import TableBranchNotFoundError as TableBranchNotFoundError
from .errors import TableColumnNotFoundError as TableColumnNotFoundError
from .models import TableExistsRequest as TableExistsRequest
from .models import TableExistsResponse as TableExistsResponse
from .errors import TableIndexAlreadyExistsError as TableIndexAlreadyExistsError
from .errors import TableIndexNotFoundError as TableIndexNotFoundError
from .errors import TableNotFoundError as TableNotFoundError
from .errors import TableSchemaValidationError as TableSchemaValidationError
from .errors import TableTagAlreadyExistsError as TableTagAlreadyExistsError
from .errors import TableTagNotFoundError as TableTagNotFoundError
from .models import TableVersion as TableVersion
from .errors import TableVersionNotFoundError as TableVersionNotFoundError
from .models import TagContents as TagContents
from .errors import ThrottlingError as ThrottlingError
from .errors import TransactionNotFoundError as TransactionNotFoundError
from .errors import UnauthenticatedError as UnauthenticatedError
from .errors import UnsupportedError as UnsupportedError
from .models import UpdateFieldMetadataEntry as UpdateFieldMetadataEntry
from .models import UpdateFieldMetadataRequest as UpdateFieldMetadataRequest
from .models import UpdateFieldMetadataResponse as UpdateFieldMetadataResponse
from .models import UpdateTableRequest as UpdateTableRequest
from .models import UpdateTableResponse as UpdateTableResponse
from .models import UpdateTableSchemaMetadataRequest as UpdateTableSchemaMetadataRequest
from .models import UpdateTableSchemaMetadataResponse as UpdateTableSchemaMetadataResponse
from .models import UpdateTableTagRequest as UpdateTableTagRequest
from .models import UpdateTableTagResponse as UpdateTableTagResponse
from .models import VersionRange as VersionRange

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
    "ConcurrentModificationError",
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
    "ErrorCode",
    "ErrorResponse",
    "ExplainTableQueryPlanRequest",
    "ExplainTableQueryPlanResponse",
    "ForbiddenError",
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
    "InternalError",
    "InvalidInputError",
    "InvalidTableStateError",
    "JsonArrowDataType",
    "JsonArrowField",
    "JsonArrowSchema",
    "LanceNamespace",
    "LanceNamespaceError",
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
    "Model",
    "MultiMatchQuery",
    "NamespaceAlreadyExistsError",
    "NamespaceExistsRequest",
    "NamespaceExistsResponse",
    "NamespaceNotEmptyError",
    "NamespaceNotFoundError",
    "OPERATIONS",
    "Operation",
    "PartitionField",
    "PartitionSpec",
    "PartitionTransform",
    "PermissionDeniedError",
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
    "RequestLike",
    "RestNamespace",
    "RestoreTableRequest",
    "RestoreTableResponse",
    "ServiceUnavailableError",
    "StringFtsQuery",
    "StructuredFtsQuery",
    "TableAlreadyExistsError",
    "TableBasicStats",
    "TableBranchAlreadyExistsError",
    "TableBranchNotFoundError",
    "TableColumnNotFoundError",
    "TableExistsRequest",
    "TableExistsResponse",
    "TableIndexAlreadyExistsError",
    "TableIndexNotFoundError",
    "TableNotFoundError",
    "TableSchemaValidationError",
    "TableTagAlreadyExistsError",
    "TableTagNotFoundError",
    "TableVersion",
    "TableVersionNotFoundError",
    "TagContents",
    "ThrottlingError",
    "TransactionNotFoundError",
    "UnauthenticatedError",
    "UnsupportedError",
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
