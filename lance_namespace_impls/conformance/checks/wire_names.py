"""Routes by operation name, index names in routes, and the headers of CreateTable."""

from __future__ import annotations

import json
from typing import Any

from ..http_target import ARROW_STREAM
from ..lab import Lab, Skipped
from ..requirement import Level, check
from ..rows import people, plain, stream
from .structure import indexed
from .wire import raw, table_path

_HTTP = ["http", "tables"]
_ROUTES = (
    'general specification, "Routes"; rest.yaml, info: the route by name takes from the JSON body'
)
_HEADERS = 'rest.yaml, CreateTable; protocol semantics, "Bodies that are not JSON objects"'
_READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("CountTableRows", {"version": 1}), ("CountTableRows", {"predicate": "id > 2"}),
    ("CountTableRows", {"branch": "side"}), ("TableExists", {"version": 99}),
    ("DescribeTable", {"version": 1, "load_detailed_metadata": True}),
    ("DescribeTable", {"check_declared": True}), ("DescribeTable", {"with_table_uri": True}),
    ("DescribeTable", {"tag": "one"}), ("DescribeTable", {"version": 99}),
    ("ListTableVersions", {"descending": True}), ("ListTableVersions", {"limit": 1}),
    ("ListTableVersions", {"branch": "side"}),
    ("ListTableTags", {"limit": 1}), ("ListTableBranches", {"limit": 1}),
    ("ListTableIndices", {"limit": 1}), ("ListTableIndices", {"version": 1}),
    ("GetTableTagVersion", {"tag": "one"}), ("GetTableTagVersion", {"tag": "nothing"}),
    ("DescribeTableVersion", {"version": 1}), ("DescribeTableVersion", {"version": 99}),
    ("DescribeTableIndexStats", {"index_name": "a"}), ("DescribeTableIndexStats", {"index_name": "no"}),
    ("GetTableStats", {"branch": "side"}),
)  # fmt: skip


def _rich(lab: Lab) -> list[str]:
    table = lab.new_table(1, 2)
    lab.given("InsertIntoTable", stream(people(3)), id=table)
    lab.call("CreateTableBranch", id=table, name="side", from_version=1)
    lab.call("CreateTableBranch", id=table, name="other")
    for tag, version in (("one", 1), ("two", 2)):
        lab.call("CreateTableTag", id=table, tag=tag, version=version)
    for name, column in (("a", "id"), ("b", "name")):
        lab.call("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
    return table


def _by_name(lab: Lab) -> None:
    probe = raw(lab, "DescribeTable", "/DescribeTable", {"id": lab.shared_table()}, method="POST")
    if probe.no_route:
        raise Skipped("no routes by name")


@check("LN-WIRE-ALL-007",
       "A read on its route by name reads every field from the body and returns the same"
       " as the /v1 route.",
       _ROUTES, "DescribeTable", "CreateTable", "InsertIntoTable", level=Level.SHOULD,
       capabilities=_HTTP)  # fmt: skip
def same_answer(lab: Lab) -> None:
    _by_name(lab)
    table = _rich(lab)
    for operation, request in _READS:
        usual = lab.call(operation, id=table, **request)
        if usual.code == 0:
            continue
        named = raw(lab, operation, f"/{operation}", {"id": table, **request}, method="POST")
        what = f"{operation} by name of {request}"
        lab.same(named.code, usual.code, f"the code of {what}")
        for key in (usual.answer or {}) if usual.succeeded else ():
            if key not in ("context", "page_token", "storage_options"):
                lab.same(
                    (named.answer or {}).get(key), (usual.answer or {})[key], f"{key} of {what}"
                )
    for request in (
        {"filter": "id > 1"},
        {"version": 1},
        {"offset": 2},
        {"k": 1},
        {"with_row_id": True},
    ):
        body = {"vector": lab.no_vector(), "k": 100, **request}
        usual = lab.call("QueryTable", id=table, **body)
        named = raw(lab, "QueryTable", "/QueryTable", {"id": table, **body}, method="POST")
        if usual.rows is not None and named.rows is not None:
            lab.same(
                named.rows.to_pylist(), usual.rows.to_pylist(), f"the rows by name of {request}"
            )
        lab.same(named.code, usual.code, f"the code of QueryTable by name of {request}")


@check("LN-WIRE-ALL-008",
       "A write on its route by name reads every field from the body, or from the query if"
       " the body holds rows.",
       _ROUTES, "DescribeTable", "CreateTable", "InsertIntoTable", level=Level.SHOULD,
       capabilities=_HTTP)  # fmt: skip
def same_effect(lab: Lab) -> None:
    _by_name(lab)
    table = lab.new_table(1, 2, 3)
    arrow = {"Content-Type": ARROW_STREAM}
    for operation, request, due in (
        ("DeleteFromTable", {"predicate": "id = 2"}, [1, 3]),
        ("UpdateTable", {"predicate": "id = 3", "updates": [["id", "id + 4"]]}, [1, 7]),
        ("RestoreTable", {"version": 1}, [1, 2, 3]),
    ):  # fmt: skip
        reply = raw(lab, operation, f"/{operation}", {"id": table, **request}, method="POST")
        if reply.code == 0:
            continue
        lab.must_succeed(reply)
        lab.same(lab.ids(table), due, f"the ids after {operation} by name")
    where = {"id": "$".join(table), "delimiter": "$"}
    for operation, ids, query, due in (
        ("InsertIntoTable", (4,), {}, [1, 2, 3, 4]),
        ("InsertIntoTable", (8, 9), {"mode": "overwrite"}, [8, 9]),
        ("MergeInsertIntoTable", (9, 10), {"on": "id", "when_not_matched_insert_all": "true"}, [8, 9, 10]),
        ("CreateTable", (5,), {"mode": "Overwrite"}, [5]),
    ):  # fmt: skip
        reply = raw(lab, operation, f"/{operation}", stream(people(*ids)), method="POST",
                    query={**where, **query}, headers=arrow)  # fmt: skip
        if reply.code in (0, 13):
            continue  # the place of the id is unspecified if the body holds rows
        lab.must_succeed(reply)
        lab.same(lab.ids(table), due, f"the ids after {operation} by name with {query}")


@check("LN-WIRE-ID-013",
       "An index_name in the body that differs from the one in the route is code 13.",
       "rest.yaml, DescribeTableIndexStats", "DescribeTableIndexStats", "CreateTableScalarIndex",
       "CreateTable", capabilities=_HTTP)  # fmt: skip
def other_index(lab: Lab) -> None:
    table = indexed(lab, "by_id")
    path = table_path(lab, table, "index/by_id/stats")
    lab.must_succeed(raw(lab, "DescribeTableIndexStats", path, {"index_name": "by_id"}))
    reply = raw(lab, "DescribeTableIndexStats", path, {"index_name": "another"})
    lab.must_fail(reply, [13])


@check("LN-WIRE-CREATE-002",
       "x-lance-table-properties are stored; x-lance-table-location is used or is code 13.",
       _HEADERS, "CreateTable", "DescribeTable", level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def headers(lab: Lab) -> None:
    plainly = lab.new_table(1)
    kept = lab.call(
        "CreateTable", plain(1), id=(asked := lab.table_id()), properties={"owner": "ana"}
    )
    if not kept.succeeded or not lab.ok("DescribeTable", id=asked).get("properties"):
        raise Skipped("tables have no properties here")
    table = lab.table_id()
    lab.ledger.made("table", tuple(table))
    given = {"Content-Type": ARROW_STREAM, "x-lance-table-properties": json.dumps({"owner": "ana"})}
    lab.must_succeed(
        raw(lab, "CreateTable", table_path(lab, table, "create"), plain(1), headers=given)
    )
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), {"owner": "ana"}, "the properties")
    usual = str(lab.ok("DescribeTable", id=plainly).get("location"))
    table = lab.table_id()
    elsewhere = f"{usual.rstrip('/')}_{lab.ledger.fresh()}"
    given = {"Content-Type": ARROW_STREAM, "x-lance-table-location": elsewhere}
    lab.ledger.made("table", tuple(table))
    reply = raw(lab, "CreateTable", table_path(lab, table, "create"), plain(1), headers=given)
    if not reply.succeeded:
        lab.must_fail(reply, [13])
        return
    found = str(lab.ok("DescribeTable", id=table).get("location"))
    lab.same(
        found.removeprefix("file://").rstrip("/"), elsewhere.removeprefix("file://"), "the location"
    )
