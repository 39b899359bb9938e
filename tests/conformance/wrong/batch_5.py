"""More wrong namespaces for all areas: letter case, type widths, parts of filters, HTTP."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .batch_3 import each_column, id_of, refused
from .batch_4 import filters
from .fresh import add, add_wire, after, fresh, has, request, sticky
from .python import WrongTarget, answer, body_instead, some_rows, succeeds_instead, without
from .wire import copy, ends, on_success


def stored(change: Any, operation: str = "CreateTable") -> Any:
    """Return an act that changes the columns before they are stored."""
    return body_instead(operation, some_rows(each_column(change)))


# --- paging and names

add("a page token without a limit is ignored",
    without("ListTables", "page_token", when=lambda s: not s.request.get("limit")))  # fmt: skip
add("pages of namespaces are sorted backwards each", answer(
    "ListNamespaces", lambda a: {**a, "namespaces": a["namespaces"][::-1]}))  # fmt: skip
add("names with an underscore in front are not listed", answer("ListTables", lambda a: {
    **a, "tables": [n for n in a["tables"] if "_B" not in n]}))  # fmt: skip


def names_changed(change: Any) -> Any:
    def act(r: dict[str, Any]) -> dict[str, Any]:
        listed = isinstance(r.get("id"), list)
        return {**r, "id": [change(n) for n in r["id"]]} if listed else r

    return request("", act)


add("names are cut after 64 letters", names_changed(lambda n: n[:64]))
add("accents of names are lost", names_changed(
    lambda n: unicodedata.normalize("NFKD", n).encode("ascii", "ignore").decode() or n))  # fmt: skip

# --- failures

add("an update of an unknown column is one of no rows", succeeds_instead("UpdateTable", 12))
add("a merge by an unknown column does nothing", succeeds_instead("MergeInsertIntoTable", 12))
add("restoring the newest version is code 13", lambda t, s: Reply(
    step=s, code=13, message="is the newest") if s.operation == "RestoreTable" and (t.ask(
        "DescribeTableVersion", id=id_of(s)).answer or {}).get("version", {}).get(
            "version") == s.request.get("version") else None)  # fmt: skip
add("moving a tag to where it is is code 14", lambda t, s: Reply(
    step=s, code=14, message="is there") if s.operation == "UpdateTableTag" and (t.ask(
        "GetTableTagVersion", id=id_of(s), tag=s.request["tag"]).answer or {}).get(
            "version") == s.request.get("version") else None)  # fmt: skip

# --- modes, lifecycle and properties

add("behavior is read in one case", refused(
    "DropNamespace", lambda s: s.request.get("behavior") not in (None, "Restrict", "Cascade")))  # fmt: skip
add("RegisterTable reads its mode in one case", refused(
    "RegisterTable", lambda s: s.request.get("mode") not in (None, "Create", "Overwrite")))  # fmt: skip
add("a table exists after it was deregistered", sticky("TableExists", "DeregisterTable"))
add("a registered table is described as before",
    sticky("DescribeTable", "RegisterTable", "DeregisterTable"))  # fmt: skip


@fresh("AlterNamespace keeps the old value of a key that is there")
def first_value(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterNamespace" or not step.request.get("set_properties"):
        return None
    found = target.ask("DescribeNamespace", id=id_of(step)).answer or {}
    kept = {**step.request["set_properties"], **(found.get("properties") or {})}
    setting = {k: kept[k] for k in step.request["set_properties"]}
    changed = evolve(step, request={**step.request, "set_properties": setting})
    return evolve(target.correct.call(changed), step=step)


@fresh("AlterTable removes keys that begin with the one to be removed")
def prefix_removed(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTable" or not step.request.get("unset_properties"):
        return None
    held = (target.ask("DescribeTable", id=id_of(step)).answer or {}).get("properties") or {}
    keys = tuple(step.request["unset_properties"])
    more = [k for k in held if k.startswith(keys) and k not in (
        step.request.get("set_properties") or ())]  # fmt: skip
    changed = evolve(step, request={**step.request, "unset_properties": sorted({*keys, *more})})
    return evolve(target.correct.call(changed), step=step)


@fresh("a renamed table has its last version alone")
def last_version(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if step.operation == "RenameTable" and reply.succeeded:
        parent = step.request.get("new_namespace_id") or id_of(step)[:-1]
        target.memory[repr([*parent, step.request["new_table_name"]])] = True
    if (
        step.operation == "ListTableVersions"
        and repr(id_of(step)) in target.memory
        and reply.answer
    ):
        last = max(reply.answer["versions"], key=lambda v: v["version"])
        return evolve(reply, answer={**reply.answer, "versions": [last]})
    return reply


# --- values

WIDER = {pa.int32(): pa.int64(), pa.int16(): pa.int32(), pa.uint8(): pa.int16()}
add("whole numbers are stored wider", stored(lambda c: c.cast(WIDER.get(c.type, c.type))))
add("numbers of 32 bits are stored in 64", stored(
    lambda c: c.cast(pa.float64()) if c.type == pa.float32() else c))  # fmt: skip
add("numbers of 64 bits are stored in 32", stored(
    lambda c: c.cast(pa.float32()).cast(pa.float64()) if c.type == pa.float64() else c))  # fmt: skip
add("null in a list is left out", stored(lambda c: pa.chunked_array([pa.array(
    [v and [x for x in v if x is not None] for v in c.to_pylist()], c.type)])
    if pa.types.is_list(c.type) else c))  # fmt: skip
add("a struct that is null has fields that are", stored(lambda c: pa.chunked_array([pa.array(
    [v if v is not None else {f.name: None for f in c.type} for v in c.to_pylist()], c.type)])
    if pa.types.is_struct(c.type) else c))  # fmt: skip
add("empty bytes are null", stored(lambda c: pa.chunked_array([pa.array(
    [v or None for v in c.to_pylist()], c.type)]) if pa.types.is_binary(c.type) else c))  # fmt: skip
add("line breaks in texts are spaces", stored(lambda c: pc.replace_substring(c, "\n", " ")
    if pa.types.is_string(c.type) else c))  # fmt: skip
add("a thousand rows at most are stored",
    body_instead("CreateTable", some_rows(lambda t: t.slice(0, 1024))))  # fmt: skip
add("inserted numbers are rounded", stored(
    lambda c: pc.round(c) if pa.types.is_floating(c.type) else c, "InsertIntoTable"))  # fmt: skip
add("merged texts are in capitals", stored(
    lambda c: pc.utf8_upper(c) if pa.types.is_string(c.type) else c, "MergeInsertIntoTable"))  # fmt: skip

# --- queries and writes

add("IN takes its first value", filters(lambda f: re.sub(r"IN \(([^,)]*),[^)]*\)", r"IN (\1)", f)))
add("BETWEEN leaves its ends out", filters(
    lambda f: re.sub(r"(\w+) BETWEEN (\d+) AND (\d+)", r"\1 > \2 AND \1 < \3", f)))  # fmt: skip
add("less than is less or equal", filters(lambda f: re.sub(r"<(?![=>])", "<=", f)))
add("a version is queried without the filter", without(
    "QueryTable", "filter", when=lambda s: s.request.get("version") is not None))  # fmt: skip
add(
    "a vector query ignores its filter",
    without(
        "QueryTable",
        "filter",
        when=lambda s: bool((s.request.get("vector") or {}).get("single_vector")),
    ),
)
add("every update counts one row", answer("UpdateTable", lambda a: {
    **a, "updated_rows": min(1, a["updated_rows"])}))  # fmt: skip
add(
    "a merge counts all rows as inserted",
    answer(
        "MergeInsertIntoTable",
        lambda a: {
            **a,
            "num_inserted_rows": (a.get("num_inserted_rows") or 0)
            + (a.get("num_updated_rows") or 0),
        },
    ),
)
add("overwriting rows counts none", lambda t, s: evolve(r, answer={
    **r.answer, "num_inserted_rows": 0}) if s.operation == "InsertIntoTable"
    and has("mode", "overwrite")(s) and (r := t.correct.call(s)).answer else None)  # fmt: skip
add("a deletion by a list takes its first value", request("DeleteFromTable", lambda r: {
    **r, "predicate": re.sub(r"IN \(([^,)]*),[^)]*\)", r"IN (\1)", r.get("predicate") or "")}))  # fmt: skip

# --- indices and columns

add("an index goes on with the old name of its column",
    sticky("ListTableIndices", "AlterTableAlterColumns"))  # fmt: skip
add("a new column has one value in all rows", after("AlterTableAddColumns", lambda t, s: [
    t.ask("UpdateTable", id=id_of(s), updates=[[c["name"], "2"]])
    for c in s.request["new_columns"] if c.get("expression") == "id * 2"] and None))  # fmt: skip


@fresh("the name of a dropped index stays taken")
def taken_index(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DropTableIndex":
        target.memory[repr((id_of(step), step.request.get("index_name")))] = True
    if step.operation in ("CreateTableIndex", "CreateTableScalarIndex"):
        taken = repr((id_of(step), step.request.get("name"))) in target.memory
        return Reply(step=step, code=7, message="is there") if taken else None
    return None


# --- HTTP

add_wire("page tokens are called pageToken", on_success(
    lambda a: copy(a, body=a.content.replace(b'"page_token"', b'"pageToken"'))))  # fmt: skip
add_wire("no rows count as null", lambda r, send: copy(a, body=b"null")
         if (a := send(r)).content == b"0" and ends(r, "/count_rows") else a)  # fmt: skip
add_wire("a plan is an object", lambda r, send: copy(
    a, body=json.dumps({"plan": a.json()}).encode()) if (a := send(r)).is_success
    and ends(r, "/explain_plan") else a)  # fmt: skip
add_wire("JSON has a byte order mark in front", on_success(
    lambda a: copy(a, body=b"\xef\xbb\xbf" + a.content) if a.content[:1] == b"{" else a))  # fmt: skip
add_wire("properties come as a list of pairs", on_success(lambda a: copy(a, body=json.dumps({
    **a.json(), "properties": [list(p) for p in (a.json()["properties"] or {}).items()]}).encode())
    if b'"properties":' in a.content and a.content[:1] == b"{" else a))  # fmt: skip
add_wire("queries answer rows of the first batch type alone", on_success(
    lambda a: copy(a, body=a.content[8:]) if a.content[:6] == b"ARROW1" else a))  # fmt: skip
