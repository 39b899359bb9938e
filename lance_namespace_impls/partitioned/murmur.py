"""The Murmur3 hashes of the bucket transforms.

The hash is murmur3_x86_32 with seed 0. Equal values must have the same hash even if their types
have different widths, so integers, dates and times are hashed as 64-bit integers.

Source: the Iceberg table specification, "Appendix B: 32-bit Hash Requirements".
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

from ..core.imports import load

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["buckets", "can_hash"]

_LAST_SIGNED = (1 << 63) - 1


def can_hash(kind: pa.DataType) -> bool:
    """Return whether values of a type can be hashed."""
    return _encoder(kind) is not None


def buckets(columns: list[pa.Array], count: int) -> pa.Array:
    """Return the bucket of each row: the absolute value of its hash modulo the number of buckets.

    Null values are skipped; a row in which all values are null has a null bucket.

    Args:
        columns: the columns to hash, all of the same length.
        count: number of buckets.

    Returns:
        an int32 array.

    Raises:
        InvalidInputError: code 13, values of a column's type cannot be hashed.
    """
    np, pa = load("numpy"), load("pyarrow")
    mmh3 = load("mmh3")

    codes, encoded = [], []
    for column in columns:
        values = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        parts = values.dictionary_encode()
        encoded.append([*_encoded(parts.dictionary), b""])
        # The last entry represents null, which adds no bytes.
        code = parts.indices.fill_null(len(parts.dictionary)).to_numpy(zero_copy_only=False)
        codes.append(code.astype(np.int64))
    # Each combination of values is hashed once.
    combined = codes[0]
    for place in range(1, len(codes)):
        # Renumbering keeps the product of the numbers of distinct values within 64 bits.
        _, combined = np.unique(combined, return_inverse=True)
        combined = combined * len(encoded[place]) + codes[place]
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    results: list[int | None] = []
    for row in first.tolist():
        entries = [int(code[row]) for code in codes]
        if all(entry == len(known) - 1 for entry, known in zip(entries, encoded, strict=True)):
            results.append(None)
            continue
        data = b"".join(known[entry] for entry, known in zip(entries, encoded, strict=True))
        results.append(abs(mmh3.hash(data, 0, signed=True)) % count)
    return pa.array(results, pa.int32()).take(pa.array(inverse.reshape(-1)))


def _encoded(values: pa.Array) -> list[bytes]:
    """Return the bytes to hash for each value; there are no nulls."""
    encode = _encoder(values.type)
    if encode is None:
        raise InvalidInputError(
            f"values of type {values.type} cannot be hashed; partition by another column or "
            "transform"
        )
    return encode(values)


def _encoder(kind: pa.DataType) -> Callable[[pa.Array], list[bytes]] | None:
    """Return the function that converts values to the bytes to hash, or None if there is none."""
    is_ = load("pyarrow").types
    if is_.is_dictionary(kind):
        return _encoder(kind.value_type)
    rules: tuple[tuple[bool, Callable[[pa.Array], list[bytes]]], ...] = (
        (is_.is_boolean(kind) or is_.is_integer(kind), _integers),
        (is_.is_date(kind), _days),
        (is_.is_timestamp(kind) or is_.is_time(kind) or is_.is_duration(kind), _microseconds),
        (is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind), _texts),
        (
            is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_fixed_size_binary(kind),
            _bytes,
        ),
        (is_.is_floating(kind), _floats),
        (is_.is_decimal(kind), _decimals),
    )
    return next((encode for matches, encode in rules if matches), None)


def _packed(numbers: list[Any]) -> list[bytes]:
    return [struct.pack("<Q" if n > _LAST_SIGNED else "<q", n) for n in numbers]


def _integers(values: pa.Array) -> list[bytes]:
    return _packed([int(value) for value in values.to_pylist()])


def _days(values: pa.Array) -> list[bytes]:
    pa = load("pyarrow")
    return _packed(values.cast(pa.date32(), safe=False).cast(pa.int32()).to_pylist())


def _microseconds(values: pa.Array) -> list[bytes]:
    pa = load("pyarrow")
    kind = values.type
    width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    scale, divisor = {"s": (1_000_000, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}[
        kind.unit
    ]
    # Python's division rounds down, as required for times before 1970, and its integers do not
    # overflow.
    return _packed([_wrapped(n * scale // divisor) for n in values.cast(width).to_pylist()])


def _wrapped(number: int) -> int:
    """Wrap a number to a 64-bit integer; only times after the year 290,000 exceed this range."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _texts(values: pa.Array) -> list[bytes]:
    return [value.encode() for value in values.to_pylist()]


def _bytes(values: pa.Array) -> list[bytes]:
    return list(values.to_pylist())


def _floats(values: pa.Array) -> list[bytes]:
    # All zeros are hashed as the same value, and so are all NaNs.
    return [
        struct.pack("<d", value + 0.0 if value == value else float("nan"))
        for value in values.cast(load("pyarrow").float64()).to_pylist()
    ]


def _decimals(values: pa.Array) -> list[bytes]:
    scale = values.type.scale
    return [_shortest(value, scale) for value in values.to_pylist()]


def _shortest(value: Decimal, scale: int) -> bytes:
    """Return the unscaled value as the shortest big-endian two's complement number."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled: int = int("".join(map(str, digits)) or "0") * 10 ** (exponent + scale)
    unscaled = -unscaled if sign else unscaled
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length() + 1
    return unscaled.to_bytes(-(-bits // 8), "big", signed=True)
