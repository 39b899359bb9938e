"""More wrong namespaces for all areas: kinds of objects, values, filters, references, HTTP."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .batch_3 import each_column, id_of, refused
from .fresh import add, add_wire, after, fresh, has, on_rows, request, sticky
from .managed import MANAGED, each_version
from .managed import add as add_managed
from .python import (
    Act,
    WrongTarget,
    answer,
    body_instead,
    code_instead,
    some_rows,
    without,
)
from .wire import copy, on_failure, on_success, refusing

__all__ = ["MANAGED"]


def names(target: WrongTarget, operation: str, key: str, identifier: list[str]) -> list[str]:
    return list((target.ask(operation, id=identifier).answer or {}).get(key) or ())


# --- listings


def more_names(operation: str, key: str, found: Any) -> Act:
    """Return an act that adds wrong names to a listing without a limit."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation or step.request.get("limit"):
            return None
        reply = target.correct.call(step)
        if reply.answer is None:
            return reply
        both = sorted({*reply.answer[key], *found(target, id_of(step))})
        return evolve(reply, answer={**reply.answer, key: both})

    return act


add("ListNamespaces lists the namespaces below too", more_names(
    "ListNamespaces", "namespaces", lambda t, i: [
        below for child in names(t, "ListNamespaces", "namespaces", i)
        for below in names(t, "ListNamespaces", "namespaces", [*i, child])]))  # fmt: skip
add("ListTables lists the tables below too", more_names("ListTables", "tables", lambda t, i: [
    below for child in names(t, "ListNamespaces", "namespaces", i)
    for below in names(t, "ListTables", "tables", [*i, child])]))  # fmt: skip
add("tables are listed among namespaces", more_names(
    "ListNamespaces", "namespaces", lambda t, i: names(t, "ListTables", "tables", i)))  # fmt: skip
add("namespaces are listed among tables", more_names(
    "ListTables", "tables", lambda t, i: names(t, "ListNamespaces", "namespaces", i)))  # fmt: skip
add("a listing is remembered over deregistering", sticky("ListTables", "DeregisterTable"))
add("listed names are percent-encoded", answer(
    "ListTables", lambda a: {**a, "tables": [quote(n) for n in a["tables"]]}))  # fmt: skip


@fresh("a page counts declared tables that it leaves out")
def short_pages(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "ListTables" or step.request.get("include_declared") is not False:
        return None
    if not step.request.get("limit"):
        return None
    page = without("ListTables", "include_declared")(target, step)
    whole = {k: v for k, v in step.request.items() if k not in ("limit", "page_token")}
    kept = target.ask("ListTables", **whole).answer or {}
    if page is None or page.answer is None:
        return page
    left = [n for n in page.answer["tables"] if n in kept.get("tables", ())]
    return evolve(page, answer={**page.answer, "tables": left})


# --- tables confused with namespaces

for _operation, _is_there in (
    ("DescribeNamespace", "TableExists"), ("NamespaceExists", "TableExists"),
    ("TableExists", "NamespaceExists"),
):  # fmt: skip
    add(f"{_operation} succeeds where {_is_there} does",
        lambda t, s, operation=_operation, other=_is_there: Reply(step=s, answer={})
        if s.operation == operation and t.ask(other, id=id_of(s)).succeeded else None)  # fmt: skip


@fresh("DropNamespace drops a table")
def drops_table(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DropNamespace":
        return None
    reply = target.correct.call(step)
    if reply.code is None or not target.ask("TableExists", id=id_of(step)).succeeded:
        return reply
    target.ask("DropTable", id=id_of(step))
    return Reply(step=step, answer={})


@fresh("a namespace may be made below a table")
def below_table(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateNamespace":
        return None
    table = target.ask("TableExists", id=id_of(step)[:-1]).succeeded
    return Reply(step=step, answer={}) if table else None


add("a table has no namespace", answer("DescribeTable", lambda a: {
    **a, "namespace": []} if a.get("namespace") else a))  # fmt: skip

# --- modes and lifecycle


@fresh("ExistOk refuses rows of another schema")
def same_schema(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateTable" or "exist" not in str(step.request.get("mode")).lower():
        return None
    found = target.ask("DescribeTable", id=id_of(step), load_detailed_metadata=True).answer or {}
    old = [f["name"] for f in (found.get("schema") or {}).get("fields", ())]
    new = pa.ipc.open_stream(step.data).schema.names if step.data else []
    return Reply(step=step, code=20, message="another schema") if old and old != new else None


add("Skip with Cascade fails where nothing is", lambda t, s: evolve(t.correct.call(evolve(s, request={
    k: v for k, v in s.request.items() if k != "mode"})), step=s)
    if s.operation == "DropNamespace" and has("behavior", "cascade")(s) else None)  # fmt: skip


def reserves(operation: str) -> Act:
    """Return an act that keeps a name reserved after an operation freed it."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation == operation:
            reply = target.correct.call(step)
            if reply.succeeded:
                target.memory[repr(id_of(step))] = True
            return reply
        makes = step.operation in ("CreateTable", "DeclareTable", "RegisterTable")
        if makes and repr(id_of(step)) in target.memory:
            return Reply(step=step, code=5, message="is there")
        return None

    return act


add("a dropped table's name stays taken", reserves("DropTable"))
add("a renamed table's old name stays taken", reserves("RenameTable"))
add("a renamed table is empty", after("RenameTable", lambda t, s: t.ask(
    "DeleteFromTable", id=[*(s.request.get("new_namespace_id") or id_of(s)[:-1]),
                           s.request["new_table_name"]], predicate="true") and None))  # fmt: skip
add("the described version is always 1", answer("DescribeTable", lambda a: {
    **a, "version": 1} if a.get("version") else a))  # fmt: skip
add("a description is remembered over new columns", sticky("DescribeTable", "AlterTableAddColumns"))
add("tables have one fragment", answer("DescribeTable", lambda a: {
    **a, "stats": {**a["stats"], "num_fragments": 1}} if a.get("stats") else a))  # fmt: skip

# --- properties

add("keys are the same in any case", request("CreateNamespace", lambda r: {
    **r, "properties": {k.lower(): v for k, v in (r.get("properties") or {}).items()}}))  # fmt: skip
add("a namespace without properties cannot get any", lambda t, s: Reply(
    step=s, code=18, message="null") if s.operation == "AlterNamespace" and (
        found := t.ask("DescribeNamespace", id=id_of(s))).succeeded and not (
            found.answer or {}).get("properties") else None)  # fmt: skip

# --- values

add("no number is null", body_instead("CreateTable", some_rows(each_column(
    lambda c: pc.if_else(pc.is_nan(c), pa.scalar(None, c.type), c)
    if pa.types.is_floating(c.type) else c))))  # fmt: skip
add("long texts are cut", body_instead("CreateTable", some_rows(each_column(
    lambda c: pc.utf8_slice_codeunits(c, 0, 255) if pa.types.is_string(c.type) else c))))  # fmt: skip
add(
    "times lose their microseconds",
    body_instead(
        "CreateTable",
        some_rows(
            each_column(
                lambda c: (
                    pc.floor_temporal(c, unit="millisecond") if pa.types.is_timestamp(c.type) else c
                )
            )
        ),
    ),
)
add("decimals come as floats", on_rows(each_column(
    lambda c: c.cast(pa.float64()) if pa.types.is_decimal(c.type) else c)))  # fmt: skip
add("truths come as numbers", on_rows(each_column(
    lambda c: c.cast(pa.int8()) if pa.types.is_boolean(c.type) else c)))  # fmt: skip
add("empty lists come as null", on_rows(each_column(lambda c: pa.chunked_array([pa.array(
    [v or None for v in c.to_pylist()], c.type)]) if pa.types.is_list(c.type) else c)))  # fmt: skip
add("rows that are the same are inserted once", body_instead("InsertIntoTable", some_rows(
    lambda t: t.take(pa.array(
        sorted({repr(row): n for n, row in enumerate(t.to_pylist())}.values()), pa.int64())))))  # fmt: skip
add("a thousand rows at most are inserted",
    body_instead("InsertIntoTable", some_rows(lambda t: t.slice(0, 1000))))  # fmt: skip


@fresh("overwriting with no rows keeps those that are there")
def keeps_rows(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "InsertIntoTable" or not has("mode", "overwrite")(step) or not step.data:
        return None
    try:
        empty = pa.ipc.open_stream(step.data).read_all().num_rows == 0
    except (ValueError, OSError):
        return None
    return Reply(step=step, answer={"version": 1, "num_inserted_rows": 0}) if empty else None


add("an update of no rows is code 13", lambda t, s: Reply(step=s, code=13, message="no rows")
    if s.operation == "UpdateTable" and s.request.get("predicate") and (t.ask(
        "CountTableRows", id=id_of(s), predicate=s.request["predicate"]).answer or {}).get(
            "count") == 0 else None)  # fmt: skip
add("a deletion of no rows is code 13", lambda t, s: Reply(step=s, code=13, message="no rows")
    if s.operation == "DeleteFromTable" and (t.ask(
        "CountTableRows", id=id_of(s), predicate=s.request["predicate"]).answer or {}).get(
            "count") == 0 else None)  # fmt: skip

# --- filters


def filters(change: Any) -> Act:
    """Return an act that changes the filters of queries."""

    return request("QueryTable", lambda r: {**r, "filter": change(r["filter"])}
                   if r.get("filter") else r)  # fmt: skip


add("OR is AND", filters(lambda f: f.replace(" OR ", " AND ").replace(" or ", " AND ")))
add("NOT is ignored", filters(lambda f: f.replace("NOT ", "").replace("not ", "")))
add("IS NULL holds for nothing", filters(lambda f: f.replace("IS NULL", "= -1")))
add("a quote in a text is code 13", refused(
    "QueryTable", lambda s: "''" in (s.request.get("filter") or "")))  # fmt: skip
add("a filter takes the offset away", without("QueryTable", "offset", when=has("filter")))
add("distances are negative", on_rows(lambda t: t.set_column(
    t.column_names.index("_distance"), "_distance", pc.negate(t.column("_distance")))
    if "_distance" in t.column_names else t))  # fmt: skip
add("a plan of what is not there is a plan", lambda t, s: evolve(
    r, code=None, answer={"plan": "nothing"}) if s.operation == "ExplainTableQueryPlan" and (
        r := t.correct.call(s)).code is not None else None)  # fmt: skip

# --- versions, tags, branches, indices, columns


@fresh("an old version is described with the newest schema")
def newest_schema(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DescribeTable" or not step.request.get("version"):
        return None
    reply = target.correct.call(step)
    newest = without("DescribeTable", "version")(target, step)
    if reply.answer is None or newest is None or newest.answer is None:
        return reply
    return evolve(reply, answer={**reply.answer, "schema": newest.answer.get("schema")})


add("a negative version is the newest", lambda t, s: without(s.operation, "version")(t, s)
    if isinstance(s.request.get("version"), int) and s.request["version"] < 0 else None)  # fmt: skip
add("dots in tags are underscores", request("", lambda r: {
    **r, "tag": r["tag"].replace(".", "_")} if isinstance(r.get("tag"), str) else r))  # fmt: skip
add("tags are listed without their branch", answer("ListTableTags", lambda a: {**a, "tags": {
    n: {k: v for k, v in t.items() if k != "branch"} for n, t in a["tags"].items()}}))  # fmt: skip


@fresh("a tag of a branch is described from the main line")
def main_line(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DescribeTable" or not step.request.get("tag"):
        return None
    found = target.ask("GetTableTagVersion", id=id_of(step), tag=step.request["tag"]).answer
    if not found:
        return None
    given = {k: v for k, v in step.request.items() if k != "tag"}
    changed = evolve(step, request={**given, "version": found["version"]})
    return evolve(target.correct.call(changed), step=step)


@fresh("a branch outlives its table")
def old_branches(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(id_of(step))
    if step.operation == "CreateTableBranch":
        target.memory.setdefault(key, []).append(step.request["name"])
    if step.operation == "CreateTable":
        reply = target.correct.call(step)
        for name in target.memory.get(key, ()) if reply.succeeded else ():
            target.ask("CreateTableBranch", id=id_of(step), name=name)
        return reply
    return None


KINDS = ("BTREE", "BITMAP", "LABEL_LIST", "INVERTED", "FTS", "NGRAM", "ZONEMAP", "BLOOMFILTER")
add(
    "an unknown kind of index is a BTREE",
    request(
        "CreateTableScalarIndex",
        lambda r: {
            **r,
            "index_type": r["index_type"] if str(r.get("index_type")).upper() in KINDS else "BTREE",
        },
    ),
)
add("index stats count no indices", answer(
    "DescribeTableIndexStats", lambda a: {**a, "num_indices": 0}))  # fmt: skip
add("AlterTableAddColumns: code 13 is 18", code_instead("AlterTableAddColumns", 13, 18))
add("fields of structs cannot be altered", refused("AlterTableAlterColumns", lambda s: any(
    "." in e.get("path", "") for e in s.request.get("alterations") or ()), 12))  # fmt: skip
add("a column of another type is null", after("AlterTableAlterColumns", lambda t, s: (
    [t.ask("UpdateTable", id=id_of(s), updates=[[e["path"], "NULL"]])
     for e in s.request["alterations"] if e.get("data_type")], None)[1]))  # fmt: skip
add("metadata of the first field alone is kept", request("UpdateFieldMetadata", lambda r: {
    **r, "updates": (r.get("updates") or [])[:1]}))  # fmt: skip


@fresh("a column may be renamed to one that is there")
def renamed_to_taken(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTableAlterColumns":
        return None
    reply = target.correct.call(step)
    renames = any(entry.get("rename") for entry in step.request.get("alterations") or ())
    taken = reply.code in (13, 20) and renames
    return Reply(step=step, answer={"version": 2}) if taken else reply


# --- HTTP

add_wire(
    "codes have a decimal point",
    on_failure(
        lambda a: copy(
            a,
            body=a.content.replace(
                b'"code":%d' % a.json()["code"], b'"code":%d.5' % a.json()["code"]
            ),
        )
    ),
)
add_wire("empty objects have no body", on_success(
    lambda a: copy(a, body=b"") if a.content == b"{}" else a))  # fmt: skip
add_wire("an identity in the body is refused", refusing(
    lambda r: b'"identity"' in r.content, 400, 13))  # fmt: skip
add_wire("a context in the body is refused", refusing(
    lambda r: b'"context"' in r.content, 400, 13))  # fmt: skip
add_wire("names of tables are listed as objects", on_success(lambda a: copy(a, body=json.dumps({
    **a.json(), "tables": [{"name": n} for n in a.json()["tables"]]}).encode())
    if a.content[:10] == b'{"tables":' else a))  # fmt: skip
# --- tables with managed versions

add_managed("a version of a missing table is taken", lambda t, s: Reply(step=s, answer={
    "version": {"version": s.request["version"], "manifest_path": s.request["manifest_path"]}})
    if s.operation == "CreateTableVersion" and not t.ask("TableExists", id=id_of(s)).succeeded
    else None)  # fmt: skip
add_managed("versions are remembered over a commit",
            sticky("ListTableVersions", "CreateTableVersion", "BatchCreateTableVersions"))  # fmt: skip
add_managed("a description is remembered over a commit",
            sticky("DescribeTable", "CreateTableVersion", "BatchCreateTableVersions"))  # fmt: skip
add_managed("a description is remembered over a commit of several tables",
            sticky("DescribeTable", "BatchCommitTables"))  # fmt: skip
add_managed("a conflict of a commit is code 13", code_instead("BatchCommitTables", 14, 13))
add_managed("versions were made in 1970", answer("ListTableVersions", lambda a: {
    **a, "versions": [{**v, "timestamp_millis": 0} for v in a["versions"]]}))  # fmt: skip
add_managed("a described version was made in 1970",
            each_version("DescribeTableVersion", timestamp_millis=lambda v: 0))  # fmt: skip
add_managed("the status of a transaction cannot be set", lambda t, s: t.ask(
    "DescribeTransaction", id=s.request["id"]) if s.operation == "AlterTransaction" and any(
        a.get("setStatusAction") for a in s.request.get("actions") or ()) else None)  # fmt: skip
