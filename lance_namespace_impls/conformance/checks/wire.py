"""HTTP requests sent without a client library: routes, delimiters, bodies and parameters."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_client.wire import path_segment

from ..exchange import Reply, Step
from ..http_target import ARROW_STREAM, HttpTarget
from ..lab import Failed, Lab, Skipped
from ..requirement import Level, check
from ..rows import PEOPLE, people, plain, stream

_HTTP = ["http", "tables"]
_IDS = 'protocol semantics, "Identifiers"; rest.yaml, the id parameter'
_BODIES = 'protocol semantics, "Bodies that are not JSON objects"'
_ROUTES = 'general specification, "Routes"; rest.yaml'
_INPUT = 'protocol semantics, "Errors", code 13'
JSON = {"Content-Type": "application/json"}


def joined(identifier: list[str], delimiter: str = "$") -> str:
    """Return an identifier as one encoded path segment."""
    return path_segment(delimiter.join(identifier))


def raw(
    lab: Lab,
    operation: str,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    query: Mapping[str, str | list[str]] | None = None,
    headers: dict[str, str] | None = None,
    by_itself: bool = True,
) -> Reply:
    """Return the reply to a hand-written HTTP request.

    Args:
        lab: the lab.
        operation: the operation that the request calls.
        path: encoded path.
        body: bytes are sent unchanged and other values as JSON; None sends no body.
        method: HTTP method; the operation's method by default.
        query: query parameters.
        headers: headers; the content type of JSON by default, if there is a body.
        by_itself: whether to check the form of the reply as well.
    """
    target = lab.target
    if not isinstance(target, HttpTarget):
        raise Skipped("needs http")
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    if headers is None:
        headers = JSON if content is not None else {}
    written = {
        "method": method or OPERATIONS[operation].http_method,
        "path": path,
        "query": query or {},
        "headers": headers,
        "content": None if content is None else base64.b64encode(content).decode(),
    }
    reply = target.call(Step(operation, body if isinstance(body, dict) else {}, raw=written))
    return lab.judge(reply, by_itself=by_itself)


def table_path(lab: Lab, table: list[str], action: str) -> str:
    """Return the route of a table operation."""
    return f"/v1/table/{joined(table)}/{action}"


@check("LN-WIRE-ROUTE-001",
       "Each operation is served at POST /<OperationId>, with the id in the body.",
       f"{_ROUTES}; the published routes have /v1 alone, so that a server without is skipped",
       "DescribeTable", capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def by_name(lab: Lab) -> None:
    table = lab.any_table()
    reply = raw(lab, "DescribeTable", "/DescribeTable", {"id": table}, method="POST")
    if reply.no_route:
        raise Skipped("no routes by name")
    lab.must_succeed(reply)
    expected = lab.ok("DescribeTable", id=table)
    lab.same((reply.answer or {}).get("location"), expected.get("location"), "the location")


@check("LN-WIRE-ROUTE-002",
       "Routes with the older names GetTable and GetNamespace are served as well.",
       "general specification, Namespace Operations", "DescribeTable", capabilities=_HTTP,
       level=Level.SHOULD)  # fmt: skip
def older_names(lab: Lab) -> None:
    table = lab.any_table()
    reply = raw(lab, "DescribeTable", "/GetTable", {"id": table}, method="POST")
    if reply.no_route:
        raise Skipped("no routes by the older names")
    lab.must_succeed(reply)
    lab.must_succeed(raw(lab, "DescribeNamespace", "/GetNamespace", {"id": []}, method="POST"))


@check("LN-WIRE-ROUTE-003", "A list operation called by name reads its fields from the body.",
       _ROUTES, "ListTables", capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def list_by_name(lab: Lab) -> None:
    first = lab.any_table()
    lab.any_table()
    body = {"id": first[:-1], "limit": 1}
    reply = raw(lab, "ListTables", "/ListTables", body, method="POST")
    if reply.no_route:
        raise Skipped("no routes by name")
    lab.must_succeed(reply)
    lab.same(len((reply.answer or {}).get("tables") or ()), 1, "the names on the page")


@check("LN-WIRE-ROUTE-004", "A request to an unknown route fails with HTTP 404, 405 or 406.",
       "rest.yaml, info: a 404 without a code says that there is no such route",
       capabilities=["http"], changes=False)  # fmt: skip
def no_route(lab: Lab) -> None:
    for path in ("/v1/nothing/here", "/v1/table/x/no_such_action"):
        reply = raw(lab, "DescribeTable", path, {}, method="POST", by_itself=False)
        status = reply.exchange.status if reply.exchange else 0
        lab.that(status in (404, 405, 406), f"HTTP 404 for {path}", f"HTTP {status}")


@check("LN-WIRE-METHOD-001",
       "A request with a different HTTP method is rejected and has no effect.",
       _ROUTES, "DropTable", capabilities=_HTTP)  # fmt: skip
def method(lab: Lab) -> None:
    table = lab.any_table()
    for verb in ("GET", "PUT", "DELETE", "PATCH"):
        reply = raw(lab, "DropTable", table_path(lab, table, "drop"), method=verb, by_itself=False)
        if reply.succeeded:
            raise Failed(f"{verb} not to drop a table", reply.outcome(), reply)
        status = reply.exchange.status if reply.exchange else 0
        lab.that(400 <= status < 500 or status == 501, f"{verb} to be refused", f"HTTP {status}")
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-WIRE-ID-001", "An id in the body that differs from the route's id fails with code 13.",
       _IDS,
       "DescribeTable", capabilities=_HTTP)  # fmt: skip
def mismatch(lab: Lab) -> None:
    first, second = lab.any_table(), lab.any_table()
    reply = raw(lab, "DescribeTable", table_path(lab, first, "describe"), {"id": second})
    lab.must_fail(reply, [13])


@check("LN-WIRE-ID-002",
       "A write whose body names a different id fails with code 13 and changes neither table.",
       _IDS, "DeregisterTable", capabilities=_HTTP)  # fmt: skip
def mismatch_write(lab: Lab) -> None:
    first, second = lab.any_table(), lab.any_table()
    reply = raw(lab, "DeregisterTable", table_path(lab, first, "deregister"), {"id": second})
    lab.must_fail(reply, [13])
    for table in (first, second):
        lab.that(lab.exists("TableExists", table), f"{table} to stay", "it is gone")


@check("LN-WIRE-ID-003",
       "A namespace operation whose body names a different id fails with code 13.", _IDS,
       "DescribeNamespace", capabilities=["http", "namespaces"])  # fmt: skip
def mismatch_namespace(lab: Lab) -> None:
    first, second = lab.new_namespace(), lab.new_namespace()
    for operation, action in (("DescribeNamespace", "describe"), ("NamespaceExists", "exists")):
        path = f"/v1/namespace/{joined(first)}/{action}"
        lab.must_fail(raw(lab, operation, path, {"id": second}), [13])


@check("LN-WIRE-ID-004", "A body may repeat the id of the route or omit it.",
       _IDS, "DescribeTable", capabilities=_HTTP)  # fmt: skip
def same_id(lab: Lab) -> None:
    table = lab.any_table()
    where = lab.given("DescribeTable", id=table).get("location")
    for body in ({"id": table}, {}):
        reply = raw(lab, "DescribeTable", table_path(lab, table, "describe"), body)
        lab.must_succeed(reply)
        lab.same((reply.answer or {}).get("location"), where, f"the location with body {body}")


@check("LN-WIRE-ID-005",
       "The delimiter alone identifies the root namespace, percent-encoded or not.", _IDS,
       "DescribeNamespace", capabilities=["http"], changes=False)  # fmt: skip
def root(lab: Lab) -> None:
    for text in ("$", "%24"):
        # A server may list the root without treating it as a namespace: LN-NAMESPACE-EXISTS-003.
        if not raw(lab, "NamespaceExists", f"/v1/namespace/{text}/exists", {}).succeeded:
            lab.must_succeed(raw(lab, "ListNamespaces", f"/v1/namespace/{text}/list"))


@check("LN-WIRE-ID-006", "Names in a route may be joined with a percent-encoded delimiter.", _IDS,
       "DescribeTable", capabilities=[*_HTTP, "namespaces"])  # fmt: skip
def encoded_delimiter(lab: Lab) -> None:
    table = lab.any_table()
    if len(table) < 2:
        raise Skipped("tables are in the root")
    for text in ("$".join(table), "%24".join(table)):
        lab.must_succeed(raw(lab, "DescribeTable", f"/v1/table/{text}/describe", {}))


@check("LN-WIRE-ID-007",
       "The query parameter delimiter sets the delimiter between the levels of the id.", _IDS,
       "DescribeTable", capabilities=[*_HTTP, "namespaces"])  # fmt: skip
def delimiter(lab: Lab) -> None:
    table = lab.any_table()
    if len(table) < 2:
        raise Skipped("tables are in the root")
    where = lab.given("DescribeTable", id=table).get("location")
    for text in ("$", ".", "::", "|"):
        path = f"/v1/table/{joined(table, text)}/describe"
        reply = raw(lab, "DescribeTable", path, {}, query={"delimiter": text})
        lab.must_succeed(reply)
        lab.same((reply.answer or {}).get("location"), where, f"the location with {text}")


@check("LN-WIRE-ID-008", "With a different delimiter, a $ is part of a name.", _IDS,
       "TableExists", capabilities=[*_HTTP, "namespaces"])  # fmt: skip
def other_delimiter(lab: Lab) -> None:
    table = lab.any_table()
    if len(table) < 2:
        raise Skipped("tables are in the root")
    path = f"/v1/table/{joined(table)}/exists"
    reply = raw(lab, "TableExists", path, {}, query={"delimiter": "."})
    lab.must_fail(reply, [1, 4, 13])


@check("LN-WIRE-ID-009", "ListAllTables returns identifiers joined with the requested delimiter.",
       _IDS, "ListAllTables", capabilities=[*_HTTP, "namespaces"])  # fmt: skip
def all_tables_delimiter(lab: Lab) -> None:
    table = lab.any_table()
    found: list[str] = []
    token: str | None = None
    for _ in range(200):
        more = {"page_token": token} if token else {}
        reply = raw(lab, "ListAllTables", "/v1/table", query={"delimiter": "|", **more})
        lab.must_succeed(reply)
        found += (reply.answer or {}).get("tables") or ()
        token = (reply.answer or {}).get("page_token")
        if not token:
            break
    lab.that("|".join(table) in found, f"{'|'.join(table)} to be listed", found[:20])


@check("LN-WIRE-ID-010", "Names in a route are decoded once, and + is not decoded as a space.",
       _IDS,
       "DeclareTable", "ListTables", capabilities=_HTTP)  # fmt: skip
def decoded_once(lab: Lab) -> None:
    for tail in (" b", "+b", "%20b", ".b", "ünï"):
        table = lab.table_id()
        table[-1] += tail
        lab.ledger.made("table", tuple(table))
        reply = raw(lab, "DeclareTable", table_path(lab, table, "declare"), {})
        if reply.code == 13:
            continue
        lab.must_succeed(reply)
        found = lab.walk("ListTables", "tables", id=table[:-1])
        lab.that(table[-1] in found, f"{table[-1]!r} to be listed", found[-5:])


@check("LN-WIRE-ID-011", "The delimiter also joins the names of a namespace identifier.", _IDS,
       "NamespaceExists", capabilities=["http", "nested"])  # fmt: skip
def namespace_delimiter(lab: Lab) -> None:
    namespace = lab.new_namespace()
    for text in ("$", ".", "|"):
        path = f"/v1/namespace/{joined(namespace, text)}/exists"
        lab.must_succeed(raw(lab, "NamespaceExists", path, {}, query={"delimiter": text}))


@check("LN-WIRE-ID-012", "The id of the root namespace may be an empty list, null or absent.",
       f"general specification, Name and Identifier for Root Namespace; {_IDS}",
       "NamespaceExists", capabilities=["http"], changes=False)  # fmt: skip
def root_in_the_body(lab: Lab) -> None:
    bodies: list[dict[str, Any]] = [{"id": []}, {"id": None}, {}]
    for body in bodies:
        lab.must_succeed(raw(lab, "NamespaceExists", "/v1/namespace/$/exists", body))


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
    lab.that(not lab.exists("TableExists", new), "no table after code 13", "it is there")
    reply = raw(lab, "DescribeTable", table_path(lab, table, "describe"), {"version": "latest"})
    lab.must_fail(reply, [13])


@check("LN-WIRE-BODY-005", "Unknown fields are ignored.",
       "rest.yaml: no request schema closes itself to additional properties", "DescribeTable",
       capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def unknown_fields(lab: Lab) -> None:
    table = lab.any_table()
    body = {"a_field_of_later_days": {"and": ["its", "value"]}}
    lab.must_succeed(raw(lab, "DescribeTable", table_path(lab, table, "describe"), body))


@check("LN-WIRE-BODY-006", "null in an optional field is equivalent to omitting the field.",
       "rest.yaml, info: a field that is absent and one that is null are the same",
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
    lab.same((body[:6], body[-6:]), (b"ARROW1", b"ARROW1"), "the marks of an Arrow file")


@check("LN-WIRE-BODY-011", "UpdateTableSchemaMetadata accepts and returns a bare map.", _BODIES,
       "UpdateTableSchemaMetadata", "CreateTable", capabilities=_HTTP)  # fmt: skip
def bare_map(lab: Lab) -> None:
    table = lab.new_table()
    path = table_path(lab, table, "schema_metadata/update")
    reply = raw(lab, "UpdateTableSchemaMetadata", path, {"a": "1"})
    lab.must_succeed(reply)
    body = json.loads(reply.exchange.body) if reply.exchange else {}
    lab.has(body, {"a": "1"}, "the body")


@check("LN-WIRE-QUERY-001", "CreateTable reads mode and properties from the query string.",
       f"{_BODIES}; rest.yaml, CreateTable", "CreateTable", "DescribeTable",
       capabilities=_HTTP)  # fmt: skip
def create_parameters(lab: Lab) -> None:
    table = lab.table_id()
    lab.ledger.made("table", tuple(table))
    query = {"mode": "create", "properties": json.dumps({"owner": "ana"})}
    headers = {"Content-Type": ARROW_STREAM}
    path = table_path(lab, table, "create")
    reply = raw(lab, "CreateTable", path, plain(1), query=query, headers=headers)
    if reply.code in (0, 13):
        raise Skipped(f"no properties: {reply.outcome()}")
    lab.must_succeed(reply)
    found = lab.ok("DescribeTable", id=table).get("properties")
    lab.has(found, {"owner": "ana"}, "the properties")


@check("LN-WIRE-QUERY-002",
       "Properties in the query string that are not a JSON object of strings fail with code 13.",
       f"{_BODIES}; {_INPUT}", "CreateTable", capabilities=_HTTP)  # fmt: skip
def bad_properties(lab: Lab) -> None:
    table = lab.table_id()
    lab.ledger.made("table", tuple(table))
    headers = {"Content-Type": ARROW_STREAM}
    for text in ("{", "5", '["a"]', '{"a": 5}'):
        path = table_path(lab, table, "create")
        query = {"properties": text}
        reply = raw(lab, "CreateTable", path, plain(1), query=query, headers=headers)
        lab.must_fail(reply, [13])
    lab.that(not lab.exists("TableExists", table), "no table after code 13", "it is there")


@check("LN-WIRE-QUERY-003", "DescribeTable accepts its flags as query parameters.",
       "rest.yaml, DescribeTable", "DescribeTable", capabilities=_HTTP)  # fmt: skip
def flags(lab: Lab) -> None:
    table = lab.any_table()
    path = table_path(lab, table, "describe")
    reply = raw(lab, "DescribeTable", path, {}, query={"check_declared": "true"})
    lab.must_succeed(reply)
    declared = (reply.answer or {}).get("is_only_declared")
    lab.that(isinstance(declared, bool), "is_only_declared", reply.answer)


@check("LN-WIRE-QUERY-004", "A query parameter of the wrong type fails with code 13.", _INPUT,
       "ListTables", capabilities=_HTTP)  # fmt: skip
def bad_parameters(lab: Lab) -> None:
    parent = joined(list(lab.shape.table_parent or ())) or "%24"
    path = f"/v1/namespace/{parent}/table/list"
    for query in ({"limit": "many"}, {"limit": "1.5"}, {"include_declared": "perhaps"}):
        lab.must_fail(raw(lab, "ListTables", path, query=query), [13])


@check("LN-WIRE-QUERY-005", "Unknown query parameters are ignored.",
       "rest.yaml, info: parameters that a server does not know are ignored", "ListTables",
       capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def unknown_parameters(lab: Lab) -> None:
    parent = joined(list(lab.shape.table_parent or ())) or "%24"
    path = f"/v1/namespace/{parent}/table/list"
    lab.must_succeed(raw(lab, "ListTables", path, query={"of_later_days": "1", "limit": "1"}))


@check("LN-WIRE-QUERY-006",
       "An empty body in place of rows fails with code 13 and creates nothing.",
       "rest.yaml, CreateTable: a body that is no such stream", "CreateTable",
       capabilities=_HTTP)  # fmt: skip
def no_rows(lab: Lab) -> None:
    table = lab.table_id()
    lab.ledger.made("table", tuple(table))
    path = table_path(lab, table, "create")
    reply = raw(lab, "CreateTable", path, b"", headers={"Content-Type": ARROW_STREAM})
    lab.must_fail(reply, [13])
    lab.that(not lab.exists("TableExists", table), "no table after code 13", "it is there")


@check("LN-WIRE-QUERY-007",
       "InsertIntoTable reads its mode from the query string, in any letter case.",
       "rest.yaml, InsertIntoTable", "InsertIntoTable", "CountTableRows", "CreateTable",
       capabilities=_HTTP)  # fmt: skip
def insert_mode(lab: Lab) -> None:
    table = lab.new_table()
    headers = {"Content-Type": ARROW_STREAM}
    path = table_path(lab, table, "insert")
    query = {"mode": "OVERWRITE"}
    reply = raw(lab, "InsertIntoTable", path, stream(people(1)), query=query, headers=headers)
    lab.must_succeed(reply)
    lab.same(lab.count(table), 1, "the number of rows")


@check("LN-WIRE-ERROR-001",
       "A request for a missing table returns HTTP 404 with code 4 in the body.",
       'protocol semantics, "Errors"', "DescribeTable", capabilities=_HTTP)  # fmt: skip
def error_body(lab: Lab) -> None:
    reply = lab.call("DescribeTable", id=lab.table_id())
    exchange = reply.exchange
    if exchange is None:
        raise Failed("an answer", reply.outcome(), reply)
    lab.same(exchange.status, 404, "the HTTP status")
    try:
        body = json.loads(exchange.body)
    except ValueError:
        body = {}
    lab.same(body.get("code") if isinstance(body, dict) else None, 4, "the code in the body")


@check("LN-WIRE-ERROR-002", "TableExists of a missing table returns an error code in the body.",
       'protocol semantics, "Errors" and "Bodies that are not JSON objects"', "TableExists",
       capabilities=_HTTP)  # fmt: skip
def exists_body(lab: Lab) -> None:
    reply = lab.call("TableExists", id=lab.table_id())
    lab.that(not reply.no_route, "code 4 in a body", reply.outcome())
    lab.must_fail(reply, [4])


@check("LN-WIRE-AUTH-001",
       "An invalid bearer token fails with code 16 if the server requires credentials.",
       'protocol semantics, "Identity and context" and "Errors"', "ListNamespaces",
       capabilities=["http"], changes=False)  # fmt: skip
def bad_token(lab: Lab) -> None:
    headers = {"Authorization": "Bearer not-a-token-of-this-server"}
    reply = raw(lab, "ListNamespaces", "/v1/namespace/%24/list", query={"limit": "1"},
                headers=headers)  # fmt: skip
    if reply.succeeded or reply.code in (0, 13):
        raise Skipped("the server asks for no credentials")
    lab.must_fail(reply, [15, 16])
