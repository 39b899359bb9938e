# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `PartitionSpec`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, model

if TYPE_CHECKING:
    from .partition_field import PartitionField

__all__ = ["PartitionSpec"]


@define(kw_only=True)
class PartitionSpec(Model):
    """A versioned description of how a namespace's rows are split into partitions."""

    id: int
    """Number of the spec, incremented with every change to the partitioning; not a
    table or namespace identifier.
    """

    fields: list[PartitionField]
    """The levels of the partitioning, outermost first; empty when there is none."""


PartitionSpec._wire = (
    Wire("id", "id", integer(), required=True),
    Wire("fields", "fields", array(model("PartitionField")), required=True),
)
