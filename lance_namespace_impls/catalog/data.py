"""The table operations of the protocol, for every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_client import models
from lance_namespace_client.arrow import to_reader
from lance_namespace_client.errors import InvalidTableStateError

from ..core.identifiers import format_identifier, parse_identifier
from ..core.modes import InsertMode, parse_mode
from ..core.paging import page_of, sorted_after
from .create import TableCreation
from .operation import operation
from .versions import RemoveVersions

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.arrow import ArrowData
    from lance_namespace_client.models import (
        AlterTableAddColumnsRequest,
        AlterTableAddColumnsResponse,
        AlterTableAlterColumnsRequest,
        AlterTableAlterColumnsResponse,
        AlterTableDropColumnsRequest,
        AlterTableDropColumnsResponse,
        AnalyzeTableQueryPlanRequest,
        AnalyzeTableQueryPlanResponse,
        CountTableRowsRequest,
        CountTableRowsResponse,
        CreateTableBranchRequest,
        CreateTableBranchResponse,
        CreateTableIndexRequest,
        CreateTableIndexResponse,
        CreateTableScalarIndexResponse,
        CreateTableTagRequest,
        CreateTableTagResponse,
        DeleteFromTableRequest,
        DeleteFromTableResponse,
        DeleteTableBranchRequest,
        DeleteTableBranchResponse,
        DeleteTableTagRequest,
        DeleteTableTagResponse,
        DescribeTableIndexStatsRequest,
        DescribeTableIndexStatsResponse,
        DropTableIndexRequest,
        DropTableIndexResponse,
        ExplainTableQueryPlanRequest,
        ExplainTableQueryPlanResponse,
        GetTableStatsRequest,
        GetTableStatsResponse,
        GetTableTagVersionRequest,
        GetTableTagVersionResponse,
        InsertIntoTableRequest,
        InsertIntoTableResponse,
        ListTableBranchesRequest,
        ListTableBranchesResponse,
        ListTableIndicesRequest,
        ListTableIndicesResponse,
        ListTableTagsRequest,
        ListTableTagsResponse,
        MergeInsertIntoTableRequest,
        MergeInsertIntoTableResponse,
        QueryTableRequest,
        UpdateFieldMetadataRequest,
        UpdateFieldMetadataResponse,
        UpdateTableRequest,
        UpdateTableResponse,
        UpdateTableSchemaMetadataRequest,
        UpdateTableSchemaMetadataResponse,
        UpdateTableTagRequest,
        UpdateTableTagResponse,
    )

__all__ = ["DataOperations"]


class DataOperations(TableCreation, abstract=True):
    """What can be done to a table once its location is known."""

    def _open(self, names: list[str] | None, **choice: Any) -> Any:
        from ..tables.dataset import open_dataset

        return open_dataset(self.storage_of(self.find_table(parse_identifier(names))), **choice)

    # --- rows

    @operation
    def insert_into_table(
        self, request: InsertIntoTableRequest, data: ArrowData
    ) -> InsertIntoTableResponse:
        """Add rows to a table, or replace them; a declared table is made with them."""
        from ..tables.write import RowCount, insert

        mode = parse_mode(request.mode, InsertMode.APPEND)
        counted = RowCount(to_reader(data))
        dataset = self._open_unless_declared(request.id, request.branch)
        with counted.blaming_stream():
            if dataset is None:
                version = self.fill_declared(parse_identifier(request.id), counted.reader())
            else:
                insert(dataset, counted.reader(), mode)
                version = int(dataset.version)
        return models.InsertIntoTableResponse(num_inserted_rows=counted.rows, version=version)

    @operation
    def merge_insert_into_table(
        self, request: MergeInsertIntoTableRequest, data: ArrowData
    ) -> MergeInsertIntoTableResponse:
        """Merge rows into a table by key; a declared table is made with them."""
        from ..tables.rows import check_merge, merge_insert, require_keys
        from ..tables.write import RowCount

        check_merge(request)
        dataset = self._open_unless_declared(request.id, request.branch)
        if dataset is not None:
            return merge_insert(dataset, request, to_reader(data))
        counted = RowCount(to_reader(data))
        reader = counted.reader()
        require_keys(reader.schema, request)
        with counted.blaming_stream():
            version = self.fill_declared(parse_identifier(request.id), reader)
        return models.MergeInsertIntoTableResponse(
            num_updated_rows=0,
            num_inserted_rows=counted.rows,
            num_deleted_rows=0,
            version=version,
        )

    def _open_unless_declared(self, names: list[str] | None, branch: str | None) -> Any:
        """Open a table; None where it is declared, and its main branch has no data yet."""
        try:
            return self._open(names, branch=branch)
        except InvalidTableStateError:
            if branch is not None:
                raise
            return None

    @operation
    def update_table(self, request: UpdateTableRequest) -> UpdateTableResponse:
        """Set columns of the rows that fit a predicate."""
        from ..tables.rows import update

        return update(self._open(request.id, branch=request.branch), request)

    @operation
    def delete_from_table(self, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
        """Delete the rows that fit a predicate."""
        from ..tables.rows import delete

        return delete(self._open(request.id, branch=request.branch), request)

    @operation
    def query_table(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        """Search or scan a table; the rows come a batch at a time as they are read."""
        from ..tables.query import scan

        dataset = self._open(request.id, version=request.version, branch=request.branch)
        what = f"QueryTable {format_identifier(request.id or ())}"
        return scan(dataset, request, lambda error: self.translate(error, what))

    @operation
    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        """Count the rows of a table that fit a predicate."""
        from ..tables.rows import count

        dataset = self._open(request.id, version=request.version, branch=request.branch)
        return models.CountTableRowsResponse(count=count(dataset, request.predicate))

    @operation
    def explain_table_query_plan(
        self, request: ExplainTableQueryPlanRequest
    ) -> ExplainTableQueryPlanResponse:
        """Show how a query would run."""
        from ..tables.query import explain

        query = request.query
        branch = request.branch or query.branch
        dataset = self._open(request.id, version=query.version, branch=branch)
        return models.ExplainTableQueryPlanResponse(plan=explain(dataset, query, request.verbose))

    @operation
    def analyze_table_query_plan(
        self, request: AnalyzeTableQueryPlanRequest
    ) -> AnalyzeTableQueryPlanResponse:
        """Run a query and show how it ran."""
        from ..tables.query import analyze

        dataset = self._open(request.id, version=request.version, branch=request.branch)
        return models.AnalyzeTableQueryPlanResponse(analysis=analyze(dataset, request))

    @operation
    def get_table_stats(self, request: GetTableStatsRequest) -> GetTableStatsResponse:
        """Count rows, bytes, indices and fragments."""
        from ..tables.stats import table_stats

        return table_stats(self._open(request.id, branch=request.branch))

    # --- columns

    @operation
    def alter_table_add_columns(
        self, request: AlterTableAddColumnsRequest
    ) -> AlterTableAddColumnsResponse:
        """Add columns that SQL expressions fill."""
        from ..tables.columns import add

        dataset = self._open(request.id, branch=request.branch)
        add(dataset, request.new_columns)
        return models.AlterTableAddColumnsResponse(version=int(dataset.version))

    @operation
    def alter_table_alter_columns(
        self, request: AlterTableAlterColumnsRequest
    ) -> AlterTableAlterColumnsResponse:
        """Rename columns, change their type or whether they may be null."""
        from ..tables.columns import alter

        dataset = self._open(request.id, branch=request.branch)
        alter(dataset, request.alterations)
        return models.AlterTableAlterColumnsResponse(version=int(dataset.version))

    @operation
    def alter_table_drop_columns(
        self, request: AlterTableDropColumnsRequest
    ) -> AlterTableDropColumnsResponse:
        """Remove columns."""
        from ..tables.columns import drop

        dataset = self._open(request.id, branch=request.branch)
        drop(dataset, request.columns)
        return models.AlterTableDropColumnsResponse(version=int(dataset.version))

    @operation
    def update_field_metadata(
        self, request: UpdateFieldMetadataRequest
    ) -> UpdateFieldMetadataResponse:
        """Change the metadata of columns."""
        from ..tables.columns import field_metadata

        dataset = self._open(request.id, branch=request.branch)
        fields = field_metadata(dataset, request.updates)
        return models.UpdateFieldMetadataResponse(version=int(dataset.version), fields=fields)

    @operation
    def update_table_schema_metadata(
        self, request: UpdateTableSchemaMetadataRequest
    ) -> UpdateTableSchemaMetadataResponse:
        """Add to the metadata of a table's schema and give all of it."""
        dataset = self._open(request.id, branch=request.branch)
        metadata = dataset.update_schema_metadata(request.metadata or {})
        return models.UpdateTableSchemaMetadataResponse(metadata=dict(metadata))

    # --- indices

    @operation
    def create_table_index(self, request: CreateTableIndexRequest) -> CreateTableIndexResponse:
        """Build an index of any kind."""
        from ..tables.indices import create

        create(self._open(request.id, branch=request.branch), request)
        return models.CreateTableIndexResponse()

    @operation
    def create_table_scalar_index(
        self, request: CreateTableIndexRequest
    ) -> CreateTableScalarIndexResponse:
        """Build a scalar or full-text index."""
        from ..tables.indices import create_scalar

        create_scalar(self._open(request.id, branch=request.branch), request)
        return models.CreateTableScalarIndexResponse()

    @operation
    def list_table_indices(self, request: ListTableIndicesRequest) -> ListTableIndicesResponse:
        """Describe the indices, in the order of their names, page by page."""
        from ..tables.indices import list_indices

        dataset = self._open(request.id, version=request.version, branch=request.branch)
        page, token = page_of(
            lambda after: list_indices(dataset, after),
            of=self._listing("ListTableIndices", request.id, request.version, request.branch),
            key=lambda index: index.index_name,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListTableIndicesResponse(indexes=page, page_token=token)

    @operation
    def describe_table_index_stats(
        self, request: DescribeTableIndexStatsRequest
    ) -> DescribeTableIndexStatsResponse:
        """Return how much of the table an index covers."""
        from ..tables.indices import statistics

        dataset = self._open(request.id, version=request.version, branch=request.branch)
        return statistics(dataset, request.index_name)

    @operation
    def drop_table_index(self, request: DropTableIndexRequest) -> DropTableIndexResponse:
        """Remove an index."""
        from ..tables.indices import drop

        drop(self._open(request.id, branch=request.branch), request.index_name)
        return models.DropTableIndexResponse()

    # --- tags

    @operation
    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        """List the tags, in the order of their names, page by page."""
        from ..tables.refs import tags

        found = tags(self._open(request.id))
        page, token = page_of(
            lambda after: sorted_after(set(found), after),
            of=self._listing("ListTableTags", request.id),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListTableTagsResponse(
            tags={name: found[name] for name in page}, page_token=token
        )

    @operation
    def get_table_tag_version(
        self, request: GetTableTagVersionRequest
    ) -> GetTableTagVersionResponse:
        """Return the version that a tag names."""
        from ..tables.refs import tag

        found = tag(self._open(request.id), request.tag)
        return models.GetTableTagVersionResponse(version=found.version, branch=found.branch)

    @operation
    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        """Name a version."""
        from ..tables.refs import create_tag

        create_tag(self._open(request.id), request.tag, request.version, request.branch)
        return models.CreateTableTagResponse()

    @operation
    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        """Move a tag to another version."""
        from ..tables.refs import update_tag

        update_tag(self._open(request.id), request.tag, request.version, request.branch)
        return models.UpdateTableTagResponse()

    @operation
    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        """Remove a tag; the version stays."""
        from ..tables.refs import delete_tag

        delete_tag(self._open(request.id), request.tag)
        return models.DeleteTableTagResponse()

    # --- branches

    @operation
    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        """List the branches but the main one, in the order of their names, page by page."""
        from ..tables.refs import branches

        found = branches(self._open(request.id))
        page, token = page_of(
            lambda after: sorted_after(set(found), after),
            of=self._listing("ListTableBranches", request.id),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListTableBranchesResponse(
            branches={name: found[name] for name in page}, page_token=token
        )

    @operation
    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        """Start a branch."""
        from ..tables.refs import create_branch

        dataset = self._open(request.id)
        create_branch(dataset, request.name, request.from_branch, request.from_version)
        return models.CreateTableBranchResponse()

    @operation
    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        """Remove a branch."""
        from ..tables.refs import delete_branch

        entry = self.find_table(parse_identifier(request.id))
        delete_branch(self._open(request.id), request.name)
        if entry.managed:
            gone = RemoveVersions(table=entry, branch=request.name, versions=None)
            self.versions_of(entry).commit([gone])
        return models.DeleteTableBranchResponse()
