"""Creates, lists, describes and drops indices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_client.models import DescribeTableIndexStatsResponse, IndexContent

from .columns import require
from .context import REPLACE, asks
from .incoming import MEASURED, check_depth
from .schema import extension_of

if TYPE_CHECKING:
    from lance_namespace_client.models import CreateTableIndexRequest

__all__ = [
    "IndexPlan",
    "create",
    "create_scalar",
    "drop",
    "find_index",
    "list_indices",
    "name_of",
    "plan",
    "plan_scalar",
    "statistics",
]

SCALAR = ("BTREE", "BITMAP", "LABEL_LIST", "NGRAM", "ZONEMAP", "BLOOMFILTER", "RTREE")
_GEOMETRIES = ("geoarrow.", "ogc.")
FULL_TEXT = ("INVERTED", "FTS")
VECTOR = (
    "IVF_FLAT",
    "IVF_SQ",
    "IVF_PQ",
    "IVF_RQ",
    "IVF_HNSW_FLAT",
    "IVF_HNSW_SQ",
    "IVF_HNSW_PQ",
)
READY = "ready"
# Number of rows per partition of a vector index, if the caller does not specify the number of
# partitions.
PARTITION_ROWS = 8192
_TEXT_OPTIONS = (
    "with_position",
    "base_tokenizer",
    "language",
    "max_token_length",
    "lower_case",
    "stem",
    "remove_stop_words",
    "ascii_folding",
)
_VECTOR_OPTIONS = (
    "num_partitions",
    "num_sub_vectors",
    "num_bits",
    "sample_rate",
    "max_iterations",
    "target_partition_size",
    "m",
    "ef_construction",
)


@frozen(kw_only=True)
class IndexPlan:
    """A validated index: the arguments of the pylance functions that build it."""

    column: str
    kind: str
    """Index type in upper case, such as ``IVF_PQ``."""
    name: str
    replace: bool
    """Whether to replace an index with the same name."""
    metric: str | None
    """Distance type of a vector index; None for other kinds."""
    options: Mapping[str, Any]

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments, which follow the column and the kind."""
        metric = {} if self.metric is None else {"metric": self.metric}
        return {"name": self.name, "replace": self.replace, **metric, **self.options}


def plan(dataset: Any, request: CreateTableIndexRequest) -> IndexPlan:
    """Validate the request for an index of any kind, and fill in the defaults.

    Raises:
        TableColumnNotFoundError: code 12.
        TableIndexAlreadyExistsError: code 7.
        InvalidInputError: code 13, the kind is unknown or not applicable to the column.
    """
    kind = request.index_type.upper()
    if kind not in VECTOR:
        return plan_scalar(dataset, request)
    name = _free_name(dataset, request)
    return IndexPlan(
        column=request.column,
        kind=kind,
        name=name,
        replace=asks(request, REPLACE),
        metric=(request.distance_type or "l2").lower(),
        options=_with_defaults(dataset, request, _set_options(request, _VECTOR_OPTIONS)),
    )


def plan_scalar(dataset: Any, request: CreateTableIndexRequest) -> IndexPlan:
    """Validate the request for a scalar or full-text index; raises the same errors as `plan`."""
    kind = request.index_type.upper()
    if kind not in (*SCALAR, *FULL_TEXT):
        known = ", ".join((*SCALAR, *FULL_TEXT, *VECTOR))
        raise InvalidInputError(
            f"index type {request.index_type!r} is not supported for scalar indices; use one of "
            f"{known}"
        )
    name = _free_name(dataset, request)
    if kind == "RTREE":
        _check_geometries(dataset, request.column)
    return IndexPlan(
        column=request.column,
        kind=kind,
        name=name,
        replace=asks(request, REPLACE),
        metric=None,
        options=_set_options(request, _TEXT_OPTIONS) if kind in FULL_TEXT else {},
    )


def create(dataset: Any, request: CreateTableIndexRequest) -> None:
    """Build an index of any kind; raises the same errors as `plan`."""
    planned = plan(dataset, request)
    if planned.metric is None:
        dataset.create_scalar_index(planned.column, planned.kind, **planned.arguments())
    else:
        dataset.create_index(planned.column, planned.kind, **planned.arguments())


def create_scalar(dataset: Any, request: CreateTableIndexRequest) -> None:
    """Build a scalar or full-text index; raises the same errors as `plan`."""
    planned = plan_scalar(dataset, request)
    dataset.create_scalar_index(planned.column, planned.kind, **planned.arguments())


def _check_geometries(dataset: Any, column: str) -> None:
    """Reject a column whose values Lance cannot safely parse as geometries (code 13).

    Lance parses nested collections recursively, and other tools may have stored deeply nested
    collections.
    """
    field = require(dataset, column)
    if not extension_of(field).startswith(_GEOMETRIES):
        raise InvalidInputError(
            f"column {column!r} is {field.type} without a geometry type; store geometries as "
            "GeoArrow, such as geoarrow.wkb"
        )
    if extension_of(field) not in MEASURED:
        return
    try:
        for batch in dataset.scanner(columns=[column]).to_batches():
            check_depth(field, batch.column(0), column)
    except TableSchemaValidationError as error:
        raise InvalidInputError(error.message) from error


def _set_options(request: CreateTableIndexRequest, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(request, name)) is not None}


def _with_defaults(
    dataset: Any, request: CreateTableIndexRequest, options: dict[str, Any]
) -> dict[str, Any]:
    """Add the options that pylance requires, with LanceDB's defaults."""
    kind = request.index_type.upper()
    if not {"num_partitions", "target_partition_size"} & options.keys():
        options["num_partitions"] = max(1, dataset.count_rows() // PARTITION_ROWS)
    if kind.endswith("_PQ") and "num_sub_vectors" not in options:
        column = require(dataset, request.column).type
        while hasattr(column, "value_type") and not hasattr(column, "list_size"):
            column = column.value_type  # a list of vectors
        size = getattr(column, "list_size", 1)
        chosen = next((size // n for n in (16, 8) if size % n == 0), 1)
        # Codes of four bits are stored in pairs, so there must be an even number of them.
        in_pairs = options.get("num_bits") == 4 and chosen % 2 and size % (2 * chosen) == 0
        options["num_sub_vectors"] = 2 * chosen if in_pairs else chosen
    return options


def _free_name(dataset: Any, request: CreateTableIndexRequest) -> str:
    require(dataset, request.column)
    name = name_of(request)
    if asks(request, REPLACE):
        return name
    if any(index.name == name for index in dataset.describe_indices()):
        raise TableIndexAlreadyExistsError(
            f"index {name!r} already exists; drop it first, or use another name"
        )
    return name


def name_of(request: CreateTableIndexRequest) -> str:
    """Return the name of the index, which is derived from the column's name by default."""
    return request.name or f"{request.column.replace('.', '_')}_idx"


def find_index(dataset: Any, name: str | None) -> Any:
    """Return the description of an index.

    Raises:
        InvalidInputError: code 13, the name is missing.
        TableIndexNotFoundError: code 6.
    """
    if name is None:
        raise InvalidInputError("index_name is missing: specify the index")
    for index in dataset.describe_indices():
        if index.name == name:
            return index
    raise TableIndexNotFoundError(f"index {name!r} does not exist")


def list_indices(dataset: Any, after: str | None) -> Iterator[IndexContent]:
    """Describe the indices in order of name, starting after `after`."""
    rows = dataset.count_rows()
    for index in sorted(dataset.describe_indices(), key=lambda index: str(index.name)):
        if after is not None and index.name <= after:
            continue
        newest = max(index.segments, key=lambda s: s.created_at.timestamp() if s.created_at else 0)
        yield IndexContent(
            index_name=index.name,
            index_uuid=str(newest.uuid),
            columns=list(index.field_names),
            status=READY,
            index_type=index.index_type,
            type_url=index.type_url,
            num_indexed_rows=index.num_rows_indexed,
            num_unindexed_rows=max(rows - index.num_rows_indexed, 0),
            size_bytes=index.total_size_bytes,
            num_segments=len(index.segments),
            created_at=newest.created_at,
            index_version=newest.index_version,
            index_details=json.dumps(index.details, default=str) if index.details else None,
        )


def statistics(dataset: Any, name: str | None) -> DescribeTableIndexStatsResponse:
    """Return how much of the table an index covers.

    Raises:
        TableIndexNotFoundError: code 6.
    """
    # Do not use pylance's index_stats, which reads the centroids of every partition and issues a
    # warning.
    index = find_index(dataset, name)
    metric = (index.details or {}).get("metric_type")
    return DescribeTableIndexStatsResponse(
        distance_type=metric and metric.lower(),
        index_type=index.index_type,
        num_indexed_rows=index.num_rows_indexed,
        num_unindexed_rows=max(dataset.count_rows() - index.num_rows_indexed, 0),
        num_indices=len(index.segments),
    )


def drop(dataset: Any, name: str | None) -> None:
    """Remove an index.

    Raises:
        TableIndexNotFoundError: code 6.
    """
    find_index(dataset, name)
    dataset.drop_index(name)
