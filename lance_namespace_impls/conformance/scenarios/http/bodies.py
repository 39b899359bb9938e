"""Bodies of requests and responses."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from attrs import evolve

from ...http_target import ARROW_STREAM, HttpTarget
from ...lab import Lab, Skipped
from ...requirement import Level, check
from ...rows import PEOPLE, people, stream
from .requests import JSON, json_calls, must_refuse, raw, request_fields, table_path

_HTTP = ["http", "tables"]
_BODIES = 'protocol semantics, "Bodies that are not JSON objects"'
_INPUT = 'protocol semantics, "Errors", code 13'


@check("LN-WIRE-BODY-001", "An empty body is treated as an empty request.",
       _BODIES, "DescribeTable",
       capabilities=_HTTP)  # fmt: skip
def empty_body(lab: Lab) -> None:
    table = lab.any_table()
    for headers in (JSON, {}):
        path = table_path(lab, table, "describe")
        lab.must_succeed(raw(lab, "DescribeTable", path, b"", headers=headers))


@check("LN-WIRE-BODY-002", "A body that is not JSON fails with code 13.", _INPUT, "DescribeTable",
       capabilities=_HTTP)  # fmt: skip
def not_json(lab: Lab) -> None:
    table = lab.any_table()
    for body in (b"{", b"not json", b'{"id": [}', b"\xff\xfe", b"{} trailing"):
        reply = raw(lab, "DescribeTable", table_path(lab, table, "describe"), body)
        lab.must_fail(reply, [13])


@check("LN-WIRE-BODY-003", "A JSON body that is not an object fails with code 13.", _INPUT,
       "DescribeTable", capabilities=_HTTP)  # fmt: skip
def not_an_object(lab: Lab) -> None:
    table = lab.any_table()
    for body in (b"[1]", b'"text"', b"5", b"true"):
        reply = raw(lab, "DescribeTable", table_path(lab, table, "describe"), body)
        lab.must_fail(reply, [13])


@check("LN-WIRE-BODY-004", "A field of the wrong JSON type fails with code 13 and has no effect.",
       _INPUT,
       "DeclareTable", capabilities=_HTTP)  # fmt: skip
def wrong_type(lab: Lab) -> None:
    table = lab.any_table()
    new = lab.table_id()
    for body in ({"properties": ["a"]}, {"properties": 5}, {"location": 5}):
        lab.ledger.made("table", tuple(new))
        reply = raw(lab, "DeclareTable", table_path(lab, new, "declare"), body)
        lab.must_fail(reply, [13])
    lab.that(not lab.exists("TableExists", new), "no table after code 13", "it exists")
    reply = raw(lab, "DescribeTable", table_path(lab, table, "describe"), {"version": "latest"})
    lab.must_fail(reply, [13])


@check("LN-WIRE-BODY-005", "Unknown fields are ignored.",
       "rest.yaml: no request schema forbids additional properties", "DescribeTable",
       capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def unknown_fields(lab: Lab) -> None:
    table = lab.any_table()
    body = {"a_field_of_later_days": {"and": ["its", "value"]}}
    lab.must_succeed(raw(lab, "DescribeTable", table_path(lab, table, "describe"), body))


@check("LN-WIRE-BODY-006", "null in an optional field is equivalent to omitting the field.",
       "rest.yaml, info: an absent field and a null field are equivalent",
       "DescribeTable", "DeclareTable", capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def null_fields(lab: Lab) -> None:
    new = lab.table_id()
    lab.ledger.made("table", tuple(new))
    body = {"properties": None, "location": None}
    lab.must_succeed(raw(lab, "DeclareTable", table_path(lab, new, "declare"), body))
    body = {"version": None, "with_table_uri": None}
    lab.must_succeed(raw(lab, "DescribeTable", table_path(lab, new, "describe"), body))


@check("LN-WIRE-BODY-007", "A JSON content type may include a charset.", "RFC 9110, Content-Type",
       "DescribeTable", capabilities=_HTTP)  # fmt: skip
def charset(lab: Lab) -> None:
    table = lab.any_table()
    headers = {"Content-Type": "application/json; charset=utf-8"}
    path = table_path(lab, table, "describe")
    lab.must_succeed(raw(lab, "DescribeTable", path, {}, headers=headers))


@check("LN-WIRE-BODY-008", "CountTableRows returns a bare number.", _BODIES, "CountTableRows",
       "CreateTable", capabilities=_HTTP)  # fmt: skip
def bare_count(lab: Lab) -> None:
    reply = lab.call("CountTableRows", id=lab.shared_table())
    lab.must_succeed(reply)
    body = reply.exchange.body.strip() if reply.exchange else b""
    lab.same(body, str(len(PEOPLE)).encode(), "the body")


@check("LN-WIRE-BODY-009", "TableExists returns no body for an existing table.",
       _BODIES, "TableExists", capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def no_body(lab: Lab) -> None:
    reply = lab.call("TableExists", id=lab.any_table())
    lab.must_succeed(reply)
    body = reply.exchange.body if reply.exchange else b""
    lab.that(body.strip() in (b"", b"{}", b"null"), "no body", body[:100])


@check("LN-WIRE-BODY-010", "QueryTable returns an Arrow IPC file.", _BODIES, "QueryTable",
       "CreateTable", capabilities=_HTTP)  # fmt: skip
def arrow_file(lab: Lab) -> None:
    lab.query(lab.shared_table())
    body = lab.last.exchange.body if lab.last is not None and lab.last.exchange else b""
    lab.same((body[:6], body[-6:]), (b"ARROW1", b"ARROW1"), "the magic bytes of an Arrow file")


@check("LN-WIRE-BODY-011", "UpdateTableSchemaMetadata accepts and returns a bare map.", _BODIES,
       "UpdateTableSchemaMetadata", "CreateTable", capabilities=_HTTP)  # fmt: skip
def bare_map(lab: Lab) -> None:
    table = lab.new_table()
    path = table_path(lab, table, "schema_metadata/update")
    reply = raw(lab, "UpdateTableSchemaMetadata", path, {"a": "1"})
    lab.must_succeed(reply)
    body = json.loads(reply.exchange.body) if reply.exchange else {}
    lab.has(body, {"a": "1"}, "the body")


@check("LN-WIRE-BODY-012", "Text in a JSON body may be escaped or plain UTF-8.",
       "RFC 8259, strings", "DeclareTable", "DescribeTable", capabilities=_HTTP)  # fmt: skip
def escapes(lab: Lab) -> None:
    for ascii_only in (True, False):
        table = lab.table_id()
        body = json.dumps({"properties": {"note": "ünï 日本 🙂"}}, ensure_ascii=ascii_only)
        lab.ledger.made("table", tuple(table))
        reply = raw(
            lab, "DeclareTable", table_path(lab, table, "declare"), body.encode(), headers=JSON
        )
        if reply.code in (0, 13):
            raise Skipped(f"DeclareTable: {reply.outcome()}")
        lab.must_succeed(reply)
        found = lab.ok("DescribeTable", id=table).get("properties")
        lab.has(found, {"note": "ünï 日本 🙂"}, "the properties")


@check("LN-WIRE-BODY-013",
       "QueryTable returns one complete Arrow file, which contains the columns even without rows.",
       _BODIES, "QueryTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def files(lab: Lab) -> None:
    table = lab.shared_table()
    for more, rows in (({}, 10), ({"filter": "id > 99"}, 0), ({"k": 1}, 1)):
        request = {"vector": lab.no_vector(), "k": 100, **more}
        reply = raw(lab, "QueryTable", table_path(lab, table, "query"), request)
        lab.must_succeed(reply)
        body = reply.exchange.body if reply.exchange else b""
        lab.that(
            body[:6] == b"ARROW1" and body[-6:] == b"ARROW1", "a complete Arrow file", body[-9:]
        )
        found = pa.ipc.open_file(body).read_all()
        lab.same(
            (found.num_rows, found.column_names), (rows, people(1).column_names), "rows and columns"
        )


@check("LN-WIRE-BODY-014",
       "A body with truncated or invalid rows fails with code 13 and changes nothing.",
       "rest.yaml, InsertIntoTable: a body that is not an Arrow stream; MergeInsertIntoTable",
       "InsertIntoTable", "MergeInsertIntoTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def cut_rows(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    whole = stream(people(*range(10, 60)), batch_rows=10)
    arrow = {"Content-Type": ARROW_STREAM}
    for action, query, name in (
        ("insert", {}, "InsertIntoTable"),
        ("insert", {"mode": "overwrite"}, "InsertIntoTable"),
        (
            "merge_insert",
            {"on": "id", "when_not_matched_insert_all": "true"},
            "MergeInsertIntoTable",
        ),
    ):
        for body in (whole[: len(whole) // 2], b"", b"not rows at all, whatever they say"):
            reply = raw(lab, name, table_path(lab, table, action), body, query=query, headers=arrow)
            if reply.no_route or reply.code == 0:
                continue
            lab.must_fail(reply, [13])
    lab.same(lab.ids(table), [1, 2], "the ids")


@check("LN-WIRE-BODY-060",
       "Every key in the bare map of schema metadata is a metadata key, even id or branch.",
       f"{_BODIES}; rest.yaml, UpdateTableSchemaMetadata", "UpdateTableSchemaMetadata",
       "CreateTable", capabilities=_HTTP)  # fmt: skip
def plain_keys(lab: Lab) -> None:
    table = lab.new_table()
    path = table_path(lab, table, "schema_metadata/update")
    given = {"id": "1", "branch": "b", "metadata": "m", "context": "c", "delimiter": "|"}
    lab.must_succeed(raw(lab, "UpdateTableSchemaMetadata", path, given))
    for body in (b'["a"]', b"{", b'{"k": {"a": "b"}}', b'{"k": ["a"]}'):
        lab.must_fail(raw(lab, "UpdateTableSchemaMetadata", path, body, headers=JSON), [13])
    reply = raw(lab, "UpdateTableSchemaMetadata", path, {"id": "2"})
    lab.must_succeed(reply)
    found = json.loads(reply.exchange.body) if reply.exchange else {}
    lab.has(found, {**given, "id": "2"}, "the body")
    lab.that("k" not in found, "no key of the rejected request", found)


@check("LN-WIRE-BODY-061", "An optional field of the wrong type fails with code 13.",
       _INPUT, "DescribeTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def wrong_types(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    asked = {"branch", "version", "id", "predicate", "filter", "offset", "columns", "with_row_id",
             "name", "from_branch", "from_version", "tag", "set_properties", "prefilter",
             "vector_column", "distance_type", "new_namespace_id", "properties"}  # fmt: skip
    for name, request in json_calls(lab):
        if name in ("ExplainTableQueryPlan", "AnalyzeTableQueryPlan"):
            continue  # they have the fields of QueryTable
        for key in asked & set(request_fields(name, required=False)):
            must_refuse(lab, name, table, request, json.dumps({**request, key: [[{}]]}).encode())
    lab.same(lab.ids(table), [1, 2], "the ids")


_ARROW = {"Content-Type": ARROW_STREAM}


@check("LN-WIRE-BODY-062",
       "CreateTable with truncated rows fails with code 13 and does not replace a table.",
       "rest.yaml, CreateTable: a body that is not an Arrow stream", "CreateTable", "QueryTable",
       capabilities=_HTTP)  # fmt: skip
def cut_overwrite(lab: Lab) -> None:
    table, whole = lab.new_table(1, 2), stream(people(*range(10, 60)), batch_rows=10)
    for body in (whole[: len(whole) // 2], whole[:20], b"", b"not rows, whatever they say"):
        reply = raw(lab, "CreateTable", table_path(lab, table, "create"), body,
                    query={"mode": "Overwrite"}, headers=_ARROW)  # fmt: skip
        lab.must_fail(reply, [0, 13])
        lab.same(lab.ids(table), [1, 2], "the ids in the existing table")


@check("LN-WIRE-BODY-063", "Rows may be sent in chunks and may be several megabytes in size.",
       "RFC 9112, Chunked Transfer Coding; rest.yaml names no limit", "InsertIntoTable",
       "CountTableRows", "CreateTable", level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def chunks(lab: Lab) -> None:
    table, target = lab.new_table(1), lab.target
    if not isinstance(target, HttpTarget):
        raise Skipped("needs http")
    if not target.can_stream:
        raise Skipped("a signature without https covers the body, so it cannot be sent in chunks")
    path, big = table_path(lab, table, "insert"), [["y" * 1_000_000] * 3]
    for due, rows in ((3, people(2)), (9, people(3, 4, 5).set_column(1, "name", big))):
        whole = raw(lab, "InsertIntoTable", path, body := stream(rows), headers=_ARROW)
        lab.must_succeed(whole)
        parts: Any = iter((body[:7], body[7:800], body[800:]))
        reply = target.send(whole.step, "POST", path, None, parts, _ARROW)
        shown = reply.exchange and evolve(reply.exchange, request_body=body)
        lab.must_succeed(lab.judge(evolve(reply, exchange=shown)))
        lab.same(lab.count(table), due, "the number of rows")
