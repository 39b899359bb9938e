"""Types in JSON schemas: written with the names in rest.yaml, read with Lance's names too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace
from lance.schema import schema_to_json
from lance_namespace import DescribeTableRequest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.tables.lance_types import sql_type_name, to_lance_schema
from lance_namespace_impls.tables.schema import (
    column_types,
    from_json_type,
    to_json_schema,
    unpack_decimal,
)

ITEM = {"name": "item", "nullable": True, "type": {"type": "float32"}}
ENTRY = {
    "type": "struct",
    "fields": [
        {"name": "key", "nullable": False, "type": {"type": "utf8"}},
        {"name": "value", "nullable": True, "type": {"type": "int8"}},
    ],
}
# Each Arrow type, its JSON, and Lance's name for it (None if there is no such name).
TYPES: list[tuple[pa.DataType, dict[str, Any], str | None]] = [
    (pa.null(), {"type": "null"}, "null"),
    (pa.bool_(), {"type": "bool"}, "bool"),
    (pa.int8(), {"type": "int8"}, "int8"),
    (pa.uint64(), {"type": "uint64"}, "uint64"),
    (pa.float16(), {"type": "float16"}, "halffloat"),
    (pa.float32(), {"type": "float32"}, "float"),
    (pa.float64(), {"type": "float64"}, "double"),
    (pa.utf8(), {"type": "utf8"}, "string"),
    (pa.large_utf8(), {"type": "large_utf8"}, "large_string"),
    (pa.binary(), {"type": "binary"}, "binary"),
    (pa.large_binary(), {"type": "large_binary"}, "large_binary"),
    (pa.binary(4), {"type": "fixed_size_binary", "length": 4}, None),
    (pa.date32(), {"type": "date32"}, "date32:day"),
    (pa.date64(), {"type": "date64"}, "date64:ms"),
    (pa.time32("s"), {"type": "time32", "unit": "s"}, "time32:s"),
    (pa.time32("ms"), {"type": "time32", "unit": "ms"}, "time32:ms"),
    (pa.time64("ns"), {"type": "time64", "unit": "ns"}, "time64:ns"),
    (pa.timestamp("us"), {"type": "timestamp", "unit": "us"}, "timestamp:us:-"),
    (
        pa.timestamp("ns", "Europe/Berlin"),
        {"type": "timestamp", "unit": "ns", "timezone": "Europe/Berlin"},
        "timestamp:ns:Europe/Berlin",
    ),
    (pa.duration("ms"), {"type": "duration", "unit": "ms"}, "duration:ms"),
    (pa.decimal128(10, 2), {"type": "decimal128", "length": 10002}, "decimal:128:10:2"),
    (pa.decimal128(10, -2), {"type": "decimal128", "length": 9998}, "decimal:128:10:-2"),
    (pa.decimal256(50, 3), {"type": "decimal256", "length": 50003}, "decimal:256:50:3"),
    (
        pa.dictionary(pa.int16(), pa.utf8()),
        {"type": "utf8", "index_type": "int16"},
        "dict:string:int16:false",
    ),
    (pa.list_(pa.float32()), {"type": "list", "fields": [ITEM]}, None),
    (pa.large_list(pa.float32()), {"type": "large_list", "fields": [ITEM]}, None),
    (pa.list_(pa.float32(), 3), {"type": "fixed_size_list", "fields": [ITEM], "length": 3}, None),
    (
        pa.map_(pa.utf8(), pa.int8()),
        {"type": "map", "fields": [{"name": "entries", "nullable": False, "type": ENTRY}]},
        None,
    ),
]
NAMED = [pytest.param(*row, id=str(row[0])) for row in TYPES]


@pytest.mark.parametrize(("kind", "written", "of_lance"), NAMED)
def test_a_type_is_written_with_arrows_name_and_read_with_either(
    kind: pa.DataType, written: dict[str, Any], of_lance: str | None
) -> None:
    schema = to_json_schema(pa.schema([pa.field("x", kind)]))
    assert schema.fields[0].type.to_dict() == written
    assert from_json_type(written, "x") == kind
    if of_lance is not None:
        assert from_json_type({"type": of_lance}, "x") == kind


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (pa.timestamp("us"), {"type": "timestamp"}),
        (pa.duration("us"), {"type": "duration"}),
        (pa.time32("s"), {"type": "time32"}),
        (pa.time64("us"), {"type": "time64"}),
        (pa.bool_(), {"type": "Boolean"}),
        (pa.uint16(), {"type": "UINT16"}),
        (pa.large_binary(), {"type": "LARGE_BINARY"}),
        (pa.large_utf8(), {"type": "largeutf8"}),
        (pa.list_(pa.float32(), 2), {"type": "fixedsizelist", "fields": [ITEM], "length": 2}),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_types_as_other_writers_write_them_are_read(
    kind: pa.DataType, written: dict[str, Any]
) -> None:
    assert from_json_type(written, "x") == kind


def test_described_types_equal_those_of_pylances_namespace(tmp_path: Path) -> None:
    lance_types = [
        row for row in TYPES if not pa.types.is_map(row[0]) and not pa.types.is_null(row[0])
    ]
    schema = pa.schema([(f"c{n}", kind) for n, (kind, _, _) in enumerate(lance_types)])
    lance.write_dataset(schema.empty_table(), tmp_path / "t.lance")
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        ours = namespace.describe_table({"id": ["t"], "load_detailed_metadata": True}).schema
    theirs = DirectoryNamespace(root=str(tmp_path)).describe_table(
        DescribeTableRequest(id=["t"], load_detailed_metadata=True)
    )
    own = {"unit", "timezone", "index_type"}  # pylance omits these
    assert ours is not None
    assert [without(field.type.to_dict(), own) for field in ours.fields] == [
        field.type.to_dict() for field in theirs.var_schema.fields
    ]


def without(kind: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in kind.items() if key not in keys}


UNITS = ("s", "ms", "us", "ns")
OF_TIME = [
    *(pa.time32(unit) for unit in UNITS[:2]),
    *(pa.time64(unit) for unit in UNITS[2:]),
    *(make(unit) for make in (pa.timestamp, pa.duration) for unit in UNITS),
    *(pa.timestamp(unit, "UTC") for unit in UNITS),
]
STRUCT = pa.struct([
    pa.field("a", pa.int32(), nullable=False, metadata={"unit": "m"}),
    pa.field("b", pa.list_(pa.field("item", pa.timestamp("ms"), nullable=False))),
])  # fmt: skip
EVERY_KIND = [*(row[0] for row in TYPES), *OF_TIME, pa.struct([("a", pa.int8()), ("b", STRUCT)])]


@pytest.mark.parametrize(
    "kind", [kind for kind in EVERY_KIND if not pa.types.is_map(kind)], ids=str
)
def test_a_schema_for_lance_equals_the_one_that_lance_writes(kind: pa.DataType) -> None:
    field = pa.field("x", kind, nullable=pa.types.is_null(kind), metadata={"comment": "of x"})
    schema = pa.schema([field, pa.field("y", kind)], metadata={"owner": "me"})
    assert to_lance_schema(to_json_schema(schema)) == schema_to_json(schema)


@pytest.mark.parametrize("kind", EVERY_KIND, ids=str)
def test_lance_reads_the_sql_name_of_a_type_as_this_type(kind: pa.DataType) -> None:
    dataset = lance.write_dataset(pa.table({"a": [1]}), "memory://")
    try:
        named = sql_type_name(kind)
    except InvalidInputError:
        assert pa.types.is_map(kind)
        return
    found = dataset.to_table(columns={"a": "a", "x": f"arrow_cast(NULL, '{named}')"})
    # Lance's SQL has no syntax for fields that cannot be null, nor for the metadata of fields.
    assert str(found.schema.field("x").type) == str(kind).replace(" not null", "")


SHOWN = [
    (pa.int64(), "int64"),
    (pa.utf8(), "utf8"),
    (pa.list_(pa.float32(), 768), "fixed_size_list<float32>[768]"),
    (pa.list_(pa.list_(pa.float32(), 2)), "list<fixed_size_list<float32>[2]>"),
    (pa.binary(4), "fixed_size_binary[4]"),
    (pa.decimal128(10, 2), "decimal128[10, 2]"),
    (pa.decimal256(50, -3), "decimal256[50, -3]"),
    (pa.timestamp("us"), "timestamp[us]"),
    (pa.timestamp("ns", "UTC"), "timestamp[ns, UTC]"),
    (pa.struct([("a", pa.int8()), ("b", pa.duration("s"))]), "struct<a: int8, b: duration[s]>"),
    (pa.map_(pa.utf8(), pa.int8()), "map<struct<key: utf8, value: int8>>"),
    (pa.dictionary(pa.int16(), pa.utf8()), "dictionary<int16, utf8>"),
    (pa.dictionary(pa.int8(), pa.binary(2)), "dictionary<int8, fixed_size_binary[2]>"),
    (pa.json_(), "utf8"),
    (pa.string_view(), "utf8"),
    (pa.binary_view(), "binary"),
    (pa.struct([]), "struct"),
]


@pytest.mark.parametrize(("kind", "shown"), SHOWN, ids=[shown for _, shown in SHOWN])
def test_human_readable_types(kind: pa.DataType, shown: str) -> None:
    assert column_types(pa.schema([("x", kind), ("y", pa.bool_())])) == {"x": shown, "y": "bool"}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"type": "utf9"}, "x: unknown type 'utf9': "),
        ({"type": "timestamp", "unit": "h"}, "x: invalid type timestamp: "),
        ({"type": "time32", "unit": "ns"}, "x: "),
        ({"type": "decimal128", "length": 99_002}, "x: "),
        ({"type": "utf8", "index_type": "utf8"}, "x: "),
        ({"type": "decimal128"}, "x: type decimal128 needs a length"),
        ({"type": "fixed_size_binary"}, "x: type fixed_size_binary needs a length"),
        ({"type": "fixed_size_list", "fields": [ITEM]}, "x: type fixed_size_list needs a length"),
        ({"type": "fixed_size_list", "fields": [ITEM], "length": 2**40}, "x: invalid type fixed"),
        ({"type": "fixed_size_binary", "length": 2**40}, "x: invalid type fixed_size_binary: "),
        ({"type": "list"}, "x: type list needs exactly one field, not 0"),
        ({"type": "large_list", "fields": [ITEM, ITEM]}, "x: type large_list needs exactly one field, not 2"),
        ({"type": "map", "fields": [ITEM]}, "x: the entries of a map must be a struct of key and value"),
        ({"type": "map", "fields": [{**ITEM, "type": {"type": "struct", "fields": [ITEM]}}]},
         "x: the entries of a map must be"),
        ({"type": "struct", "fields": [{**ITEM, "type": {"type": "list"}}]},
         "x.item: type list needs exactly one field"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_an_invalid_type_is_explained(written: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        from_json_type(written, "x")
    assert caught.value.message.startswith(said)


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (38, 38), (10, -128), (76, 127), (5, -1)])
def test_the_length_of_a_decimal_contains_precision_and_scale(precision: int, scale: int) -> None:
    assert unpack_decimal(precision * 1000 + scale) == (precision, scale)
