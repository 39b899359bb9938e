# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `PartitionTransform`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, string

__all__ = ["PartitionTransform"]


@define(kw_only=True)
class PartitionTransform(Model):
    """A well-known transform that computes a partition value from source columns."""

    type: str
    """Name of the transform: `identity`, `year`, `month`, `day`, `hour`, `bucket`,
    `multi_bucket` or `truncate`. Any other value results in InvalidInput (13).
    """

    num_buckets: int | None = None
    """Number of buckets, at least 1; required with `bucket` and `multi_bucket` and
    otherwise unused.
    """

    width: int | None = None
    """Width of the truncation, at least 1: number of characters for strings, step
    size for numbers; required with `truncate` and otherwise unused.
    """


PartitionTransform._wire = (
    Wire("type", "type", string, required=True),
    Wire("num_buckets", "num_buckets", integer()),
    Wire("width", "width", integer()),
)
