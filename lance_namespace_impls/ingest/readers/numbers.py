"""Finds the types of number columns in text files, so that no digit is lost.

During inspection, a type represents the numbers seen so far. A double "reproduces" a number if it
keeps every digit of the number:

| type | numbers |
|---|---|
| int32 | integers of up to 64 bits; a double reproduces all |
| int64 | integers of up to 64 bits |
| decimal256(p, 0) | integers, some beyond 64 bits; a double reproduces all |
| decimal128(p, 0) | integers, some beyond 64 bits |
| double | a double reproduces all |
| `MIXED` | a double would round some, and not all are integers |

`settled` returns the column type of the table.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types as is_

from lance_namespace_client.errors import TableSchemaValidationError

__all__ = [
    "EXACT",
    "MIXED",
    "first_lost",
    "given_back",
    "has_mixed",
    "is_given_back",
    "lost",
    "may_differ",
    "numbers_in",
    "rounded",
    "settled",
    "shown",
    "unify",
    "whole_numbers",
]

EXACT = pa.int32()
MIXED = pa.decimal256(76, -1)  # no file has this type: its scale is negative
MAX_EXACT = 2**53
INT64_DIGITS = 19
MAX_DIGITS = 38
DOUBLE_DIGITS = 15
"""Maximum number of decimal digits that the nearest double always reproduces."""

# Leading zeros, a plus sign or 0x: a number would not reproduce this text.
_NO_NUMBER = r"^(\+|-?0[0-9xX])"
_MINUS_ZERO = r"^-0*\.?0*([eE].*)?$"  # only floating-point types keep the sign
_WHOLE = r"^-?[0-9]+$"
_LONG = rf"[0-9][0-9.]{{{DOUBLE_DIGITS},}}|[eE]"
_PREFIXED = re.compile(_NO_NUMBER)
_MANTISSA = re.compile(r"-?([0-9.]+)")


def unify(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """Return the common type of two number types; None if either is not a number type."""
    if not (_is_number(one) and _is_number(other)):
        return None
    if one == other:
        return one
    if MIXED in (one, other):
        return MIXED
    exact = _is_exact(one) and _is_exact(other)
    if is_.is_floating(one) or is_.is_floating(other):
        return pa.float64() if exact else MIXED
    digits = [kind.precision for kind in (one, other) if is_.is_decimal(kind)]
    if not digits:
        return EXACT if exact else pa.int64()
    return (pa.decimal256 if exact else pa.decimal128)(max(digits), 0)


def settled(kind: pa.DataType) -> pa.DataType:
    """Return the column type of a table for a number type of the inspection."""
    if is_.is_decimal256(kind) and kind != MIXED:
        return pa.decimal128(kind.precision, 0)
    return pa.int64() if kind == EXACT else kind


def has_mixed(kind: pa.DataType) -> bool:
    """Return whether a type is `MIXED` or contains it."""
    if is_.is_nested(kind):
        return any(has_mixed(kind.field(index).type) for index in range(kind.num_fields))
    return bool(kind == MIXED)


def shown(kind: pa.DataType) -> str:
    """Return the name of a type for messages."""
    return str(kind).replace(str(MIXED), "number")


def _is_number(kind: pa.DataType) -> bool:
    return kind in (EXACT, pa.int64(), pa.float64(), MIXED) or (
        bool(is_.is_decimal(kind)) and kind.scale == 0
    )


def _is_exact(kind: pa.DataType) -> bool:
    """Return whether a double reproduces every digit of the numbers of a type."""
    return kind == EXACT or bool(is_.is_floating(kind) or is_.is_decimal256(kind))


def whole_numbers(values: pa.Array) -> pa.DataType:
    """Return the type for numbers that were read as int64."""
    large = values.filter(
        pc.or_(pc.greater(values, MAX_EXACT), pc.less(values, -MAX_EXACT)),
    )
    return EXACT if given_back(large.cast(pa.string())) else pa.int64()


def numbers_in(text: pa.Array, values: pa.Array) -> pa.DataType:
    """Return the type for texts that Arrow reads as numbers.

    It is string if the conversion of any text to a number would lose information.

    Args:
        text: texts in the file.
        values: Arrow's values for them, int64 or double.
    """
    other = _not_literally(text, values)
    if len(other) and pc.any(pc.match_substring_regex(other, _NO_NUMBER)).as_py():
        return pa.string()
    if is_.is_integer(values.type):
        # The remaining texts are -0, which only floating-point types represent.
        return unify(whole_numbers(values), pa.float64()) if len(other) else whole_numbers(values)
    return _doubles(text, values, other)


def _not_literally(text: pa.Array, values: pa.Array) -> pa.Array:
    """Return the trimmed texts that differ from the number as Arrow formats it."""
    written = values.cast(pa.string())
    other = text.filter(pc.not_equal(text, written))
    if not len(other):
        return other
    trimmed = pc.utf8_trim_whitespace(other)
    return trimmed.filter(
        pc.not_equal(trimmed, written.filter(pc.not_equal(text, written))),
    )


def _doubles(text: pa.Array, values: pa.Array, other: pa.Array) -> pa.DataType:
    long = other.filter(pc.match_substring_regex(other, _LONG))
    exact = given_back(long)
    largest = pc.max(pc.abs(values)).as_py()
    if exact and (largest is None or largest <= MAX_EXACT):
        return pa.float64()
    trimmed = pc.utf8_trim_whitespace(text)
    signed = pc.any(pc.match_substring_regex(trimmed, _MINUS_ZERO)).as_py()
    if not signed and pc.all(pc.match_substring_regex(trimmed, _WHOLE)).as_py():
        digits = max(pc.max(pc.utf8_length(pc.utf8_ltrim(trimmed, "-"))).as_py(), INT64_DIGITS)
        if digits <= MAX_DIGITS:
            return (pa.decimal256 if exact else pa.decimal128)(digits, 0)
    return pa.float64() if exact else MIXED


def may_differ(kind: pa.DataType) -> bool:
    """Return whether values of a type may differ from the texts they are read from."""
    if is_.is_dictionary(kind):
        kind = kind.value_type
    return bool(is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind))


def lost(column: str, row: int, text: str, kind: pa.DataType) -> TableSchemaValidationError:
    """Return the error for a number that a column would change."""
    return TableSchemaValidationError(
        f"column {column}: row {row} has {text if len(text) < 80 else text[:77] + '...'}, "
        f"which {kind} cannot represent exactly; the option types={column}:{kind} "
        "accepts the loss"
    )


def first_lost(texts: pa.Array, values: pa.Array, *, exact: bool) -> int | None:
    """Return the index of the first text that its number does not reproduce, or None.

    Args:
        texts: the texts in the file.
        values: the numbers read from them.
        exact: whether all digits must be kept; otherwise only numbers that became infinite count.
    """
    if is_.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if exact and is_.is_decimal(kind):
        changed = f"{_NO_NUMBER}|{_MINUS_ZERO}"
        differ = pc.match_substring_regex(pc.utf8_trim_whitespace(texts), changed)
    elif exact:
        differ = pc.not_equal(pc.utf8_trim_whitespace(texts), _as_texts(values))
    else:
        differ = pc.is_inf(values)
    rows = pc.indices_nonzero(pc.fill_null(pc.and_(differ, values.is_valid()), False))
    if exact and is_.is_floating(kind):
        found = texts.take(rows)
        bad = [text for text in pc.unique(found).to_pylist() if not is_given_back(text, kind)]
        rows = rows.filter(pc.is_in(found, pa.array(bad, found.type)))
    elif not exact:
        trimmed = pc.utf8_trim_whitespace(texts.take(rows))
        rows = rows.filter(pc.match_substring_regex(trimmed, r"^[+-]?[0-9.]"))
    return rows[0].as_py() if len(rows) else None


def _as_texts(values: pa.Array) -> pa.Array:
    """Return numbers as texts in Arrow's format."""
    wide = pa.float32() if is_.is_float16(values.type) else values.type
    return values.cast(wide).cast(pa.string())


def is_given_back(text: str, kind: pa.DataType) -> bool:
    """Return whether a floating-point type reproduces the number in a text."""
    text = text.strip()
    return not _PREFIXED.match(text) and _is_given_back(text, rounded(float(text), kind))


def rounded(value: float, kind: pa.DataType) -> float:
    """Round a number to the nearest value of a floating-point type."""
    if is_.is_float64(kind):
        return value
    with np.errstate(over="ignore"):
        return float((np.float32 if is_.is_float32(kind) else np.float16)(value))


def given_back(texts: pa.Array) -> bool:
    """Return whether the nearest double reproduces all digits of every number."""
    texts = pc.unique(texts)
    shortest = texts.cast(pa.float64()).cast(pa.string())
    differing = texts.filter(pc.not_equal(texts, shortest)).to_pylist()
    return all(_is_given_back(text, float(text)) for text in differing)


def _is_given_back(text: str, value: float) -> bool:
    mantissa = _MANTISSA.match(text)
    if mantissa is None:  # nan, inf
        return True
    digits = mantissa[1].replace(".", "").lstrip("0")
    if not digits:
        return True
    if value == 0 or math.isinf(value):
        return False
    written = f"{abs(value):.{len(digits) - 1}e}"
    return written[0] + written[2 : len(digits) + 1] == digits
