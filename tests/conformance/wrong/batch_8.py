"""Wrong namespaces for a random sample of sentences from rest.yaml and the semantics."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .batch_3 import id_of, refused
from .batch_4 import names
from .batch_7 import in_text_queries, newest, then, told
from .fresh import add, add_wire, after, fresh, has, request
from .managed import add as add_managed
from .managed import each_version
from .python import WrongTarget, answer, code_instead, succeeds_instead, without
from .wire import coded, json_body, on_failure

# --- tables and namespaces

add("a branch that is not there is described as the main line", then("DescribeTable", 11,
    act=lambda t, s: without("DescribeTable", "branch")(t, s)))  # fmt: skip
add("a version is counted on the main line", without(
    "CountTableRows", "branch", when=has("version")))  # fmt: skip
add("DropTable drops an empty namespace, too", then("DropTable", 4, 13, act=lambda t, s:
    t.ask("DropNamespace", id=id_of(s)) and None))  # fmt: skip
add("RegisterTable answers a place below", answer("RegisterTable", lambda a: {
    **a, "location": f"{a['location']}/data"}))  # fmt: skip
add("an identifier is its last two names", request("", lambda r: {
    **r, "id": r["id"][-2:]} if isinstance(r.get("id"), list) else r))  # fmt: skip
add("the transactions of a drop are one text", answer("DropNamespace", lambda a: {
    **a, "transaction_id": "t-1"}))  # fmt: skip
add("a namespace's pages are counted", lambda t, s: _counted(t, s)
    if s.operation == "ListNamespaces" and s.request.get("limit") else None)  # fmt: skip


def _counted(target: WrongTarget, step: Step) -> Reply | None:
    limit, start = step.request["limit"], step.request.get("page_token") or "0"
    if limit < 1 or not str(start).isdigit():
        return None
    found = names(target, "ListNamespaces", "namespaces", id_of(step))
    end = int(start) + limit
    token = {"page_token": str(end)} if end < len(found) else {}
    return Reply(step=step, answer={"namespaces": found[int(start) : end], **token})


add("a page of tables leaves out its first name", lambda t, s: evolve(r, answer={
    **r.answer, "tables": r.answer["tables"][1:]}) if s.operation == "ListTables"
    and s.request.get("page_token") and (r := t.correct.call(s)).answer else None)  # fmt: skip
add("namespaces are listed by their identifiers", lambda t, s: evolve(r, answer={
    **r.answer, "namespaces": ["$".join([*id_of(s), n]) for n in r.answer["namespaces"]]})
    if s.operation == "ListNamespaces" and (r := t.correct.call(s)).answer else None)  # fmt: skip
add("a table that is altered and missing is declared", then("AlterTable", 4, act=lambda t, s: (
    t.ask("DeclareTable", id=id_of(s)), t.correct.call(s))[1]))  # fmt: skip
add("CreateTable answers a place below", answer("CreateTable", lambda a: {
    **a, "location": f"{a['location']}/data"}))  # fmt: skip
add("missing parents of a namespace are made", then("CreateNamespace", 1, act=lambda t, s: (
    [t.ask("CreateNamespace", id=id_of(s)[:n]) for n in range(1, len(id_of(s)))],
    t.correct.call(s))[1]))  # fmt: skip
add("a branch is described with the main line's version", lambda t, s: evolve(r, answer={
    **r.answer, "version": newest(t, s)}) if s.operation == "DescribeTable"
    and s.request.get("branch") and s.request.get("load_detailed_metadata")
    and (r := t.correct.call(s)).answer else None)  # fmt: skip
add("a tag of digits is a version", request("DescribeTable", lambda r: {
    **{k: v for k, v in r.items() if k != "tag"}, "version": int(r["tag"])}
    if str(r.get("tag", "")).isdigit() else r))  # fmt: skip
add("types are named in capitals", answer("DescribeTable", lambda a: {**a, "schema": {
    **a["schema"], "fields": [{**f, "type": {**f["type"], "type": f["type"]["type"].upper()}}
                              for f in a["schema"]["fields"]]}} if a.get("schema") else a))  # fmt: skip

# --- rows

add("an unknown column in a predicate counts none", then("CountTableRows", 12, 13, act=lambda t, s:
    Reply(step=s, answer={"count": 0})))  # fmt: skip
add("a plain query with a bound is refused", refused("QueryTable", lambda s: s.request.get(
    "upper_bound") is not None and not s.request.get("vector")))  # fmt: skip


def in_boosts(change: Any) -> Any:
    return in_text_queries(lambda k, v: change(v["boost"])
                           if k == "query" and isinstance(v, dict) and "boost" in v else v)  # fmt: skip


add("a negative query is ignored", in_boosts(lambda b: b["positive"]))


def in_booleans(change: Any) -> Any:
    return in_text_queries(lambda k, v: change(v) if k == "boolean" else v)


add("should without must is must", in_booleans(lambda b: b if b["must"] else {
    **b, "must": b["should"], "should": []}))  # fmt: skip
add("must is should", in_booleans(lambda b: {
    **b, "must": [], "should": [*b["must"], *b["should"]]}))  # fmt: skip
add(
    "should adds nothing to a score", in_booleans(lambda b: {**b, "should": []} if b["must"] else b)
)
add("of two vectors one is searched", then("QueryTable", 13, act=lambda t, s: t.correct.call(evolve(
    s, request={**s.request, "vector": {"single_vector": v["single_vector"]}}))
    if len(v := s.request.get("vector") or {}) == 2 else None))  # fmt: skip
add("a missing branch is made by an insert", then("InsertIntoTable", 4, act=lambda t, s: (
    t.ask("CreateTableBranch", id=id_of(s), name=s.request["branch"]), t.correct.call(s))[1]
    if s.request.get("branch") else None))  # fmt: skip
add("all columns come with a filter", without("QueryTable", "columns", when=has("filter")))
add("a deletion deletes the versions before", after("DeleteFromTable", lambda t, s: t.ask(
    "BatchDeleteTableVersions", id=id_of(s), ranges=[
        {"start_version": 0, "end_version": newest(t, s)}]) and None))  # fmt: skip
add("what comes of a column is its expression alone", then("AlterTableAddColumns", 13, act=lambda t, s:
    t.correct.call(evolve(s, request={**s.request, "new_columns": [
        {"name": c["name"], "expression": c["expression"]} for c in s.request["new_columns"]]}))
    if all(c.get("expression") for c in s.request["new_columns"]) else None))  # fmt: skip

# --- versions, tags, branches, indices

add("a tag that is missing is code 11", code_instead("DeleteTableTag", 8, 11))
add("branches have no limit from three on", request("ListTableBranches", lambda r: {
    k: v for k, v in r.items() if k != "limit" or v < 3}))  # fmt: skip
add("manifests are a byte longer", answer("ListTableVersions", lambda a: {**a, "versions": [
    {**v, "manifest_size": v["manifest_size"] + 1} if v.get("manifest_size") else v
    for v in a["versions"]]}))  # fmt: skip
add("the end -1 of a range takes in nothing", request("BatchDeleteTableVersions", lambda r: {
    **r, "ranges": [x for x in r["ranges"] if x["end_version"] != -1]
    or [{"start_version": 999, "end_version": 1000}]}))  # fmt: skip
add("versions are deleted on the main line", without("BatchDeleteTableVersions", "branch"))
add("versions of a branch come oldest first",
    without("ListTableVersions", "descending", when=has("branch")))  # fmt: skip
add("an index of no partitions is made", request("CreateTableIndex", lambda r: {
    k: v for k, v in r.items() if v != 0}))  # fmt: skip
add("metadata of the schema is told as far as it changed", lambda t, s: evolve(r, answer={
    **r.answer, "metadata": dict(s.request.get("metadata") or {})})
    if s.operation == "UpdateTableSchemaMetadata" and (r := t.correct.call(s)).answer else None)  # fmt: skip


@fresh("a tag takes its version along")
def takes_along(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DeleteTableTag":
        return None
    held = told(target, "ListTableTags", step).get("tags", {}).get(step.request.get("tag"))
    reply = target.correct.call(step)
    if reply.succeeded and held:
        at = held["version"]
        span = [{"start_version": at, "end_version": at + 1}]
        target.ask("BatchDeleteTableVersions", id=id_of(step), ranges=span)
    return reply


# --- HTTP and managed versions

add_wire("counts ignore the id in the body", json_body(
    lambda b: {k: v for k, v in b.items() if k != "id"}, "/count_rows"))  # fmt: skip
add_wire("messages are tracebacks", on_failure(lambda a: coded(a, error=(
    "Traceback (most recent call last):\n" + "  File \"app.py\", line 1, in call\n" * 50))))  # fmt: skip
add_managed(
    "a change that a status does not allow succeeds", succeeds_instead("AlterTransaction", 14)
)
add_managed("an unknown status is Queued", then("AlterTransaction", 13, act=lambda t, s: Reply(
    step=s, answer={"status": "Queued"})))  # fmt: skip
add_managed("a manifest keeps its staged name", each_version(
    "DescribeTableVersion", manifest_path=lambda v: f"{v['manifest_path']}.staged"))  # fmt: skip
