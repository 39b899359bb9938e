"""Forms of a request that have the same result, for all operations."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lance_namespace_client.operations import OPERATIONS, Body

from ...exchange import Reply
from ...http_target import ARROW_STREAM, route
from ...indexed_tables import index_names
from ...lab import Lab, Skipped
from ...requirement import Level, check
from ...rows import people, stream
from .requests import (
    CALLS,
    JSON,
    joined,
    json_calls,
    must_refuse,
    raw,
    request_fields,
    tables_exist,
)

_HTTP = ["http", "tables"]
_IDS = 'protocol semantics, "Identifiers"; rest.yaml, the id parameter'
_INPUT = 'protocol semantics, "Errors", code 13'
_ROUTES = (
    'general specification, "Routes"; rest.yaml, info: the fields that a route by name reads '
    "from the JSON body"
)
_NAMESPACES = ["http", "namespaces"]
_DELIMITER = 'protocol semantics, "Identifiers"; rest.yaml, the parameters id and delimiter'
_BODIES = 'protocol semantics, "Bodies that are not JSON objects"'
_NULLS = "rest.yaml, info: absent and null are equivalent, unknown fields are ignored"
_CONTEXT = "rest.yaml, identity and context of the request schemas; RFC 9110, Content-Type"
_MERGE = {"on": "id", "when_not_matched_insert_all": "true"}


@check("LN-WIRE-ALL-001",
       "Every table operation with a JSON body fails with code 13 if the body contains a "
       "different id.", _IDS,
       "DescribeTable", capabilities=_HTTP)  # fmt: skip
def other_ids(lab: Lab) -> None:
    table, other = lab.new_table(1, 2), lab.new_table(3)
    for name, request in json_calls(lab):
        must_refuse(lab, name, table, request, json.dumps({**request, "id": other}).encode())
    lab.same((lab.ids(table), lab.ids(other)), ([1, 2], [3]), "the ids in both tables")


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
        raise Skipped("the server has no routes by operation name")
    for name, (_, request) in CALLS.items():
        if OPERATIONS[name].body is not Body.JSON or not lab.supports(name):
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
        raise Skipped("the target creates tables in the root")
    for name, (_, request) in CALLS.items():
        operation = OPERATIONS[name]
        if not operation.repeatable or not lab.supports(name):
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
       "rest.yaml, info: an absent field and a null field are equivalent", "DescribeTable",
       level=Level.SHOULD, capabilities=_HTTP)  # fmt: skip
def nulls(lab: Lab) -> None:
    from lance_namespace_client import models

    table = lab.new_table(1, 2)
    for name, (_, request) in CALLS.items():
        operation = OPERATIONS[name]
        if operation.body is not Body.JSON or not operation.repeatable or not lab.supports(name):
            continue
        wire = getattr(models, operation.request)._wire
        given = {f.key: None for f in wire if not f.required and f.key != "id"} | request
        right = lab.call(name, id=table, **request)
        path, query, _, headers = route(operation, {"id": table, **request}, None)
        found = raw(lab, name, path, json.dumps(given).encode(), query=query, headers=dict(headers))
        lab.same((found.succeeded, found.code), (right.succeeded, right.code),
                 f"the outcome of {name} with nulls")  # fmt: skip


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
        raise Skipped("the server has no routes by operation name")


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
        what = f"{operation} by name with {request}"
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
                named.rows.to_pylist(), usual.rows.to_pylist(), f"the rows by name with {request}"
            )
        lab.same(named.code, usual.code, f"the code of QueryTable by name with {request}")


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
    ):
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


Send = Callable[[str, list[str], dict[str, Any]], Reply]


def _way(lab: Lab, way: str) -> Send:
    """Return a function that sends requests in the named form."""
    if way == "by name":
        _by_name(lab)

    def send(name: str, to: list[str], body: dict[str, Any], by: str = "$", **more: Any) -> Reply:
        given = {"id": to, "context": {"delimiter": by}, **body}
        path, query, alone, _ = route(OPERATIONS[name], given, None)
        if OPERATIONS[name].body is not Body.JSON:
            return raw(lab, name, path, alone, query=query)
        text = body | more.get("add", {})
        return raw(lab, name, path, text, query=query, headers=more.get("headers", JSON))

    def nulls(name: str, to: list[str], body: dict[str, Any]) -> Reply:
        given = dict.fromkeys(request_fields(name, required=False)) | {
            "of_later_days": {"and": [1]}
        }
        return send(name, to, body, add=given | body)

    def whose(name: str, to: list[str], body: dict[str, Any]) -> Reply:
        headers = {"CONTENT-TYPE": 'Application/JSON;charset="UTF-8"'}
        notes = {"kit.note": "none", "header.x-kit-note": "none"}
        return send(name, to, body, add={"context": notes, "identity": {}}, headers=headers)

    def named(name: str, to: list[str], body: dict[str, Any]) -> Reply:
        return raw(lab, name, f"/{name}", {"id": to, **body}, method="POST")

    ways: dict[str, Send] = {"with nulls and unknown fields": nulls, "by name": named,
                             "with another delimiter": lambda name, to, body: send(name, to, body, "::"),
                             "with a context": whose}  # fmt: skip
    return ways.get(way, send)


def _works(lab: Lab, send: Send, name: str, table: list[str], /, **request: Any) -> bool:
    """Return True after a call that must succeed, False if the target does not support it."""
    reply = send(name, table, request) if lab.supports(name) else None
    if reply is None or (reply.code == 0 and name not in (lab.claimed or ())):
        return False
    lab.must_succeed(reply)
    return True


def _course(lab: Lab, way: str) -> None:
    """Change a table in every respect with calls in one form, and check the results."""
    send = _way(lab, way)
    table = lab.new_table(1, 2, 3)
    lab.given("InsertIntoTable", stream(people(4)), id=table)

    def works(name: str, /, **request: Any) -> bool:
        return _works(lab, send, name, table, **request)

    if works("CreateTableTag", tag="t", version=1):
        held_tags = {"t": 2 if works("UpdateTableTag", tag="t", version=2) else 1}
        if works("CreateTableTag", tag="u", version=1) and not works("DeleteTableTag", tag="u"):
            held_tags["u"] = 1
        tags = lab.ok("ListTableTags", id=table).get("tags") or {}
        lab.same({k: v["version"] for k, v in tags.items()}, held_tags, f"the tags created {way}")
    branches = ["side"] if works("CreateTableBranch", name="side", from_version=1) else []
    if branches:
        if works("CreateTableBranch", name="other"):
            branches += [] if works("DeleteTableBranch", name="other") else ["other"]
        found = lab.ok("ListTableBranches", id=table).get("branches") or {}
        lab.same(sorted(found), sorted(branches), f"the branches created {way}")
    columns = people(1).column_names
    due = [1, 3, 4] if works("DeleteFromTable", predicate="id = 2") else [1, 2, 3, 4]
    if works("UpdateTable", predicate="id = 3", updates=[["id", "id + 4"]]):
        due = [*due[:-2], 4, 7]
    if works("AlterTableAddColumns", new_columns=[{"name": "twice", "expression": "id * 2"}]):
        columns = [*columns, "twice"]
    if works("AlterTableAlterColumns", alterations=[{"path": "name", "rename": "label"}]):
        columns = ["label" if name == "name" else name for name in columns]
    if works("AlterTableDropColumns", columns=["score"]):
        columns = [name for name in columns if name != "score"]
    rows = lab.query(table)
    lab.same(rows.column_names, columns, f"the columns after changes {way}")
    lab.same(sorted(rows.column("id").to_pylist()), due, f"the ids after changes {way}")
    if works("CreateTableScalarIndex", column="id", index_type="BTREE", name="by_id"):
        lab.same(index_names(lab, table), ["by_id"], f"the indices created {way}")
        if works("DropTableIndex", index_name="by_id"):
            lab.same(
                index_names(lab, table), [], f"the remaining indices after one is dropped {way}"
            )
    if works("RestoreTable", version=1):
        lab.same(lab.ids(table), [1, 2, 3], f"the ids after a restore {way}")
    if works("UpdateTableSchemaMetadata", metadata={"a": "b"}):
        held = lab.ok("UpdateTableSchemaMetadata", id=table, metadata={"c": "d"}).get("metadata")
        lab.has(held, {"a": "b", "c": "d"}, f"the metadata set {way}")
    new = lab.table_id()
    lab.ledger.made("table", tuple(new))
    # Branches may prevent a rename (code 19), so rename only if all of them could be deleted.
    alone = all(works("DeleteTableBranch", name=name) for name in branches)
    if alone and works("RenameTable", new_table_name=new[-1]):
        lab.same(
            tables_exist(lab, table, new), [False, True], f"which table exists after a rename {way}"
        )
        table = new
    if works("DeregisterTable"):
        lab.that(
            not lab.exists("TableExists", table),
            f"no table after it is deregistered {way}",
            "a table",
        )


def _spaces(lab: Lab, way: str) -> None:
    """Create, change and drop a namespace and a table with calls in one form."""
    send = _way(lab, way)
    top, table = lab.namespace_id(), lab.table_id()

    def works(name: str, to: list[str], /, **request: Any) -> Any:
        reply = send(name, to, request)
        if reply.code not in ((0, 13) if name == "AlterNamespace" else (0,)):
            lab.must_succeed(reply)
        return reply.answer or {}

    lab.ledger.made("namespace", tuple(top))
    works("CreateNamespace", top)
    lab.must_fail(send("CreateNamespace", top, {}), [2])
    works("NamespaceExists", top)
    works("DescribeNamespace", top)
    page = works("ListNamespaces", top[:-1], limit=1000)
    if page and not page.get("page_token"):
        lab.that(top[-1] in (page.get("namespaces") or ()), f"{top[-1]} to be listed {way}", page)
    for name, key in (("ListNamespaces", "namespaces"), ("ListTables", "tables")):
        lab.same(works(name, top).get(key) or [], [], f"the names that {name} returns {way}")
    if works("AlterNamespace", top, set_properties={"owner": "ana"}):
        told = lab.ok("DescribeNamespace", id=top).get("properties")
        lab.has(told, {"owner": "ana"}, f"the properties set {way}")
    works("DropNamespace", top)
    lab.that(
        not lab.exists("NamespaceExists", top), f"no namespace after it is dropped {way}", "one"
    )
    lab.ledger.made("table", tuple(table))
    if not _works(lab, send, "DeclareTable", table):
        return
    lab.must_fail(send("DeclareTable", table, {}), [5])
    works("TableExists", table)
    for flag in (True, False):
        page = works("ListTables", table[:-1], include_declared=flag, limit=1000)
        if page and not page.get("page_token"):
            lab.same(table[-1] in page["tables"], flag, f"whether the table is listed {way}")
    if _works(lab, send, "DropTable", table):
        lab.that(
            not lab.exists("TableExists", table), f"no table after it is dropped {way}", "a table"
        )


def _each_way(number: int, way: str, source: str, sentence: str, level: Level) -> None:
    @check(f"LN-WIRE-ALL-{number:03}", f"{sentence}, for every change to a table.", source,
           "CreateTable", "InsertIntoTable", "QueryTable", level=level, capabilities=_HTTP)  # fmt: skip
    def tables(lab: Lab) -> None:
        _course(lab, way)

    @check(f"LN-WIRE-ALL-{number + 5:03}", f"{sentence}, for all namespace operations.", source,
           "CreateNamespace", "DescribeNamespace", "ListNamespaces", "DropNamespace",
           level=level, capabilities=[*_NAMESPACES, "tables"])  # fmt: skip
    def namespaces(lab: Lab) -> None:
        _spaces(lab, way)


for _each in (
    (60, "without an id in the body", _DELIMITER, "The route alone identifies the object", Level.MUST),
    (61, "with nulls and unknown fields", _NULLS, "Null and unknown fields make no difference", Level.SHOULD),
    (62, "by name", _ROUTES, "A route by name does what the /v1 route does", Level.SHOULD),
    (63, "with another delimiter", _DELIMITER, "The delimiter joins the levels of a route", Level.MUST),
    (64, "with a context", _CONTEXT, "Identity, context and a charset have no effect on results", Level.MUST),
):  # fmt: skip
    _each_way(*_each)

_ARROW = {"Content-Type": ARROW_STREAM}


@check("LN-WIRE-ALL-070",
       "Rows are written to the table that a route with another delimiter identifies.", _DELIMITER,
       "CreateTable", "InsertIntoTable", "QueryTable", capabilities=_HTTP)  # fmt: skip
def rows_with_delimiter(lab: Lab) -> None:
    table, due = lab.table_id(), [1]
    signs = "id + 1 > 99 AND name LIKE '%a%'"  # matches no row if it arrives unchanged
    unmatched = "when_not_matched_by_source_delete"
    merge = {**_MERGE, unmatched: "true", f"{unmatched}_filt": signs}
    lab.ledger.made("table", tuple(table))
    for name, action, query in (("CreateTable", "create", {}), ("InsertIntoTable", "insert", {}),
                                ("MergeInsertIntoTable", "merge_insert", merge)):  # fmt: skip
        reply = raw(lab, name, f"/v1/table/{joined(table, '::')}/{action}", stream(people(due[-1])),
                    query={"delimiter": "::", **query}, headers=_ARROW)  # fmt: skip
        if reply.code != 0:
            lab.must_succeed(reply)
            due.append(due[-1] + 1)
    lab.same(lab.ids(table), due[:-1], "the ids")


@check("LN-WIRE-ALL-071",
       "An empty body is an empty request, which fails with code 13 only if a field is required.",
       _BODIES, "DescribeTable", "CreateTable", capabilities=_HTTP)  # fmt: skip
def empty_bodies(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    for name, request in json_calls(lab):
        if request_fields(name, required=True):
            must_refuse(lab, name, table, request, b"")
        elif OPERATIONS[name].repeatable:
            path, query, _, _ = route(OPERATIONS[name], {"id": table}, None)
            found = raw(lab, name, path, b"", query=query, headers=JSON)
            lab.same(
                found.code, lab.call(name, id=table).code, f"the code of {name} with an empty body"
            )
    lab.same(lab.ids(table), [1, 2], "the ids")
