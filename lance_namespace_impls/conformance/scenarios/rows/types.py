"""Values and types of columns after each kind of write."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ...exchange import Reply
from ...lab import Failed, Lab
from ...requirement import check
from ...rows import people, plain, stream

_ARROW = 'protocol semantics, "Bodies that are not JSON objects"; Arrow columnar format'
_SCHEMA = "rest.yaml, JsonArrowSchema and DescribeTableResponse"
_TABLES = ["tables"]
ALWAYS = ("i32", "i64", "f32", "f64", "text", "bytes", "flag", "vector", "struct", "list")
"""Types that every Lance table supports; a target may reject the others."""
DESCRIBED = {
    "i64": "int64", "i32": "int32", "f32": "float32", "f64": "float64", "flag": "bool",
    "bytes": "binary",
}  # fmt: skip
_READ = ("QueryTable", "CreateTable")
_BOTH = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}


_DAY = datetime.date(2024, 2, 29)

TYPES: dict[str, pa.Array] = {
    "i8": pa.array([-128, 127, None], pa.int8()),
    "i16": pa.array([-(2**15), 2**15 - 1, None], pa.int16()),
    "i32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
    "i64": pa.array([-(2**63), 2**63 - 1, 2**53 + 1], pa.int64()),
    "u8": pa.array([0, 255, None], pa.uint8()),
    "u32": pa.array([0, 2**32 - 1, None], pa.uint32()),
    "u64": pa.array([0, 2**64 - 1, 2**63], pa.uint64()),
    "f32": pa.array([0.5, float("inf"), None], pa.float32()),
    "f64": pa.array([0.1, -1e308, 5e-324], pa.float64()),
    "text": pa.array(["", " a\n\tb ", "ünï 日本 🙂"]),
    "long_text": pa.array(["x" * 100_000, None, "y"], pa.large_string()),
    "bytes": pa.array([b"", b"\x00\xff\x00", None], pa.binary()),
    "flag": pa.array([True, False, None]),
    "day": pa.array([_DAY, datetime.date(1, 1, 1), None], pa.date32()),
    "micros": pa.array([0, -1, 2**50], pa.timestamp("us")),
    "utc": pa.array([0, -1, 2**50], pa.timestamp("us", tz="UTC")),
    "millis": pa.array([0, -1, 2**40], pa.timestamp("ms")),
    "money": pa.array(
        [Decimal("12345678901234567.89"), Decimal("-0.01"), None], pa.decimal128(20, 2)
    ),
    "list": pa.array([[1, None, 3], [], [2**31 - 1]], pa.list_(pa.int32())),
    "texts": pa.array([["a", ""], [None], []], pa.list_(pa.string())),
    "vector": pa.array([[0.5, -1.5], [0.0, 0.0], [1e30, 1.0]], pa.list_(pa.float32(), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}, {"a": None, "b": ""}, {"a": -1, "b": None}]),
    "nested": pa.array([{"l": [{"z": 1}]}, {"l": []}, {"l": [{"z": None}]}]),
}


def _kind(type: pa.DataType) -> str:
    return str(type).replace("large_", "").replace("dictionary<values=string", "string")


def _compare(lab: Lab, found: Any, column: str, due: list[Any]) -> None:
    lab.that(column in found.column_names, f"a column {column}", found.column_names)
    lab.same(found.column(column).to_pylist(), due, f"column {column}")
    kept, given = found.schema.field(column).type, TYPES[column].type
    lab.same(_kind(kept), _kind(given), f"the type of {column}")


def _refused(column: str, reply: Reply) -> bool:
    return column not in ALWAYS and reply.code in (0, 13, 20)


@check("LN-VALUE-001", "CreateTable preserves the values and the type of each column.", _ARROW,
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def created(lab: Lab) -> None:
    for column, given in TYPES.items():
        table = lab.table_id()
        reply = lab.call("CreateTable", stream(pa.table({column: given})), id=table)
        if _refused(column, reply):
            continue
        lab.must_succeed(reply)
        _compare(lab, lab.query(table), column, given.to_pylist())


@check("LN-VALUE-002",
       "InsertIntoTable and MergeInsertIntoTable preserve the values of each column.", _ARROW,
       "CreateTable", "InsertIntoTable", "MergeInsertIntoTable", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def inserted(lab: Lab) -> None:
    names = [name for name in TYPES if name in (*ALWAYS, "day", "utc", "texts")]
    given = pa.table({"key": pa.array([1, 2, 3], pa.int64()), **{n: TYPES[n] for n in names}})
    for operation, more in (
        ("InsertIntoTable", {}),
        ("MergeInsertIntoTable", {"on": "key", "when_not_matched_insert_all": True}),
    ):
        table = lab.table_id()
        lab.ok("CreateTable", stream(given.slice(0, 0)), id=table)
        lab.ok(operation, stream(given), id=table, **more)
        found = lab.query(table).sort_by("key")
        for name in names:
            _compare(lab, found, name, TYPES[name].to_pylist())


@check("LN-VALUE-003", "NaN, negative zero and infinities are read back unchanged.", _ARROW,
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def odd_numbers(lab: Lab) -> None:
    table = lab.table_id()
    values = [float("nan"), -0.0, float("inf"), float("-inf")]
    lab.ok("CreateTable", stream(pa.table({"v": pa.array(values, pa.float64())})), id=table)
    found = lab.query(table).column("v").to_pylist()
    lab.that(found[0] is not None and math.isnan(found[0]), "NaN, not a number or null", found)
    lab.same(found[1:], values[1:], "the values")
    lab.same(math.copysign(1, found[1]), -1.0, "the sign of zero")


@check("LN-VALUE-004", "Rows are returned in the order in which they were written.",
       "rest.yaml, QueryTable: in the order in which they were written", "CreateTable",
       "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def order(lab: Lab) -> None:
    table = lab.new_table(5, 3, 9)
    lab.given("InsertIntoTable", stream(people(2, 8)), id=table)
    found = lab.query(table).column("id").to_pylist()
    lab.same(found, [5, 3, 9, 2, 8], "the ids")


@check("LN-VALUE-005", "Duplicate rows are all stored.", _ARROW, "CreateTable", "InsertIntoTable",
       "CountTableRows", "QueryTable", capabilities=_TABLES)  # fmt: skip
def duplicates(lab: Lab) -> None:
    table = lab.new_table(1, 1, 2)
    lab.given("InsertIntoTable", stream(people(1, 2, 7, 7)), id=table)
    lab.same(lab.ids(table), [1, 1, 1, 2, 2, 7, 7], "the ids")
    lab.same(lab.count(table), 7, "the number of rows")


STREAMS = {
    "empty batches between": [people(), people(1), people(), people(2)],
    "a slice of a longer batch": [people(9, 1, 2, 9).slice(1, 2)],
    "one batch per row": [people(1), people(2)],
}


@check("LN-VALUE-006", "Empty batches, slices and single-row batches are stored correctly.", _ARROW,
       "CreateTable", "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def batches(lab: Lab) -> None:
    empty = pa.RecordBatch.from_pylist([], schema=people().schema)
    for what, parts in STREAMS.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, people().schema) as writer:
            for part in parts:
                writer.write_batch(part.combine_chunks().to_batches()[0] if part else empty)
        data = sink.getvalue().to_pybytes()
        table = lab.table_id()
        lab.ok("CreateTable", data, id=table)
        lab.same(lab.ids(table), [1, 2], f"the ids in {what}")
        lab.ok("InsertIntoTable", data, id=table)
        lab.same(lab.ids(table), [1, 1, 2, 2], f"the ids after adding {what}")


@check("LN-VALUE-007", "Columns are matched by name when rows are added.",
       "rest.yaml, InsertIntoTable; Lance table format: fields have names", "CreateTable",
       "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def by_name(lab: Lab) -> None:
    table = lab.new_table(1)
    shuffled = people(2).select(["vec", "name", "id", "score"])
    reply = lab.call("InsertIntoTable", stream(shuffled), id=table)
    if reply.code in (13, 20):
        lab.same(lab.ids(table), [1], "the ids after rejected rows")
        return
    lab.must_succeed(reply)
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    lab.same(found, {1: "n1", 2: "n2"}, "the names")


@check("LN-VALUE-008", "The schema preserves nullability and field metadata.", _SCHEMA,
       "CreateTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def schema(lab: Lab) -> None:
    table = lab.table_id()
    fields = [
        pa.field("must", pa.int64(), nullable=False, metadata={"unit": "m"}),
        pa.field("may", pa.string()),
    ]
    given = pa.table(
        {"must": [1, 2], "may": ["a", None]}, schema=pa.schema(fields, metadata={"origin": "kit"})
    )
    lab.ok("CreateTable", stream(given), id=table)
    shown = (lab.maybe("DescribeTable", id=table, load_detailed_metadata=True).get("schema")) or {}
    found = {f["name"]: f for f in shown.get("fields") or ()}
    lab.same(list(found), ["must", "may"], "the columns")
    lab.same(
        [found[n]["nullable"] for n in ("must", "may")], [False, True], "which columns are nullable"
    )
    lab.has(found["must"].get("metadata"), {"unit": "m"}, "the metadata of the column")


@check("LN-VALUE-009", "DescribeTable returns the type of each column.", _SCHEMA, "CreateTable",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def described(lab: Lab) -> None:
    table = lab.table_id()
    given = pa.table(
        {name: TYPES[name] for name in (*DESCRIBED, "text", "list", "struct", "vector")}
    )
    lab.ok("CreateTable", stream(given), id=table)
    shown = (lab.maybe("DescribeTable", id=table, load_detailed_metadata=True).get("schema")) or {}
    found = {f["name"]: f["type"] for f in shown.get("fields") or ()}
    lab.same(list(found), given.column_names, "the columns")
    for name, type in DESCRIBED.items():
        lab.same(str(found[name]["type"]).lower(), type, f"the type of {name}")
    lab.same(len(found["struct"].get("fields") or ()), 2, "the fields of the struct")
    lab.same(found["vector"].get("length"), 2, "the length of the vector")


DETAILS: dict[str, tuple[pa.DataType, dict[str, Any]]] = {
    **{
        f"stamp_{u}": (pa.timestamp(u), {"type": "timestamp", "unit": u})
        for u in ("s", "ms", "us", "ns")
    },
    "utc": (pa.timestamp("us", "UTC"), {"type": "timestamp", "timezone": "UTC"}),
    "ahead": (pa.timestamp("us", "+02:00"), {"type": "timestamp", "timezone": "+02:00"}),
    "bare": (pa.timestamp("us"), {"type": "timestamp", "timezone": None}),
    **{f"span_{u}": (pa.duration(u), {"type": "duration", "unit": u}) for u in ("s", "ns")},
    "bytes": (pa.binary(5), {"length": 5}),
    "vector": (pa.list_(pa.float32(), 3), {"length": 3}),
    "money": (pa.decimal128(20, 2), {"length": 20_002}),
}
"""Types with what their JSON form must contain besides the name."""


@check("LN-VALUE-012",
       "The type of a column has its length or precision, and no wrong unit or time zone.",
       "rest.yaml, JsonArrowDataType; wire facts, which contain no unit and no time zone",
       "CreateTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def details(lab: Lab) -> None:
    for name, (kind, due) in DETAILS.items():
        table = lab.table_id()
        reply = lab.call("CreateTable", stream(pa.table({"x": pa.array([None], kind)})), id=table)
        if not reply.succeeded:
            continue  # LN-VALUE-001 checks which types are supported
        shown = (
            lab.maybe("DescribeTable", id=table, load_detailed_metadata=True).get("schema") or {}
        )
        found = dict((shown.get("fields") or [{}])[0].get("type") or {})
        for key, value in due.items():
            if found.get(key) is not None or key not in ("unit", "timezone"):
                lab.same(found.get(key), value, f"the {key} of the type of {name}")


@check("LN-VALUE-010", "A null in a non-nullable column is rejected and adds nothing.",
       'protocol semantics, "Errors", code 20; Arrow columnar format, nullable', "CreateTable",
       "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def not_null(lab: Lab) -> None:
    table = lab.table_id()
    strict = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    lab.ok("CreateTable", stream(pa.table({"x": [1]}, schema=strict)), id=table)
    rows = stream(pa.table({"x": pa.array([2, None], pa.int64())}))
    reply = lab.call("InsertIntoTable", rows, id=table)
    if reply.succeeded:
        raise Failed("rows with a null to be rejected", reply.outcome(), reply)
    lab.must_fail(reply, [12, 13, 20])
    lab.same(lab.count(table), 1, "the number of rows")


@check("LN-VALUE-011", "Column names are preserved exactly, including case.",
       'protocol semantics, "Bodies that are not JSON objects"; Arrow columnar format, schema',
       "CreateTable", "QueryTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def column_names(lab: Lab) -> None:
    table = lab.table_id()
    given = pa.table({"Id": [1], "NAME": ["a"], "camelCase": [1.5], "ünï": [True], "_x1": [2]})
    lab.given("CreateTable", stream(given), id=table)
    lab.given("InsertIntoTable", stream(given), id=table)
    found = lab.query(table)
    lab.same(found.column_names, given.column_names, "the columns")
    lab.same(found.to_pylist(), given.to_pylist() * 2, "the rows")


_HALF = pa.schema(
    [
        pa.field("half", pa.float16()),
        pa.field("three", pa.binary(3)),
        pa.field("nanos", pa.timestamp("ns")),
        pa.field("zone", pa.timestamp("us", tz="America/New_York")),
        pa.field("small", pa.uint16()),
        pa.field("clock", pa.time64("us")),
        pa.field("span", pa.duration("us")),
        pa.field("exact", pa.decimal128(38, 9)),
        pa.field("maybe", pa.struct([pa.field("x", pa.int32())])),
        pa.field("wide", pa.uint64()),
        pa.field("words", pa.list_(pa.string())),
        pa.field("nul", pa.string()),
        pa.field("decomposed", pa.string()),
    ]
)

_ODD: dict[str, list[Any]] = {
    "half": [0.5, None, -2.0], "three": [b"a\0c", None, b"\xff\0\0"], "nanos": [1, -1, 10**18 + 1],
    "zone": [1, None, 2**50 + 1], "small": [0, 65535, None], "clock": [1, None, 86399999999],
    "span": [1, -1, None], "exact": [Decimal("12345678901234567890123456789.123456789"), None,
                                     Decimal("-0.000000001")],
    "maybe": [None, {"x": None}, {"x": 1}], "wide": [2**64 - 1, 2**53 + 1, None],
    "words": [None, [], [None, ""]], "nul": ["a\0b", "", "a\r\nb"],
    "decomposed": ["e\u0301", "\u00e9 ", None],
}  # fmt: skip


@check("LN-VALUE-013",
       "Values of unusual Arrow types keep their exact value and type with every write operation.",
       'protocol semantics, "Bodies that are not JSON objects"; Arrow columnar format', "CreateTable",
       "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def odd_values(lab: Lab) -> None:
    merge = {"on": "key", "when_not_matched_insert_all": True}
    for field in _HALF:
        given = pa.table(
            [pa.array([1, 2, 3], pa.int64()), pa.array(_ODD[field.name], field.type)],
            schema=pa.schema([pa.field("key", pa.int64()), field]),
        )
        table = lab.table_id()
        reply = lab.call("CreateTable", stream(given), id=table)
        if reply.code in (0, 13, 20):
            continue
        lab.must_succeed(reply)
        lab.ok("InsertIntoTable", stream(given), id=table)
        more = given.set_column(0, "key", [pa.array([7, 8, 9], pa.int64())])
        merged = lab.call("MergeInsertIntoTable", stream(more), id=table, **merge)
        if merged.code != 0:
            lab.must_succeed(merged)
        found = lab.query(table).sort_by("key")
        times = 3 if merged.succeeded else 2
        due = [v for v in given.column(1) for _ in range(2)] + [*given.column(1)][: 3 * (times - 2)]
        lab.same(
            str(found.schema.field(field.name).type), str(field.type), f"the type of {field.name}"
        )
        lab.same([v.as_py() if field.name != "nanos" else v.value for v in found.column(field.name)],
                 [v.as_py() if field.name != "nanos" else v.value for v in due], field.name)  # fmt: skip


@check("LN-VALUE-014",
       "A query returns every row of a large table once, in write order, however the rows were "
       "batched.",
       "rest.yaml, QueryTable: in the order in which they were written",
       "CreateTable", "InsertIntoTable", "MergeInsertIntoTable", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def many_rows(lab: Lab) -> None:
    count = 20_000
    rows = pa.table({"id": pa.array(range(count), pa.int64())})
    table, other = lab.table_id(), lab.table_id()
    lab.ok("CreateTable", stream(rows, batch_rows=5_000), id=table)
    lab.ok("InsertIntoTable", stream(rows, batch_rows=3_000), id=table)
    found = lab.query(table, k=0).column("id").to_pylist()
    lab.same(
        found == [*range(count), *range(count)],
        True,
        "whether each row is returned once, in order,",
    )
    found = lab.query(table, k=count + 10, offset=count - 5).column("id").to_pylist()
    lab.same(
        found[:10],
        [*range(count - 5, count), *range(5)],
        "the ids at the boundary between the writes",
    )
    lab.same(
        lab.count(table, predicate="id >= 8192"), 2 * (count - 8192), "the number of later rows"
    )
    lab.given("CreateTable", plain(column="id"), id=other)
    reply = lab.call("MergeInsertIntoTable", stream(rows, batch_rows=5_000), id=other, on="id",
                     when_not_matched_insert_all=True)  # fmt: skip
    if reply.succeeded:
        lab.same(sorted(lab.query(other, k=0).column("id").to_pylist()) == list(range(count)), True,
                 "whether each merged row exists once")  # fmt: skip


_TYPES = (
    pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(),
    pa.binary(), pa.binary(5), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Berlin"), pa.duration("ms"),
    pa.decimal128(20, 3), pa.list_(pa.int32(), 3),
)  # fmt: skip

_AROUND: tuple[tuple[str, Any], ...] = (
    ("a list", pa.list_),
    ("a struct", lambda t: pa.struct([pa.field("in", t, nullable=False)])),
    ("a list of structs", lambda t: pa.list_(pa.struct([pa.field("in", t)]))),
)


def _inner(told: dict[str, Any], depth: int) -> Any:
    for _ in range(depth):
        told = (told.get("fields") or [{}])[0].get("type") or {}
    return told


@check("LN-VALUE-015", "A type is described the same inside lists and structs as on its own.",
       "rest.yaml, JsonArrowDataType and JsonArrowField", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def nested_types(lab: Lab) -> None:
    for kind in _TYPES:
        types = [("x", kind), *((what, wrap(kind)) for what, wrap in _AROUND)]
        table = lab.table_id()
        given = pa.schema([pa.field(what, each) for what, each in types])
        if not lab.call("CreateTable", stream(given.empty_table()), id=table).succeeded:
            continue
        schema = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("schema") or {}
        told = {f["name"]: f["type"] for f in schema.get("fields") or ()}
        held = lab.query(table).schema
        for what, each in types:
            lab.same(str(held.field(what).type), str(each), f"the type of {kind} in {what}")
            depth = 2 if what == "a list of structs" else int(what != "x")
            lab.same(
                _inner(told[what], depth), told["x"], f"the described type of {kind} in {what}"
            )
        inner = (told["a struct"].get("fields") or [{}])[0]
        lab.same(
            (inner.get("name"), inner.get("nullable")),
            ("in", False),
            f"the field of {kind} in a struct",
        )


_OLD = datetime.date(1969, 12, 31)

_MORE: tuple[tuple[pa.DataType, list[Any]], ...] = (
    (pa.large_binary(), [b"\x00", None, b""]), (pa.large_list(pa.int64()), [[1], None, []]),
    (pa.date64(), [_OLD, None, _OLD]), (pa.time32("s"), [datetime.time(23, 59, 59), None, datetime.time(0)]),
    (pa.duration("ms"), [datetime.timedelta(-1), None, datetime.timedelta(0)]),
    (pa.timestamp("s"), [datetime.datetime(1969, 12, 31, 23, 59, 59), None, datetime.datetime(9999, 12, 31)]),
    (pa.decimal256(60, 1), [Decimal("1" * 50 + ".5"), None, Decimal(0)]), (pa.string(), [None, None, None]),
    (pa.list_(pa.float64(), 2), [[0.1, -0.2], None, [1e300, 0.0]]), (pa.bool_(), [None, True, False]),
    (pa.list_(pa.float16(), 2), [[0.5, 1.0], [2.0, -4.0], [0.0, 0.0]]),
    (pa.list_(pa.uint8(), 2), [[1, 255], [0, 7], [0, 0]]),
    (pa.list_(pa.list_(pa.int16())), [[[1], [], None], [], None]),
    (pa.struct([("a", pa.struct([("b", pa.string())]))]), [{"a": {"b": v}} for v in (None, "", "x")]),
    (pa.list_(pa.struct([("a", pa.int8())])), [[{"a": 1}, {"a": None}], [], None]),
)  # fmt: skip

_COLUMNS = {**TYPES, **{str(kind): pa.array(values, kind) for kind, values in _MORE}}


def _made_of(lab: Lab, names: list[str]) -> Iterator[tuple[list[str], pa.Table]]:
    """Yield as few tables as possible, with their rows, that cover all supported types."""
    columns = {n: _COLUMNS[n] for n in names} | {"mark": pa.array([0, 0, 0], pa.int64())}
    given, table = pa.table({"key": pa.array([1, 2, 3], pa.int64()), **columns}), lab.table_id()
    if lab.call("CreateTable", stream(given), id=table).succeeded:
        yield table, given
    elif len(names) > 1:
        yield from _made_of(lab, names[::2])
        yield from _made_of(lab, names[1::2])


@check("LN-VALUE-060",
       "Values of every type survive changes to other columns and rows, and can be read in pages.",
       "rest.yaml, UpdateTable and DeleteFromTable: changed rows are rewritten; Arrow columnar format",
       "UpdateTable", "DeleteFromTable", "InsertIntoTable", *_READ, capabilities=_TABLES)  # fmt: skip
def outlasting(lab: Lab) -> None:
    for table, given in _made_of(lab, sorted(set(_COLUMNS) - {"long_text"})):
        turned = given.set_column(0, "key", pa.array([3, 1, 2], pa.int64()))
        rows, merged = given.to_pylist(), sorted(turned.to_pylist(), key=lambda row: row["key"])
        updated = [{**row, "mark": 0 if row["key"] == 2 else row["key"] + 1} for row in rows]
        for operation, data, request, due in (
            ("UpdateTable", None, {"predicate": "key <> 2", "updates": [["mark", "key + 1"]]}, updated),
            ("DeleteFromTable", None, {"predicate": "key = 1"}, updated[1:]),
            ("InsertIntoTable", stream(given.slice(0, 1)), {}, [rows[0], *updated[1:]]),
            ("MergeInsertIntoTable", stream(turned), {**_BOTH, "on": "key"}, merged),
        ):  # fmt: skip
            reply = lab.call(operation, data, id=table, **request)
            if reply.code == 0 and operation == "MergeInsertIntoTable":
                continue
            lab.may_refuse(reply)
            found = lab.query(table)
            lab.same(found.sort_by("key").to_pylist(), due, f"the rows after {operation}")
            parts = [lab.query(table, offset=i, k=1).to_pylist() for i in range(len(due))]
            one_by_one = sorted((row for part in parts for row in part), key=lambda row: row["key"])
            lab.same(one_by_one, due, f"the rows after {operation}, read one at a time")
        for field in given.schema:
            kept = str(found.schema.field(field.name).type).replace("large_", "")
            lab.same(kept, str(field.type).replace("large_", ""), f"the type of {field.name}")


@check("LN-VALUE-016",
       "Special numbers and unusual strings come back unchanged after an insert or a merge.",
       'protocol semantics, "Bodies that are not JSON objects"; Arrow columnar format', "CreateTable",
       "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def added_values(lab: Lab) -> None:
    numbers, texts = [float("nan"), -0.0, float("-inf"), None], ["x" * 300, " a\u00a0", "", None]

    def rows(first: int) -> bytes:
        ids = pa.array(range(first, first + len(numbers)), pa.int64())
        return stream(
            pa.table({"id": ids, "number": pa.array(numbers, pa.float64()), "text": texts})
        )

    table = lab.table_id()
    lab.given("CreateTable", rows(0), id=table)
    lab.ok("InsertIntoTable", rows(10), id=table)
    times = 2 + lab.call("MergeInsertIntoTable", rows(20), id=table, **_BOTH).succeeded
    found = lab.query(table).sort_by("id")
    for column, due in (("number", numbers), ("text", texts)):
        lab.same([repr(v) for v in found.column(column).to_pylist()], [repr(v) for v in due] * times,
                 f"column {column}")  # fmt: skip
