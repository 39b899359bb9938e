"""Wrong namespaces for all areas, written before the kit ran on any of them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.rows import stream

from .fresh import add, add_wire, after, fresh, has, on_rows, request
from .python import (
    WrongTarget,
    body_instead,
    code_instead,
    some_rows,
    with_field,
    without,
)
from .wire import before, coded, copy, ends, on_failure, on_success, rebuilt

# --- paging and listings


@fresh("a page of tables holds two names at most")
def small_pages(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "ListTables" or (step.request.get("limit") or 9) <= 2:
        return None
    changed = evolve(step, request={**step.request, "limit": 2})
    return evolve(target.correct.call(changed), step=step)


@fresh("a listing without a limit ends at a hundred names")
def hundred(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "ListTables" or step.request.get("limit"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    return evolve(reply, answer={**(reply.answer or {}), "tables": reply.answer["tables"][:100]})


@fresh("the last name of a page comes again on the next")
def inclusive_token(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "ListNamespaces":
        return None
    reply = target.correct.call(step)
    token = step.request.get("page_token")
    names = list((reply.answer or {}).get("namespaces") or ())
    if reply.succeeded and token and target.memory.get(token):
        names = [target.memory[token], *names]
    if reply.succeeded and reply.answer.get("page_token"):
        target.memory[reply.answer["page_token"]] = names[-1]
    return evolve(reply, answer={**(reply.answer or {}), "namespaces": names})


add("limit is ignored where declared tables are left out",
    without("ListTables", "limit", when=has("include_declared", "false")))  # fmt: skip
add("pages of versions come oldest first whatever is asked",
    without("ListTableVersions", "descending", when=has("limit")))  # fmt: skip


# --- errors

add("a branch that is there is code 13", code_instead("CreateTableBranch", 23, 13))
add("renaming into a missing namespace is code 4", code_instead("RenameTable", 1, 4))
add("a tag of a missing version is code 8", code_instead("UpdateTableTag", 11, 8))
add("restoring a missing version is code 4", code_instead("RestoreTable", 11, 4))

# --- modes and the lifecycle of tables


@fresh("DropNamespace with Skip drops what is in it")
def skip_cascades(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DropNamespace" or str(step.request.get("mode")).lower() != "skip":
        return None
    return with_field("DropNamespace", behavior="Cascade")(target, step)


@fresh("CreateTable in mode ExistOk of a missing table declares it")
def exist_ok_declares(target: WrongTarget, step: Step) -> Reply | None:
    mode = str(step.request.get("mode")).lower().replace("_", "")
    if step.operation != "CreateTable" or mode != "existok":
        return None
    if target.ask("TableExists", id=step.request["id"]).succeeded:
        return None
    reply = target.ask("DeclareTable", id=step.request["id"])
    return evolve(reply, step=step)


@fresh("a new table of an old name goes on with its versions")
def versions_go_on(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(step.request.get("id"))
    reply = target.correct.call(step)
    if step.operation == "DropTable" and reply.succeeded:
        target.memory[key] = 3
    if step.operation == "CreateTable" and reply.succeeded and target.memory.get(key):
        return evolve(reply, answer={**reply.answer, "version": target.memory[key]})
    return reply


add("DeclareTable writes an empty dataset",
    after("DeclareTable", lambda target, step: target.ask(
        "CreateTable", stream(pa.table({"x": pa.array([], pa.int64())})), id=step.request["id"],
        mode="Overwrite") and None))  # fmt: skip
# --- properties and identifiers

add("a property that is unset is set to nothing",
    request("AlterTable", lambda r: {
        **r, "unset_properties": [],
        "set_properties": {**(r.get("set_properties") or {}),
                           **dict.fromkeys(r.get("unset_properties") or (), "")}}))  # fmt: skip
add("a property's text after = is lost",
    request("CreateNamespace", lambda r: {**r, "properties": {
        k: v.split("=")[0] for k, v in (r.get("properties") or {}).items()}}))  # fmt: skip
add("letters beyond ASCII are lost in properties",
    request("DeclareTable", lambda r: {**r, "properties": {
        k: v.encode("ascii", "replace").decode() for k, v in (r.get("properties") or {}).items()}
    }))  # fmt: skip

# --- queries


@fresh("a comparison holds for null")
def null_holds(target: WrongTarget, step: Step) -> Reply | None:
    text = step.request.get("filter") or step.request.get("predicate") or ""
    if step.operation not in ("QueryTable", "CountTableRows") or "score" not in text:
        return None
    key = "filter" if step.operation == "QueryTable" else "predicate"
    changed = {**step.request, key: f"({text}) OR score IS NULL"}
    return evolve(target.correct.call(evolve(step, request=changed)), step=step)


add("k is one more where there is an offset",
    request("QueryTable", lambda r: {**r, "k": r["k"] + 1} if r.get("offset") else r))  # fmt: skip
add("a vector query gives all rows", request("QueryTable", lambda r: {
    **r, "k": 1000} if (r.get("vector") or {}).get("single_vector") else r))  # fmt: skip
add("row ids are all 0", on_rows(lambda t: t.set_column(
    t.column_names.index("_rowid"), "_rowid", pa.array([0] * t.num_rows, pa.uint64()))
    if "_rowid" in t.column_names else t))  # fmt: skip
add("full_text_query is ignored", without("QueryTable", "full_text_query"))
add("large numbers lose their last digits", body_instead("CreateTable", some_rows(
    lambda t: pa.table([
        pc.cast(pc.cast(c, "float64", safe=False), "int64", safe=False)
        if pa.types.is_int64(c.type) else c for c in t.columns], names=t.column_names))))  # fmt: skip

# --- writes, branches, tags, indices, columns

add("a deletion of a range keeps its end", request("DeleteFromTable", lambda r: {
    **r, "predicate": (r.get("predicate") or "").replace(">=", ">")}))  # fmt: skip
add("a tag of a branch names the main line", without("CreateTableTag", "branch"))
add("index stats ignore branch", without("DescribeTableIndexStats", "branch"))
add("plans ignore the branch", without("ExplainTableQueryPlan", "branch"))
add("an update of one column empties the others of the row", after("UpdateTable",
    lambda target, step: target.ask("UpdateTable", id=step.request["id"],
                                    predicate=step.request.get("predicate"),
                                    updates=[["score", "NULL"]]) and None
    if [u[0] for u in step.request["updates"]] == ["name"] else None))  # fmt: skip
add("a new branch starts without the rows of the last version", request(
    "CreateTableBranch", lambda r: r if r.get("from_version") or r.get("from_branch") else {
        **r, "from_version": 1}))  # fmt: skip

# --- HTTP

add_wire(
    "numbers in answers are texts",
    on_success(lambda a: copy(a, body=a.content.replace(b'"version":1', b'"version":"1"'))),
)
add_wire(
    "HTTP 409 for a missing table",
    on_failure(lambda a: copy(a, status=409) if a.json().get("code") == 4 else a),
)
add_wire(
    "the path is read without its last part",
    before(
        lambda r: (
            rebuilt(r, raw_path=r.url.raw_path.replace(b"/exists", b"/describe"))
            if ends(r, "/exists")
            else r
        )
    ),
)
add_wire(
    "an unknown namespace is 404 with code 4",
    on_failure(lambda a: coded(a, code=4) if a.json().get("code") == 1 else a),
)
add_wire(
    "rows of queries come as one batch of no type",
    on_success(
        lambda a: (
            copy(a, content_type="application/octet-stream") if a.content[:6] == b"ARROW1" else a
        )
    ),
)
add_wire(
    "errors tell a stack trace alone", on_failure(lambda a: coded(a, error="", detail="at line 5"))
)
