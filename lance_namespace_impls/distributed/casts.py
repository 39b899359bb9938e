"""Describes how casts between Arrow types may change values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types as is_

__all__ = [
    "MISFITS",
    "first_rounded",
    "is_list",
    "loses_digits",
    "may_overflow",
    "warn_of_losses",
    "uniform",
]


MISFITS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)
"""Exceptions that Arrow raises for values that do not fit a type, or cannot be cast to it."""


def is_list(kind: pa.DataType) -> bool:
    """Return whether a type is any of Arrow's list types."""
    return bool(is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind))


def uniform(kind: pa.DataType) -> pa.DataType:
    """Return a type with nullable fields, and Arrow's default field names inside lists and maps.

    Tools use different names for list items (``item``, ``element``, ``array``), but Lance appends
    rows only if these names are the same as in the table.
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


def first_rounded(source: pa.Array, converted: pa.Array) -> int | None:
    """Return the index of the first value that a cast rounded, at any depth, or None.

    Args:
        source: the values.
        converted: the same values after the cast.
    """
    if not _may_round(source.type, converted.type) or not _is_rounded(source, converted):
        return None
    low, high = 0, len(source)
    while high - low > 1:
        middle = (low + high) // 2
        if _is_rounded(source.slice(low, middle - low), converted.slice(low, middle - low)):
            high = middle
        else:
            low = middle
    return low


def _may_round(source: pa.DataType, target: pa.DataType) -> bool:
    return any(
        is_.is_floating(after) if not is_.is_floating(before) else before != after
        for before, after in _leaves(source, target)
    )


def _is_rounded(source: pa.Array, converted: pa.Array) -> bool:
    """Return whether a cast changed a value."""
    if is_.is_dictionary(source.type):
        source = source.dictionary_decode()
    if is_.is_dictionary(converted.type):
        converted = converted.dictionary_decode()
    if is_.is_map(source.type) and is_.is_map(converted.type):
        return _is_rounded(source.keys, converted.keys) or _is_rounded(
            source.items, converted.items
        )
    if is_list(source.type) and is_list(converted.type):
        return _is_rounded(source.flatten(), converted.flatten())
    if is_.is_struct(source.type) and is_.is_struct(converted.type):
        parts = dict(zip(converted.type.names, converted.flatten(), strict=True))
        return any(
            _is_rounded(part, parts[name])
            for name, part in zip(source.type.names, source.flatten(), strict=True)
            if name in parts
        )
    if source.type == converted.type or not _may_round(source.type, converted.type):
        return False
    try:
        differs = pc.not_equal(source, converted.cast(source.type))
    except pa.ArrowInvalid:
        return True
    if is_.is_floating(source.type):
        differs = pc.and_(differs, pc.invert(pc.is_nan(source)))
    return bool(pc.any(differs).as_py())


def warn_of_losses(source: pa.Schema, target: pa.Schema, what: str) -> None:
    """Warn once about the columns whose values may lose digits in a cast.

    This warning does not cover values that would change by more than rounding, because these are
    rejected individually.

    Args:
        source: schema of the rows.
        target: schema after the cast.
        what: the table, as the start of the message.
    """
    losses = []
    for field in target:
        index = source.get_field_index(field.name)
        if index >= 0 and (loss := _loss(source.field(index).type, field.type)):
            losses.append(f"{field.name} ({loss})")
    if losses:
        warnings.warn(f"{what}: digits may be lost in {', '.join(losses)}", stacklevel=3)


def loses_digits(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a cast may round or truncate values, at any depth."""
    return _loss(source, target) is not None


def _loss(source: pa.DataType, target: pa.DataType) -> str | None:
    """Return a description of the first cast that rounds, at any depth, or None."""
    for before, after in _leaves(source, target):
        rounds = (
            (is_.is_floating(before) and is_.is_floating(after) and _narrows(before, after))
            or (is_.is_decimal(before) and is_.is_floating(after))
            or (is_.is_floating(before) and is_.is_decimal(after))
            or (_is_timed(before) and _is_timed(after) and before.unit == "ns" != after.unit)
        )
        if rounds:
            return f"{before} to {after}"
    return None


def may_overflow(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a cast may turn a finite number into infinity."""
    return any(
        is_.is_floating(after) and (not is_.is_floating(before) or _narrows(before, after))
        for before, after in _leaves(source, target)
    )


def _narrows(source: pa.DataType, target: pa.DataType) -> bool:
    return bool(source.bit_width > target.bit_width)


def _leaves(source: pa.DataType, target: pa.DataType) -> Iterator[tuple[pa.DataType, pa.DataType]]:
    """Yield the pairs of non-nested types between which a cast converts."""
    if is_.is_dictionary(source):
        source = source.value_type
    if is_list(source) and is_list(target):
        yield from _leaves(source.value_type, target.value_type)
    elif is_.is_map(source) and is_.is_map(target):
        yield from _leaves(source.key_type, target.key_type)
        yield from _leaves(source.item_type, target.item_type)
    elif is_.is_struct(source) and is_.is_struct(target):
        for child in source:
            if target.get_field_index(child.name) >= 0:
                yield from _leaves(child.type, target.field(child.name).type)
    else:
        yield source, target


def _is_timed(kind: pa.DataType) -> bool:
    """Return whether the values of a type are expressed in units of time."""
    return bool(is_.is_timestamp(kind) or is_.is_duration(kind) or is_.is_time(kind))
