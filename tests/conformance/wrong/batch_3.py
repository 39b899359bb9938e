"""More wrong namespaces for all areas: paging, modes, rows, versions, branches, columns, HTTP."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pyarrow as pa
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .fresh import add, add_wire, after, fresh, has, on_rows, request
from .python import (
    Act,
    WrongTarget,
    answer,
    body_instead,
    some_rows,
    succeeds_instead,
    with_field,
    without,
)
from .wire import coded, copy, ends, on_failure, on_success, refusing


def refused(operation: str, when: Any, code: int = 13) -> Act:
    """Return an act that rejects valid calls that meet a condition."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if operation in ("", step.operation) and when(step):
            return Reply(step=step, code=code, message="refused")
        return None

    return act


def id_of(step: Step) -> list[str]:
    return list(step.request.get("id") or ())


# --- paging


@fresh("pages end where the last name of a page was dropped")
def dropped_between(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DropTable":
        target.memory["dropped"] = True
    if step.operation != "ListTables":
        return None
    if not step.request.get("page_token"):
        target.memory.pop("dropped", None)
        return None
    return Reply(step=step, answer={"tables": []}) if target.memory.get("dropped") else None


@fresh("a page token is refused after a table was made")
def made_between(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation in ("CreateTable", "DeclareTable"):
        target.memory["made"] = True
    if step.operation != "ListTables":
        return None
    if not step.request.get("page_token"):
        target.memory.pop("made", None)
        return None
    refusal = Reply(step=step, code=13, message="the listing changed")
    return refusal if target.memory.get("made") else None


add("ListAllTables ignores page_token", without("ListAllTables", "page_token"))
add("pages of tags ignore the token", without("ListTableTags", "page_token"))
add("pages of branches ignore the token", without("ListTableBranches", "page_token"))
add("a limit of 1 is no limit", without("ListTables", "limit", when=has("limit", 1)))
add("names beyond ASCII are not listed", answer(
    "ListTables", lambda a: {**a, "tables": [n for n in a["tables"] if n.isascii()]}))  # fmt: skip

# --- names


@fresh("a table may have the name of a namespace")
def shared_name(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DeclareTable":
        return None
    reply = target.correct.call(step)
    if reply.code is None or not target.ask("NamespaceExists", id=id_of(step)).succeeded:
        return reply
    return Reply(step=step, answer={"location": "/lake/" + "/".join(id_of(step))})


@fresh("a table may be renamed to the name of a namespace")
def renamed_to_namespace(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "RenameTable":
        return None
    reply = target.correct.call(step)
    parent = step.request.get("new_namespace_id") or id_of(step)[:-1]
    new = [*parent, step.request["new_table_name"]]
    taken = reply.code is not None and target.ask("NamespaceExists", id=new).succeeded
    return Reply(step=step, answer={}) if taken else reply


add(
    "empty names in identifiers are left out",
    request(
        "", lambda r: {**r, "id": [n for n in r["id"] if n]} if isinstance(r.get("id"), list) else r
    ),
)
add("a dot in a name starts another level", request("", lambda r: {
    **r, "id": [part for n in r["id"] for part in n.split(".")]}
    if isinstance(r.get("id"), list) else r))  # fmt: skip

# --- modes

add("modes with an underscore are unknown", refused(
    "", lambda s: "_" in str(s.request.get("mode") or "")))  # fmt: skip
add("CreateTable Overwrite of a missing table is code 4", lambda t, s: Reply(
    step=s, code=4, message="no such table") if s.operation == "CreateTable"
    and has("mode", "overwrite")(s) and not t.ask("TableExists", id=id_of(s)).succeeded
    else None)  # fmt: skip
add("CreateNamespace Overwrite of a missing one is code 1", lambda t, s: Reply(
    step=s, code=1, message="no such namespace") if s.operation == "CreateNamespace"
    and has("mode", "overwrite")(s) and not t.ask("NamespaceExists", id=id_of(s)).succeeded
    else None)  # fmt: skip
add("RegisterTable Overwrite of a missing table is code 4", lambda t, s: Reply(
    step=s, code=4, message="no such table") if s.operation == "RegisterTable"
    and has("mode", "overwrite")(s) and not t.ask("TableExists", id=id_of(s)).succeeded
    else None)  # fmt: skip


@fresh("CreateNamespace Overwrite empties what is not empty")
def overwrite_empties(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "CreateNamespace" and has("mode", "overwrite")(step):
        target.ask("DropNamespace", id=id_of(step), behavior="Cascade")
    return None


add("ExistOk of a table answers another location", lambda t, s: evolve(r, answer={
    **r.answer, "location": f"{r.answer['location']}-new"}) if s.operation == "CreateTable"
    and (has("mode", "existok")(s) or has("mode", "exist_ok")(s))
    and (r := t.correct.call(s)).succeeded and r.answer and r.answer.get("location") else None)  # fmt: skip

# --- the lifecycle of tables


@fresh("DropTable leaves the data")
def leaves_data(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DropTable":
        return None
    reply = target.ask("DeregisterTable", id=id_of(step))
    return evolve(reply, step=step)


@fresh("a registered table has the properties of the one before it")
def old_properties(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(id_of(step))
    if step.operation == "DeregisterTable":
        found = target.ask("DescribeTable", id=id_of(step))
        target.memory[key] = (found.answer or {}).get("properties") or {}
    if step.operation == "RegisterTable" and target.memory.get(key):
        given = {**target.memory[key], **(step.request.get("properties") or {})}
        changed = evolve(step, request={**step.request, "properties": given})
        return evolve(target.correct.call(changed), step=step)
    return None


@fresh("tables outlive their namespace's Cascade")
def outlive(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(id_of(step))
    if step.operation == "DropNamespace" and has("behavior", "cascade")(step):
        names = (target.ask("ListTables", id=id_of(step)).answer or {}).get("tables", ())
        target.memory[key] = [
            (name, (target.ask("DescribeTable", id=[*id_of(step), name]).answer or {})["location"])
            for name in names
        ]
    if step.operation == "CreateNamespace":
        reply = target.correct.call(step)
        for name, location in target.memory.pop(key, ()) if reply.succeeded else ():
            target.ask("RegisterTable", id=[*id_of(step), name], location=location)
        return reply
    return None


@fresh("the first rows of a declared table take its properties away")
def first_rows(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation not in ("InsertIntoTable", "CreateTable"):
        return None
    before = target.ask("DescribeTable", id=id_of(step), check_declared=True).answer or {}
    reply = target.correct.call(step)
    if reply.succeeded and before.get("is_only_declared") and before.get("properties"):
        target.ask("AlterTable", id=id_of(step), unset_properties=list(before["properties"]))
    return reply


add("declared tables cannot be dropped", lambda t, s: Reply(
    step=s, code=19, message="has no data") if s.operation == "DropTable" and (t.ask(
        "DescribeTable", id=id_of(s), check_declared=True).answer or {}).get("is_only_declared")
    else None)  # fmt: skip

# --- properties

add("unsetting a property that is not there is code 13", lambda t, s: Reply(
    step=s, code=13, message="not set") if s.operation == "AlterNamespace" and set(
        s.request.get("unset_properties") or ()) - set((t.ask("DescribeNamespace", id=id_of(
            s)).answer or {}).get("properties") or ()) else None)  # fmt: skip
add("keys with a dot are left out", request("CreateNamespace", lambda r: {
    **r, "properties": {k: v for k, v in (r.get("properties") or {}).items() if "." not in k}}))  # fmt: skip
add("AlterTable answers what was set alone", lambda t, s: evolve(r, answer={
    **(r.answer or {}), "properties": dict(s.request.get("set_properties") or {})})
    if s.operation == "AlterTable" and (r := t.correct.call(s)).succeeded else None)  # fmt: skip
add("AlterTable needs something to set", refused(
    "AlterTable", lambda s: not s.request.get("set_properties")))  # fmt: skip
add("values that look like numbers lose their zeros", request("CreateNamespace", lambda r: {
    **r, "properties": {k: str(int(v)) if v.isdigit() else v
                        for k, v in (r.get("properties") or {}).items()}}))  # fmt: skip


@fresh("a namespace shows the properties of its parent too")
def inherited(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DescribeNamespace" or len(id_of(step)) < 2:
        return None
    reply = target.correct.call(step)
    parent = target.ask("DescribeNamespace", id=id_of(step)[:-1]).answer or {}
    if not reply.succeeded:
        return reply
    own = (reply.answer or {}).get("properties") or {}
    both = {**(parent.get("properties") or {}), **own}
    return evolve(reply, answer={**(reply.answer or {}), "properties": both})


# --- rows


@fresh("columns are matched by their place")
def by_place(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "InsertIntoTable" or not step.data:
        return None
    found = target.ask("DescribeTable", id=id_of(step), load_detailed_metadata=True).answer or {}
    names = [field["name"] for field in (found.get("schema") or {}).get("fields", ())]

    def change(table: Any) -> Any:
        same = sorted(names) == sorted(table.column_names)
        return table.rename_columns(names) if same else table

    return evolve(target.correct.call(evolve(step, data=some_rows(change)(step.data))), step=step)


def plain_dictionaries(table: Any) -> Any:
    columns = [
        pa.chunked_array([chunk.indices for chunk in c.chunks]) if pa.types.is_dictionary(c.type)
        else c for c in table.columns
    ]  # fmt: skip
    return pa.table(columns, names=table.column_names)


add("dictionaries are stored as their indices",
    body_instead("CreateTable", some_rows(plain_dictionaries)))  # fmt: skip


def each_column(change: Any) -> Any:
    def act(table: Any) -> Any:
        return pa.table([change(c) for c in table.columns], names=table.column_names)

    return act


add(
    "vectors come as lists of any length",
    on_rows(
        each_column(
            lambda c: (
                c.cast(pa.list_(c.type.value_type)) if pa.types.is_fixed_size_list(c.type) else c
            )
        )
    ),
)
add("whole numbers come as floats", on_rows(each_column(
    lambda c: c.cast(pa.float64(), safe=False) if pa.types.is_int64(c.type) else c)))  # fmt: skip
add("dates are a day late", on_rows(each_column(lambda c: pa.chunked_array([[
    v and v + timedelta(days=1) for v in c.to_pylist()]], pa.date32())
    if pa.types.is_date32(c.type) else c)))  # fmt: skip
add("structs come as texts", on_rows(each_column(lambda c: pa.chunked_array([[
    v and str(v) for v in c.to_pylist()]], pa.string()) if pa.types.is_struct(c.type) else c)))  # fmt: skip
add("an answer without rows has no columns", on_rows(
    lambda t: t if t.num_rows else pa.table({})))  # fmt: skip
add("row ids are places in the answer", on_rows(lambda t: t.set_column(
    t.column_names.index("_rowid"), "_rowid", pa.array(range(t.num_rows), pa.uint64()))
    if "_rowid" in t.column_names else t))  # fmt: skip
add("deletions take rows whose value is null", request("DeleteFromTable", lambda r: {
    **r, "predicate": f"({r['predicate']}) OR score IS NULL"}
    if "score" in (r.get("predicate") or "") else r))  # fmt: skip
add("an update of all rows changes none", lambda t, s: Reply(
    step=s, answer={"updated_rows": 0, "version": 1}) if s.operation == "UpdateTable"
    and not s.request.get("predicate") else None)  # fmt: skip
add("merges delete what the rows do not have",
    with_field("MergeInsertIntoTable", when_not_matched_by_source_delete=True))  # fmt: skip
add("an offset behind the end is code 13", lambda t, s: Reply(
    step=s, code=13, message="offset out of range") if s.operation == "QueryTable"
    and (s.request.get("offset") or 0) >= ((t.ask("CountTableRows", id=id_of(s)).answer or {})
                                           .get("count") or 1e9) else None)  # fmt: skip


@fresh("vectors of another length are filled up")
def filled_up(target: WrongTarget, step: Step) -> Reply | None:
    vector = (step.request.get("vector") or {}).get("single_vector")
    if step.operation != "QueryTable" or not vector:
        return None
    reply = target.correct.call(step)
    if reply.code is None:
        return reply
    for length in range(1, 9):
        filled = (list(vector) + [0.0] * length)[:length]
        changed = {**step.request, "vector": {"single_vector": filled}}
        other = target.correct.call(evolve(step, request=changed))
        if other.succeeded:
            return evolve(other, step=step)
    return reply


# --- versions

for _operation in ("DescribeTable", "QueryTable", "CountTableRows", "DescribeTableVersion"):
    add(f"{_operation}: version 0 is the newest",
        without(_operation, "version", when=has("version", 0)))  # fmt: skip


@fresh("a restored table is described as of the old version")
def as_of_old(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(id_of(step))
    reply = target.correct.call(step)
    if step.operation == "RestoreTable" and reply.succeeded:
        target.memory[key] = step.request["version"]
    elif step.operation == "DescribeTable" and key in target.memory:
        if reply.answer and reply.answer.get("version") and not step.request.get("version"):
            return evolve(reply, answer={**reply.answer, "version": target.memory[key]})
    elif step.data is not None:
        target.memory.pop(key, None)
    return reply


add(
    "times of versions are the time of the call",
    answer(
        "ListTableVersions",
        lambda a: {
            **a,
            "versions": [{**v, "timestamp_millis": int(time.time() * 1000)} for v in a["versions"]],
        },
    ),
)
add("sizes of manifests are 0", answer("ListTableVersions", lambda a: {
    **a, "versions": [{**v, "manifest_size": 0} for v in a["versions"]]}))  # fmt: skip

# --- tags and branches

add("a tag moves to a missing version", succeeds_instead("UpdateTableTag", 11))
add("tags are the same in any case", request("", lambda r: {
    **r, "tag": r["tag"].lower()} if isinstance(r.get("tag"), str) else r))  # fmt: skip
add("tags have manifests of no bytes", answer("ListTableTags", lambda a: {**a, "tags": {
    n: {**t, "manifestSize": 0} for n, t in a["tags"].items()}}))  # fmt: skip
add("a tag does not say its branch", answer("GetTableTagVersion", lambda a: {
    k: v for k, v in a.items() if k != "branch"}))  # fmt: skip
add("a missing branch is deleted", succeeds_instead("DeleteTableBranch", 22))
add("branches of branches say no parent", answer("ListTableBranches", lambda a: {
    **a, "branches": {n: {k: v for k, v in b.items() if k != "parentBranch"}
                      for n, b in a["branches"].items()}}))  # fmt: skip
add("branches were made in 1970", answer("ListTableBranches", lambda a: {**a, "branches": {
    n: {**b, "createAt": b["createAt"] // 1000} for n, b in a["branches"].items()}}))  # fmt: skip


def falls_back(operation: str, key: str, *codes: int) -> Act:
    """Return an act that ignores a reference that is rejected with one of the given codes."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation or step.request.get(key) is None:
            return None
        reply = target.correct.call(step)
        return without(operation, key)(target, step) if reply.code in codes else reply

    return act


add("a branch of a missing version is one of the newest",
    falls_back("CreateTableBranch", "from_version", 11, 13, 4))  # fmt: skip
add("a query of a missing branch is one of the main line",
    falls_back("QueryTable", "branch", 22, 4, 11, 13))  # fmt: skip
add("rows for a missing branch go to the main line",
    falls_back("InsertIntoTable", "branch", 22, 4, 11, 13))  # fmt: skip

# --- indices and columns

add("dropping an index drops all", after("DropTableIndex", lambda t, s: [
    t.ask("DropTableIndex", id=id_of(s), index_name=i["index_name"]) for i in
    (t.ask("ListTableIndices", id=id_of(s)).answer or {}).get("indexes", ())] and None))  # fmt: skip
add("indices have a new uuid each time", answer("ListTableIndices", lambda a: {
    **a, "indexes": [{**i, "index_uuid": str(uuid4())} for i in a["indexes"]]}))  # fmt: skip
add("indices cover rows that they do not", answer("ListTableIndices", lambda a: {
    **a, "indexes": [{**i, "num_indexed_rows": (i.get("num_indexed_rows") or 0) + (
        i.get("num_unindexed_rows") or 0), "num_unindexed_rows": 0} for i in a["indexes"]]}))  # fmt: skip


@fresh("an index outlives its column")
def outlives_column(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(id_of(step))
    if step.operation == "AlterTableDropColumns":
        before = (target.ask("ListTableIndices", id=id_of(step)).answer or {}).get("indexes") or []
        reply = target.correct.call(step)
        if reply.succeeded:
            gone = [i for i in before if set(i["columns"]) & set(step.request["columns"])]
            target.memory[key] = gone
        return reply
    if step.operation == "ListTableIndices" and target.memory.get(key):
        reply = target.correct.call(step)
        if reply.answer is None:
            return reply
        both = [*reply.answer["indexes"], *target.memory[key]]
        return evolve(reply, answer={**reply.answer, "indexes": both})
    return None


@fresh("columns are dropped up to the missing one")
def up_to_missing(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTableDropColumns":
        return None
    reply = target.correct.call(step)
    if reply.code is not None and len(step.request.get("columns") or ()) > 1:
        for name in step.request["columns"]:
            target.ask("AlterTableDropColumns", id=id_of(step), columns=[name])
    return reply


add("the first alteration of columns is the only one", request(
    "AlterTableAlterColumns", lambda r: {**r, "alterations": (r.get("alterations") or [])[:1]}))  # fmt: skip
add("new columns are null", request("AlterTableAddColumns", lambda r: {**r, "new_columns": [
    {**c, "expression": f"CASE WHEN false THEN {c['expression']} END"} if c.get("expression")
    else c for c in r.get("new_columns") or ()]}))  # fmt: skip
add("metadata that is removed becomes empty", request("UpdateFieldMetadata", lambda r: {
    **r, "updates": [{**u, "metadata": {k: v or "" for k, v in (u.get("metadata") or {}).items()}}
                     for u in r.get("updates") or ()]}))  # fmt: skip
add("a renamed column loses its values", after("AlterTableAlterColumns", lambda t, s: (
    [t.ask("UpdateTable", id=id_of(s), updates=[[e["rename"], "NULL"]])
     for e in s.request["alterations"] if e.get("rename")], None)[1]))  # fmt: skip
add("a column that is there is added once more", lambda t, s: Reply(step=s, answer={"version": 2})
    if s.operation == "AlterTableAddColumns" and (r := t.correct.call(s)).code in (13, 20)
    else r if s.operation == "AlterTableAddColumns" else None)  # fmt: skip

# --- HTTP

add_wire("answers do not say what they are", lambda r, send: httpx.Response(
    (a := send(r)).status_code, content=a.content))  # fmt: skip
add_wire("a slash in a name is another route", refusing(
    lambda r: b"%2F" in r.url.raw_path, 404, None))  # fmt: skip
add_wire("the count has a decimal point", lambda r, send: copy(a, body=a.content + b".0")
         if (a := send(r)).is_success and ends(r, "/count_rows") else a)  # fmt: skip
add_wire("unsupported operations are code 18", on_failure(
    lambda a: copy(coded(a, code=18), status=500) if a.json().get("code") == 0 else a))  # fmt: skip
add_wire("answers over 8 KB are cut", on_success(
    lambda a: copy(a, body=a.content[:8192]) if len(a.content) > 8192 else a))  # fmt: skip
add_wire("objects are described with their first letters in capitals", on_success(
    lambda a: copy(a, body=a.content.replace(b'"location"', b'"Location"'))))  # fmt: skip
