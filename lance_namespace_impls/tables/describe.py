"""Details of an opened dataset for DescribeTable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace_client.models import TableBasicStats

from ..core.storage import TableStorage
from .dataset import open_dataset
from .schema import to_json_schema

if TYPE_CHECKING:
    from lance_namespace_client.models import DescribeTableRequest, DescribeTableResponse

__all__ = ["fill_details"]


def fill_details(
    response: DescribeTableResponse, storage: TableStorage, request: DescribeTableRequest
) -> None:
    """Open the dataset and fill in its version, schema, statistics and metadata.

    Raises:
        InvalidTableStateError: code 19, there is no dataset.
        TableVersionNotFoundError: code 11.
    """
    chosen = request.version if request.version is not None else request.tag
    dataset = open_dataset(storage, version=chosen, branch=request.branch)
    response.version = int(dataset.version)
    if not request.load_detailed_metadata:
        return
    stats = dataset.stats.dataset_stats()
    response.schema = to_json_schema(dataset.schema)
    response.stats = TableBasicStats(
        num_deleted_rows=stats["num_deleted_rows"], num_fragments=stats["num_fragments"]
    )
    # UpdateTableSchemaMetadata changes the schema's metadata; Lance's own tools also use the
    # dataset's metadata.
    response.metadata = {
        **(response.schema.metadata or {}),
        **{str(key): str(value) for key, value in dataset.metadata.items()},
    }
    response.is_only_declared = False
