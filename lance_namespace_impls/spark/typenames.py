"""Arrow types by name, as users write them for a column."""

from __future__ import annotations

import re

import pyarrow as pa

from lance_namespace_client.errors import InvalidInputError

__all__ = ["parse_type", "parse_types"]

_FIXED_LIST = re.compile(r"(?P<item>.+)\[(?P<size>\d+)\]")
_LIST = re.compile(r"list<(?P<item>.+)>")
_DECIMAL = re.compile(r"decimal(128)?\((?P<precision>\d+),(?P<scale>-?\d+)\)")
_ZONED = re.compile(r"timestamp\[(?P<unit>s|ms|us|ns),(?P<zone>.+)\]")
_SPLIT = re.compile(r",(?![^<(\[]*[>)\]])")


def parse_type(text: str) -> pa.DataType:
    """Read the name of an Arrow type.

    Names are Arrow's (``int32``, ``float64``, ``string``, ``date32``, ``timestamp[us]``), and
    ``timestamp[us, Europe/Berlin]``, ``decimal(10, 2)``, ``list<int64>``, and ``float32[768]``
    for lists of 768 (vectors).

    Raises:
        InvalidInputError: code 13, there is no such type.
    """
    name = text.replace(" ", "")
    try:
        if match := _FIXED_LIST.fullmatch(name):
            return pa.list_(parse_type(match["item"]), int(match["size"]))
        if match := _LIST.fullmatch(name):
            return pa.list_(parse_type(match["item"]))
        if match := _DECIMAL.fullmatch(name):
            return pa.decimal128(int(match["precision"]), int(match["scale"]))
        if match := _ZONED.fullmatch(name):
            return pa.timestamp(match["unit"], match["zone"])
        return pa.date32() if name == "date" else pa.type_for_alias(name)
    except ValueError as error:
        raise InvalidInputError(
            f"type {text!r} is not known; write an Arrow type such as int32, float64, string, "
            "date32, timestamp[us], timestamp[us, UTC], decimal(10, 2), list<int64> or float32[768]"
        ) from error


def parse_types(text: str) -> dict[str, pa.DataType]:
    """Read ``column:type, column:type``.

    Raises:
        InvalidInputError: code 13, it is not of that form, or there is no such type.
    """
    types: dict[str, pa.DataType] = {}
    for item in filter(str.strip, _SPLIT.split(text)):
        column, colon, kind = item.partition(":")
        if not colon or not column.strip():
            raise InvalidInputError(f"types: {item.strip()!r} is not of the form 'column:type'")
        types[column.strip()] = parse_type(kind)
    return types
