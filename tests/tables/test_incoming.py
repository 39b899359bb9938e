"""Rows that Lance cannot store, or that would crash the process, are rejected without effect."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import LanceNamespaceError, TableSchemaValidationError
from lance_namespace_impls import connect
from lance_namespace_impls.tables.align import aligned
from lance_namespace_impls.tables.incoming import MAX_VALUE_NESTING, checked, writable
from lance_namespace_impls.tables.schema import MAX_FIELDS, MAX_METADATA_ENTRIES, check_types

EMPTY = pa.struct([])
DEEP = MAX_VALUE_NESTING + 1


def nested(kind: pa.DataType, levels: int) -> pa.DataType:
    for _ in range(levels):
        kind = pa.struct([pa.field("s", kind)])
    return kind


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        (EMPTY, "'x': .*struct without fields"),
        (pa.list_(EMPTY), r"'x\.item': .*struct without fields"),
        (pa.list_(EMPTY, 2), r"'x': .*fixed-size lists of struct"),
        (pa.map_(pa.utf8(), EMPTY), r"'x\.entries\.value'|'x\.value'"),
        (pa.struct([("a", pa.int8()), ("e", EMPTY)]), r"'x\.e': .*struct without fields"),
        (nested(EMPTY, 3), r"'x\.s\.s\.s': "),
        (pa.list_(pa.int8(), 0), "length 0; cast them to list"),
        (
            pa.list_(pa.utf8(), 2),
            "fixed-size lists of string; cast the column to a variable-length list",
        ),
        (pa.list_(pa.struct([("a", pa.int8())]), 2), "fixed-size lists of struct"),
        (pa.list_(pa.list_(pa.int8()), 2), "fixed-size lists of list"),
        (pa.list_(pa.dictionary(pa.int8(), pa.utf8()), 2), "fixed-size lists of dictionary"),
        (pa.list_(pa.uuid(), 2), "fixed-size lists of extension"),
        (pa.list_(pa.binary(0), 2), "fixed-size lists of fixed_size_binary"),
        (pa.dictionary(pa.int8(), pa.date32()), "dictionaries of date32"),
        (pa.dictionary(pa.int8(), pa.string_view()), "dictionaries of string_view"),
        (pa.dictionary(pa.int8(), pa.null()), "dictionaries of null"),
        (pa.map_(pa.utf8(), pa.int8(), keys_sorted=True), "sorted keys"),
        (pa.json_(pa.string_view()), "arrow.json with storage type string_view"),
        (
            pa.list_(pa.run_end_encoded(pa.int32(), pa.int8())),
            "Lance does not support type run_end_encoded",
        ),
        (pa.decimal32(5, 2), "Lance does not support type decimal32"),
        (pa.decimal64(5, 2), "Lance does not support type decimal64"),
        (pa.month_day_nano_interval(), "Lance does not support type month_day_nano_interval"),
        (pa.list_view(pa.int32()), "Lance does not support type list_view"),
        (pa.large_list_view(pa.int32()), "Lance does not support type large_list_view"),
        (pa.sparse_union([pa.field("a", pa.int8())]), "Lance does not support type sparse_union"),
        (pa.dense_union([pa.field("a", pa.int8())]), "Lance does not support type dense_union"),
        (pa.struct([("a\0", pa.int8())]), "zero byte"),
        (pa.struct([("a", pa.int8()), ("a", pa.int8())]), "two columns are named"),
        (nested(pa.int8(), 70), "deeper than 64 levels"),
        (nested(pa.int8(), 5000), "deeper than 64 levels"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_types_that_lance_cannot_store(kind: pa.DataType, match: str) -> None:
    with pytest.raises(TableSchemaValidationError, match=match):
        check_types(pa.schema([("before", pa.int64()), ("x", kind)]))


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([(f"c{n}", pa.int8()) for n in range(MAX_FIELDS + 1)]),
        pa.schema([("s", pa.struct([(f"c{n}", pa.int8()) for n in range(MAX_FIELDS)]))]),
        pa.schema([("a", pa.int8())], {f"k{n}": "" for n in range(MAX_METADATA_ENTRIES + 1)}),
        pa.schema([pa.field("a", pa.int8(), metadata={f"k{n}": "" for n in range(100_000)})]),
        pa.schema([("a", pa.int8())], {"k": "x" * (5 << 20)}),
        pa.schema([pa.field(f"c{n}", pa.int8(), metadata={"k": "x" * 90_000}) for n in range(50)]),
    ],
    ids=["columns", "nested", "metadata", "metadata-of-a-field", "large-value", "large-in-all"],
)
def test_schemas_beyond_the_bounds(schema: pa.Schema) -> None:
    with pytest.raises(TableSchemaValidationError, match=r"fields|metadata"):
        check_types(schema)


def json_array(*texts: str | None, storage: pa.DataType | None = None) -> pa.Array:
    storage = storage or pa.utf8()
    return pa.ExtensionArray.from_storage(pa.json_(storage), pa.array(list(texts), storage))


def tagged(values: pa.Array, name: str) -> pa.RecordBatch:
    field = pa.field("x", values.type, metadata={"ARROW:extension:name": name})
    return pa.RecordBatch.from_arrays([values], schema=pa.schema([field]))


def of(values: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([values], names=["x"])


def jsonb(levels: int) -> bytes:
    """Return arrays nested this deep in Lance's binary JSON; the innermost array is empty."""
    value = struct.pack(">I", 0x80000000)
    for _ in range(levels - 1):
        value = struct.pack(">II", 0x80000001, 0x50000000 | len(value)) + value
    return value


POINT = struct.pack("<BIdd", 1, 1, 0.0, 0.0)
LINE = struct.pack("<BII4d", 1, 2, 2, 0, 0, 1, 1)
POLYGON = struct.pack("<BIII8d", 1, 3, 1, 4, *range(8))


def wkb(levels: int, *first: bytes) -> bytes:
    """Return geometry collections nested this deep; each has these members before the next."""
    value = POINT
    for _ in range(levels):
        value = struct.pack("<BII", 1, 7, 1 + len(first)) + b"".join(first) + value
    return value


def brackets(levels: int) -> str:
    return "[" * levels + "]" * levels


TOO_DEEP: dict[str, Callable[[int], pa.RecordBatch]] = {
    "json": lambda n: of(json_array(None, brackets(n))),
    "json-objects": lambda n: of(json_array('{"a":' * n + "1" + "}" * n)),
    "json-of-a-large-type": lambda n: of(json_array(brackets(n), storage=pa.large_utf8())),
    "json-without-an-end": lambda n: of(json_array("[" * n)),
    "json-by-metadata": lambda n: tagged(pa.array([brackets(n)]), "arrow.json"),
    "json-in-a-struct": lambda n: of(pa.StructArray.from_arrays([json_array(brackets(n))], ["j"])),
    "json-in-a-list": lambda n: of(
        pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), json_array(brackets(n)))
    ),
    "json-in-a-map": lambda n: of(
        pa.MapArray.from_arrays([0, 1], pa.array(["k"]), json_array(brackets(n)))
    ),
    "jsonb": lambda n: tagged(pa.array([jsonb(n)], pa.large_binary()), "lance.json"),
    "wkb": lambda n: tagged(pa.array([wkb(n)]), "geoarrow.wkb"),
    "wkb-behind-others": lambda n: tagged(pa.array([wkb(n, POINT, LINE, POLYGON)]), "geoarrow.wkb"),
    "wkt": lambda n: tagged(
        pa.array(["GEOMETRYCOLLECTION(" * (n - 1) + "POINT(0 0)" + ")" * (n - 1)]), "geoarrow.wkt"
    ),
}


@pytest.mark.parametrize("kind", TOO_DEEP)
def test_values_that_are_nested_too_deep(kind: str) -> None:
    for levels in (DEEP, 3000):
        with pytest.raises(TableSchemaValidationError, match=r"'x.*nested deeper than 128 levels"):
            checked(TOO_DEEP[kind](levels))
    assert checked(TOO_DEEP[kind](MAX_VALUE_NESTING)).num_rows


def test_brackets_in_text_do_not_count_as_nesting() -> None:
    text = '"' + "[" * 1000 + '\\"' + "{" * 1000 + '"'
    assert checked(of(json_array(text, "[" + "[],[]," * 200 + "1]"))).num_rows == 2


@pytest.mark.parametrize("value", [b"", b"\x80", b"\xff" * 600, b"\x40\xff\xff\xff" * 200])
def test_damaged_binary_values_are_checked_without_an_error(value: bytes) -> None:
    checked(tagged(pa.array([value], pa.large_binary()), "lance.json"))
    checked(tagged(pa.array([value, b"\x01\x07\0\0\0" + value]), "geoarrow.wkb"))


def insert(lake: Any, rows: Any) -> None:
    lake.insert_into_table({"id": ["t"]}, rows)


def replace(lake: Any, rows: Any) -> None:
    lake.insert_into_table({"id": ["t"], "mode": "Overwrite"}, rows)


def merge(lake: Any, rows: Any) -> None:
    request = {"id": ["t"], "on": ["n"], "when_not_matched_insert_all": True}
    lake.merge_insert_into_table(request, rows)


def create(lake: Any, rows: Any) -> None:
    lake.create_table({"id": ["new"]}, rows)


@pytest.mark.parametrize("write", [insert, replace, merge, create])
@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"n": [2], "j": json_array(brackets(100_000))}),
        pa.table({"n": [2], "j": pa.array([{}], EMPTY)}),
        pa.table(
            {"n": pa.array([None], pa.int64()), "j": json_array("1")},
            schema=pa.schema([pa.field("n", pa.int64(), False), ("j", pa.json_(pa.utf8()))]),
        ),
    ],
    ids=["deep", "empty-struct", "null"],
)
def test_a_rejected_write_changes_nothing(tmp_path: Path, write: Any, rows: pa.Table) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    lake.create_table({"id": ["t"]}, pa.table({"n": [1], "j": json_array("{}")}))
    with pytest.raises(LanceNamespaceError) as caught:
        write(lake, rows)
    assert caught.value.code in (13, 20)
    assert "column '" in str(caught.value)
    assert lake.table("t").to_arrow().to_pylist() == [{"n": 1, "j": "{}"}]
    assert not lake.table("new").exists()
    assert len(lake.table("t").list_versions()) == 1


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "struct", "fields": []},
        {"type": "decimal32", "length": 5002},
        {"type": "fixed_size_list", "length": 2, "fields": [
            {"name": "item", "nullable": True, "type": {"type": "utf8"}}]},
    ],
    ids=lambda kind: kind["type"],
)  # fmt: skip
def test_a_column_cannot_be_altered_to_an_unsupported_type(tmp_path: Path, kind: Any) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    lake.create_table({"id": ["t"]}, pa.table({"n": [1]}))
    alteration = {"path": "n", "data_type": kind}
    with pytest.raises(TableSchemaValidationError, match="column 'n'"):
        lake.alter_table_alter_columns({"id": ["t"], "alterations": [alteration]})


@pytest.mark.parametrize(
    "expression", ["arrow_cast(n, 'Decimal32(5, 2)')", "arrow_cast(1, 'Decimal32(5, 2)')"]
)
def test_a_column_of_an_unsupported_type_cannot_be_added(tmp_path: Path, expression: str) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    lake.create_table({"id": ["t"]}, pa.table({"n": [1]}))
    column = {"name": "m", "expression": expression}
    with pytest.raises(
        LanceNamespaceError, match="column 'm': Lance does not support type decimal32"
    ):
        lake.alter_table_add_columns({"id": ["t"], "new_columns": [column]})


def test_slices_of_structs_in_structs_are_copied() -> None:
    inner = pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["a"])
    whole = of(pa.StructArray.from_arrays([inner], ["b"]))
    assert aligned(whole).column(0).buffers() == whole.column(0).buffers()
    part = aligned(whole.slice(1, 2))
    assert part.column(0).offset == 0
    assert part.column(0).field(0).offset == 0
    assert part.column(0).to_pylist() == [{"b": {"a": 2}}, {"b": {"a": 3}}]


def test_lists_are_cast_only_to_vector_columns() -> None:
    onto = pa.schema([("v", pa.list_(pa.float32(), 2)), ("w", pa.list_(pa.float32()))])
    rows = pa.table({"v": [[1.0, 2.0], None], "w": [[1.0], [2.0]], "z": [[1], [2]]})
    read = writable(RowStream.of(rows), onto).read_all()
    assert read.schema.types == [onto.field("v").type, pa.list_(pa.float64()), pa.list_(pa.int64())]
    assert read["v"].to_pylist() == [[1, 2], None]


def test_changed_metadata_is_bounded(tmp_path: Path) -> None:
    lake = connect("dir", {"path": str(tmp_path)})
    lake.create_table({"id": ["t"]}, pa.table({"n": [1]}))
    many = {f"k{number}": "" for number in range(MAX_METADATA_ENTRIES)}
    change = {"path": "n", "metadata": many}
    lake.update_table_schema_metadata({"id": ["t"], "metadata": many})
    lake.update_field_metadata({"id": ["t"], "updates": [change]})
    for call in (
        lambda: lake.update_table_schema_metadata({"id": ["t"], "metadata": {"more": ""}}),
        lambda: lake.update_field_metadata(
            {"id": ["t"], "updates": [{"path": "n", "metadata": {"more": ""}}]}
        ),
    ):
        with pytest.raises(LanceNamespaceError, match="metadata entries") as caught:
            call()
        assert caught.value.code in (13, 20)
    lake.update_field_metadata({"id": ["t"], "updates": [{**change, "replace": True}]})
