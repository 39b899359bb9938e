"""Rules for names, types and writes apply at every level and in every form."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import people, plain, stream
from .searches import built

_TABLES = ["tables"]
_SIGNS = "._-% +'\u00fc&?#=:@~,;()[]!^"
"""Characters that separators, encodings or quoting may mishandle."""


@check("LN-NAME-017",
       "An accepted name with any special character is returned unchanged, at every level"
       " of an identifier.",
       "general specification, Object Identifier; rest.yaml, DescribeTableResponse, table and namespace",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def signs(lab: Lab) -> None:
    taken = 0
    for sign in _SIGNS:
        parent = (
            lab.namespace_id() if lab.shape.tables_in_new else list(lab.shape.table_parent or ())
        )
        if lab.shape.tables_in_new:
            parent[-1] += f"{sign}x"
            if not lab.call("CreateNamespace", id=parent).succeeded:
                continue
            listed = lab.walk("ListNamespaces", "namespaces", id=parent[:-1])
            lab.that(
                parent[-1] in listed,
                f"{parent[-1]!r} in the listing",
                [n for n in listed if "x" in n][:9],
            )
        for name in (lab.ledger.fresh(), f"{lab.ledger.fresh()}{sign}y"):
            table = [*parent, name]
            if not lab.call("CreateTable", plain(1), id=table).succeeded:
                continue
            taken += 1
            told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            for key, due in (("table", name), ("namespace", parent)):
                lab.that(told.get(key) in (None, due), f"{key} {due!r}", repr(told.get(key)))
            listed = lab.walk("ListTables", "tables", id=parent)
            lab.that(name in listed, f"{name!r} in the listing", listed[:9])
            lab.same(lab.query(table).to_pylist(), [{"x": 1}], f"the rows of {table}")
            lab.ok("DropTable", id=table)
            lab.that(not lab.exists("TableExists", table), "the table to be gone", table)
    if not taken:
        raise Skipped("no such name is taken")


_TYPES = (
    pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(),
    pa.binary(), pa.binary(5), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Berlin"), pa.duration("ms"),
    pa.decimal128(20, 3), pa.list_(pa.int32(), 3),
)  # fmt: skip
_AROUND: tuple[tuple[str, Any], ...] = (
    ("a list", pa.list_), ("a struct", lambda t: pa.struct([pa.field("in", t, nullable=False)])),
    ("a list of structs", lambda t: pa.list_(pa.struct([pa.field("in", t)]))),
)  # fmt: skip


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
                _inner(told[what], depth), told["x"], f"the type of {kind} in {what} as it is told"
            )
        inner = (told["a struct"].get("fields") or [{}])[0]
        lab.same(
            (inner.get("name"), inner.get("nullable")),
            ("in", False),
            f"the field of {kind} in a struct",
        )


_FLAGS = (
    "when_matched_update_all",
    "when_not_matched_insert_all",
    "when_not_matched_by_source_delete",
)


@check("LN-ROWS-DECLARED-003",
       "Every write that creates a declared table stores all rows of the request.",
       "rest.yaml, MergeInsertIntoTable and InsertIntoTable: a table that is declared is made with all rows",
       "DeclareTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def declared(lab: Lab) -> None:
    writes: list[tuple[str, dict[str, Any]]] = [
        *(("InsertIntoTable", {"mode": mode}) for mode in ("append", "overwrite", "OVERWRITE")),
        *(("MergeInsertIntoTable", {"on": "id", flag: True}) for flag in _FLAGS),
        ("MergeInsertIntoTable", {"on": ["id", "name"], **dict.fromkeys(_FLAGS, True)}),
        ("CreateTable", {}), ("CreateTable", {"mode": "Overwrite"}),
    ]  # fmt: skip
    made: dict[str, list[bool]] = {}
    for operation, request in writes:
        table = lab.new_declared()
        reply = lab.call(operation, stream(people(1, 2, 3), batch_rows=2), id=table, **request)
        made.setdefault(operation, []).append(reply.succeeded)
        lab.that(
            len(set(made[operation])) == 1,
            f"{operation} to make a declared table whatever else it is asked for, or never",
            reply.outcome(),
        )
        if reply.succeeded:
            lab.same(lab.ids(table), [1, 2, 3], f"the ids after {operation} with {request}")
            told = lab.maybe("DescribeTable", id=table, check_declared=True)
            lab.that(
                told.get("is_only_declared") is not True, "a table that is not only declared", told
            )


@check("LN-SPELT-003", "The operator of a full-text query is case-insensitive.",
       "rest.yaml, Operator: And or Or, in any letter case; any other value is InvalidInput", "QueryTable",
       "CreateTableIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def operators(lab: Lab) -> None:
    table = lab.table_id()
    words = ("red apple", "red", "apple", "green")
    rows = pa.table({"id": pa.array(range(4), pa.int64()), "words": list(words)})
    lab.given("CreateTable", stream(rows), id=table)
    lab.maybe("CreateTableIndex", id=table, column="words", index_type="FTS")
    built(lab, table)
    for operator, due in (("And", [0]), ("Or", [0, 1, 2])):
        for spelling in (operator, operator.lower(), operator.upper()):
            match = {"terms": "red apple", "column": "words", "operator": spelling}
            for query in (
                {"match": match}, {"multi_match": {"match_queries": [match]}},
                {"boolean": {"must": [{"match": match}], "must_not": [], "should": []}},
            ):  # fmt: skip
                reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=9,
                                 full_text_query={"structured_query": {"query": query}})  # fmt: skip
                lab.may_refuse(reply)
                found = sorted(reply.rows.column("id").to_pylist())
                lab.same(found, due, f"the ids that {spelling} finds in {next(iter(query))}")
