"""Parses the names of Arrow types in user input."""

from __future__ import annotations

import re

import pyarrow as pa

from lance_namespace_client.errors import InvalidInputError

from ..core.imports import load
from ..tables.zones import check_zone

__all__ = ["parse_type", "parse_types"]

_FIXED_LIST = re.compile(r"(?P<item>.+)\[(?P<size>[0-9]+)\]")
_LIST = re.compile(r"(?P<large>large_)?list<((item|element):)?(?P<item>.+)>")
_FIXED_SIZE_LIST = re.compile(
    r"fixed_size_list<((item|element):)?(?P<item>.+)>\[(?P<size>[0-9]+)\]"
)
_DECIMAL = re.compile(r"decimal(128)?\((?P<precision>[0-9]+),(?P<scale>-?[0-9]+)\)")
_ZONED = re.compile(r"timestamp\[(?P<unit>s|ms|us|ns),(tz=)?(?P<zone>[^\[\]=]+)\]")
_ALIASES = {"date32[day]": "date32", "date64[ms]": "date64", "halffloat": "float16"}
MAX_DEPTH = 64
MAX_SHOWN = 100
_SPLIT = re.compile(r",(?![^<(\[]*[>)\]])")


def parse_type(text: str) -> pa.DataType:
    """Parse the name of an Arrow type.

    The accepted names are Arrow's (``int32``, ``float64``, ``string``, ``date32``,
    ``timestamp[us]``) as well as ``timestamp[us, Europe/Berlin]``, ``decimal(10, 2)``,
    ``list<int64>``, and ``float32[768]`` for lists of 768 numbers (vectors). Arrow's own notation
    for these types, such as ``timestamp[us, tz=UTC]`` or ``list<item: int64>``, is also accepted.
    ``blob`` is the type of Lance's blobs.

    Raises:
        InvalidInputError: code 13, there is no such type or time zone.
    """
    try:
        return _parsed(text.replace(" ", ""), MAX_DEPTH)
    # For numbers out of range, Arrow raises errors other than ValueError.
    except (ValueError, OverflowError, TypeError) as error:
        raise InvalidInputError(
            f"type {shortened(text)!r} is not known; use an Arrow type such as int32, float64, "
            "string, date32, timestamp[us], timestamp[us, UTC], decimal(10, 2), list<int64>, "
            "float32[768] or blob"
        ) from error


def shortened(text: str) -> str:
    """Return a string, shortened for a message."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def _parsed(name: str, depth: int) -> pa.DataType:
    if depth == 0:
        raise ValueError("nested too deeply")
    if match := _FIXED_SIZE_LIST.fullmatch(name) or _FIXED_LIST.fullmatch(name):
        return pa.list_(_parsed(match["item"], depth - 1), _size(match["size"]))
    if match := _LIST.fullmatch(name):
        item = _parsed(match["item"], depth - 1)
        return pa.large_list(item) if match["large"] else pa.list_(item)
    if match := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(match["precision"]), int(match["scale"]))
    if match := _ZONED.fullmatch(name):
        return pa.timestamp(match["unit"], check_zone(match["zone"], "types"))
    if name == "blob" and depth == MAX_DEPTH:
        return load("lance").blob_field(name).type
    return pa.date32() if name == "date" else pa.type_for_alias(_ALIASES.get(name, name))


def _size(text: str) -> int:
    size = int(text)
    if not 0 < size < 2**31:
        raise ValueError("a list of that many items")
    return size


def parse_types(text: str) -> dict[str, pa.DataType]:
    """Parse ``column:type, column:type``.

    Raises:
        InvalidInputError: code 13, the text does not have this form, or there is no such type.
    """
    types: dict[str, pa.DataType] = {}
    for item in filter(str.strip, _SPLIT.split(text)):
        column, colon, kind = item.partition(":")
        if not colon or not column.strip():
            raise InvalidInputError(f"types: {item.strip()!r} does not have the form 'column:type'")
        if column.strip() in types:
            raise InvalidInputError(f"types: column {column.strip()} occurs twice")
        types[column.strip()] = parse_type(kind)
    return types
