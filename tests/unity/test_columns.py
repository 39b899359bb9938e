from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_namespace_impls.tables.schema import to_json_schema
from lance_namespace_impls.unity.columns import to_arrow, to_columns, to_json

# Arrow type, Unity type name, DDL, and the Arrow type of a column without our metadata.
MAPPING: list[tuple[pa.DataType, str, str, pa.DataType]] = [
    (pa.null(), "NULL", "void", pa.null()),
    (pa.bool_(), "BOOLEAN", "boolean", pa.bool_()),
    (pa.int8(), "BYTE", "tinyint", pa.int8()),
    (pa.int16(), "SHORT", "smallint", pa.int16()),
    (pa.int32(), "INT", "int", pa.int32()),
    (pa.int64(), "LONG", "bigint", pa.int64()),
    (pa.uint8(), "SHORT", "smallint", pa.int16()),
    (pa.uint16(), "INT", "int", pa.int32()),
    (pa.uint32(), "LONG", "bigint", pa.int64()),
    (pa.uint64(), "DECIMAL", "decimal(20,0)", pa.decimal128(20, 0)),
    (pa.float16(), "FLOAT", "float", pa.float32()),
    (pa.float32(), "FLOAT", "float", pa.float32()),
    (pa.float64(), "DOUBLE", "double", pa.float64()),
    (pa.string(), "STRING", "string", pa.string()),
    (pa.large_string(), "STRING", "string", pa.string()),
    (pa.string_view(), "STRING", "string", pa.string()),
    (pa.binary(), "BINARY", "binary", pa.binary()),
    (pa.large_binary(), "BINARY", "binary", pa.binary()),
    (pa.binary_view(), "BINARY", "binary", pa.binary()),
    (pa.binary(4), "BINARY", "binary", pa.binary()),
    (pa.date32(), "DATE", "date", pa.date32()),
    (pa.date64(), "DATE", "date", pa.date32()),
    (pa.time32("ms"), "LONG", "bigint", pa.int64()),
    (pa.time64("ns"), "LONG", "bigint", pa.int64()),
    (pa.timestamp("ns"), "TIMESTAMP_NTZ", "timestamp_ntz", pa.timestamp("us")),
    (pa.timestamp("s", "UTC"), "TIMESTAMP", "timestamp", pa.timestamp("us", "UTC")),
    (pa.duration("ms"), "INTERVAL", "interval day to second", pa.duration("us")),
    (pa.month_day_nano_interval(), "INTERVAL", "interval", pa.month_day_nano_interval()),
    (pa.decimal32(5, 2), "DECIMAL", "decimal(5,2)", pa.decimal128(5, 2)),
    (pa.decimal64(12, 2), "DECIMAL", "decimal(12,2)", pa.decimal128(12, 2)),
    (pa.decimal128(38, 10), "DECIMAL", "decimal(38,10)", pa.decimal128(38, 10)),
    (pa.decimal256(20, 3), "DECIMAL", "decimal(20,3)", pa.decimal128(20, 3)),
    (pa.decimal256(50, 3), "STRING", "string", pa.string()),
    (pa.decimal128(5, -2), "STRING", "string", pa.string()),
    (pa.list_(pa.int32()), "ARRAY", "array<int>", pa.list_(pa.int32())),
    (pa.large_list(pa.string()), "ARRAY", "array<string>", pa.list_(pa.string())),
    (pa.list_view(pa.int32()), "ARRAY", "array<int>", pa.list_(pa.int32())),
    (pa.large_list_view(pa.int32()), "ARRAY", "array<int>", pa.list_(pa.int32())),
    (pa.list_(pa.float32(), 768), "ARRAY", "array<float>", pa.list_(pa.float32())),
    (
        pa.struct([("a", pa.int32()), ("b c", pa.list_(pa.string()))]),
        "STRUCT",
        "struct<a:int,`b c`:array<string>>",
        pa.struct([("a", pa.int32()), ("b c", pa.list_(pa.string()))]),
    ),
    (
        pa.map_(pa.string(), pa.decimal128(7, 2)),
        "MAP",
        "map<string,decimal(7,2)>",
        pa.map_(pa.string(), pa.decimal128(7, 2)),
    ),
    (pa.dictionary(pa.int8(), pa.string()), "STRING", "string", pa.string()),
    (pa.run_end_encoded(pa.int32(), pa.int64()), "LONG", "bigint", pa.int64()),
    (pa.sparse_union([pa.field("a", pa.int32())]), "STRUCT", "struct<a:int>", pa.struct([("a", pa.int32())])),
    (pa.dense_union([pa.field("a", pa.int8())]), "STRUCT", "struct<a:tinyint>", pa.struct([("a", "i1")])),
    (pa.uuid(), "BINARY", "binary", pa.binary()),
    (pa.json_(), "STRING", "string", pa.string()),
    (pa.bool8(), "BYTE", "tinyint", pa.int8()),
    (pa.opaque(pa.binary(), "t", "v"), "BINARY", "binary", pa.binary()),
    (pa.fixed_shape_tensor(pa.float32(), [2, 2]), "ARRAY", "array<float>", pa.list_(pa.float32())),
]  # fmt: skip
IDS = [str(row[0]) for row in MAPPING]


def foreign(column: dict[str, Any], *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a column as other writers store it: without our metadata and without some fields."""
    described = json.loads(column["type_json"])
    described["metadata"] = {}
    return {
        key: value
        for key, value in {**column, "type_json": json.dumps(described)}.items()
        if key not in without
    }


@pytest.mark.requirement("unity-table-columns-types")
def test_every_arrow_type_is_covered() -> None:
    covered = {kind.id for kind, *_ in MAPPING}
    named = {
        getattr(pa.lib, name)
        for name in dir(pa.lib)
        if name.startswith("Type_") and isinstance(getattr(pa.lib, name), int)
    }
    # pyarrow cannot create year-month and day-time intervals.
    never = {pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME}
    assert named - never <= covered


@pytest.mark.parametrize(("kind", "type_name", "ddl", "_back"), MAPPING, ids=IDS)
def test_arrow_to_unity(kind: pa.DataType, type_name: str, ddl: str, _back: pa.DataType) -> None:
    (column,) = to_columns(pa.schema([pa.field("x", kind)]))
    assert (column["type_name"], column["type_text"]) == (type_name, ddl)
    assert (column["name"], column["position"], column["nullable"]) == ("x", 0, True)


@pytest.mark.requirement("unity-table-columns-types")
@pytest.mark.parametrize("kind", [row[0] for row in MAPPING], ids=IDS)
def test_our_columns_round_trip_exactly(kind: pa.DataType) -> None:
    schema = pa.schema([pa.field("x", kind, metadata={"unit": "m"}), pa.field("y", pa.int8())])
    back = to_arrow(to_columns(schema))
    assert back is not None
    assert back.equals(schema, check_metadata=True)


@pytest.mark.parametrize(("kind", "_name", "_ddl", "back"), MAPPING, ids=IDS)
@pytest.mark.parametrize("without", [(), ("type_json",)], ids=["type_json", "type_text"])
def test_columns_of_other_writers_get_a_matching_type(
    kind: pa.DataType, _name: str, _ddl: str, back: pa.DataType, without: tuple[str, ...]
) -> None:
    (column,) = to_columns(pa.schema([pa.field("x", kind)]))
    found = to_arrow([foreign(column, without=without)])
    assert found is not None
    assert found.field("x").type == back


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ({"type_name": "DECIMAL", "type_precision": 9, "type_scale": 2}, pa.decimal128(9, 2)),
        ({"type_name": "LONG"}, pa.int64()),
        ({"type_name": "CHAR"}, pa.string()),
        ({"type_text": "varchar(20)"}, pa.string()),
        ({"type_text": "DECIMAL(9, 2)"}, pa.decimal128(9, 2)),
        ({"type_text": "numeric"}, pa.decimal128(10, 0)),
        ({"type_text": "dec"}, pa.decimal128(10, 0)),
        ({"type_text": "decimal(9)"}, pa.decimal128(9, 0)),
        ({"type_text": "NUMERIC ( 9 , 3 )"}, pa.decimal128(9, 3)),
        ({"type_text": "decimal(38,38)"}, pa.decimal128(38, 38)),
        ({"type_text": "decimal(1)"}, pa.decimal128(1, 0)),
        ({"type_name": "DECIMAL"}, pa.decimal128(10, 0)),
        ({"type_name": "INTERVAL"}, pa.duration("us")),
        ({"type_text": "real"}, pa.float32()),
        ({"type_text": "null"}, pa.null()),
        ({"type_text": "timestamp_ltz"}, pa.timestamp("us", "UTC")),
        ({"type_text": "CHAR(3)"}, pa.string()),
        ({"type_text": "Byte"}, pa.int8()),
        ({"type_text": "struct<>"}, pa.struct([])),
        ({"type_text": "struct<a int, b string not null>"},
         pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string(), False)])),
        ({"type_json": '{"type":"map","keyType":"string","valueType":"long","valueContainsNull":false}'},
         pa.map_(pa.string(), pa.field("value", pa.int64(), False))),
        ({"type_json": '{"type":"map","keyType":"string","valueType":"long"}'},
         pa.map_(pa.string(), pa.int64())),
        ({"type_json": '{"type":"array","elementType":"double"}'}, pa.list_(pa.float64())),
        ({"type_json": "7", "type_text": "bigint"}, pa.int64()),
        ({"type_text": "map<string,array<struct<a:int,`b``c`:char(3)>>>"},
         pa.map_(pa.string(), pa.list_(pa.struct([("a", pa.int32()), ("b`c", pa.string())])))),
        ({"type_text": "struct<a:int not null,b:interval day to second>"},
         pa.struct([pa.field("a", pa.int32(), False), pa.field("b", pa.duration("us"))])),
        ({"type_json": '"long"'}, pa.int64()),
        ({"type_json": '{"type":"long"}'}, pa.int64()),
        ({"type_json": "long", "type_text": "bigint"}, pa.int64()),
        ({"type_json": '{"type":"array","elementType":"double","containsNull":false}'},
         pa.list_(pa.field("item", pa.float64(), False))),
    ],
)  # fmt: skip
def test_spellings_of_other_writers(column: dict[str, Any], kind: pa.DataType) -> None:
    found = to_arrow([{"name": "x", **column}])
    assert found is not None
    assert found.field("x").type == kind


@pytest.mark.parametrize(
    "column",
    [
        {"type_text": "variant"},
        {"type_text": "array<"},
        {"type_text": "map<string>"},
        {"type_text": "int extra>"},
        {"type_text": "decimal(99,0)"},
        {"type_text": "decimal(39,0)"},
        {"type_text": "decimal(0)"},
        {"type_text": "decimal(9"},
        {"type_text": "struct<a:int b:int>"},
        {"type_text": "struct<a:int"},
        {"type_text": "array"},
        {"type_text": "map<string,int,int>"},
        {"type_json": '{"type":"struct","fields":[{"name":"a","type":"long"}]}'},
        {"type_text": "interval year to month"},
        {"type_name": "USER_DEFINED_TYPE"},
        {"type_json": '{"type":{"type":"array"},"name":"x"}'},
        {"type_json": '{"type":7}'},
        {},
    ],
)
def test_a_type_without_counterpart_has_no_schema(column: dict[str, Any]) -> None:
    assert to_arrow([{"name": "ok", "type_text": "int"}, {"name": "x", **column}]) is None


def test_foreign_metadata_under_our_key_is_ignored() -> None:
    described = {"name": "x", "type": "long", "nullable": True, "metadata": {"ARROW:schema": "??"}}
    found = to_arrow([{"name": "x", "type_json": json.dumps(described)}])
    assert found == pa.schema([pa.field("x", pa.int64())])


def test_columns_are_sent_in_the_format_of_spark() -> None:
    members = pa.struct([pa.field("a", pa.int8(), False), pa.field("b", pa.decimal128(9, 2))])
    kinds = pa.map_(pa.string(), pa.field("v", pa.list_(members), False))
    schema = pa.schema([pa.field("x", kinds, False), pa.field("d", pa.decimal128(9, 2))])
    first, second = to_columns(schema)
    described = json.loads(first["type_json"])
    assert list(described.pop("metadata")) == ["ARROW:schema"]
    fields = [
        {"name": "a", "type": "byte", "nullable": False, "metadata": {}},
        {"name": "b", "type": "decimal(9,2)", "nullable": True, "metadata": {}},
    ]
    element = {"type": "struct", "fields": fields}
    value = {"type": "array", "elementType": element, "containsNull": True}
    kind = {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": False}
    assert described == {"name": "x", "type": kind, "nullable": False}
    del first["type_json"], second["type_json"]
    assert first == {
        "name": "x",
        "type_name": "MAP",
        "type_text": "map<string,array<struct<a:tinyint,b:decimal(9,2)>>>",
        "nullable": False,
        "position": 0,
    }
    assert second == {
        "name": "d",
        "type_name": "DECIMAL",
        "type_text": "decimal(9,2)",
        "type_precision": 9,
        "type_scale": 2,
        "nullable": True,
        "position": 1,
    }


@pytest.mark.parametrize(("said", "nullable"), [(True, True), (False, False), (None, True)])
def test_nullability_of_other_writers_columns(said: bool | None, nullable: bool) -> None:
    found = to_arrow([{"name": "x", "type_text": "int", "nullable": said}])
    assert found == pa.schema([pa.field("x", pa.int32(), nullable)])


def test_columns_are_ordered_by_position() -> None:
    columns = to_columns(pa.schema([("b", pa.int8()), ("a", pa.int8())]))
    found = to_arrow(reversed(columns))
    assert found is not None
    assert found.names == ["b", "a"]


def test_each_caller_gets_its_own_json_schema() -> None:
    schema = pa.schema([pa.field("x", pa.list_(pa.float32(), 4), metadata={"unit": "m"})])
    columns = to_columns(schema)
    first = to_json(columns)
    assert first == to_json_schema(schema)
    first.fields.clear()
    assert to_json(columns) == to_json_schema(schema)
    assert to_json([{"name": "x", "type_text": "variant"}]) is None


PLAIN = st.sampled_from([kind for kind, *_ in MAPPING if kind.num_fields == 0])
NESTED = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.list_(kind, 3)),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.dictionaries(st.text("ab `>,:é", min_size=1), inner, max_size=3).map(
            lambda members: pa.struct(list(members.items()))
        ),
    ),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.requirement("unity-table-columns-types")
@given(NESTED, st.text(min_size=1))
def test_nested_types_round_trip(kind: pa.DataType, name: str) -> None:
    schema = pa.schema([pa.field(name, kind)])
    columns = to_columns(schema)
    assert to_arrow(columns) == schema
    described, written = (
        to_arrow([foreign(columns[0])]),
        to_arrow([foreign(columns[0], without=("type_json",))]),
    )
    assert described is not None
    assert written == described
