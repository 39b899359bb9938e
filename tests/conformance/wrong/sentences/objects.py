"""Wrong namespaces: namespaces and tables as objects."""

from __future__ import annotations

import json
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    asked,
    habit,
    key_of,
    known,
    less,
    names_of,
    only_declared,
    word,
)


def given(step: Step, field: str) -> list[Any]:
    value = step.request.get(field)
    return list(value) if isinstance(value, list) else []


def tables_below(target: WrongTarget, ident: list[str]) -> list[list[str]]:
    own = [[*ident, name] for name in names_of(target, "ListTables", "tables", id=ident)]
    for child in names_of(target, "ListNamespaces", "namespaces", id=ident):
        own += tables_below(target, [*ident, child])
    return own


def new_id(step: Step) -> list[str]:
    parent = step.request.get("new_namespace_id")
    return [
        *(step.request["id"][:-1] if parent is None else parent),
        step.request["new_table_name"],
    ]


# --- namespaces


# Seed 004, "Root Namespace": "The root namespace is assumed to always exist"; rest.yaml,
# NamespaceExists: "success when it is [in the catalog]", id: "absent, null or empty is the root".
@habit("the root namespace is not found", "NamespaceExists", "DescribeNamespace")
def no_root(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("id"):
        return None
    return Reply(step=step, code=1, message="no such namespace")


# rest.yaml, DropNamespaceRequest.mode: "`Skip` succeeds without doing anything" if it is missing.
@habit("Skip of a namespace whose parent is missing, too, is not found", "DropNamespace")
def skip_needs_parent(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if word(step.request.get("mode")) != "skip" or not isinstance(ident, list) or len(ident) < 2:
        return None
    if target.ask("NamespaceExists", id=ident[:-1]).code == 1:
        return Reply(step=step, code=1, message="the parent does not exist")
    return None


# rest.yaml, DropNamespace: "`Cascade`, which removes every child from the catalog as well".
@habit(
    "tables two levels below a cascading drop come back when their namespace is made again",
    "DropNamespace",
    "CreateNamespace",
)
def orphans(target: WrongTarget, step: Step) -> Reply | None:
    kept = target.memory.setdefault("orphans", {})
    ident = step.request.get("id")
    if not isinstance(ident, list) or not ident:
        return None
    if step.operation == "CreateNamespace":
        reply = target.correct.call(step)
        if reply.succeeded:
            for name, request in kept.pop(key_of(step), {}).items():
                target.ask("RegisterTable", id=[*ident, name], **request)
        return reply
    if word(step.request.get("behavior")) != "cascade":
        return None
    below: list[tuple[list[str], dict[str, Any]]] = []
    for table in tables_below(target, ident):
        if len(table) > len(ident) + 1:
            told = known(target, "DescribeTable", id=table)
            if told.get("location"):
                properties = {"properties": told["properties"]} if told.get("properties") else {}
                below.append((table, {"location": told["location"], **properties}))
    reply = target.correct.call(step)
    if reply.succeeded:
        for table, request in below:
            kept.setdefault(json.dumps(table[:-1]), {})[table[-1]] = request
    return reply


# rest.yaml, DropNamespace: "`Restrict` (default: a namespace that holds any object ... answers
# NamespaceNotEmpty)"; an empty one is removed, regardless of the names of its siblings.
@habit(
    "Restrict looks for what is held by the prefix of the name, siblings among it", "DropNamespace"
)
def prefix_held(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if not isinstance(ident, list) or not ident or not all(isinstance(n, str) for n in ident):
        return None
    if word(step.request.get("behavior")) not in ("", "restrict"):
        return None
    if not target.ask("NamespaceExists", id=ident).succeeded:
        return None
    siblings = names_of(target, "ListNamespaces", "namespaces", id=ident[:-1])
    siblings += names_of(target, "ListTables", "tables", id=ident[:-1])
    if any(name != ident[-1] and name.startswith(ident[-1]) for name in siblings):
        return Reply(step=step, code=3, message="the namespace is not empty")
    return None


# rest.yaml, AlterNamespaceRequest.set_properties: "Properties to add or to give a new value".
@habit("setting a property of a namespace to an empty text removes it", "AlterNamespace")
def empty_removes(target: WrongTarget, step: Step) -> Reply | None:
    sets, unsets = step.request.get("set_properties"), given(step, "unset_properties")
    if not isinstance(sets, dict) or "" not in sets.values() or set(sets) & set(unsets):
        return None
    empty = [key for key, value in sets.items() if value == ""]
    return asked(
        target,
        step,
        set_properties={key: value for key, value in sets.items() if value != ""},
        unset_properties=[*unsets, *empty],
    )


# --- tables as objects


# rest.yaml, DeregisterTable: "its data stays on storage as it is and can be registered again".
@habit("DeregisterTable deletes the data", "DeregisterTable")
def deregister_deletes(target: WrongTarget, step: Step) -> Reply | None:
    declared = only_declared(target, step.request.get("id"))
    reply = target.correct.call(step)
    if reply.succeeded and not declared:
        trash = [*step.request["id"][:-1], f"{step.request['id'][-1]}-trash"]
        if target.ask(
            "RegisterTable", id=trash, location=(reply.answer or {})["location"]
        ).succeeded:
            target.ask("DropTable", id=trash)
    return reply


# rest.yaml, TableExistsRequest.version: "Version that must be there too ... A missing one is
# answered like a missing table, with TableNotFound (4)".
@habit("TableExists does not look at the version", "TableExists")
def any_version(target: WrongTarget, step: Step) -> Reply | None:
    return less(target, step, "version") if step.request.get("version") else None


# rest.yaml, DescribeTableResponse.is_only_declared: "storage holds no dataset for it yet";
# semantics.md: "Declared-only: the catalog knows the table, storage holds no dataset".
@habit("a declared table stays only declared after rows were inserted into it")
def still_declared(target: WrongTarget, step: Step) -> Reply | None:
    flags = target.memory.setdefault("flags", set())
    if step.operation in ("DeclareTable", "CreateTable", "RegisterTable"):
        reply = target.correct.call(step)
        if reply.succeeded and word(step.request.get("mode")) != "existok":
            (flags.add if step.operation == "DeclareTable" else flags.discard)(key_of(step))
        return reply
    if step.operation == "RenameTable":
        reply = target.correct.call(step)
        if reply.succeeded and key_of(step) in flags:
            flags.discard(key_of(step))
            flags.add(json.dumps(new_id(step)))
        return reply
    if step.operation == "DescribeTable" and step.request.get("check_declared"):
        reply = target.correct.call(step)
        if reply.succeeded and key_of(step) in flags:
            return evolve(reply, answer={**(reply.answer or {}), "is_only_declared": True})
        return reply
    return None


# rest.yaml, RenameTable: "A name that is taken answers TableAlreadyExists and changes nothing".
@habit(
    "a refused move to another namespace has given the table its new name already", "RenameTable"
)
def two_steps(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    parent = step.request.get("new_namespace_id")
    if reply.code == 5 and isinstance(parent, list) and parent != step.request["id"][:-1]:
        target.ask(
            "RenameTable", id=step.request["id"], new_table_name=step.request["new_table_name"]
        )
    return reply


# rest.yaml, DropTable: "Removes the table from the catalog"; TableExists: "A declared table without
# a dataset exists too".
@habit("DropTable of a table that is only declared does not find it", "DropTable")
def drops_no_declared(target: WrongTarget, step: Step) -> Reply | None:
    if only_declared(target, step.request.get("id")):
        return Reply(step=step, code=4, message="no dataset at the table's location")
    return None


# rest.yaml, CreateTableResponse.version: "Version number of the table after the call".
@habit("ExistOk of CreateTable answers version 1, whatever the table's version is", "CreateTable")
def always_first(target: WrongTarget, step: Step) -> Reply | None:
    if word(step.request.get("mode")) != "existok":
        return None
    reply = target.correct.call(step)
    if reply.succeeded and (reply.answer or {}).get("version"):
        return evolve(reply, answer={**(reply.answer or {}), "version": 1})
    return reply
