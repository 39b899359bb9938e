"""Operations work the same when repeated, and different names refer to different objects."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lance_namespace_client.operations import OPERATIONS

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import people, plain, stream
from .operations import missing_object_call
from .whole import furnished, state, unchanged

_TABLES = ["tables"]
_EACH = "rest.yaml, the operations on tags, branches and indexes"
_NAMES = 'protocol semantics, "Identifiers"; rest.yaml, the fields that hold a name'


def _named(lab: Lab, operation: str, key: str, table: list[str]) -> set[str]:
    found = lab.ok(operation, id=table).get(key) or ()
    return {each["index_name"] if isinstance(each, dict) else str(each) for each in found}


_THINGS: dict[str, tuple[str, str, str, str, Callable[[str], dict[str, Any]]]] = {
    "tag": ("CreateTableTag", "DeleteTableTag", "ListTableTags", "tags",
            lambda name: {"tag": name, "version": 1}),
    "branch": ("CreateTableBranch", "DeleteTableBranch", "ListTableBranches", "branches",
               lambda name: {"name": name}),
    "index": ("CreateTableScalarIndex", "DropTableIndex", "ListTableIndices", "indexes",
              lambda name: {"name": name, "column": "id", "index_type": "BTREE"}),
}  # fmt: skip
_ALIKE = (("v.1", "v.2"), ("v-1", "v_1"), ("Case", "case"), ("long" * 20 + "a", "long" * 20 + "b"),
          ("e%41", "eA"), ("a/b", "a/c"), ("a b", "a+b"), ("sch\u00f6n", "scho\u0308n"))  # fmt: skip
"""Pairs of names that differ in one place; a server may reject either name."""


def _gone(create: str, remove: str, name: str) -> dict[str, Any]:
    key = {"DeleteTableTag": "tag", "DeleteTableBranch": "name", "DropTableIndex": "index_name"}
    return {key[remove]: name}


def _again(create: str, remove: str, listing: str, key: str, request: Any) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = lab.new_table(1, 2)
        for _ in range(2):
            for name in ("first", "second"):
                lab.ok(create, id=table, **request(name))
            lab.same(_named(lab, listing, key, table), {"first", "second"}, f"the {key}")
            for name, left in (("first", {"second"}), ("second", set[str]())):
                lab.ok(remove, id=table, **_gone(create, remove, name))
                lab.same(_named(lab, listing, key, table), left, f"the {key} that are left")

    return run


def _apart(create: str, remove: str, listing: str, key: str, request: Any) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = lab.new_table(1, 2)
        made: set[str] = set()
        for pair in _ALIKE:
            for name in pair:
                reply = lab.call(create, id=table, **request(name))
                if reply.code in (0, 13):
                    continue
                lab.must_succeed(reply)
                made.add(name)
        if not made:
            raise Skipped("none of the names is taken")
        lab.same(_named(lab, listing, key, table), made, f"the {key}")
        for name in sorted(made):
            lab.ok(remove, id=table, **_gone(create, remove, name))
            made.remove(name)
            lab.same(_named(lab, listing, key, table), made, f"the {key} without {name!r}")

    return run


for _number, (_thing, _way) in enumerate(_THINGS.items()):
    check(f"LN-AGAIN-{_number + 1:03}",
          f"Creating and deleting the same {_thing} again works as it did the first time.", _EACH,
          *_way[:3], capabilities=_TABLES)(_again(*_way))  # fmt: skip
    check(f"LN-APART-{_number + 1:03}",
          f"Similar {_thing} names are distinct: they are compared character by character.", _NAMES,
          *_way[:3], capabilities=_TABLES)(_apart(*_way))  # fmt: skip


@check("LN-AGAIN-004",
       "Inserting the same rows again adds them again, and each answer reports the current "
       "version.",
       "rest.yaml, InsertIntoTableResponse: version of the table that the write made",
       "InsertIntoTable", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def inserted(lab: Lab) -> None:
    table = lab.new_table(1)
    for count in (2, 3, 4):
        answer = lab.ok("InsertIntoTable", stream(people(5)), id=table)
        told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("version")
        if answer.get("version") is not None:
            lab.same(answer["version"], told, "the version that InsertIntoTable answers")
        lab.same(lab.count(table), count, "the rows")


@check("LN-AGAIN-005",
       "A table name can be created, overwritten and dropped repeatedly, and answers match "
       "DescribeTable.",
       "rest.yaml, CreateTableResponse and DescribeTableResponse", "CreateTable", "DropTable",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def made_again(lab: Lab) -> None:
    table = lab.table_id()
    for data in (stream(people(1)), stream(people(1)), plain(1, 2)):
        for request in ({}, {"mode": "Overwrite"}, {"mode": "Overwrite"}):
            reply = lab.call("CreateTable", data, id=table, **request)
            if request and reply.code in (0, 13):
                break
            lab.must_succeed(reply)
            told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            for key in ("location", "version"):
                found = (reply.answer or {}).get(key)
                lab.that(found in (None, told.get(key)), f"{key} {told.get(key)!r}", found)
        dropped = lab.ok("DropTable", id=table)
        if dropped.get("location") is not None:
            lab.same(dropped["location"], told.get("location"), "location that DropTable answers")
        lab.that(not lab.exists("TableExists", table), "the table to be gone", "it is there")


@check("LN-AGAIN-006",
       "Repeated changes of properties, metadata, columns and names take effect each time.",
       "rest.yaml, AlterTable, UpdateTableSchemaMetadata, AlterTableAddColumns and RenameTable",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def altered_again(lab: Lab) -> None:
    table = lab.new_table(1)
    for number in ("1", "2", "2"):
        reply = lab.call("AlterTable", id=table, set_properties={"round": number})
        if reply.succeeded:
            lab.has(
                lab.ok("DescribeTable", id=table).get("properties"), {"round": number}, "properties"
            )
        reply = lab.call("UpdateTableSchemaMetadata", id=table, metadata={"round": number})
        if reply.succeeded:
            told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            kept = (told.get("schema") or {}).get("metadata") or {}
            lab.same((reply.answer or {}).get("metadata"), kept, "the metadata that is answered")
            lab.has(kept, {"round": number}, "the metadata")
    for name in ("first", "second"):
        column = {"name": name, "expression": "id + 1"}
        reply = lab.call("AlterTableAddColumns", id=table, new_columns=[column])
        if reply.succeeded:
            lab.that(name in lab.query(table).column_names, f"a column {name}", "none")
            reply = lab.call("AlterTableDropColumns", id=table, columns=[name])
            there = name in lab.query(table).column_names
            lab.same(there, not reply.succeeded, f"whether the column {name} is there")
    for _ in range(2):
        new = lab.ledger.fresh()
        reply = lab.call("RenameTable", id=table, new_table_name=new)
        if reply.code in (0, 13):
            return
        lab.must_succeed(reply)
        lab.that(not lab.exists("TableExists", table), "the old name to be free", "it is not")
        table = [*table[:-1], new]
        lab.same(lab.ids(table), [1], "the ids under the new name")


@check("LN-AGAIN-007",
       "With include_declared false, ListTables returns a declared table only after it has rows.",
       "rest.yaml, ListTablesRequest, include_declared", "ListTables", "DeclareTable",
       "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def filled(lab: Lab) -> None:
    merge = {"on": "id", "when_not_matched_insert_all": True}
    for operation, request in (("InsertIntoTable", {}), ("MergeInsertIntoTable", merge),
                               ("CreateTable", {"mode": "Overwrite"})):  # fmt: skip
        table = lab.new_declared()
        for due in (False, True):
            names = lab.walk("ListTables", "tables", id=table[:-1], include_declared=False)
            lab.same(table[-1] in names, due, f"whether it is listed before and after {operation}")
            if not due:
                reply = lab.call(operation, stream(people(1)), id=table, **request)
                if not reply.succeeded:
                    break


@check("LN-NAME-016", "Every table operation rejects an identifier with an empty name.",
       "general specification, Name and Identifier for Root Namespace; rest.yaml, InvalidInput",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def empty_names(lab: Lab) -> None:
    for operation in OPERATIONS.values():
        if operation.path.startswith("/v1/table/{id}"):
            reply = missing_object_call(lab, operation.name, "")
            if reply.code != 0 or lab.supports(operation.name):
                lab.must_fail(reply, [1, 4, 13])


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
    lab.same(found == [*range(count), *range(count)], True, "whether each row comes once, in order")
    found = lab.query(table, k=count + 10, offset=count - 5).column("id").to_pylist()
    lab.same(found[:10], [*range(count - 5, count), *range(5)], "the ids where the writes meet")
    lab.same(lab.count(table, predicate="id >= 8192"), 2 * (count - 8192), "the later rows")
    lab.given("CreateTable", plain(column="id"), id=other)
    reply = lab.call("MergeInsertIntoTable", stream(rows, batch_rows=5_000), id=other, on="id",
                     when_not_matched_insert_all=True)  # fmt: skip
    if reply.succeeded:
        lab.same(sorted(lab.query(other, k=0).column("id").to_pylist()) == list(range(count)), True,
                 "whether each merged row is there once")  # fmt: skip


@check("LN-VERSION-020",
       "ListTableVersions with descending sorts more than ten versions by number, newest first.",
       "rest.yaml, ListTableVersionsRequest, descending", "ListTableVersions", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def many_versions(lab: Lab) -> None:
    table = lab.new_table(1)
    for number in range(10):
        lab.given("InsertIntoTable", stream(people(10 + number)), id=table)
    due = list(range(11, 0, -1))
    for request in ({}, {"limit": 4}):
        found: list[int] = []
        for answer in lab.pages("ListTableVersions", id=table, descending=True, **request):
            found += [entry["version"] for entry in answer.get("versions") or ()]
        lab.same(found, due, "the versions")


_NOTHING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("BatchDeleteTableVersions", {"ranges": []}),
    ("AlterTableAddColumns", {"new_columns": []}),
    ("AlterTableAlterColumns", {"alterations": []}),
    ("AlterTableDropColumns", {"columns": []}),
    ("UpdateFieldMetadata", {"updates": []}),
    ("UpdateTable", {"updates": []}),
    ("AlterTable", {"set_properties": {}, "unset_properties": []}),
)


@check("LN-WHOLE-011", "An empty list of changes is rejected or changes nothing.",
       "rest.yaml, the lists of the requests", "CreateTable", "InsertIntoTable", "QueryTable",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def nothing_to_do(lab: Lab) -> None:
    table = furnished(lab)
    before = state(lab, table)
    for operation, request in _NOTHING:
        lab.call(operation, id=table, **request)
        after = state(lab, table)
        for key in ("rows", "location", "schema", "properties", "tags", "branches"):
            lab.same(after[key], before[key], f"{key} after {operation} of nothing")
        kept = {v["version"] for v in before["versions"] or ()}
        found = {v["version"] for v in after["versions"] or ()}
        lab.that(kept <= found, f"versions {sorted(kept)} after {operation} of nothing", found)


@check("LN-WHOLE-012",
       "Namespace operations on a table do not change the table and, except for DropNamespace, "
       "fail.",
       'protocol semantics, "Errors"; general specification, "Object Name"', "CreateTable",
       "CreateNamespace", "QueryTable", capabilities=["tables", "nested"])  # fmt: skip
def on_a_table(lab: Lab) -> None:
    table = furnished(lab)
    before = state(lab, table)
    for operation, request in (
        ("CreateNamespace", {}), ("CreateNamespace", {"mode": "Overwrite"}), ("DropNamespace", {}),
        ("DropNamespace", {"behavior": "Cascade"}), ("AlterNamespace", {"set_properties": {"a": "1"}}),
        ("DescribeNamespace", {}), ("NamespaceExists", {}),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if operation != "DropNamespace":  # a catalog may ignore a missing namespace
            lab.that(not reply.succeeded, f"{operation} of a table to fail", reply.outcome())
    unchanged(lab, before, state(lab, table), "namespace operations on it")
