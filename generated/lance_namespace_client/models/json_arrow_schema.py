# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `JsonArrowSchema`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .json_arrow_field import JsonArrowField

__all__ = ["JsonArrowSchema"]


@define(kw_only=True)
class JsonArrowSchema(Model):
    """An Arrow schema written as JSON."""

    fields: list[JsonArrowField]
    """Columns of the table, in order."""

    metadata: dict[str, str] | None = None
    """Key-value pairs attached to the schema; none by default."""


JsonArrowSchema._wire = (
    Wire("fields", "fields", array(model("JsonArrowField")), required=True),
    Wire("metadata", "metadata", mapping(string)),
)
