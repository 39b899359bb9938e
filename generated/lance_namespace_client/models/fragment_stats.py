# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `FragmentStats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, integer, model

if TYPE_CHECKING:
    from .fragment_summary import FragmentSummary

__all__ = ["FragmentStats"]


@define(kw_only=True)
class FragmentStats(Model):
    """Statistics about the fragments of a table, which indicate whether compaction
    is needed.
    """

    num_fragments: int
    """Number of fragments."""

    num_small_fragments: int
    """Number of fragments that are small enough to be worth compacting, in Lance
    those with fewer than 1,048,576 rows.
    """

    lengths: FragmentSummary
    """Summary of the lengths of fragments."""


FragmentStats._wire = (
    Wire("num_fragments", "num_fragments", integer(0), required=True),
    Wire("num_small_fragments", "num_small_fragments", integer(0), required=True),
    Wire("lengths", "lengths", model("FragmentSummary"), required=True),
)
