# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `GetTableStatsResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, integer, mapping, model, string

if TYPE_CHECKING:
    from .fragment_stats import FragmentStats

__all__ = ["GetTableStatsResponse"]


@define(kw_only=True)
class GetTableStatsResponse(Model):
    """Statistics about the size and layout of a table."""

    total_bytes: int
    """Size in bytes of the table's data in storage."""

    num_rows: int
    """Number of rows, excluding deleted rows."""

    num_indices: int
    """Number of indexes on the table."""

    fragment_stats: FragmentStats
    """Statistics about the table's fragments."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


GetTableStatsResponse._wire = (
    Wire("total_bytes", "total_bytes", integer(0), required=True),
    Wire("num_rows", "num_rows", integer(0), required=True),
    Wire("num_indices", "num_indices", integer(0), required=True),
    Wire("fragment_stats", "fragment_stats", model("FragmentStats"), required=True),
    Wire("context", "context", mapping(string)),
)
