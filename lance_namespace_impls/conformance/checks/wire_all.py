"""HTTP rules for every operation: identifiers, bodies, routes, headers and connections."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from lance_namespace_client.operations import OPERATIONS, Body

from ..http_target import ARROW_STREAM, HttpTarget, route
from ..lab import MOST_PAGES, Failed, Lab, Skipped
from ..requirement import Level, check
from ..rows import people, plain, stream
from .references import NO_BRANCH
from .wire import JSON, joined, raw, table_path

_HTTP = ["http", "tables"]
_IDS = 'protocol semantics, "Identifiers"; rest.yaml, the id parameter'
_INPUT = 'protocol semantics, "Errors", code 13'
_BODIES = 'protocol semantics, "Bodies that are not JSON objects"'
CALLS: dict[str, tuple[bytes | None, dict[str, Any]]] = {
    **NO_BRANCH,
    "DescribeTable": (None, {}),
    "TableExists": (None, {}),
    "ListTableIndices": (None, {}),
    "ListTableTags": (None, {}),
    "ListTableBranches": (None, {}),
    "GetTableTagVersion": (None, {"tag": "t"}),
    "UpdateTableTag": (None, {"tag": "t", "version": 1}),
    "DeleteTableTag": (None, {"tag": "t"}),
    "CreateTableBranch": (None, {"name": "side"}),
    "DeleteTableBranch": (None, {"name": "side"}),
    "CreateTableIndex": (None, {"column": "vec", "index_type": "IVF_FLAT"}),
    "ExplainTableQueryPlan": (None, {"query": {"vector": {"single_vector": [1.0, 0.0]}, "k": 1}}),
    "AnalyzeTableQueryPlan": (None, {"vector": {"single_vector": [1.0, 0.0]}, "k": 1}),
    "RenameTable": (None, {"new_table_name": "x"}),
    "AlterTable": (None, {"set_properties": {"k": "v"}}),
    "DeregisterTable": (None, {}),
    "DropTable": (None, {}),
}  # fmt: skip
"""Calls on a table with their required fields; the calls that remove the table come last."""


def supported(lab: Lab, operation: str) -> bool:
    """Return whether the target claims to support an operation or has executed it."""
    return operation in (lab.claimed or ()) or operation in lab.worked


def json_calls(lab: Lab) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each supported table operation with a JSON body, and the fields of its request."""
    for name, (_, request) in CALLS.items():
        if OPERATIONS[name].body is Body.JSON and supported(lab, name):
            if name == "RenameTable":  # the new name if the target accepts an invalid request
                new = lab.table_id()
                lab.ledger.made("table", tuple(new))
                request = {"new_table_name": new[-1]}
            yield name, request


def must_refuse(
    lab: Lab, name: str, table: list[str], request: dict[str, Any], body: bytes
) -> None:
    """Send a call with a different body and check that it is rejected."""
    path, query, _, headers = route(OPERATIONS[name], {"id": table, **request}, None)
    reply = raw(lab, name, path, body, query=query, headers=headers)
    if not reply.no_route and reply.code != 0:
        lab.must_fail(reply, [13])


@check("LN-WIRE-ALL-001",
       "Every table operation with a JSON body fails with code 13 if the body contains a "
       "different id.", _IDS,
       "DescribeTable", capabilities=_HTTP)  # fmt: skip
def other_ids(lab: Lab) -> None:
    table, other = lab.new_table(1, 2), lab.new_table(3)
    for name, request in json_calls(lab):
        must_refuse(lab, name, table, request, json.dumps({**request, "id": other}).encode())
    lab.same((lab.ids(table), lab.ids(other)), ([1, 2], [3]), "the ids of both tables")


@check("LN-WIRE-ALL-002",
       "Every table operation with a JSON body fails with code 13 if the body is not a JSON "
       "object.",
       _INPUT, "DescribeTable", capabilities=_HTTP)  # fmt: skip
def bad_bodies(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    for name, request in json_calls(lab):
        for body in (b"{", b"[1]"):
            must_refuse(lab, name, table, request, body)
    lab.same(lab.ids(table), [1, 2], "the ids")


def _required(name: str) -> list[str]:
    from lance_namespace_client import models

    found = getattr(models, OPERATIONS[name].request)._wire
    return [field.key for field in found if field.required]


@check("LN-WIRE-ALL-003",
       "A required field that is missing or has the wrong type fails with code 13.",
       "rest.yaml, the required fields of the request schemas; protocol semantics, Errors, code 13",
       "DescribeTable", capabilities=_HTTP)  # fmt: skip
def required_fields(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    for name, request in json_calls(lab):
        for key in _required(name):
            if key not in request or key == "vector":
                continue
            for body in ({k: v for k, v in request.items() if k != key}, {**request, key: [[{}]]}):
                must_refuse(lab, name, table, request, json.dumps(body).encode())
    lab.same(lab.ids(table), [1, 2], "the ids")


@check("LN-WIRE-ALL-004",
       "Every table operation accepts POST /<OperationId> if the server has routes by name.",
       'general specification, "Routes"; a server without them is skipped', "DescribeTable",
       level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def by_name(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    probe = raw(lab, "DescribeTable", "/DescribeTable", {"id": table}, method="POST")
    if probe.no_route:
        raise Skipped("no routes by name")
    for name, (_, request) in CALLS.items():
        if OPERATIONS[name].body is not Body.JSON or not supported(lab, name):
            continue
        missing = lab.table_id()
        reply = raw(lab, name, f"/{name}", {**request, "id": missing}, method="POST")
        lab.must_fail(reply, [4, 1])
    answer = raw(lab, "CountTableRows", "/CountTableRows", {"id": table}, method="POST")
    lab.must_succeed(answer)
    lab.same((answer.answer or {}).get("count"), 2, "the number of rows")


@check("LN-WIRE-ALL-005",
       "Every read of a table splits the id in the path at the requested delimiter.",
       _IDS, "DescribeTable", capabilities=_HTTP)  # fmt: skip
def delimiters(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    if len(table) < 2:
        raise Skipped("tables are in the root")
    for name, (_, request) in CALLS.items():
        operation = OPERATIONS[name]
        if not operation.repeatable or not supported(lab, name):
            continue
        right = lab.call(name, id=table, **request)
        path, query, content, headers = route(operation, {"id": table, **request}, None)
        for delimiter in ("|", ".", "::"):
            other = path.replace(joined(table), joined(table, delimiter))
            if operation.body is Body.JSON:
                content = json.dumps(request).encode()
            found = raw(lab, name, other, content, query=query | {"delimiter": delimiter},
                        headers=dict(headers))  # fmt: skip
            lab.same((found.succeeded, found.code), (right.succeeded, right.code),
                     f"the outcome of {name} with the delimiter {delimiter}")  # fmt: skip


@check("LN-WIRE-ALL-006",
       "A read with null in its optional fields behaves as if the fields were absent.",
       "rest.yaml, info: a field that is absent and one that is null are the same", "DescribeTable",
       level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def nulls(lab: Lab) -> None:
    from lance_namespace_client import models

    table = lab.new_table(1, 2)
    for name, (_, request) in CALLS.items():
        operation = OPERATIONS[name]
        if operation.body is not Body.JSON or not operation.repeatable or not supported(lab, name):
            continue
        wire = getattr(models, operation.request)._wire
        given = {f.key: None for f in wire if not f.required and f.key != "id"} | request
        right = lab.call(name, id=table, **request)
        path, query, _, headers = route(operation, {"id": table, **request}, None)
        found = raw(lab, name, path, json.dumps(given).encode(), query=query, headers=dict(headers))
        lab.same((found.succeeded, found.code), (right.succeeded, right.code),
                 f"the outcome of {name} with nulls")  # fmt: skip


@check("LN-WIRE-CREATE-001",
       "CreateTable accepts the x-lance-table-properties header, and reads it correctly or "
       "ignores it.",
       _BODIES, "CreateTable", "DescribeTable", level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def create_headers(lab: Lab) -> None:
    table = lab.table_id()
    headers = {"Content-Type": ARROW_STREAM, "x-lance-table-properties": '{"owner": "ana"}'}
    lab.ledger.made("table", tuple(table))
    reply = raw(lab, "CreateTable", table_path(lab, table, "create"), plain(1), headers=headers)
    lab.must_succeed(reply)
    found = lab.ok("DescribeTable", id=table).get("properties") or {}
    if "owner" in found:  # clients may send the headers, but no rule requires servers to read them
        lab.same(found["owner"], "ana", "the property")
    lab.same(lab.count(table), 1, "the number of rows")


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
            body[:6] == b"ARROW1" and body[-6:] == b"ARROW1", "an Arrow file, whole", body[-9:]
        )
        found = pa.ipc.open_file(body).read_all()
        lab.same(
            (found.num_rows, found.column_names), (rows, people(1).column_names), "rows and columns"
        )


@check("LN-WIRE-BODY-014",
       "A body with truncated or invalid rows fails with code 13 and changes nothing.",
       "rest.yaml, InsertIntoTable: a body that is no such stream; MergeInsertIntoTable",
       "InsertIntoTable", "MergeInsertIntoTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def cut(lab: Lab) -> None:
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


@check("LN-WIRE-QUERY-008",
       "Boolean query parameters accept true and false, also in requests with a body.",
       "rest.yaml, the parameters of the operations", "ListTables", "DescribeTable",
       "CreateTable", "DeclareTable", capabilities=_HTTP)  # fmt: skip
def flags(lab: Lab) -> None:
    declared, held = lab.new_declared(), lab.new_table(1)
    path = f"/v1/namespace/{joined(declared[:-1])}/table/list"
    for value, there in (("false", False), ("true", True)):
        found: list[str] = []
        token: str | None = None
        for _ in range(MOST_PAGES):
            query = {"include_declared": value} | ({"page_token": token} if token else {})
            reply = raw(lab, "ListTables", path, query=query)
            lab.must_succeed(reply)
            found += (reply.answer or {}).get("tables") or []
            token = (reply.answer or {}).get("page_token")
            if not token:
                break
        else:
            raise Failed("the listing to end", f"{MOST_PAGES} pages", lab.last)
        lab.same(
            (held[-1] in found, declared[-1] in found),
            (True, there),
            f"which are listed for {value}",
        )
    path = table_path(lab, held, "describe")
    for key, field in (("with_table_uri", "table_uri"), ("load_detailed_metadata", "version")):
        reply = raw(lab, "DescribeTable", path, {}, query={key: "true"})
        lab.must_succeed(reply)
        lab.that(
            (reply.answer or {}).get(field) is not None, f"{field} for {key}=true", reply.outcome()
        )


@check("LN-WIRE-QUERY-009", "ListTableVersions reads descending and limit from the query string.",
       "rest.yaml, the parameters of the operations", "ListTableVersions", "InsertIntoTable",
       "CreateTable", capabilities=_HTTP)  # fmt: skip
def list_queries(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    reply = raw(lab, "ListTableVersions", table_path(lab, table, "version/list"),
                query={"descending": "true", "limit": "1"})  # fmt: skip
    lab.must_succeed(reply)
    found = [entry["version"] for entry in (reply.answer or {}).get("versions") or ()]
    lab.same(found, [2], "the newest version")


@check("LN-WIRE-ERROR-003",
       "Every table operation on a missing table fails with status 404, code 4 and a message.",
       'protocol semantics, "Errors"', "DescribeTable", capabilities=_HTTP)  # fmt: skip
def failures(lab: Lab) -> None:
    missing = lab.table_id()
    for name, (data, request) in CALLS.items():
        if not supported(lab, name):
            continue
        reply = lab.call(name, data, id=missing, **request)
        if reply.code == 0:
            continue
        lab.must_fail(reply, [4])
        exchange = reply.exchange
        lab.same(exchange.status if exchange else None, 404, f"the HTTP status of {name}")
        lab.that(bool(reply.message.strip()), "words", reply.outcome())


@check("LN-WIRE-CONNECTION-001",
       "A connection stays usable after a failure and after a rejected body.",
       "RFC 9112, Persistence", "DescribeTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def connection(lab: Lab) -> None:
    target = lab.target
    if not isinstance(target, HttpTarget):
        raise Skipped("needs http")
    table = lab.any_table()
    for _ in range(3):
        lab.refused("DescribeTable", [4], id=lab.table_id())
        lab.call("CreateTable", b"x" * 200_000, id=lab.table_id())
        raw(lab, "DescribeTable", table_path(lab, table, "describe"), b"{" * 1000)
        reply = lab.call("DescribeTable", id=table)
        if not reply.succeeded:
            raise Failed("DescribeTable to succeed after failures", reply.outcome(), reply)
