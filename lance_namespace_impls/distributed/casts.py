"""Describes how casts between Arrow types may change values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types as is_

__all__ = [
    "first_rounded",
    "is_list",
    "loses_digits",
    "may_overflow",
    "tell_losses",
    "uniform",
]


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is any of Arrow's list types."""
    return bool(is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind))


def uniform(kind: pa.DataType) -> pa.DataType:
    """Return a type with Arrow's default field names inside lists and maps, and nullable fields.

    Tools use different names for list items (``item``, ``element``, ``array``), and Lance appends
    only rows whose names match those of the table.
    """
    if is_.is_struct(kind):
        return pa.struct([(child.name, uniform(child.type)) for child in kind])
    if is_.is_map(kind):
        return pa.map_(uniform(kind.key_type), uniform(kind.item_type), kind.keys_sorted)
    if is_.is_fixed_size_list(kind):
        return pa.list_(uniform(kind.value_type), kind.list_size)
    if is_.is_large_list(kind):
        return pa.large_list(uniform(kind.value_type))
    if is_.is_list(kind):
        return pa.list_(uniform(kind.value_type))
    return kind


def first_rounded(given: pa.Array, kept: pa.Array) -> int | None:
    """Return the index of the first value that a cast rounded, at any depth, or None.

    Args:
        given: the values.
        kept: the same values after the cast.
    """
    if not _may_round(given.type, kept.type) or not _is_rounded(given, kept):
        return None
    low, high = 0, len(given)
    while high - low > 1:
        middle = (low + high) // 2
        if _is_rounded(given.slice(low, middle - low), kept.slice(low, middle - low)):
            high = middle
        else:
            low = middle
    return low


def _may_round(given: pa.DataType, wanted: pa.DataType) -> bool:
    return any(
        is_.is_floating(after) if not is_.is_floating(before) else before != after
        for before, after in _leaves(given, wanted)
    )


def _is_rounded(given: pa.Array, kept: pa.Array) -> bool:
    """Return whether a cast changed a value."""
    if is_.is_dictionary(given.type):
        given = given.dictionary_decode()
    if is_.is_dictionary(kept.type):
        kept = kept.dictionary_decode()
    if is_.is_map(given.type) and is_.is_map(kept.type):
        return _is_rounded(given.keys, kept.keys) or _is_rounded(given.items, kept.items)
    if is_list(given.type) and is_list(kept.type):
        return _is_rounded(given.flatten(), kept.flatten())
    if is_.is_struct(given.type) and is_.is_struct(kept.type):
        parts = dict(zip(kept.type.names, kept.flatten(), strict=True))
        return any(
            _is_rounded(part, parts[name])
            for name, part in zip(given.type.names, given.flatten(), strict=True)
            if name in parts
        )
    if given.type == kept.type or not _may_round(given.type, kept.type):
        return False
    try:
        differs = pc.not_equal(given, kept.cast(given.type))
    except pa.ArrowInvalid:
        return True
    if is_.is_floating(given.type):
        differs = pc.and_(differs, pc.invert(pc.is_nan(given)))
    return bool(pc.any(differs).as_py())


def tell_losses(given: pa.Schema, wanted: pa.Schema, what: str) -> None:
    """Warn once about the columns whose values may lose digits in a cast.

    Values that change beyond rounding are not part of this warning: they are rejected individually.

    Args:
        given: schema of the rows.
        wanted: schema after the cast.
        what: the table, as the start of the message.
    """
    losses = []
    for field in wanted:
        index = given.get_field_index(field.name)
        if index >= 0 and (loss := _loss(given.field(index).type, field.type)):
            losses.append(f"{field.name} ({loss})")
    if losses:
        warnings.warn(f"{what}: digits may be lost in {', '.join(losses)}", stacklevel=3)


def loses_digits(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether a cast may round or truncate values, at any depth."""
    return _loss(given, wanted) is not None


def _loss(given: pa.DataType, wanted: pa.DataType) -> str | None:
    """Return a description of the first cast that rounds, at any depth, or None."""
    for before, after in _leaves(given, wanted):
        rounds = (
            (is_.is_floating(before) and is_.is_floating(after) and _narrows(before, after))
            or (is_.is_decimal(before) and is_.is_floating(after))
            or (is_.is_floating(before) and is_.is_decimal(after))
            or (_is_timed(before) and _is_timed(after) and before.unit == "ns" != after.unit)
        )
        if rounds:
            return f"{before} to {after}"
    return None


def may_overflow(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether a cast may make a number infinite."""
    return any(
        is_.is_floating(after) and (not is_.is_floating(before) or _narrows(before, after))
        for before, after in _leaves(given, wanted)
    )


def _narrows(given: pa.DataType, wanted: pa.DataType) -> bool:
    return bool(given.bit_width > wanted.bit_width)


def _leaves(given: pa.DataType, wanted: pa.DataType) -> Iterator[tuple[pa.DataType, pa.DataType]]:
    """Yield the pairs of non-nested types that a cast converts."""
    if is_.is_dictionary(given):
        given = given.value_type
    if is_list(given) and is_list(wanted):
        yield from _leaves(given.value_type, wanted.value_type)
    elif is_.is_map(given) and is_.is_map(wanted):
        yield from _leaves(given.key_type, wanted.key_type)
        yield from _leaves(given.item_type, wanted.item_type)
    elif is_.is_struct(given) and is_.is_struct(wanted):
        for child in given:
            if wanted.get_field_index(child.name) >= 0:
                yield from _leaves(child.type, wanted.field(child.name).type)
    else:
        yield given, wanted


def _is_timed(kind: pa.DataType) -> bool:
    """Return whether a type counts units of time."""
    return bool(is_.is_timestamp(kind) or is_.is_duration(kind) or is_.is_time(kind))
