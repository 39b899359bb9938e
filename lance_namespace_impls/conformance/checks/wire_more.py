"""The same request in each form that HTTP allows: all forms have the same effect."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from attrs import evolve

from lance_namespace_client.operations import OPERATIONS, Body

from ..exchange import Reply
from ..http_target import ARROW_STREAM, HttpTarget, route
from ..lab import Lab, NotReached, Skipped
from ..requirement import Level, check
from ..rows import people, plain, stream
from .structure import index_names
from .wire import JSON, joined, raw, table_path
from .wire_all import json_calls, must_refuse, supported
from .wire_names import _by_name as must_have_names

_HTTP, _NAMESPACES = ["http", "tables"], ["http", "namespaces"]
_IDS = 'protocol semantics, "Identifiers"; rest.yaml, the parameters id and delimiter'
_INPUT = 'protocol semantics, "Errors", code 13'
_BODIES = 'protocol semantics, "Bodies that are not JSON objects"'
_NULLS = "rest.yaml, info: absent and null are the same, fields that are not known are ignored"
_NAMES = (
    'general specification, "Routes"; rest.yaml, info: the route by name takes from the JSON body'
)
_CONTEXT = "rest.yaml, identity and context of the request schemas; RFC 9110, Content-Type"
_ARROW = {"Content-Type": ARROW_STREAM}
_MERGE = {"on": "id", "when_not_matched_insert_all": "true"}
Send = Callable[[str, list[str], dict[str, Any]], Reply]


def _fields(name: str, *, required: bool) -> list[str]:
    from lance_namespace_client import models

    found = [
        f.key for f in getattr(models, OPERATIONS[name].request)._wire if f.required is required
    ]
    return [key for key in found if key not in ("identity", "context")]


def _way(lab: Lab, way: str) -> Send:
    """Return a function that sends requests in the named form."""
    if way == "by name":
        must_have_names(lab)

    def send(name: str, to: list[str], body: dict[str, Any], by: str = "$", **more: Any) -> Reply:
        given = {"id": to, "context": {"delimiter": by}, **body}
        path, query, alone, _ = route(OPERATIONS[name], given, None)
        if OPERATIONS[name].body is not Body.JSON:
            return raw(lab, name, path, alone, query=query)
        text = body | more.get("add", {})
        return raw(lab, name, path, text, query=query, headers=more.get("headers", JSON))

    def nulls(name: str, to: list[str], body: dict[str, Any]) -> Reply:
        given = dict.fromkeys(_fields(name, required=False)) | {"of_later_days": {"and": [1]}}
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
    reply = send(name, table, request) if supported(lab, name) else None
    if reply is None or (reply.code == 0 and name not in (lab.claimed or ())):
        return False
    lab.must_succeed(reply)
    return True


def _there(lab: Lab, *tables: list[str]) -> list[bool]:
    return [lab.exists("TableExists", table) for table in tables]


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
        lab.same({k: v["version"] for k, v in tags.items()}, held_tags, f"the tags made {way}")
    branches = ["side"] if works("CreateTableBranch", name="side", from_version=1) else []
    if branches:
        if works("CreateTableBranch", name="other"):
            branches += [] if works("DeleteTableBranch", name="other") else ["other"]
        found = lab.ok("ListTableBranches", id=table).get("branches") or {}
        lab.same(sorted(found), sorted(branches), f"the branches made {way}")
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
    lab.same(rows.column_names, columns, f"the columns changed {way}")
    lab.same(sorted(rows.column("id").to_pylist()), due, f"the ids changed {way}")
    if works("CreateTableScalarIndex", column="id", index_type="BTREE", name="by_id"):
        lab.same(index_names(lab, table), ["by_id"], f"the indices made {way}")
        if works("DropTableIndex", index_name="by_id"):
            lab.same(index_names(lab, table), [], f"the indices dropped {way}")
    if works("RestoreTable", version=1):
        lab.same(lab.ids(table), [1, 2, 3], f"the ids restored {way}")
    if works("UpdateTableSchemaMetadata", metadata={"a": "b"}):
        held = lab.ok("UpdateTableSchemaMetadata", id=table, metadata={"c": "d"}).get("metadata")
        lab.has(held, {"a": "b", "c": "d"}, f"the metadata set {way}")
    new = lab.table_id()
    lab.ledger.made("table", tuple(new))
    # Branches may prevent a rename (code 19), so rename only if all of them could be deleted.
    alone = all(works("DeleteTableBranch", name=name) for name in branches)
    if alone and works("RenameTable", new_table_name=new[-1]):
        lab.same(_there(lab, table, new), [False, True], f"which is there, renamed {way}")
        table = new
    if works("DeregisterTable"):
        lab.that(not lab.exists("TableExists", table), f"no table, deregistered {way}", "a table")


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
        lab.same(works(name, top).get(key) or [], [], f"what {name} finds {way}")
    if works("AlterNamespace", top, set_properties={"owner": "ana"}):
        told = lab.ok("DescribeNamespace", id=top).get("properties")
        lab.has(told, {"owner": "ana"}, f"the properties set {way}")
    works("DropNamespace", top)
    lab.that(not lab.exists("NamespaceExists", top), f"no namespace, dropped {way}", "one")
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
        lab.that(not lab.exists("TableExists", table), f"no table, dropped {way}", "a table")


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
    (60, "without an id in the body", _IDS, "The route alone identifies the object", Level.MUST),
    (61, "with nulls and unknown fields", _NULLS, "Null and unknown fields make no difference", Level.SHOULD),
    (62, "by name", _NAMES, "A route by name does what the /v1 route does", Level.SHOULD),
    (63, "with another delimiter", _IDS, "The delimiter joins the levels of a route", Level.MUST),
    (64, "with a context", _CONTEXT, "Identity, context and a charset have no effect on results", Level.MUST),
):  # fmt: skip
    _each_way(*_each)


@check("LN-WIRE-ALL-070",
       "Rows are written to the table that a route with another delimiter identifies.", _IDS,
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
        if _fields(name, required=True):
            must_refuse(lab, name, table, request, b"")
        elif OPERATIONS[name].repeatable:
            path, query, _, _ = route(OPERATIONS[name], {"id": table}, None)
            found = raw(lab, name, path, b"", query=query, headers=JSON)
            lab.same(found.code, lab.call(name, id=table).code, f"the code of {name}, body empty")
    lab.same(lab.ids(table), [1, 2], "the ids")


@check("LN-WIRE-ID-060",
       "An id in the body that shares only some names with the route's id fails with code 13.",
       _IDS, "DescribeTable", "DeclareTable", capabilities=_HTTP)  # fmt: skip
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
            if supported(lab, name) and (other is not short or OPERATIONS[name].repeatable):
                lab.must_fail(raw(lab, name, table_path(lab, table, action), {"id": other}), [13])
    for other in (table, [*new, x]):
        reply = raw(lab, "DeclareTable", table_path(lab, new, "declare"), {"id": other})
        lab.must_fail(reply, [13])
    lab.same(_there(lab, table, new), [True, False], "which is there")


@check("LN-WIRE-ID-061",
       "Every namespace operation rejects a body with a different id or that is not a JSON object.",
       f"{_IDS}; {_INPUT}", "CreateNamespace", "DropNamespace", capabilities=_NAMESPACES)  # fmt: skip
def bad_namespaces(lab: Lab) -> None:
    first, second, new = lab.new_namespace(), lab.new_namespace(), lab.namespace_id()
    x = lab.ledger.fresh()
    lab.ledger.made("namespace", tuple(new))
    lab.ledger.made("namespace", (*new, x))
    bad: list[Any] = [b"{", b"[1]", b'"text"', {"id": {"a": "b"}}]
    for name, action, path, more in (
        ("CreateNamespace", "create", new, [{"properties": ["a"]}, {"mode": {"a": 1}}]),
        ("DescribeNamespace", "describe", first, []), ("NamespaceExists", "exists", first, []),
        ("AlterNamespace", "alter", first, [{"set_properties": ["a"]}, {"unset_properties": "a"}]),
        ("DropNamespace", "drop", first, [{"behavior": ["Cascade"]}, {"mode": {"a": 1}}]),
    ):  # fmt: skip
        for body in (*bad, *more, {"id": second}, {"id": [*path, x]}):
            reply = raw(lab, name, f"/v1/namespace/{joined(path)}/{action}", body, headers=JSON)
            lab.must_fail(reply, [0, 13] if name == "AlterNamespace" else [13])
    lab.same([lab.exists("NamespaceExists", each) for each in (first, second, new)],
             [True, True, False], "which are there")  # fmt: skip


@check("LN-WIRE-ID-062",
       "A route with an additional empty name does not identify the table without it.", _IDS,
       "TableExists", capabilities=_HTTP)  # fmt: skip
def empty_names(lab: Lab) -> None:
    table = lab.any_table()
    for text in ("$".join(["", *table]), "$".join([*table, ""]), "$$".join(["", *table])):
        for name, action in (("TableExists", "exists"), ("DeregisterTable", "deregister")):
            if supported(lab, name):
                path = f"/v1/table/{joined([text])}/{action}"
                lab.must_fail(raw(lab, name, path, {}), [1, 4, 13])
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-WIRE-ID-063",
       "In a route, only the delimiter in use identifies the root namespace.", _IDS,
       "NamespaceExists", "ListNamespaces", capabilities=["http"], changes=False)  # fmt: skip
def other_roots(lab: Lab) -> None:
    usual = raw(lab, "ListNamespaces", "/v1/namespace/%24/list", query={"limit": "3"})
    there = raw(lab, "NamespaceExists", "/v1/namespace/%24/exists", {})
    for text in ("|", "::"):
        path, query = f"/v1/namespace/{joined([text])}", {"delimiter": text}
        found = raw(lab, "NamespaceExists", f"{path}/exists", {}, query=query)
        lab.same(found.code, there.code, f"the code of NamespaceExists of the root {text}")
        found = raw(lab, "ListNamespaces", f"{path}/list", query=query | {"limit": "3"})
        lab.same((found.code, (found.answer or {}).get("namespaces")),
                 (usual.code, (usual.answer or {}).get("namespaces")), "the root's list")  # fmt: skip
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
    if index_names(lab, table) == [name] and supported(lab, "DropTableIndex"):
        lab.ok("DropTableIndex", id=table, index_name=name)
        lab.same(index_names(lab, table), [], "the indices")


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
        ("ListTables", listing, None), ("DropTable", table_path(lab, table, "drop"), None),
    ):  # fmt: skip
        for verb in ("HEAD", "PUT", "DELETE", "OPTIONS", *(["GET"] if path != listing else [])):
            reply = raw(lab, name, path, body, method=verb, by_itself=False)
            status = reply.exchange.status if reply.exchange else 0
            lab.that(verb in ("HEAD", "OPTIONS") or 400 <= status < 500 or status == 501,
                     f"{verb} {path} to be refused", f"HTTP {status}")  # fmt: skip
    lab.same(_there(lab, table, new), [True, False], "which is there")
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
    lab.that("k" not in found, "no key that was refused", found)


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
        for key in asked & set(_fields(name, required=False)):
            must_refuse(lab, name, table, request, json.dumps({**request, key: [[{}]]}).encode())
    lab.same(lab.ids(table), [1, 2], "the ids")


@check("LN-WIRE-BODY-062",
       "CreateTable with truncated rows fails with code 13 and does not replace a table.",
       "rest.yaml, CreateTable: a body that is no such stream", "CreateTable", "QueryTable",
       capabilities=_HTTP)  # fmt: skip
def cut(lab: Lab) -> None:
    table, whole = lab.new_table(1, 2), stream(people(*range(10, 60)), batch_rows=10)
    for body in (whole[: len(whole) // 2], whole[:20], b"", b"not rows, whatever they say"):
        reply = raw(lab, "CreateTable", table_path(lab, table, "create"), body,
                    query={"mode": "Overwrite"}, headers=_ARROW)  # fmt: skip
        lab.must_fail(reply, [0, 13])
        lab.same(lab.ids(table), [1, 2], "the ids of the table that was there")


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


_SHOWN = ("with_table_uri", "load_detailed_metadata", "check_declared")
_FLAGS = ("when_matched_update_all", "when_not_matched_insert_all", "use_index")
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
       "rest.yaml, info: parameters that a server does not know are ignored; InvalidInput",
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


@check("LN-WIRE-ERROR-060",
       "Fields of an error body have the specified types, and no response contains a secret.",
       "rest.yaml, ErrorResponse and StorageOptions", "DescribeTable", capabilities=_HTTP)  # fmt: skip
def failures(lab: Lab) -> None:
    table, secret = lab.any_table(), "kit-secret-9f2c"
    create, missing = table_path(lab, table, "create"), table_path(lab, lab.table_id(), "describe")
    options = {"storage_options": json.dumps({"aws_secret_access_key": secret})}
    who: dict[str, Any] = {"identity": {"api_key": secret, "auth_token": secret}}
    for name, path, body, query, headers in (
        ("DescribeTable", missing, who, {}, {**JSON, "x-api-key": secret}),
        ("DescribeTable", missing, {"version": "x", **who}, {}, JSON),
        ("CreateTable", create, b"no rows", options, _ARROW),
        ("CreateTable", create, plain(1), options | {"mode": "perhaps"}, _ARROW),
        ("NamespaceExists", f"/v1/namespace/{joined(lab.table_id())}/exists", who, {}, JSON),
    ):  # fmt: skip
        reply = raw(lab, name, path, body, query=query, headers=headers)
        text = reply.exchange.body.decode(errors="replace") if reply.exchange else ""
        lab.that(secret not in text, "no secret in an answer", text.replace(secret, "***"))
        try:
            found = {} if reply.succeeded or reply.no_route else json.loads(text)
        except ValueError:
            raise NotReached(
                f"LN-ERROR-001: the body of a failure is no JSON: {text[:200]}"
            ) from None
        for key in ("error", "detail", "instance"):
            lab.that(isinstance(found.get(key), str | None), f"{key} to be a text", found)
