# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `FragmentSummary`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer

__all__ = ["FragmentSummary"]


@define(kw_only=True)
class FragmentSummary(Model):
    """Distribution of the lengths of fragments, in rows; all values are 0 for a
    table without fragments.
    """

    min: int
    """Rows in the shortest fragment."""

    max: int
    """Rows in the longest fragment."""

    mean: int
    """Mean number of rows, rounded down."""

    p25: int
    """Number of rows that 25 percent of the fragments do not exceed."""

    p50: int
    """Number of rows that half of the fragments do not exceed (the median)."""

    p75: int
    """Number of rows that 75 percent of the fragments do not exceed."""

    p99: int
    """Number of rows that 99 percent of the fragments do not exceed."""


FragmentSummary._wire = (
    Wire("min", "min", integer(0), required=True),
    Wire("max", "max", integer(0), required=True),
    Wire("mean", "mean", integer(0), required=True),
    Wire("p25", "p25", integer(0), required=True),
    Wire("p50", "p50", integer(0), required=True),
    Wire("p75", "p75", integer(0), required=True),
    Wire("p99", "p99", integer(0), required=True),
)
