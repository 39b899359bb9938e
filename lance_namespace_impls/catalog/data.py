"""The table operations of the protocol, for every backend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from lance_namespace_client import models
from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import ConcurrentModificationError, TableTagNotFoundError

from ..core.errors import about
from ..core.identifiers import Identifier, parse_identifier, subject_of
from ..core.modes import InsertMode, parse_mode
from ..core.paging import page_of, sorted_after
from .opening import OpenedTables
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

    from ..tables.merge import MergeRows

__all__ = ["DataOperations"]

Ref = TypeVar("Ref")


class DataOperations(OpenedTables, abstract=True):
    """What can be done to a table once its location is known."""

    @contextmanager
    def _read(
        self, operation: str, request: QueryTableRequest | CountTableRowsRequest
    ) -> Iterator[Any]:
        """Open a table's dataset as `_opened` does, to be read only."""
        if request.version is not None or request.branch is not None:
            choice = {"version": request.version, "branch": request.branch}
            with self._opened(operation, request.id, **choice) as dataset:
                yield dataset
            return
        identifier = parse_identifier(request.id)

        def opened() -> Any:
            with self._opened(operation, identifier) as dataset:
                return dataset

        dataset = self.kept_dataset(identifier, opened)
        with about(subject_of(operation, identifier)), self._refused_if_dropped(identifier):
            yield dataset

    def kept_dataset(self, identifier: Identifier, opened: Callable[[], Any]) -> Any:
        """Return a table's dataset at its latest version, which nobody is to change.

        A backend that can tell whether a table has changed since overrides this.

        Args:
            identifier: the table.
            opened: finds the table and opens its dataset.
        """
        return opened()

    def _page_of_refs(
        self,
        operation: str,
        request: ListTableTagsRequest | ListTableBranchesRequest,
        found: Mapping[str, Ref],
    ) -> tuple[dict[str, Ref], str | None]:
        """Return a page of tags or branches, in the order of their names, and the next page's token."""
        page, token = page_of(
            lambda after: sorted_after(set(found), after),
            of=self._listing(operation, request.id),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return {name: found[name] for name in page}, token

    # --- rows

    @operation
    def insert_into_table(
        self, request: InsertIntoTableRequest, data: ArrowData
    ) -> InsertIntoTableResponse:
        """Add rows to a table, or replace them; a declared table is made with them."""
        from ..tables.write import insert

        mode = parse_mode(request.mode, InsertMode.APPEND)
        identifier = parse_identifier(request.id)
        subject = subject_of("InsertIntoTable", identifier)
        with about(subject):
            rows = RowStream.of(data)
        with self._changed_or_declared("InsertIntoTable", request) as found:
            if found is None:
                version = self.fill_declared("InsertIntoTable", identifier, rows)
            else:
                dataset, opened = found
                with rows.guarded():
                    insert(dataset, rows, mode, opened)
                version = int(dataset.version)
        return models.InsertIntoTableResponse(num_inserted_rows=rows.rows, version=version)

    @operation
    def merge_insert_into_table(
        self, request: MergeInsertIntoTableRequest, data: ArrowData
    ) -> MergeInsertIntoTableResponse:
        """Merge rows into a table by key; a declared table is made with them."""
        from ..tables.merge import merge_rows, pauses
        from ..tables.rows import check_merge, merge_insert, merge_timeout

        identifier = parse_identifier(request.id)
        subject = subject_of("MergeInsertIntoTable", identifier)
        with about(subject):
            check_merge(request)
            timeout = merge_timeout(request)
            rows = RowStream.of(data)
        merged: MergeRows | None = None
        with ExitStack() as stack:
            for pause in pauses(timeout):
                with self._changed_or_declared("MergeInsertIntoTable", request) as found:
                    if merged is None:
                        with about(subject):
                            merged = stack.enter_context(merge_rows(rows, request.on or ()))
                    if found is not None:
                        return merge_insert(found[0], request, merged)
                    first = RowStream.of(merged.read())
                    try:
                        version = self.fill_declared("MergeInsertIntoTable", identifier, first)
                    except ConcurrentModificationError:
                        if pause is None:
                            raise
                    else:
                        return models.MergeInsertIntoTableResponse(
                            num_updated_rows=0,
                            num_inserted_rows=merged.rows,
                            num_deleted_rows=0,
                            version=version,
                        )
                time.sleep(
                    pause
                )  # another writer filled the table: its rows may have the same keys
        raise AssertionError("the last try returns or raises")

    @operation
    def update_table(self, request: UpdateTableRequest) -> UpdateTableResponse:
        """Set columns of the rows that fit a predicate."""
        from ..tables.rows import update

        with self._changed("UpdateTable", request.id, request.branch) as dataset:
            return update(dataset, request)

    @operation
    def delete_from_table(self, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
        """Delete the rows that fit a predicate."""
        from ..tables.rows import delete

        with self._changed("DeleteFromTable", request.id, request.branch) as dataset:
            return delete(dataset, request)

    @operation
    def query_table(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        """Search or scan a table; the rows come a batch at a time as they are read."""
        from ..tables.query import scan

        with self._read("QueryTable", request) as dataset:
            what = subject_of("QueryTable", request.id or ())
            return scan(dataset, request, lambda error: self.translate(error, what))

    def prepared_query(self, request: QueryTableRequest) -> Callable[[], pa.Table] | None:
        """Return what runs a query of few rows, where nothing has to be read to get that far.

        None for any other query: `query_table` does all of one. A backend that has datasets open
        overrides this.

        Raises:
            InvalidInputError: code 13, the parts of the request do not fit together.
        """
        return None

    @operation
    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        """Count the rows of a table that fit a predicate."""
        from ..tables.rows import count

        with self._read("CountTableRows", request) as dataset:
            return models.CountTableRowsResponse(count=count(dataset, request.predicate))

    @operation
    def explain_table_query_plan(
        self, request: ExplainTableQueryPlanRequest
    ) -> ExplainTableQueryPlanResponse:
        """Show how a query would run."""
        from ..tables.query import explain

        query = request.query
        branch = request.branch or query.branch
        with self._opened(
            "ExplainTableQueryPlan", request.id, version=query.version, branch=branch
        ) as dataset:
            return models.ExplainTableQueryPlanResponse(
                plan=explain(dataset, query, request.verbose)
            )

    @operation
    def analyze_table_query_plan(
        self, request: AnalyzeTableQueryPlanRequest
    ) -> AnalyzeTableQueryPlanResponse:
        """Run a query and show how it ran."""
        from ..tables.query import analyze

        with self._opened(
            "AnalyzeTableQueryPlan", request.id, version=request.version, branch=request.branch
        ) as dataset:
            return models.AnalyzeTableQueryPlanResponse(analysis=analyze(dataset, request))

    @operation
    def get_table_stats(self, request: GetTableStatsRequest) -> GetTableStatsResponse:
        """Count rows, bytes, indices and fragments."""
        from ..tables.stats import table_stats

        with self._opened("GetTableStats", request.id, branch=request.branch) as dataset:
            return table_stats(dataset)

    # --- columns

    @operation
    def alter_table_add_columns(
        self, request: AlterTableAddColumnsRequest
    ) -> AlterTableAddColumnsResponse:
        """Add columns that SQL expressions fill."""
        from ..tables.columns import add

        with self._changed("AlterTableAddColumns", request.id, request.branch) as dataset:
            add(dataset, request.new_columns)
            return models.AlterTableAddColumnsResponse(version=int(dataset.version))

    @operation
    def alter_table_alter_columns(
        self, request: AlterTableAlterColumnsRequest
    ) -> AlterTableAlterColumnsResponse:
        """Rename columns, change their type or whether they may be null."""
        from ..tables.columns import alter

        with self._opened_version("AlterTableAlterColumns", request.id, request.branch) as (
            dataset,
            opened,
        ):
            alter(dataset, request.alterations, opened)
            return models.AlterTableAlterColumnsResponse(version=int(dataset.version))

    @operation
    def alter_table_drop_columns(
        self, request: AlterTableDropColumnsRequest
    ) -> AlterTableDropColumnsResponse:
        """Remove columns."""
        from ..tables.columns import drop

        with self._changed("AlterTableDropColumns", request.id, request.branch) as dataset:
            drop(dataset, request.columns)
            return models.AlterTableDropColumnsResponse(version=int(dataset.version))

    @operation
    def update_field_metadata(
        self, request: UpdateFieldMetadataRequest
    ) -> UpdateFieldMetadataResponse:
        """Change the metadata of columns."""
        from ..tables.columns import field_metadata

        with self._opened_version("UpdateFieldMetadata", request.id, request.branch) as (
            dataset,
            opened,
        ):
            fields = field_metadata(dataset, request.updates, opened)
            return models.UpdateFieldMetadataResponse(version=int(dataset.version), fields=fields)

    @operation
    def update_table_schema_metadata(
        self, request: UpdateTableSchemaMetadataRequest
    ) -> UpdateTableSchemaMetadataResponse:
        """Add to the metadata of a table's schema and give all of it."""
        from ..tables.columns import schema_metadata

        with self._changed("UpdateTableSchemaMetadata", request.id, request.branch) as dataset:
            metadata = schema_metadata(dataset, request.metadata or {})
            return models.UpdateTableSchemaMetadataResponse(metadata=metadata)

    # --- indices

    @operation
    def create_table_index(self, request: CreateTableIndexRequest) -> CreateTableIndexResponse:
        """Build an index of any kind."""
        from ..tables.indices import create

        with self._changed("CreateTableIndex", request.id, request.branch) as dataset:
            create(dataset, request)
            return models.CreateTableIndexResponse()

    @operation
    def create_table_scalar_index(
        self, request: CreateTableIndexRequest
    ) -> CreateTableScalarIndexResponse:
        """Build a scalar or full-text index."""
        from ..tables.indices import create_scalar

        with self._changed("CreateTableScalarIndex", request.id, request.branch) as dataset:
            create_scalar(dataset, request)
            return models.CreateTableScalarIndexResponse()

    @operation
    def list_table_indices(self, request: ListTableIndicesRequest) -> ListTableIndicesResponse:
        """Describe the indices, in the order of their names, page by page."""
        from ..tables.indices import list_indices

        with self._opened(
            "ListTableIndices", request.id, version=request.version, branch=request.branch
        ) as dataset:
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

        with self._opened(
            "DescribeTableIndexStats", request.id, version=request.version, branch=request.branch
        ) as dataset:
            return statistics(dataset, request.index_name)

    @operation
    def drop_table_index(self, request: DropTableIndexRequest) -> DropTableIndexResponse:
        """Remove an index."""
        from ..tables.indices import drop

        with self._changed("DropTableIndex", request.id, request.branch) as dataset:
            drop(dataset, request.index_name)
            return models.DropTableIndexResponse()

    # --- tags

    @operation
    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        """List the tags, in the order of their names, page by page."""
        from ..tables.refs import tags

        with self._opened("ListTableTags", request.id) as dataset:
            page, token = self._page_of_refs("ListTableTags", request, tags(dataset))
            return models.ListTableTagsResponse(tags=page, page_token=token)

    @operation
    def get_table_tag_version(
        self, request: GetTableTagVersionRequest
    ) -> GetTableTagVersionResponse:
        """Return the version that a tag names."""
        from ..tables.dataset import open_dataset
        from ..tables.refs import tag

        identifier = parse_identifier(request.id)
        storage = self.storage_of(self.find_table(identifier))
        with about(subject_of("GetTableTagVersion", identifier)):
            try:
                found = tag(storage, request.tag)
            except TableTagNotFoundError:
                open_dataset(storage)  # which says so where there is no dataset
                raise
        return models.GetTableTagVersionResponse(version=found.version, branch=found.branch)

    @operation
    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        """Name a version."""
        from ..tables.refs import create_tag

        with self._opened("CreateTableTag", request.id) as dataset:
            create_tag(dataset, request.tag, request.version, request.branch)
            return models.CreateTableTagResponse()

    @operation
    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        """Move a tag to another version."""
        from ..tables.refs import update_tag

        with self._opened("UpdateTableTag", request.id) as dataset:
            update_tag(dataset, request.tag, request.version, request.branch)
            return models.UpdateTableTagResponse()

    @operation
    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        """Remove a tag; the version stays."""
        from ..tables.refs import delete_tag

        with self._opened("DeleteTableTag", request.id) as dataset:
            delete_tag(dataset, request.tag)
            return models.DeleteTableTagResponse()

    # --- branches

    @operation
    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        """List the branches but the main one, in the order of their names, page by page."""
        from ..tables.refs import branches

        with self._opened("ListTableBranches", request.id) as dataset:
            page, token = self._page_of_refs("ListTableBranches", request, branches(dataset))
            return models.ListTableBranchesResponse(branches=page, page_token=token)

    @operation
    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        """Start a branch."""
        from ..tables.refs import create_branch

        with self._opened("CreateTableBranch", request.id) as dataset:
            create_branch(dataset, request.name, request.from_branch, request.from_version)
            return models.CreateTableBranchResponse()

    @operation
    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        """Remove a branch."""
        from ..tables.refs import delete_branch

        entry = self.find_table(parse_identifier(request.id))
        with self._opened("DeleteTableBranch", request.id) as dataset:
            delete_branch(dataset, request.name)
            if entry.managed:
                gone = RemoveVersions(table=entry, branch=request.name, versions=None)
                self.versions_of(entry).commit([gone])
            return models.DeleteTableBranchResponse()
