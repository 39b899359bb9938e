"""More wrong namespaces for all areas: sentences of the specification that few others break."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pyarrow as pa
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.rows import stream

from .batch_3 import id_of
from .fresh import add, add_wire, after, fresh, has, request
from .managed import add as add_managed
from .python import Act, WrongTarget, answer, succeeds_instead, without
from .wire import before, copy, json_body, on_success, rebuilt


def then(operation: str, *codes: int, act: Callable[[WrongTarget, Step], Any]) -> Act:
    """Return an act with a side effect after an operation fails with one of the given codes.

    A reply that the side effect returns replaces the reply of the call.
    """

    def run(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.correct.call(step)
        if reply.code not in codes:
            return reply
        other = act(target, step)
        return evolve(other, step=step) if isinstance(other, Reply) else reply

    return run


def told(target: WrongTarget, operation: str, step: Step, **more: Any) -> dict[str, Any]:
    return dict(target.ask(operation, id=id_of(step), **more).answer or {})


def newest(target: WrongTarget, step: Step) -> int:
    found = target.ask("DescribeTable", id=id_of(step), load_detailed_metadata=True).answer or {}
    return int(found.get("version") or 0)


# --- pages


@fresh("declared tables that are left out leave gaps in a page")
def gaps(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "ListTables" or step.request.get("include_declared") is not False:
        return None
    reply = target.correct.call(evolve(step, request={**step.request, "include_declared": True}))
    if not step.request.get("limit") or reply.answer is None:
        return None
    filled = told(target, "ListTables", step, include_declared=False).get("tables", ())
    kept = [name for name in reply.answer["tables"] if name in filled]
    return evolve(reply, step=step, answer={**reply.answer, "tables": kept})


add("pages of versions newest first go on with the oldest",
    without("ListTableVersions", "descending", when=has("page_token")))  # fmt: skip
add("ListAllTables lists names without their namespaces", answer("ListAllTables", lambda a: {
    **a, "tables": [n.split("$")[-1] for n in a["tables"]]}))  # fmt: skip
add("a token of another listing of tables starts at the beginning", then("ListTables", 13, act=lambda t, s:
    without("ListTables", "page_token")(t, s) if s.request.get("page_token") else None))  # fmt: skip
add("a token of another table's versions starts at the beginning", then("ListTableVersions", 13,
    act=lambda t, s: without("ListTableVersions", "page_token")(t, s)))  # fmt: skip
add("a limit of no entries is no limit", then("ListTableTags", 13,
    act=lambda t, s: without("ListTableTags", "limit")(t, s)))  # fmt: skip

# --- describing

add("levels of the namespace come innermost first", answer("DescribeTable", lambda a: {
    **a, "namespace": list(a.get("namespace") or ())[::-1]}))  # fmt: skip
add("is_only_declared is told unasked", request("DescribeTable", lambda r: {
    **r, "check_declared": True}))  # fmt: skip
add("table_uri is told unasked", request("DescribeTable", lambda r: {**r, "with_table_uri": True}))
add("deleted rows are none", answer("DescribeTable", lambda a: {
    **a, "stats": {**a["stats"], "num_deleted_rows": 0}} if a.get("stats") else a))  # fmt: skip


@fresh("a tag is described with the newest columns")
def newest_columns(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DescribeTable" or not step.request.get("tag"):
        return None
    reply = target.correct.call(step)
    now = told(target, "DescribeTable", step, load_detailed_metadata=True)
    return (
        evolve(reply, answer={**reply.answer, "schema": now.get("schema")})
        if reply.answer
        else reply
    )


def fields(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Act:
    return answer("DescribeTable", lambda a: {
        **a, "schema": {**a["schema"], "fields": [change(f) for f in a["schema"]["fields"]]}}
        if a.get("schema") else a)  # fmt: skip


add("every column may hold nulls", fields(lambda f: {**f, "nullable": True}))
add("lists have no item", fields(lambda f: {
    **f, "type": {k: v for k, v in f["type"].items() if k != "fields"}}))  # fmt: skip
add(
    "columns lose their metadata", fields(lambda f: {k: v for k, v in f.items() if k != "metadata"})
)
add("units of times are microseconds", fields(lambda f: {
    **f, "type": {**f["type"], **({"unit": "us"} if "unit" in f["type"] else {})}}))  # fmt: skip

# --- creating tables

add("a refused stream leaves a declared table", then("CreateTable", 13, act=lambda t, s:
    t.ask("DeclareTable", id=id_of(s)) and None))  # fmt: skip
add("rows of the first batch are stored alone", lambda t, s: evolve(t.correct.call(evolve(
    s, data=stream(pa.table([c.chunk(0) for c in b.columns], names=b.column_names)))), step=s)
    if s.operation == "CreateTable" and (b := _rows(s)) is not None and b.num_columns
    and b.column(0).num_chunks > 1 else None)  # fmt: skip


def _rows(step: Step) -> pa.Table | None:
    try:
        return pa.ipc.open_stream(step.data or b"").read_all()
    except (pa.ArrowInvalid, OSError):
        return None


# --- writing rows

add("num_inserted_rows is that of the table", lambda t, s: evolve(r, answer={
    **r.answer, "num_inserted_rows": (t.ask("CountTableRows", id=id_of(s)).answer or {}).get("count")})
    if s.operation == "InsertIntoTable" and (r := t.correct.call(s)).answer else None)  # fmt: skip
add("rows that do not fit are left out", succeeds_instead("InsertIntoTable", 20))


@fresh("columns of an insert are taken in their order")
def by_position(target: WrongTarget, step: Step) -> Reply | None:
    sent = _rows(step) if step.operation == "InsertIntoTable" else None
    if sent is None:
        return None
    schema = told(target, "DescribeTable", step, load_detailed_metadata=True).get("schema") or {}
    order = [field["name"] for field in schema.get("fields", ())]
    if sorted(order) != sorted(sent.column_names) or order == sent.column_names:
        return None
    return evolve(
        target.correct.call(evolve(step, data=stream(sent.rename_columns(order)))), step=step
    )


def first_key(given: dict[str, Any]) -> dict[str, Any]:
    on = given.get("on")
    try:
        on = json.loads(on) if isinstance(on, str) else on
    except ValueError:
        on = on.split(",") if isinstance(on, str) else on
    return {**given, "on": on[0]} if isinstance(on, list) and on else given


add("a filter of deletion by itself deletes all", request("MergeInsertIntoTable", lambda r: {
    **r, "when_not_matched_by_source_delete": True, "when_not_matched_by_source_delete_filt": "true"}
    if r.get("when_not_matched_by_source_delete_filt")
    and not r.get("when_not_matched_by_source_delete") else r))  # fmt: skip
add("rows are inserted though the key is unknown", then("MergeInsertIntoTable", 12, act=lambda t, s:
    t.ask("InsertIntoTable", s.data, id=id_of(s)) and None))  # fmt: skip
add(
    "updated rows count as deleted ones",
    answer(
        "MergeInsertIntoTable",
        lambda a: {
            **a,
            "num_deleted_rows": (a.get("num_deleted_rows") or 0) + (a.get("num_updated_rows") or 0),
        },
    ),
)
add("a merge without an action succeeds", succeeds_instead("MergeInsertIntoTable", 13))


@fresh("expressions of an update see the new values")
def one_by_one(target: WrongTarget, step: Step) -> Reply | None:
    updates = step.request.get("updates") or ()
    if step.operation != "UpdateTable" or len(updates) < 2:
        return None
    for update in updates:
        reply = target.correct.call(evolve(step, request={**step.request, "updates": [update]}))
        if not reply.succeeded:
            return evolve(reply, step=step)
    return evolve(reply, step=step)


add(
    "an update with an unknown column writes the others",
    then(
        "UpdateTable",
        12,
        act=lambda t, s: (
            [t.ask("UpdateTable", **{**s.request, "updates": [u]}) for u in s.request["updates"]]
            and None
        ),
    ),
)

# --- queries


def searched(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Act:
    return request("QueryTable", lambda r: change(r) if r.get("vector") else r)


add("prefilter=false is true", searched(lambda r: {**r, "prefilter": True}))
add("the upper bound is in", searched(lambda r: {
    **r, "upper_bound": math.nextafter(r["upper_bound"], math.inf) * 1.00001}
    if r.get("upper_bound") else r))  # fmt: skip
add("the lower bound is out", searched(lambda r: {**r, "lower_bound": r["lower_bound"] * 1.00001}
    if r.get("lower_bound") else r))  # fmt: skip
add("k of 0 finds no row", lambda t, s: evolve(r, rows=r.rows.slice(0, 0))
    if s.operation == "QueryTable" and not s.request.get("k")
    and (r := t.correct.call(s)).rows is not None else None)  # fmt: skip
add(
    "a search with a k of 0 finds nothing",
    lambda t, s: (
        evolve(t.correct.call(evolve(s, request={**s.request, "k": 1, "filter": "false"})), step=s)
        if s.operation == "QueryTable" and s.request.get("vector") and s.request.get("k") == 0
        else None
    ),
)
add("dot is cosine", searched(lambda r: {**r, "distance_type": "cosine"}
    if r.get("distance_type") == "dot" else r))  # fmt: skip
add("names win over aliases", then("QueryTable", 13, act=lambda t, s: t.correct.call(evolve(s, request={
    **s.request, "columns": {"column_names": c["column_names"]}}))
    if len(c := s.request.get("columns") or {}) == 2 else None))  # fmt: skip
add("an unknown vector column is the only one", then("QueryTable", 12,
    act=lambda t, s: without("QueryTable", "vector_column")(t, s)))  # fmt: skip


def in_tree(tree: Any, change: Callable[[str, Any], Any]) -> Any:
    if isinstance(tree, list):
        return [in_tree(each, change) for each in tree]
    if not isinstance(tree, dict):
        return tree
    return {k: change(k, in_tree(v, change)) for k, v in tree.items()}


def in_text_queries(change: Callable[[str, Any], Any]) -> Act:
    return request("QueryTable", lambda r: {
        **r, "full_text_query": in_tree(r["full_text_query"], change)}
        if r.get("full_text_query") else r)  # fmt: skip


add("no word may stand between the words of a phrase",
    in_text_queries(lambda k, v: 0 if k == "slop" else v))  # fmt: skip
add("words have to be spelt alike", in_text_queries(lambda k, v: 0 if k == "fuzziness" else v))
add("prefix_length is ignored", in_text_queries(lambda k, v: 0 if k == "prefix_length" else v))

# --- versions, tags, branches


def ranges(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Act:
    return request("BatchDeleteTableVersions", lambda r: {**r, "ranges": change(r["ranges"])})


add("a tag that cannot move is deleted", then("UpdateTableTag", 11, act=lambda t, s:
    t.ask("DeleteTableTag", id=id_of(s), tag=s.request["tag"]) and None))  # fmt: skip
add("a tag's branch is not told", answer("GetTableTagVersion", lambda a: {"version": a["version"]}))
add(
    "times of branches are milliseconds",
    answer(
        "ListTableBranches",
        lambda a: {
            **a,
            "branches": {
                k: {**b, "createAt": b["createAt"] * 1000} for k, b in a["branches"].items()
            },
        },
    ),
)
add("a restored version takes the tags along", after("RestoreTable", lambda t, s: [
    t.ask("UpdateTableTag", id=id_of(s), tag=tag, version=newest(t, s))
    for tag, held in told(t, "ListTableTags", s).get("tags", {}).items()
    if held["version"] == s.request["version"]] and None))  # fmt: skip

# --- indices and columns

add("a vector index on a text is built some time", succeeds_instead("CreateTableIndex", 13))
add("indices of an unknown version are the newest's", then("ListTableIndices", 4, act=lambda t, s:
    without("ListTableIndices", "version")(t, s)))  # fmt: skip


def each_alone(operation: str, key: str, *codes: int) -> Act:
    """Return an act that applies the parts of a failed request one by one."""
    return then(
        operation,
        *codes,
        act=lambda t, s: (
            [t.ask(operation, **{**s.request, key: [part]}) for part in s.request.get(key) or ()]
            and None
        ),
    )


add(
    "new columns stay though another one fails",
    each_alone("AlterTableAddColumns", "new_columns", 13, 20),
)
add(
    "alterations stay though another one fails",
    each_alone("AlterTableAlterColumns", "alterations", 12, 20),
)
add(
    "metadata of columns stays though another one fails",
    each_alone("UpdateFieldMetadata", "updates", 12),
)
add("metadata of columns is told as far as it changed", lambda t, s: evolve(r, answer={
    **r.answer, "fields": {u["path"]: {k: v for k, v in u["metadata"].items() if v is not None}
                           for u in s.request["updates"]}})
    if s.operation == "UpdateFieldMetadata" and (r := t.correct.call(s)).answer else None)  # fmt: skip

# --- properties and names

add("a key to set and to unset is set", then("AlterTable", 13, act=lambda t, s:
    without("AlterTable", "unset_properties")(t, s)))  # fmt: skip
add("AlterTable makes a version", after("AlterTable", lambda t, s: t.ask(
    "UpdateTableSchemaMetadata", id=id_of(s), metadata={"altered": "yes"}) and None))  # fmt: skip
add("a refused AlterNamespace has set its properties", then("AlterNamespace", 13, act=lambda t, s:
    without("AlterNamespace", "unset_properties")(t, s) and None))  # fmt: skip


add("a table moves to a namespace that is made for it", then("RenameTable", 1, act=lambda t, s: (
    t.ask("CreateNamespace", id=s.request["new_namespace_id"]), t.correct.call(s))[1]
    if s.request.get("new_namespace_id") else None))  # fmt: skip
add("Skip drops nothing and says nothing", then("DropNamespace", 3, act=lambda t, s: Reply(
    step=s, answer={}) if has("mode", "skip")(s) else None))  # fmt: skip
add("a renamed table has no tags", after("RenameTable", lambda t, s: [
    t.ask("DeleteTableTag", id=i, tag=tag) for i in
    [[*(s.request.get("new_namespace_id") or id_of(s)[:-1]), s.request["new_table_name"]]]
    for tag in (t.ask("ListTableTags", id=i).answer or {}).get("tags", {})] and None))  # fmt: skip

# --- HTTP

add_wire("empty listings are null", on_success(lambda a: copy(
    a, body=a.content.replace(b'":[]', b'":null').replace(b'": []', b'": null'))))  # fmt: skip
add_wire("names in routes are Latin-1", before(lambda r: rebuilt(r, raw_path=b"?".join(
    [quote(unquote_to_bytes(p).decode("latin-1"), safe="/").encode() if b"%C3" in p.upper() else p
     for p in r.url.raw_path.split(b"?", 1)]))))  # fmt: skip
add_wire("a delimiter is its first character", before(lambda r: rebuilt(
    r, raw_path=r.url.raw_path.replace(b"delimiter=%3A%3A", b"delimiter=%3A"))))  # fmt: skip
add_wire("the index in the body is not compared", json_body(
    lambda b: {k: v for k, v in b.items() if k != "index_name"}, "/stats"))  # fmt: skip
add_wire("properties in a header are ignored", lambda r, send: (
    r.headers.pop("x-lance-table-properties", None), send(r))[1])  # fmt: skip
add_wire("a location in a header is ignored", lambda r, send: (
    r.headers.pop("x-lance-table-location", None), send(r))[1])  # fmt: skip
add_wire("counts by name are of the newest version", json_body(
    lambda b: {k: v for k, v in b.items() if k != "version"}, "/CountTableRows"))  # fmt: skip
add_wire("results without rows have no columns", lambda r, send: copy(a, body=_bare())
         if (a := send(r)).content[:6] == b"ARROW1"
         and pa.ipc.open_file(a.content).read_all().num_rows == 0 else a)  # fmt: skip


def _bare() -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema([])):
        pass
    return sink.getvalue().to_pybytes()


# --- managed versions

add_managed("versions of a batch come in another order", answer("BatchCreateTableVersions", lambda a: {
    **a, "versions": a["versions"][::-1]}))  # fmt: skip
add_managed(
    "an entry without an operation is passed over", succeeds_instead("BatchCommitTables", 13)
)
add_managed("an unknown transaction succeeded", then("DescribeTransaction", 10, act=lambda t, s: Reply(
    step=s, answer={"status": "Succeeded"})))  # fmt: skip
add_managed(
    "properties of a transaction stay",
    request(
        "AlterTransaction",
        lambda r: {
            **r,
            "actions": [x for x in r["actions"] if "unsetPropertyAction" not in x] or r["actions"],
        },
    ),
)
