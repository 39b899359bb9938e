# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `JsonArrowDataType`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from .._model import Model, Wire, array, integer, model, string

if TYPE_CHECKING:
    from .json_arrow_field import JsonArrowField

__all__ = ["JsonArrowDataType"]


@define(kw_only=True)
class JsonArrowDataType(Model):
    """An Arrow data type written as JSON, with what its kind needs."""

    fields: list[JsonArrowField] | None = None
    """Child fields of a nested type: the members of a struct, the one item of a list, the
    entries of a map; absent for plain types.
    """

    length: int | None = None
    """Fixed size of the type: items in a fixed-size list, bytes in fixed-size binary; absent
    for other types.
    """

    type: str
    """Name of the type in lower case, such as `int64`, `utf8`, `struct`, `list` or
    `fixed_size_list`. A name that the reader does not know is InvalidInput (13).
    """


JsonArrowDataType._wire = (
    Wire("fields", "fields", array(model("JsonArrowField"))),
    Wire("length", "length", integer(0)),
    Wire("type", "type", string, required=True),
)
