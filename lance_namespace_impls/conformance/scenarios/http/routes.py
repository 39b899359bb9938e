"""Routes, methods and connections."""

from __future__ import annotations

from ...http_target import HttpTarget
from ...lab import Failed, Lab, Skipped
from ...requirement import Level, check
from ...rows import plain
from .requests import joined, raw, table_path, tables_exist

_HTTP = ["http", "tables"]
_ROUTES = 'general specification, "Routes"; rest.yaml'
_NAMES = (
    'general specification, "Routes"; rest.yaml, info: the fields that a route by name reads '
    "from the JSON body"
)


@check("LN-WIRE-ROUTE-001",
       "Each operation is served at POST /<OperationId>, with the id in the body.",
       f"{_ROUTES}; the published routes are only those under /v1, so a server without routes by "
       "name is skipped",
       "DescribeTable", capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def by_name(lab: Lab) -> None:
    table = lab.any_table()
    reply = raw(lab, "DescribeTable", "/DescribeTable", {"id": table}, method="POST")
    if reply.no_route:
        raise Skipped("the server has no routes by operation name")
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
        raise Skipped("the server has no routes by the older names")
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
        raise Skipped("the server has no routes by operation name")
    lab.must_succeed(reply)
    lab.same(len((reply.answer or {}).get("tables") or ()), 1, "the names on the page")


@check("LN-WIRE-ROUTE-004", "A request to an unknown route fails with HTTP 404, 405 or 406.",
       "rest.yaml, info: a 404 without a code means that the route does not exist",
       capabilities=["http"], changes=False)  # fmt: skip
def no_route(lab: Lab) -> None:
    for path in ("/v1/nothing/here", "/v1/table/x/no_such_action"):
        reply = raw(lab, "DescribeTable", path, {}, method="POST", by_itself=False)
        status = reply.exchange.status if reply.exchange else 0
        lab.that(status in (404, 405, 406), f"HTTP 404, 405 or 406 for {path}", f"HTTP {status}")


@check("LN-WIRE-METHOD-001",
       "A request with a different HTTP method is rejected and has no effect.",
       _ROUTES, "DropTable", capabilities=_HTTP)  # fmt: skip
def method(lab: Lab) -> None:
    table = lab.any_table()
    for verb in ("GET", "PUT", "DELETE", "PATCH"):
        reply = raw(lab, "DropTable", table_path(lab, table, "drop"), method=verb, by_itself=False)
        if reply.succeeded:
            raise Failed(f"{verb} not to drop the table", reply.outcome(), reply)
        status = reply.exchange.status if reply.exchange else 0
        lab.that(400 <= status < 500 or status == 501, f"{verb} to be rejected", f"HTTP {status}")
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-WIRE-METHOD-060", "A route performs its operation only with its own HTTP method.",
       f"{_NAMES}; RFC 9110, Methods", "DescribeTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def other_methods(lab: Lab) -> None:
    table, new = lab.new_table(1, 2), lab.table_id()
    lab.ledger.made("table", tuple(new))
    listing = f"/v1/namespace/{joined(table[:-1])}/table/list" if table[:-1] else "/v1/table"
    for name, path, body in (
        ("DeclareTable", table_path(lab, new, "declare"), {}),
        ("DeregisterTable", table_path(lab, table, "deregister"), {}),
        ("DeleteFromTable", table_path(lab, table, "delete"), {"predicate": "id = 1"}),
        ("InsertIntoTable", table_path(lab, table, "insert"), plain(3)),
        ("ListTables", listing, None),
        ("DropTable", table_path(lab, table, "drop"), None),
    ):
        for verb in ("HEAD", "PUT", "DELETE", "OPTIONS", *(["GET"] if path != listing else [])):
            reply = raw(lab, name, path, body, method=verb, by_itself=False)
            status = reply.exchange.status if reply.exchange else 0
            lab.that(verb in ("HEAD", "OPTIONS") or 400 <= status < 500 or status == 501,
                     f"{verb} {path} to be rejected", f"HTTP {status}")  # fmt: skip
    lab.same(tables_exist(lab, table, new), [True, False], "which tables exist")
    lab.same(lab.ids(table), [1, 2], "the ids")


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
