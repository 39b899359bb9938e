"""Handwritten wrong namespaces, based on the protocol and on common faults of servers.

They do not name a check: it is enough that any check catches them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .python import Act, WrongTarget, answer, body_instead, some_rows, with_field, without
from .wire import Change

__all__ = ["FRESH", "FRESH_WIRE"]

Fault = TypeVar("Fault")
FRESH: dict[str, Act] = {}
FRESH_WIRE: dict[str, Change] = {}
"""Wrong servers: requests or responses are changed in transit."""


def adding(to: dict[str, Fault]) -> Callable[[str, Fault], Fault]:
    """Return a function that registers a fault under a unique name."""

    def add(name: str, fault: Fault) -> Fault:
        assert name not in to, name
        to[name] = fault
        return fault

    return add


add = adding(FRESH)
add_wire = adding(FRESH_WIRE)


def fresh(name: str) -> Callable[[Act], Act]:
    return partial(add, name)


def has(key: str, value: Any = None) -> Callable[[Step], bool]:
    def found(step: Step) -> bool:
        held = step.request.get(key)
        return held is not None and (value is None or str(held).lower() == str(value).lower())

    return found


def request(operation: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Act:
    def act(target: WrongTarget, step: Step) -> Reply | None:
        if operation not in ("", step.operation):
            return None
        changed = evolve(step, request=change(dict(step.request)))
        return evolve(target.correct.call(changed), step=step)

    return act


def after(operation: str, then: Callable[[WrongTarget, Step], None]) -> Act:
    """Return an act with a side effect after each successful call of an operation."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.correct.call(step)
        if reply.succeeded:
            then(target, step)
        return reply

    return act


def sticky(read: str, *writes: str) -> Act:
    """Return an act that caches a read and does not invalidate it after some write operations."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        key = repr(sorted(step.request.items(), key=repr))
        if step.operation == read:
            if key not in target.memory:
                reply = target.correct.call(step)
                if not reply.succeeded:
                    return reply
                target.memory[key] = reply
            return evolve(target.memory[key], step=step)
        if step.operation not in writes and step.operation not in READS:
            target.memory.clear()
        return None

    return act


READS = (
    "DescribeTable",
    "ListTables",
    "ListNamespaces",
    "TableExists",
    "CountTableRows",
    "QueryTable",
    "ListTableVersions",
    "ListTableTags",
    "GetTableTagVersion",
    "ListTableIndices",
    "ListTableBranches",
    "DescribeNamespace",
    "NamespaceExists",
    "ListOperations",
    "DescribeTableVersion",
    "GetTableStats",
    "DescribeTableIndexStats",
)


# --- branches that are ignored

for _operation in (
    "CountTableRows",
    "QueryTable",
    "UpdateTable",
    "DeleteFromTable",
    "MergeInsertIntoTable",
    "AlterTableAddColumns",
    "AlterTableDropColumns",
    "CreateTableScalarIndex",
    "ListTableVersions",
    "RestoreTable",
    "DescribeTable",
    "ListTableIndices",
    "DropTableIndex",
    "UpdateFieldMetadata",
    "DescribeTableVersion",
):
    add(f"{_operation} ignores branch", without(_operation, "branch"))
add("a branch is made of version 1", with_field("CreateTableBranch", from_version=1))

# --- fields that are ignored

for _operation, _key in (
    ("QueryTable", "distance_type"),
    ("QueryTable", "upper_bound"),
    ("QueryTable", "lower_bound"),
    ("QueryTable", "vector_column"),
    ("DescribeTable", "tag"),
    ("ListNamespaces", "limit"),
    ("ListNamespaces", "page_token"),
    ("ListAllTables", "limit"),
    ("ListTableTags", "limit"),
    ("ListTableBranches", "limit"),
    ("ListTableIndices", "limit"),
    ("ListTableIndices", "version"),
    ("RegisterTable", "properties"),
    ("CreateTableScalarIndex", "name"),
    ("ListAllTables", "include_declared"),
    ("MergeInsertIntoTable", "when_not_matched_by_source_delete_filt"),
    ("DescribeTable", "load_detailed_metadata"),
    ("ListTableVersions", "limit"),
):
    add(f"{_operation} ignores {_key}", without(_operation, _key))


# --- rows and queries

add(
    "CountTableRows with a version ignores the predicate",
    without("CountTableRows", "predicate", when=has("version")),
)
add(
    "column aliases are ignored",
    request(
        "QueryTable",
        lambda r: (
            {
                **r,
                "columns": {
                    k: v for k, v in (r.get("columns") or {}).items() if k == "column_names"
                }
                or None,
            }
            if (r.get("columns") or {}).get("column_aliases")
            else r
        ),
    ),
)


@fresh("k is taken before the filter")
def k_first(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "QueryTable" or not step.request.get("filter"):
        return None
    reply = target.correct.call(step)
    everything = target.correct.call(
        evolve(step, request={k: v for k, v in step.request.items() if k != "filter"})
    )
    if reply.rows is None or everything.rows is None or "id" not in reply.rows.column_names:
        return reply
    first = set(everything.rows.column("id").to_pylist()[: step.request["k"]])
    keep = pa.array([i in first for i in reply.rows.column("id").to_pylist()], pa.bool_())
    return evolve(reply, rows=reply.rows.filter(keep))


def on_rows(change: Callable[[Any], Any]) -> Act:
    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != "QueryTable":
            return None
        reply = target.correct.call(step)
        return reply if reply.rows is None else evolve(reply, rows=change(reply.rows))

    return act


def _null_to_zero(table: Any) -> Any:
    import pyarrow.compute as pc

    for n, f in enumerate(table.schema):
        if pa.types.is_floating(f.type):
            table = table.set_column(n, f.name, pc.fill_null(table.column(n), 0.0))
    return table


add("null numbers come back as 0", on_rows(_null_to_zero))
add("a query gives at most eleven rows", on_rows(lambda t: t.slice(0, 11)))
add(
    "rows come as strings",
    on_rows(
        lambda t: pa.table(
            {n: pa.array([str(v) for v in t.column(n).to_pylist()]) for n in t.column_names}
        )
    ),
)
add("the first row is repeated", on_rows(lambda t: pa.concat_tables([t.slice(0, 1), t])))
add(
    "a column _rowid always comes",
    on_rows(
        lambda t: (
            t
            if "_rowid" in t.column_names
            else t.append_column("_rowid", pa.array(range(t.num_rows), pa.uint64()))
        )
    ),
)
add(
    "only the last batch is stored",
    body_instead("CreateTable", some_rows(lambda t: t.slice(t.num_rows // 2))),
)
add("insert drops null rows", body_instead("InsertIntoTable", some_rows(lambda t: t.drop_null())))
add(
    "insert stores rows without nulls alone",
    body_instead("CreateTable", some_rows(lambda t: t.drop_null())),
)


@fresh("several updates change the first column alone")
def one_update(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "UpdateTable" or len(step.request.get("updates") or ()) < 2:
        return None
    changed = {**step.request, "updates": step.request["updates"][:1]}
    return evolve(target.correct.call(evolve(step, request=changed)), step=step)


@fresh("an update's expression is a text")
def text_update(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "UpdateTable":
        return None
    updates = [
        [c, e if e.startswith("'") or e.isdigit() else "0"]
        for c, e in step.request.get("updates") or ()
    ]
    changed = evolve(step, request={**step.request, "updates": updates})
    return evolve(target.correct.call(changed), step=step)


@fresh("several new columns are one")
def one_column(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTableAddColumns" or len(step.request.get("new_columns") or ()) < 2:
        return None
    changed = {**step.request, "new_columns": step.request["new_columns"][:1]}
    return evolve(target.correct.call(evolve(step, request=changed)), step=step)


@fresh("the type of a column is not changed")
def same_type(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTableAlterColumns":
        return None
    entries = [
        {k: v for k, v in e.items() if k != "data_type"}
        for e in step.request.get("alterations") or ()
    ]
    if any(len(entry) < 2 for entry in entries):
        return Reply(step=step, answer={"version": 2})
    changed = evolve(step, request={**step.request, "alterations": entries})
    return evolve(target.correct.call(changed), step=step)


# --- the lifecycle of tables and namespaces

add(
    "overwriting a table keeps its properties",
    without("CreateTable", "properties", when=has("mode", "overwrite")),
)
add(
    "properties of an overwriting namespace are lost",
    without("CreateNamespace", "properties", when=has("mode", "overwrite")),
)
add(
    "RegisterTable overwrites without the new location",
    answer("RegisterTable", lambda a: {**a, "location": "/old"}),
)
add(
    "AlterTable lowercases keys",
    request(
        "AlterTable",
        lambda r: {
            **r,
            "set_properties": {k.lower(): v for k, v in (r.get("set_properties") or {}).items()},
        },
    ),
)
add(
    "property values are trimmed",
    request(
        "CreateNamespace",
        lambda r: {
            **r,
            "properties": {k: v.strip() for k, v in (r.get("properties") or {}).items()},
        },
    ),
)
add(
    "empty property values are dropped",
    request(
        "CreateNamespace",
        lambda r: {**r, "properties": {k: v for k, v in (r.get("properties") or {}).items() if v}},
    ),
)
add(
    "table property values are trimmed",
    request(
        "DeclareTable",
        lambda r: {
            **r,
            "properties": {k: v.strip() for k, v in (r.get("properties") or {}).items()},
        },
    ),
)
add(
    "long property values are cut",
    request(
        "CreateNamespace",
        lambda r: {**r, "properties": {k: v[:255] for k, v in (r.get("properties") or {}).items()}},
    ),
)


def _fold(r: dict[str, Any]) -> dict[str, Any]:
    return {**r, "id": [n.lower() for n in r["id"]]} if isinstance(r.get("id"), list) else r


add("names are the same in any case", request("", _fold))
add(
    "names are trimmed",
    request(
        "",
        lambda r: {**r, "id": [n.strip() for n in r["id"]]} if isinstance(r.get("id"), list) else r,
    ),
)


@fresh("a renamed table loses its tags")
def rename_tags(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "RenameTable":
        return None
    tags = target.ask("ListTableTags", id=step.request["id"])
    reply = target.correct.call(step)
    if reply.succeeded and tags.succeeded:
        new = [
            *(step.request.get("new_namespace_id") or step.request["id"][:-1]),
            step.request["new_table_name"],
        ]
        for tag in (tags.answer or {}).get("tags", {}):
            target.ask("DeleteTableTag", id=new, tag=tag)
    return reply


@fresh("DropNamespace does not see declared tables")
def drop_declared(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DropNamespace" or step.request.get("behavior"):
        return None
    found = target.ask("ListTables", id=step.request["id"])
    data = target.ask("ListTables", id=step.request["id"], include_declared=False)
    if found.succeeded and data.succeeded and not (data.answer or {}).get("tables"):
        for name in (found.answer or {}).get("tables", ()):
            target.ask("DeregisterTable", id=[*step.request["id"], name])
    return None


@fresh("DropNamespace does not see child namespaces")
def drop_children(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DropNamespace" or step.request.get("behavior"):
        return None
    found = target.ask("ListNamespaces", id=step.request["id"])
    for name in (found.answer or {}).get("namespaces", ()):
        target.ask("DropNamespace", id=[*step.request["id"], name], behavior="Cascade")
    return None


@fresh("is_only_declared stays true")
def stays_declared(target: WrongTarget, step: Step) -> Reply | None:
    key = tuple(step.request.get("id") or ())
    reply = target.correct.call(step)
    if step.operation == "DeclareTable" and reply.succeeded:
        target.memory[repr(key)] = True
    if step.operation == "DescribeTable" and repr(key) in target.memory and reply.answer:
        return evolve(reply, answer={**reply.answer, "is_only_declared": True})
    return reply


@fresh("a tag outlives its table")
def old_tags(target: WrongTarget, step: Step) -> Reply | None:
    key = repr(step.request.get("id"))
    if step.operation == "CreateTableTag":
        reply = target.correct.call(step)
        if reply.succeeded:
            target.memory.setdefault(key, {})[step.request["tag"]] = step.request["version"]
        return reply
    if step.operation == "CreateTable":
        reply = target.correct.call(step)
        if reply.succeeded:
            for tag in target.memory.get(key, {}):
                target.ask("CreateTableTag", id=step.request["id"], tag=tag, version=1)
        return reply
    return None


@fresh("tags are shared by all tables")
def shared_tags(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "CreateTableTag":
        reply = target.correct.call(step)
        if reply.succeeded:
            target.memory[step.request["tag"]] = step.request["version"]
        return reply
    if step.operation == "GetTableTagVersion" and step.request.get("tag") in target.memory:
        reply = target.correct.call(step)
        if reply.code == 8:
            return Reply(step=step, answer={"version": target.memory[step.request["tag"]]})
    return None


add(
    "deleting a tag deletes all",
    after(
        "DeleteTableTag",
        lambda target, step: (
            [
                target.ask("DeleteTableTag", id=step.request["id"], tag=tag)
                for tag in (target.ask("ListTableTags", id=step.request["id"]).answer or {}).get(
                    "tags", {}
                )
            ]
            and None
        ),
    ),
)
