"""More wrong namespaces for all areas, with faults that real servers have had."""

from __future__ import annotations

import json
import threading
import time

import httpx
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .batch_3 import each_column, id_of
from .batch_4 import filters
from .batch_5 import stored
from .fresh import add, add_wire, after, fresh, has, on_rows, request, sticky
from .python import (
    WrongTarget,
    answer,
    code_instead,
    succeeds_instead,
    without,
)
from .wire import coded, copy, ends, on_failure, on_success

# --- paging and listings

add("a page has one name less than its limit", request(
    "ListTables", lambda r: {**r, "limit": max(1, r["limit"] - 1)} if r.get("limit") else r))  # fmt: skip
add("names of namespaces come twice over pages", answer("ListNamespaces", lambda a: {
    **a, "namespaces": [*a["namespaces"], *a["namespaces"][-1:]]}))  # fmt: skip
add("ListTables of the root lists nothing", lambda t, s: Reply(step=s, answer={"tables": []})
    if s.operation == "ListTables" and len(id_of(s)) == 1 else None)  # fmt: skip
add("versions are limited to two", answer(
    "ListTableVersions", lambda a: {**a, "versions": a["versions"][:2]}))  # fmt: skip
add("renamed tables are listed by both names", after(
    "RenameTable", lambda t, s: t.ask("DeclareTable", id=id_of(s)) and None))  # fmt: skip

# --- failures

for _operation, _old, _new in (
    ("CreateTableTag", 9, 13), ("CreateTableBranch", 23, 9), ("RestoreTable", 11, 13),
    ("InsertIntoTable", 4, 18), ("DropTableIndex", 6, 4), ("QueryTable", 12, 18),
    ("RenameTable", 4, 5), ("DropNamespace", 3, 19),
):  # fmt: skip
    add(f"{_operation} answers {_new} for {_old}", code_instead(_operation, _old, _new))
add("a bad filter is no filter", lambda t, s: without("QueryTable", "filter")(t, s)
    if s.operation == "QueryTable" and t.correct.call(s).code in (12, 13) else None)  # fmt: skip
add("a table in a missing namespace is declared", succeeds_instead("DeclareTable", 1))

# --- lifecycle and properties

add("DropTable drops the namespace when it is empty", after("DropTable", lambda t, s: t.ask(
    "DropNamespace", id=id_of(s)[:-1]) and None))  # fmt: skip
add("overwriting a table moves it", lambda t, s: evolve(r, answer={
    **r.answer, "location": r.answer["location"] + "_v2"}) if s.operation == "CreateTable"
    and has("mode", "overwrite")(s) and (r := t.correct.call(s)).answer else None)  # fmt: skip
add("properties are lost when a declared table is filled", after("CreateTable", lambda t, s: (
    [t.ask("AlterTable", id=id_of(s), unset_properties=["owner"])]
    if not s.request.get("properties") and not s.request.get("mode") else None) and None))  # fmt: skip
add("InsertIntoTable drops the properties", after("InsertIntoTable", lambda t, s: t.ask(
    "AlterTable", id=id_of(s), unset_properties=["owner"]) and None))  # fmt: skip
add("DeregisterTable leaves a declared table", after("DeregisterTable", lambda t, s: t.ask(
    "DeclareTable", id=id_of(s)) and None))  # fmt: skip
add("values of a namespace come in capitals", answer("DescribeNamespace", lambda a: {
    **a, "properties": {k: v.upper() for k, v in (a.get("properties") or {}).items()}}))  # fmt: skip

# --- rows

add("true and false are stored the other way round", stored(
    lambda c: pc.invert(c) if pa.types.is_boolean(c.type) else c))  # fmt: skip
add("numbers below zero lose their sign", stored(
    lambda c: pc.abs(c) if pa.types.is_floating(c.type) else c))  # fmt: skip
add("dates come as times", on_rows(each_column(
    lambda c: c.cast(pa.timestamp("s")) if pa.types.is_date32(c.type) else c)))  # fmt: skip
add("column names come in small letters", on_rows(
    lambda t: t.rename_columns([n.lower() for n in t.column_names])))  # fmt: skip
add("columns of a query come sorted", on_rows(lambda t: t.select(sorted(t.column_names))))
add("nulls are stored as empty texts", stored(
    lambda c: pc.fill_null(c, "") if pa.types.is_string(c.type) else c))  # fmt: skip
add("AND is OR", filters(lambda f: f.replace(" AND ", " OR ") if "BETWEEN" not in f else f))
add("a filter on texts ignores case", filters(lambda f: f.replace("name = ", "lower(name) = ")))
add("k is at most a thousand", request("QueryTable", lambda r: {**r, "k": min(r["k"], 1000)}))
add(
    "updates of several columns take the first value",
    request(
        "UpdateTable",
        lambda r: {
            **r,
            "updates": [[u[0], r["updates"][0][1]] if u[0] == "score" else u for u in r["updates"]],
        },
    ),
)

# --- versions, references, indices, columns

add("a restored version keeps the newer rows", lambda t, s: Reply(step=s, answer={})
    if s.operation == "RestoreTable" and t.ask("DescribeTableVersion", **{
        k: v for k, v in s.request.items() if k in ("id", "version")}).succeeded else None)  # fmt: skip
add("a tag is made of the newest version", lambda t, s:
    evolve(t.correct.call(evolve(s, request={**s.request, "version": (t.ask(
        "DescribeTableVersion", id=id_of(s)).answer or {"version": {"version": 1}})["version"][
            "version"]})), step=s) if s.operation == "CreateTableTag" and not s.request.get("branch")
    else None)  # fmt: skip
add("deleting a branch deletes the rows of the main line", after("DeleteTableBranch", lambda t, s: t.ask(
    "DeleteFromTable", id=id_of(s), predicate="true") and None))  # fmt: skip
add("a tag goes with the branch of its name", after("DeleteTableBranch", lambda t, s: t.ask(
    "DeleteTableTag", id=id_of(s), tag=s.request["name"]) and None))  # fmt: skip
add("indices are gone after an insert", after("InsertIntoTable", lambda t, s: [
    t.ask("DropTableIndex", id=id_of(s), index_name=i["index_name"]) for i in
    (t.ask("ListTableIndices", id=id_of(s)).answer or {}).get("indexes", ())] and None))  # fmt: skip
add("dropping a column drops the last one", request("AlterTableDropColumns", lambda r: {
    **r, "columns": (r.get("columns") or [])[-1:]}))  # fmt: skip
add("metadata of a schema replaces nothing", sticky("DescribeTable", "UpdateTableSchemaMetadata"))


@fresh("CreateTable with ExistOk beside another is code 18")
def busy(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateTable" or not has("mode", "existok")(step):
        return None
    lock = target.memory.setdefault("lock", threading.Lock())
    if not lock.acquire(blocking=False):
        return Reply(step=step, code=18, message="busy")
    try:
        time.sleep(0.01)
        return target.correct.call(step)
    finally:
        lock.release()


# --- HTTP

add_wire("a location comes with spaces around it", on_success(lambda a: copy(
    a, body=a.content.replace(b'"location":"', b'"location":" '))))  # fmt: skip
add_wire("messages are lists", on_failure(lambda a: coded(a, error=[a.json().get("error")])))
add_wire("exists answers false", lambda r, send: httpx.Response(200, json=False)
         if (a := send(r)).status_code == 404 and ends(r, "/exists") else a)  # fmt: skip
add_wire("numbers come with exponents", lambda r, send: copy(a, body=b"%de0" % int(a.content))
         if (a := send(r)).is_success and ends(r, "/count_rows") else a)  # fmt: skip
add_wire("versions of answers are texts", on_success(lambda a: copy(a, body=json.dumps({
    **a.json(), "version": str(a.json()["version"])}).encode())
    if a.content[:1] == b"{" and isinstance(a.json().get("version"), int) else a))  # fmt: skip
