# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `PartitionField`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, model, string

if TYPE_CHECKING:
    from .json_arrow_data_type import JsonArrowDataType
    from .partition_transform import PartitionTransform

__all__ = ["PartitionField"]


@define(kw_only=True)
class PartitionField(Model):
    """One level of a partitioning, computed either by `transform` or by
    `expression`; exactly one of the two must be set; otherwise, the result is
    InvalidInput (13).
    """

    field_id: str
    """Identifier of this partition field, unique over all specs of the namespace
    and stable when names change.
    """

    source_ids: list[int]
    """Field ids of the source columns in the schema, in the order that the
    transform or expression expects.
    """

    transform: PartitionTransform | None = None
    """Well-known transform that yields the partition value."""

    expression: str | None = None
    """SQL expression that yields the partition value, with the source columns
    named `col0`, `col1` and so on in the order of `source_ids`.
    """

    result_type: JsonArrowDataType
    """Arrow type of the partition value."""


PartitionField._wire = (
    Wire("field_id", "field_id", string, required=True),
    Wire("source_ids", "source_ids", array(integer()), required=True),
    Wire("transform", "transform", model("PartitionTransform")),
    Wire("expression", "expression", string),
    Wire("result_type", "result_type", model("JsonArrowDataType"), required=True),
)
