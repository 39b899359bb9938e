"""Operations on the columns of a table and on the metadata of its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace_client import models

from ..backend import CatalogBase
from ..operation import operation
from ..services.opener import Opener

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        AlterTableAddColumnsRequest,
        AlterTableAddColumnsResponse,
        AlterTableAlterColumnsRequest,
        AlterTableAlterColumnsResponse,
        AlterTableDropColumnsRequest,
        AlterTableDropColumnsResponse,
        UpdateFieldMetadataRequest,
        UpdateFieldMetadataResponse,
        UpdateTableSchemaMetadataRequest,
        UpdateTableSchemaMetadataResponse,
    )

__all__ = ["ColumnOperations"]


class ColumnOperations(CatalogBase, abstract=True):
    """Operations on the columns of a table."""

    @operation
    def alter_table_add_columns(
        self, request: AlterTableAddColumnsRequest
    ) -> AlterTableAddColumnsResponse:
        """Add columns computed by SQL expressions."""
        from ...tables.columns import add

        with Opener(self).changed("AlterTableAddColumns", request.id, request.branch) as dataset:
            add(dataset, request.new_columns)
            return models.AlterTableAddColumnsResponse(version=int(dataset.version))

    @operation
    def alter_table_alter_columns(
        self, request: AlterTableAlterColumnsRequest
    ) -> AlterTableAlterColumnsResponse:
        """Rename columns, or change their type or nullability."""
        from ...tables.columns import alter

        with Opener(self).opened_version("AlterTableAlterColumns", request.id, request.branch) as (
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
        from ...tables.columns import drop

        with Opener(self).changed("AlterTableDropColumns", request.id, request.branch) as dataset:
            drop(dataset, request.columns)
            return models.AlterTableDropColumnsResponse(version=int(dataset.version))

    @operation
    def update_field_metadata(
        self, request: UpdateFieldMetadataRequest
    ) -> UpdateFieldMetadataResponse:
        """Change the metadata of columns."""
        from ...tables.columns import field_metadata

        with Opener(self).opened_version("UpdateFieldMetadata", request.id, request.branch) as (
            dataset,
            opened,
        ):
            fields = field_metadata(dataset, request.updates, opened)
            return models.UpdateFieldMetadataResponse(version=int(dataset.version), fields=fields)

    @operation
    def update_table_schema_metadata(
        self, request: UpdateTableSchemaMetadataRequest
    ) -> UpdateTableSchemaMetadataResponse:
        """Merge entries into the metadata of a table's schema and return the merged metadata."""
        from ...tables.columns import schema_metadata

        with Opener(self).changed(
            "UpdateTableSchemaMetadata", request.id, request.branch
        ) as dataset:
            metadata = schema_metadata(dataset, request.metadata or {})
            return models.UpdateTableSchemaMetadataResponse(metadata=metadata)
