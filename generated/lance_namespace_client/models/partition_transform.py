# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `PartitionTransform`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, string

__all__ = ["PartitionTransform"]


@define(kw_only=True)
class PartitionTransform(Model):
    """A well-known way to make a partition value of source columns."""

    type: str
    """Name of the transform: `identity`, `year`, `month`, `day`, `hour`, `bucket`,
    `multi_bucket` or `truncate`. Any other value is InvalidInput (13).
    """

    num_buckets: int | None = None
    """Number of buckets, at least 1; required with `bucket` and `multi_bucket` and
    unused elsewhere.
    """

    width: int | None = None
    """Width to cut to, at least 1: characters of a string or the step of a number;
    required with `truncate` and unused elsewhere.
    """


PartitionTransform._wire = (
    Wire("type", "type", string, required=True),
    Wire("num_buckets", "num_buckets", integer()),
    Wire("width", "width", integer()),
)
