"""Operations on the indices of a table: create, list, describe, drop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace_client import models

from ...core.paging import page_of
from ..backend import CatalogBase
from ..operation import operation
from ..services.opener import Opener

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        CreateTableIndexRequest,
        CreateTableIndexResponse,
        CreateTableScalarIndexResponse,
        DescribeTableIndexStatsRequest,
        DescribeTableIndexStatsResponse,
        DropTableIndexRequest,
        DropTableIndexResponse,
        ListTableIndicesRequest,
        ListTableIndicesResponse,
    )

__all__ = ["IndexOperations"]


class IndexOperations(CatalogBase, abstract=True):
    """Operations on the indices of a table."""

    @operation
    def create_table_index(self, request: CreateTableIndexRequest) -> CreateTableIndexResponse:
        """Build an index of any kind."""
        from ...tables.indices import create

        with Opener(self).changed("CreateTableIndex", request.id, request.branch) as dataset:
            create(dataset, request)
            return models.CreateTableIndexResponse()

    @operation
    def create_table_scalar_index(
        self, request: CreateTableIndexRequest
    ) -> CreateTableScalarIndexResponse:
        """Build a scalar or full-text index."""
        from ...tables.indices import create_scalar

        with Opener(self).changed("CreateTableScalarIndex", request.id, request.branch) as dataset:
            create_scalar(dataset, request)
            return models.CreateTableScalarIndexResponse()

    @operation
    def list_table_indices(self, request: ListTableIndicesRequest) -> ListTableIndicesResponse:
        """Describe the indices, ordered by name, in pages."""
        from ...tables.indices import list_indices

        with Opener(self).opened(
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
        from ...tables.indices import statistics

        with Opener(self).opened(
            "DescribeTableIndexStats", request.id, version=request.version, branch=request.branch
        ) as dataset:
            return statistics(dataset, request.index_name)

    @operation
    def drop_table_index(self, request: DropTableIndexRequest) -> DropTableIndexResponse:
        """Remove an index."""
        from ...tables.indices import drop

        with Opener(self).changed("DropTableIndex", request.id, request.branch) as dataset:
            drop(dataset, request.index_name)
            return models.DropTableIndexResponse()
