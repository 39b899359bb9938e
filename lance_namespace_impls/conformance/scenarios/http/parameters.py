"""Query parameters and headers."""

from __future__ import annotations

import json

from lance_namespace_client.operations import OPERATIONS, Body

from ...http_target import ARROW_STREAM
from ...lab import MOST_PAGES, Failed, Lab, Skipped
from ...requirement import Level, check
from ...rows import people, plain, stream
from .requests import JSON, joined, raw, table_path

_HTTP = ["http", "tables"]
_BODIES = 'protocol semantics, "Bodies that are not JSON objects"'
_INPUT = 'protocol semantics, "Errors", code 13'
_HEADERS = 'rest.yaml, CreateTable; protocol semantics, "Bodies that are not JSON objects"'
_MERGE = {"on": "id", "when_not_matched_insert_all": "true"}
_SHOWN = ("with_table_uri", "load_detailed_metadata", "check_declared")
_FLAGS = ("when_matched_update_all", "when_not_matched_insert_all", "use_index")


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
        raise Skipped(f"the target stores no properties: {reply.outcome()}")
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
    lab.that(not lab.exists("TableExists", table), "no table after code 13", "it exists")


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
       "rest.yaml, info: unknown parameters are ignored", "ListTables",
       capabilities=_HTTP, level=Level.SHOULD)  # fmt: skip
def unknown_parameters(lab: Lab) -> None:
    parent = joined(list(lab.shape.table_parent or ())) or "%24"
    path = f"/v1/namespace/{parent}/table/list"
    lab.must_succeed(raw(lab, "ListTables", path, query={"of_later_days": "1", "limit": "1"}))


@check("LN-WIRE-QUERY-006",
       "An empty body in place of rows fails with code 13 and creates nothing.",
       "rest.yaml, CreateTable: a body that is not an Arrow stream", "CreateTable",
       capabilities=_HTTP)  # fmt: skip
def no_rows(lab: Lab) -> None:
    table = lab.table_id()
    lab.ledger.made("table", tuple(table))
    path = table_path(lab, table, "create")
    reply = raw(lab, "CreateTable", path, b"", headers={"Content-Type": ARROW_STREAM})
    lab.must_fail(reply, [13])
    lab.that(not lab.exists("TableExists", table), "no table after code 13", "it exists")


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


@check("LN-WIRE-QUERY-008",
       "Boolean query parameters accept true and false, also in requests with a body.",
       "rest.yaml, the parameters of the operations", "ListTables", "DescribeTable",
       "CreateTable", "DeclareTable", capabilities=_HTTP)  # fmt: skip
def boolean_parameters(lab: Lab) -> None:
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
            f"which tables are listed for {value}",
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


_ARROW = {"Content-Type": ARROW_STREAM}

_BAD: tuple[tuple[str, str, dict[str, str]], ...] = (
    *(("DescribeTable", "describe", {key: "perhaps"}) for key in _SHOWN),
    ("ListTableVersions", "version/list", {"limit": "many"}),
    ("ListTableVersions", "version/list", {"descending": "perhaps"}),
    *(
        (f"ListTable{key}", f"{key.lower()}/list", {"limit": "many"})
        for key in ("Tags", "Branches")
    ),
    ("InsertIntoTable", "insert", {"mode": "perhaps"}),
    *(("MergeInsertIntoTable", "merge_insert", {key: "perhaps"}) for key in _FLAGS),
)


@check("LN-WIRE-QUERY-060",
       "An invalid query parameter fails with code 13, and an unknown one is ignored.",
       "rest.yaml, info: unknown parameters are ignored; InvalidInput",
       "DescribeTable", "CreateTable", level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def parameters(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    for name, path in (
        ("ListNamespaces", "/v1/namespace/%24/list"),
        ("ListAllTables", "/v1/table"),
    ):
        lab.must_fail(raw(lab, name, path, query={"limit": "many"}), [0, 13])
    for unknown in (False, True):
        for name, action, bad in _BAD:
            rows = OPERATIONS[name].body is Body.ARROW
            query = {
                **(_MERGE if action == "merge_insert" else {}),
                **({"later": "1"} if unknown else bad),
            }
            reply = raw(lab, name, table_path(lab, table, action), stream(people(3)) if rows else {},
                        query=query, headers=_ARROW if rows else JSON)  # fmt: skip
            if not unknown:
                lab.must_fail(reply, [0, 13])
                lab.same(lab.ids(table) if rows else [1, 2], [1, 2], "the ids")
            elif reply.code != 0:
                lab.must_succeed(reply)


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


@check("LN-WIRE-CREATE-002",
       "x-lance-table-properties are stored; x-lance-table-location is used or fails with code 13.",
       _HEADERS, "CreateTable", "DescribeTable", level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def headers(lab: Lab) -> None:
    plainly = lab.new_table(1)
    kept = lab.call(
        "CreateTable", plain(1), id=(asked := lab.table_id()), properties={"owner": "ana"}
    )
    if not kept.succeeded or not lab.ok("DescribeTable", id=asked).get("properties"):
        raise Skipped("tables have no properties on this target")
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
