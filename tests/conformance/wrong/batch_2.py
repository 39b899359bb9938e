"""More wrong namespaces for all areas, written before the kit ran on any of them."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .fresh import add, add_wire, after, fresh, has, on_rows, request
from .python import (
    WrongTarget,
    answer,
    body_instead,
    code_instead,
    some_rows,
    with_field,
    without,
)
from .wire import before, coded, copy, ends, on_failure, on_success, rebuilt, refusing

# --- paging


@fresh("a page token of namespaces starts at the beginning again after a drop")
def token_restarts(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DropNamespace":
        target.memory["dropped"] = True
    if step.operation == "ListNamespaces" and target.memory.pop("dropped", False):
        return without("ListNamespaces", "page_token")(target, step)
    return None


add("a limit above a thousand is a hundred", request("ListTables", lambda r: {
    **r, "limit": 100} if (r.get("limit") or 0) >= 1000 else r))  # fmt: skip
add("versions have no limit newest first",
    without("ListTableVersions", "limit", when=has("descending", True)))  # fmt: skip
add("index pages ignore the token", without("ListTableIndices", "page_token"))

# --- errors

add("a missing index is described as empty",
    lambda t, s: evolve(r, code=None, answer={"num_indexed_rows": 0})
    if s.operation == "DescribeTableIndexStats" and (r := t.correct.call(s)).code == 6 else None)  # fmt: skip

for _operation, _old, _new in (
    ("CreateNamespace", 13, 18), ("DeleteFromTable", 13, 18), ("MergeInsertIntoTable", 12, 18),
    ("RegisterTable", 5, 13), ("AlterTableDropColumns", 12, 20), ("UpdateFieldMetadata", 12, 4),
    ("DeleteTableBranch", 22, 4), ("CreateTableIndex", 7, 13), ("DescribeTable", 11, 4),
    ("RenameTable", 5, 14),
):  # fmt: skip
    add(f"{_operation}: code {_old} is {_new}", code_instead(_operation, _old, _new))

# --- modes, lifecycle, properties

add("RegisterTable overwrites without being asked", lambda t, s: with_field(
    "RegisterTable", mode="Overwrite")(t, s) if s.operation == "RegisterTable"
    and not s.request.get("mode") else None)  # fmt: skip
add("Cascade deletes the tables' data", lambda t, s: [
    t.ask("DropTable", id=[*s.request["id"], n]) for n in
    (t.ask("ListTables", id=s.request["id"]).answer or {}).get("tables", ())] and None
    if s.operation == "DropNamespace" and str(s.request.get("behavior")).lower() == "cascade"
    else None)  # fmt: skip


@fresh("RenameTable drops a table that has the new name")
def rename_over(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "RenameTable":
        return None
    if not target.ask("TableExists", id=step.request["id"]).succeeded:
        return None
    parent = step.request.get("new_namespace_id") or step.request["id"][:-1]
    new = [*parent, step.request["new_table_name"]]
    if new != list(step.request["id"]):
        target.ask("DropTable", id=new)
    return None


add("a renamed table loses a property", after("RenameTable", lambda t, s: t.ask(
    "AlterTable", id=[*(s.request.get("new_namespace_id") or s.request["id"][:-1]),
                      s.request["new_table_name"]], unset_properties=["owner"]) and None))  # fmt: skip
add("properties with a line break end there", request("CreateNamespace", lambda r: {
    **r, "properties": {k: v.split("\n")[0] for k, v in (r.get("properties") or {}).items()}}))  # fmt: skip
add("at most ten properties are set", request("AlterTable", lambda r: {
    **r, "set_properties": dict(list((r.get("set_properties") or {}).items())[:10])}))  # fmt: skip

# --- rows

add("texts are trimmed", body_instead("InsertIntoTable", some_rows(lambda t: pa.table([
    pa.compute.utf8_trim_whitespace(c) if pa.types.is_string(c.type) else c for c in t.columns
], names=t.column_names))))  # fmt: skip
add("empty texts are null", body_instead("CreateTable", some_rows(lambda t: pa.table([
    pa.array([v or None for v in c.to_pylist()], c.type) if pa.types.is_string(c.type) else c
    for c in t.columns], names=t.column_names))))  # fmt: skip
add("rows that are there already are left out", body_instead("CreateTable", some_rows(
    lambda t: t.slice(0, len(set(t.column(0).to_pylist()))))))  # fmt: skip
add("row order is reversed", on_rows(lambda t: t.take(list(range(t.num_rows))[::-1])
                                     if "_distance" not in t.column_names else t))  # fmt: skip
add("timestamps lose their zone", on_rows(lambda t: t.cast(pa.schema([
    pa.field(f.name, pa.timestamp(f.type.unit)) if pa.types.is_timestamp(f.type) else f
    for f in t.schema]))))  # fmt: skip
add("updates count all rows of the table", answer("UpdateTable", lambda a: {
    **a, "updated_rows": max(a["updated_rows"], 10) if a["updated_rows"] else 0}))  # fmt: skip
add("a merge adds rows that match once more",
    with_field("MergeInsertIntoTable", when_matched_update_all=False))  # fmt: skip
add("LIKE ignores case", lambda t, s: evolve(t.correct.call(evolve(s, request={
    **s.request, "filter": s.request["filter"].replace("LIKE", "ILIKE")})), step=s)
    if s.operation == "QueryTable" and "LIKE" in (s.request.get("filter") or "") else None)  # fmt: skip
add("prefilter is always on", with_field("QueryTable", prefilter=True))
add("fast_search is ignored", without("QueryTable", "fast_search"))

# --- versions, tags, branches, indices, columns

add("restoring forgets the versions after it", after("RestoreTable", lambda t, s: t.ask(
    "BatchDeleteTableVersions", id=s.request["id"], ranges=[
        {"start_version": s.request["version"] + 1, "end_version": s.request["version"] + 2}])
    and None))  # fmt: skip
add("all versions have one manifest", answer("ListTableVersions", lambda a: {**a, "versions": [
    {**v, "manifest_path": "_versions/1.manifest"} for v in a["versions"]]}))  # fmt: skip
add("times of versions are in seconds", answer("ListTableVersions", lambda a: {**a, "versions": [
    {**v, "timestamp_millis": v["timestamp_millis"] // 1000} for v in a["versions"]]}))  # fmt: skip
add("a tag moves with the table", after("InsertIntoTable", lambda t, s: [
    t.ask("UpdateTableTag", id=s.request["id"], tag=n, version=v["version"] + 1) for n, v in
    ((t.ask("ListTableTags", id=s.request["id"]).answer or {}).get("tags") or {}).items()]
    and None))  # fmt: skip
add("branches start at version 0", answer("ListTableBranches", lambda a: {**a, "branches": {
    n: {**b, "parentVersion": 0} for n, b in a["branches"].items()}}))  # fmt: skip
add("every index is a BTREE", answer("ListTableIndices", lambda a: {**a, "indexes": [
    {**i, "index_type": "BTREE"} for i in a["indexes"]]}))  # fmt: skip
add("a dropped index takes its column along", after("DropTableIndex", lambda t, s: t.ask(
    "AlterTableDropColumns", id=s.request["id"], columns=["name"]) and None))  # fmt: skip
add("renaming a column renames it back", after("AlterTableAlterColumns", lambda t, s: t.ask(
    "AlterTableAlterColumns", id=s.request["id"], alterations=[
        {"path": e["rename"], "rename": e["path"]} for e in s.request["alterations"][1:]
        if e.get("rename")]) and None))  # fmt: skip
add("replace of column metadata is ignored", request("UpdateFieldMetadata", lambda r: {
    **r, "updates": [{k: v for k, v in u.items() if k != "replace"} for u in r["updates"]]}))  # fmt: skip

# --- HTTP

add_wire(
    "another id in the body of a count is ignored",
    before(
        lambda r: (
            rebuilt(
                r,
                body=json.dumps(
                    {k: v for k, v in json.loads(r.content).items() if k != "id"}
                ).encode(),
            )
            if ends(r, "/count_rows") and r.content[:2] == b'{"'
            else r
        )
    ),
)
add_wire(
    "a missing version of a tag is version 1",
    before(
        lambda r: (
            rebuilt(r, body=json.dumps({"version": 1, **json.loads(r.content)}).encode())
            if ends(r, "/tags/create") and r.content[:1] == b"{" and r.content[-1:] == b"}"
            else r
        )
    ),
)
add_wire(
    "the delimiter of versions is always $",
    before(
        lambda r: (
            rebuilt(r, raw_path=r.url.raw_path.split(b"?")[0])
            if b"/version/list" in r.url.raw_path
            else r
        )
    ),
)
add_wire(
    "code 12 is HTTP 400",
    on_failure(lambda a: copy(a, status=400) if a.json().get("code") == 12 else a),
)
add_wire(
    "code 23 is HTTP 400",
    on_failure(lambda a: copy(a, status=400) if a.json().get("code") == 23 else a),
)
add_wire(
    "letters beyond ASCII are question marks",
    on_success(
        lambda a: (
            copy(a, body=json.dumps(a.json(), ensure_ascii=False).encode("ascii", "replace"))
            if a.content[:1] == b"{"
            else a
        )
    ),
)
add_wire(
    "an empty list is null", on_success(lambda a: copy(a, body=a.content.replace(b":[]", b":null")))
)
add_wire(
    "a query without rows has no body",
    on_success(
        lambda a: copy(a, body=b"") if a.content[:6] == b"ARROW1" and _rows(a.content) == 0 else a
    ),
)
add_wire(
    "an insert of nothing succeeds",
    lambda r, send: (
        refusing(lambda q: False, 400, 13)(r, send)
        if r.content or not ends(r, "/insert")
        else copy(
            send(
                rebuilt(
                    r,
                    raw_path=r.url.raw_path.split(b"?")[0].replace(b"/insert", b"/exists"),
                    body=b"{}",
                )
            ),
            body=b"{}",
            content_type="application/json",
        )
    ),
)
add_wire(
    "failures name code 13 in words alone",
    on_failure(lambda a: coded(a, code=18, error="code 13") if a.json().get("code") == 13 else a),
)


def _rows(body: bytes) -> int:
    return int(pa.ipc.open_file(body).read_all().num_rows)
