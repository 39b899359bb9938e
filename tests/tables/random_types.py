"""Random Arrow types and arrays of them, for tests that write and read back."""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

__all__ = ["normal", "random_array", "random_table", "random_type", "stored_type"]

PLAIN = (
    *(getattr(pa, f"{sign}int{size}")() for sign in ("", "u") for size in (8, 16, 32, 64)),
    pa.null(),
    pa.bool_(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.utf8(),
    pa.large_utf8(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(0),
    pa.binary(1),
    pa.binary(7),
    pa.binary(16),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
    pa.timestamp("us", "+02:00"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    pa.decimal128(5, 2),
    pa.decimal128(38, -2),
    pa.decimal256(50, 3),
    pa.uuid(),
    pa.bool8(),
    pa.opaque(pa.int32(), "kind", "vendor"),
    pa.json_(pa.utf8()),
)
ODD = (
    pa.decimal32(5, 2),
    pa.decimal64(5, 2),
    pa.month_day_nano_interval(),
    pa.struct([]),
    pa.list_(pa.int32(), 0),
    pa.run_end_encoded(pa.int32(), pa.int64()),
    pa.list_view(pa.int64()),
    pa.large_list_view(pa.utf8()),
    pa.sparse_union([pa.field("a", pa.int64())]),
    pa.dense_union([pa.field("a", pa.int64())]),
    pa.json_(pa.string_view()),
    pa.json_(pa.large_utf8()),
)
INDICES = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())
NAMES = ("a", "b", "item", "A", "a b", "key", "ü", "x.y")


def random_type(rng: Random, depth: int = 3) -> pa.DataType:
    """Return a random type of at most this nesting depth; Lance cannot store some of them."""
    choice = rng.random()
    if choice < 0.03:
        return rng.choice(ODD)
    if depth == 0 or choice < 0.4:
        return rng.choice(PLAIN)
    kind = rng.randrange(7)
    if kind == 0:
        return pa.list_(_field(rng, "item", depth))
    if kind == 1:
        return pa.large_list(_field(rng, "item", depth))
    if kind == 2:
        return pa.list_(_field(rng, "item", depth), rng.choice((1, 2, 3, 9)))
    if kind == 3:
        key_type = random_type(rng, depth - 1)
        key = pa.field("key", pa.utf8() if _is_all_null(key_type) else key_type, nullable=False)
        return pa.map_(key, _field(rng, "value", depth), keys_sorted=rng.random() < 0.05)
    if kind == 4:
        index = rng.choice(INDICES)
        values = rng.choice(PLAIN) if rng.random() < 0.9 else random_type(rng, depth - 1)
        # pyarrow writes dictionaries of both kinds to streams that it cannot read back.
        while isinstance(values, pa.BaseExtensionType) or pa.types.is_dictionary(values):
            is_extension = isinstance(values, pa.BaseExtensionType)
            values = values.storage_type if is_extension else values.value_type
        try:
            return pa.dictionary(index, values, ordered=rng.random() < 0.2)
        except (pa.ArrowException, TypeError):
            return values
    names = rng.sample(NAMES, rng.randint(1, 4))
    return pa.struct([_field(rng, name, depth) for name in names])


def _field(rng: Random, name: str, depth: int) -> pa.Field:
    kind = random_type(rng, depth - 1)
    return pa.field(name, kind, nullable=rng.random() < 0.8 or _is_all_null(kind))


def _is_all_null(kind: pa.DataType) -> bool:
    return pa.types.is_null(kind) or kind in ODD


def _mask(rng: Random, count: int, nullable: bool) -> pa.Array:
    share = rng.choice((0.0, 0.3, 1.0)) if nullable else 0.0
    return pa.array([rng.random() < share for _ in range(count)], pa.bool_())


def random_array(rng: Random, kind: pa.DataType, count: int, nullable: bool = True) -> pa.Array:
    """Return an array of `count` random values of a type."""
    is_ = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.json":
            gaps = _mask(rng, count, nullable).to_pylist()
            texts = [None if gap else json.dumps(_json(rng)) for gap in gaps]
            return pa.ExtensionArray.from_storage(kind, pa.array(texts, kind.storage_type))
        storage = random_array(rng, kind.storage_type, count, nullable)
        return pa.ExtensionArray.from_storage(kind, storage)
    mask = _mask(rng, count, nullable)
    if is_.is_struct(kind) and kind.num_fields:
        children = [random_array(rng, field.type, count, field.nullable) for field in kind]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)
    if is_.is_fixed_size_list(kind) and kind.list_size:
        values = random_array(
            rng, kind.value_type, count * kind.list_size, kind.value_field.nullable
        )
        return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=mask)
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_map(kind):
        lengths = [rng.choice((0, 0, 1, 2, 5)) for _ in range(count)]
        offsets = [0]
        for length in lengths:
            offsets.append(offsets[-1] + length)
        if is_.is_map(kind):
            keys = random_array(rng, kind.key_type, offsets[-1], False)
            items = random_array(rng, kind.item_type, offsets[-1], kind.item_field.nullable)
            return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, type=kind)
        values = random_array(rng, kind.value_type, offsets[-1], kind.value_field.nullable)
        cls = pa.LargeListArray if is_.is_large_list(kind) else pa.ListArray
        width = pa.int64() if is_.is_large_list(kind) else pa.int32()
        return cls.from_arrays(pa.array(offsets, width), values, type=kind, mask=mask)
    if is_.is_dictionary(kind):
        size = rng.randint(1, 5)
        values = random_array(rng, kind.value_type, size, False)
        indices = [None if gap else rng.randrange(size) for gap in mask.to_pylist()]
        index = pa.array(indices, kind.index_type)
        return pa.DictionaryArray.from_arrays(index, values, ordered=kind.ordered)
    if is_.is_null(kind) or kind in ODD:
        return pa.nulls(count, kind)
    if is_.is_decimal(kind):
        numbers = [None if gap else Decimal(rng.randrange(-9, 9) * 100) for gap in mask.to_pylist()]
        return pa.array(numbers, kind)
    return _plain(rng, kind, mask.to_pylist())


def _json(rng: Random) -> Any:
    return rng.choice((None, 1, -2.5, "text", [1, [2]], {"a": {"b": [1]}}, [], {}))


def _plain(rng: Random, kind: pa.DataType, mask: list[bool]) -> pa.Array:
    is_ = pa.types

    def value() -> Any:
        if is_.is_boolean(kind):
            return rng.random() < 0.5
        if is_.is_fixed_size_binary(kind):
            return rng.randbytes(kind.byte_width)
        if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
            return "".join(rng.choice("aé€𝄞\0 ") for _ in range(rng.choice((0, 1, 12, 13, 40))))
        if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind):
            return rng.randbytes(rng.choice((0, 1, 12, 13, 40)))
        if is_.is_time32(kind) or is_.is_time64(kind):
            return 1000 * rng.randrange(80)
        if is_.is_date64(kind):
            return 86_400_000 * rng.randrange(-1000, 1000)
        if is_.is_temporal(kind):
            return (1 if is_.is_date32(kind) else 1000) * rng.randrange(-1000, 1000)
        return rng.randrange(0, 100)

    values = [None if gap else value() for gap in mask]
    if is_.is_float16(kind):
        return pa.array(values, pa.float32()).cast(kind)
    return pa.array(values, kind)


def random_table(rng: Random) -> pa.Table:
    """Return a table of random columns between two plain ones; chunks may be sliced or empty."""
    fields = [pa.field("before", pa.int64())]
    for number in range(rng.randint(1, 3)):
        kind = random_type(rng)
        nullable = rng.random() < 0.9 or _is_all_null(kind)
        fields.append(pa.field(f"c{number}", kind, nullable=nullable))
    fields.append(pa.field("after", pa.utf8()))
    schema = pa.schema(fields)
    batches = []
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        count = rng.choice((0, 1, 2, 7, 100))
        extra = rng.choice((0, 0, 3))
        arrays = [random_array(rng, field.type, count + extra, field.nullable) for field in schema]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema).slice(extra // 2, count))
    return pa.Table.from_batches(batches, schema)


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which Lance returns values.

    Views become plain values and dictionaries unordered; JSON is UTF-8; the items of fixed-size lists
    are nullable and named "item".
    """
    is_ = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return pa.json_(pa.utf8()) if kind.extension_name == "arrow.json" else kind
    if is_.is_string_view(kind):
        return pa.utf8()
    if is_.is_binary_view(kind):
        return pa.binary()
    if is_.is_dictionary(kind):
        return pa.dictionary(kind.index_type, stored_type(kind.value_type))
    if is_.is_struct(kind):
        return pa.struct([_stored(field) for field in kind])
    if is_.is_map(kind):
        return pa.map_(_stored(kind.key_field), _stored(kind.item_field))
    if is_.is_fixed_size_list(kind):
        return pa.list_(stored_type(kind.value_type), kind.list_size)
    if is_.is_large_list(kind):
        return pa.large_list(_stored(kind.value_field))
    if is_.is_list(kind):
        return pa.list_(_stored(kind.value_field))
    return kind


def _stored(field: pa.Field) -> pa.Field:
    return field.with_type(stored_type(field.type))


def normal(kind: pa.DataType, value: Any) -> Any:
    """Return a value in a comparable form: JSON text is parsed, because its layout may differ."""
    is_ = pa.types
    if value is None:
        return None
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.json":
            return json.loads(value)
        return value
    if is_.is_struct(kind):
        return {field.name: normal(field.type, value[field.name]) for field in kind}
    if is_.is_map(kind):
        return [(normal(kind.key_type, key), normal(kind.item_type, item)) for key, item in value]
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        return [normal(kind.value_type, each) for each in value]
    return value
