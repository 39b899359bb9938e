"""Operations on the rows of a table: insert, merge, update, delete, query, count."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from lance_namespace_client import models
from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import ConcurrentModificationError

from ...core.errors import about
from ...core.identifiers import parse_identifier, subject_of
from ...core.modes import InsertMode, parse_mode
from ..backend import CatalogBase
from ..operation import operation
from ..services.opener import Opener
from ..services.placement import Placement

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.arrow import ArrowData
    from lance_namespace_client.models import (
        AnalyzeTableQueryPlanRequest,
        AnalyzeTableQueryPlanResponse,
        CountTableRowsRequest,
        CountTableRowsResponse,
        DeleteFromTableRequest,
        DeleteFromTableResponse,
        ExplainTableQueryPlanRequest,
        ExplainTableQueryPlanResponse,
        GetTableStatsRequest,
        GetTableStatsResponse,
        InsertIntoTableRequest,
        InsertIntoTableResponse,
        MergeInsertIntoTableRequest,
        MergeInsertIntoTableResponse,
        QueryTableRequest,
        UpdateTableRequest,
        UpdateTableResponse,
    )

    from ...tables.merge import MergeRows

__all__ = ["RowOperations"]


class RowOperations(CatalogBase, abstract=True):
    """Operations on the rows of a table."""

    @operation
    def insert_into_table(
        self, request: InsertIntoTableRequest, data: ArrowData
    ) -> InsertIntoTableResponse:
        """Append rows to a table, or replace its rows; a declared table gets its first rows."""
        from ...tables.write import insert

        mode = parse_mode(request.mode, InsertMode.APPEND)
        identifier = parse_identifier(request.id)
        subject = subject_of("InsertIntoTable", identifier)
        with about(subject):
            rows = RowStream.of(data)
        with Opener(self).changed_or_declared("InsertIntoTable", request) as found:
            if found is None:
                version = Placement(self).fill_declared("InsertIntoTable", identifier, rows)
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
        """Merge rows into a table by key; they are the first rows if the table is only declared."""
        from ...tables.merge import merge_rows, pauses
        from ...tables.rows import check_merge, merge_insert, merge_timeout

        identifier = parse_identifier(request.id)
        subject = subject_of("MergeInsertIntoTable", identifier)
        with about(subject):
            check_merge(request)
            timeout = merge_timeout(request)
            rows = RowStream.of(data)
        merged: MergeRows | None = None
        with ExitStack() as stack:
            for pause in pauses(timeout):
                with Opener(self).changed_or_declared("MergeInsertIntoTable", request) as found:
                    if merged is None:
                        with about(subject):
                            merged = stack.enter_context(merge_rows(rows, request.on or ()))
                    if found is not None:
                        return merge_insert(found[0], request, merged)
                    first = RowStream.of(merged.read())
                    try:
                        version = Placement(self).fill_declared(
                            "MergeInsertIntoTable", identifier, first
                        )
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
                )  # another writer added the first rows, possibly with the same keys
        raise AssertionError("the last attempt returns or raises")

    @operation
    def update_table(self, request: UpdateTableRequest) -> UpdateTableResponse:
        """Set columns in the rows that match a predicate."""
        from ...tables.rows import update

        with Opener(self).changed("UpdateTable", request.id, request.branch) as dataset:
            return update(dataset, request)

    @operation
    def delete_from_table(self, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
        """Delete the rows that match a predicate."""
        from ...tables.rows import delete

        with Opener(self).changed("DeleteFromTable", request.id, request.branch) as dataset:
            return delete(dataset, request)

    @operation
    def query_table(self, request: QueryTableRequest) -> pa.RecordBatchReader:
        """Search or scan a table; batches of rows are returned as they are read."""
        from ...tables.query import scan

        with Opener(self).read("QueryTable", request) as dataset:
            what = subject_of("QueryTable", request.id or ())
            return scan(dataset, request, lambda error: self.translate(error, what))

    @operation
    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        """Count the rows of a table that match a predicate."""
        from ...tables.rows import count

        with Opener(self).read("CountTableRows", request) as dataset:
            return models.CountTableRowsResponse(count=count(dataset, request.predicate))

    @operation
    def explain_table_query_plan(
        self, request: ExplainTableQueryPlanRequest
    ) -> ExplainTableQueryPlanResponse:
        """Explain how a query would run."""
        from ...tables.query import explain

        query = request.query
        branch = request.branch or query.branch
        with Opener(self).opened(
            "ExplainTableQueryPlan", request.id, version=query.version, branch=branch
        ) as dataset:
            return models.ExplainTableQueryPlanResponse(
                plan=explain(dataset, query, request.verbose)
            )

    @operation
    def analyze_table_query_plan(
        self, request: AnalyzeTableQueryPlanRequest
    ) -> AnalyzeTableQueryPlanResponse:
        """Run a query and report how it ran."""
        from ...tables.query import analyze

        with Opener(self).opened(
            "AnalyzeTableQueryPlan", request.id, version=request.version, branch=request.branch
        ) as dataset:
            return models.AnalyzeTableQueryPlanResponse(analysis=analyze(dataset, request))

    @operation
    def get_table_stats(self, request: GetTableStatsRequest) -> GetTableStatsResponse:
        """Return the number of rows, bytes, indices and fragments."""
        from ...tables.stats import table_stats

        with Opener(self).opened("GetTableStats", request.id, branch=request.branch) as dataset:
            return table_stats(dataset)
