"""Identifiers in routes and bodies, and their delimiter."""

from __future__ import annotations

from typing import Any

from lance_namespace_client.operations import OPERATIONS

from ...indexed_tables import index_names, indexed_table
from ...lab import Lab, Skipped
from ...requirement import check
from .requests import JSON, joined, raw, table_path, tables_exist

_HTTP = ["http", "tables"]
_IDS = 'protocol semantics, "Identifiers"; rest.yaml, the id parameter'
_NAMESPACES = ["http", "namespaces"]
_DELIMITER = 'protocol semantics, "Identifiers"; rest.yaml, the parameters id and delimiter'
_INPUT = 'protocol semantics, "Errors", code 13'


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
        lab.that(lab.exists("TableExists", table), f"{table} to remain", "it no longer exists")


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
        raise Skipped("the target creates tables in the root")
    for text in ("$".join(table), "%24".join(table)):
        lab.must_succeed(raw(lab, "DescribeTable", f"/v1/table/{text}/describe", {}))


@check("LN-WIRE-ID-007",
       "The query parameter delimiter sets the delimiter between the levels of the id.", _IDS,
       "DescribeTable", capabilities=[*_HTTP, "namespaces"])  # fmt: skip
def delimiter(lab: Lab) -> None:
    table = lab.any_table()
    if len(table) < 2:
        raise Skipped("the target creates tables in the root")
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
        raise Skipped("the target creates tables in the root")
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


@check("LN-WIRE-ID-013",
       "An index_name in the body that differs from the one in the route fails with code 13.",
       "rest.yaml, DescribeTableIndexStats", "DescribeTableIndexStats", "CreateTableScalarIndex",
       "CreateTable", capabilities=_HTTP)  # fmt: skip
def other_index(lab: Lab) -> None:
    table = indexed_table(lab, "by_id")
    path = table_path(lab, table, "index/by_id/stats")
    lab.must_succeed(raw(lab, "DescribeTableIndexStats", path, {"index_name": "by_id"}))
    reply = raw(lab, "DescribeTableIndexStats", path, {"index_name": "another"})
    lab.must_fail(reply, [13])


@check("LN-WIRE-ID-060",
       "An id in the body that shares only some names with the route's id fails with code 13.",
       _DELIMITER, "DescribeTable", "DeclareTable", capabilities=_HTTP)  # fmt: skip
def partly_other(lab: Lab) -> None:
    table, new = lab.any_table(), lab.table_id()
    lab.ledger.made("table", tuple(new))
    # A target may use the body's id, so it names no existing table if the call changes one.
    x = lab.ledger.fresh()
    lab.ledger.made("table", (*new, x))
    short = table[:-1] or [x]
    for other in ([*table, x], [x, *table], [f"{x}{table[-1]}"], short, [x, *table[1:]]):
        for name, action in (("DescribeTable", "describe"), ("TableExists", "exists"),
                             ("DeregisterTable", "deregister")):  # fmt: skip
            if lab.supports(name) and (other is not short or OPERATIONS[name].repeatable):
                lab.must_fail(raw(lab, name, table_path(lab, table, action), {"id": other}), [13])
    for other in (table, [*new, x]):
        reply = raw(lab, "DeclareTable", table_path(lab, new, "declare"), {"id": other})
        lab.must_fail(reply, [13])
    lab.same(tables_exist(lab, table, new), [True, False], "which tables exist")


@check("LN-WIRE-ID-061",
       "Every namespace operation rejects a body with a different id or that is not a JSON object.",
       f"{_DELIMITER}; {_INPUT}", "CreateNamespace", "DropNamespace", capabilities=_NAMESPACES)  # fmt: skip
def bad_namespaces(lab: Lab) -> None:
    first, second, new = lab.new_namespace(), lab.new_namespace(), lab.namespace_id()
    x = lab.ledger.fresh()
    lab.ledger.made("namespace", tuple(new))
    lab.ledger.made("namespace", (*new, x))
    bad: list[Any] = [b"{", b"[1]", b'"text"', {"id": {"a": "b"}}]
    for name, action, path, more in (
        ("CreateNamespace", "create", new, [{"properties": ["a"]}, {"mode": {"a": 1}}]),
        ("DescribeNamespace", "describe", first, []),
        ("NamespaceExists", "exists", first, []),
        ("AlterNamespace", "alter", first, [{"set_properties": ["a"]}, {"unset_properties": "a"}]),
        ("DropNamespace", "drop", first, [{"behavior": ["Cascade"]}, {"mode": {"a": 1}}]),
    ):
        for body in (*bad, *more, {"id": second}, {"id": [*path, x]}):
            reply = raw(lab, name, f"/v1/namespace/{joined(path)}/{action}", body, headers=JSON)
            lab.must_fail(reply, [0, 13] if name == "AlterNamespace" else [13])
    lab.same([lab.exists("NamespaceExists", each) for each in (first, second, new)],
             [True, True, False], "which namespaces exist")  # fmt: skip


@check("LN-WIRE-ID-062",
       "A route with an additional empty name does not identify the table without it.", _DELIMITER,
       "TableExists", capabilities=_HTTP)  # fmt: skip
def empty_names(lab: Lab) -> None:
    table = lab.any_table()
    for text in ("$".join(["", *table]), "$".join([*table, ""]), "$$".join(["", *table])):
        for name, action in (("TableExists", "exists"), ("DeregisterTable", "deregister")):
            if lab.supports(name):
                path = f"/v1/table/{joined([text])}/{action}"
                lab.must_fail(raw(lab, name, path, {}), [1, 4, 13])
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-WIRE-ID-063",
       "In a route, only the delimiter in use identifies the root namespace.", _DELIMITER,
       "NamespaceExists", "ListNamespaces", capabilities=["http"], changes=False)  # fmt: skip
def other_roots(lab: Lab) -> None:
    usual = raw(lab, "ListNamespaces", "/v1/namespace/%24/list", query={"limit": "3"})
    there = raw(lab, "NamespaceExists", "/v1/namespace/%24/exists", {})
    for text in ("|", "::"):
        path, query = f"/v1/namespace/{joined([text])}", {"delimiter": text}
        found = raw(lab, "NamespaceExists", f"{path}/exists", {}, query=query)
        lab.same(
            found.code, there.code, f"the code of NamespaceExists for the root written as {text}"
        )
        found = raw(lab, "ListNamespaces", f"{path}/list", query=query | {"limit": "3"})
        lab.same((found.code, (found.answer or {}).get("namespaces")),
                 (usual.code, (usual.answer or {}).get("namespaces")), "the namespaces listed in "
                                                                       "the root")  # fmt: skip
    path = "/v1/namespace/%24/exists"
    lab.must_fail(raw(lab, "NamespaceExists", path, {}, query={"delimiter": "|"}), [0, 1, 13])


@check("LN-WIRE-ID-064",
       "Ids and index names in a route may be percent-encoded, with hex digits in either case.",
       "RFC 3986, 2.1 and 6.2.2; rest.yaml, id and index_name",
       "DescribeTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def encoded(lab: Lab) -> None:
    table = lab.new_table()
    for form in ("%{:02x}", "%{:02X}"):
        text = "".join(form.format(byte) for byte in "$".join(table).encode())
        lab.must_succeed(raw(lab, "DescribeTable", f"/v1/table/{text}/describe", {}))
    name = "by id+1.x$y%20ü"
    lab.maybe("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name=name)
    if index_names(lab, table) == [name] and lab.supports("DropTableIndex"):
        lab.ok("DropTableIndex", id=table, index_name=name)
        lab.same(index_names(lab, table), [], "the indices")
