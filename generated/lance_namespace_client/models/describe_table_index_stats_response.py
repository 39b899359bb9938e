# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTableIndexStatsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["DescribeTableIndexStatsResponse"]


@define(kw_only=True)
class DescribeTableIndexStatsResponse(Model):
    """Statistics about one index of a table; unknown values are null or absent."""

    distance_type: str | None = None
    """Distance a vector index was built for, such as `l2`; null for other indexes."""

    index_type: str | None = None
    """Kind of index, such as `BTREE` or `IVF_PQ`."""

    num_indexed_rows: int | None = None
    """Number of rows the index covers."""

    num_unindexed_rows: int | None = None
    """Number of rows the index does not cover yet."""

    num_indices: int | None = None
    """Number of physical parts (delta indexes) that together make up the index."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DescribeTableIndexStatsResponse._wire = (
    Wire("distance_type", "distance_type", string),
    Wire("index_type", "index_type", string),
    Wire("num_indexed_rows", "num_indexed_rows", integer(0)),
    Wire("num_unindexed_rows", "num_unindexed_rows", integer(0)),
    Wire("num_indices", "num_indices", integer(0)),
    Wire("context", "context", mapping(string)),
)
