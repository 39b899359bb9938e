# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `JsonArrowDataType`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, model, string

if TYPE_CHECKING:
    from .json_arrow_field import JsonArrowField

__all__ = ["JsonArrowDataType"]


@define(kw_only=True)
class JsonArrowDataType(Model):
    """An Arrow data type written as JSON, with what its kind needs."""

    fields: list[JsonArrowField] | None = None
    """Child fields of a nested type: the members of a struct, the one item of a
    list, the entries of a map; absent for other types.
    """

    index_type: str | None = None
    """Name of the integer type that a dictionary's indices are of; the rest then
    describes its values. Absent for a type that is not dictionary-encoded.
    """

    length: int | None = None
    """Size of the type: items in a fixed-size list, bytes in fixed-size binary; of
    a decimal 1000 times the precision, and the scale added; absent for other
    types.
    """

    timezone: str | None = None
    """Time zone of a timestamp, such as `UTC` or `+02:00`; absent if it has none."""

    type: str
    """Arrow's name of the type in lower case, such as `int64`, `utf8`, `float32`,
    `date32`, `timestamp`, `decimal128`, `struct`, `list` or `fixed_size_list`;
    readers also accept Lance's own names, such as `string`, `float` or
    `timestamp:us:-`. A name that the reader does not know results in
    InvalidInput (13).
    """

    unit: str | None = None
    """Unit of a timestamp, time or duration: `s`, `ms`, `us` or `ns`; if it is
    absent readers assume `us`, and `s` for `time32`.
    """


JsonArrowDataType._wire = (
    Wire("fields", "fields", array(model("JsonArrowField"))),
    Wire("index_type", "index_type", string),
    Wire("length", "length", integer(0)),
    Wire("timezone", "timezone", string),
    Wire("type", "type", string, required=True),
    Wire("unit", "unit", string),
)
