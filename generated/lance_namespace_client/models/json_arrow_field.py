# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `JsonArrowField`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, boolean, mapping, model, string

if TYPE_CHECKING:
    from .json_arrow_data_type import JsonArrowDataType

__all__ = ["JsonArrowField"]


@define(kw_only=True)
class JsonArrowField(Model):
    """One field of an Arrow schema or of a nested type."""

    metadata: dict[str, str] | None = None
    """Key-value pairs attached to the field; none by default."""

    name: str
    """Name of the field, unique among its siblings."""

    nullable: bool
    """Whether the field may contain nulls."""

    type: JsonArrowDataType
    """Data type of the field."""


JsonArrowField._wire = (
    Wire("metadata", "metadata", mapping(string)),
    Wire("name", "name", string, required=True),
    Wire("nullable", "nullable", boolean, required=True),
    Wire("type", "type", model("JsonArrowDataType"), required=True),
)
