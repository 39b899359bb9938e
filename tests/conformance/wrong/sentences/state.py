"""Wrong namespaces: state that a server keeps between calls, and names that it confuses."""

from __future__ import annotations

import json
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    asked,
    goal,
    habit,
    key_of,
    less,
    path_of,
    unicode_form,
    word,
    writes,
)

# --- state and caches


# rest.yaml, DescribeTableResponse.schema: "Arrow schema of the described version, filled when
# detailed metadata was asked for".
@habit("the schema is cached and AlterTableAlterColumns does not clear it")
def schema_cached(target: WrongTarget, step: Step) -> Reply | None:
    cache = target.memory.setdefault("schemas", {})
    if writes(step) and step.operation != "AlterTableAlterColumns":
        cache.clear()
        return None
    request = step.request
    if step.operation != "DescribeTable" or not request.get("load_detailed_metadata"):
        return None
    if any(request.get(name) is not None for name in ("version", "tag", "branch")):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded or not (reply.answer or {}).get("schema"):
        return reply
    found = reply.answer or {}
    return evolve(
        reply, answer={**found, "schema": cache.setdefault(key_of(step), found["schema"])}
    )


# rest.yaml, QueryTable: "`version` and `branch` choose what is read"; CountTableRows: "`version`
# and `branch` choose what is counted": the version number is one of the branch.
@habit(
    "a version number with a branch is looked up on the main branch first",
    "QueryTable",
    "CountTableRows",
)
def main_first(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("branch") or step.request.get("version") is None:
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    main = less(target, step, "branch")
    return main if main.succeeded else reply


# rest.yaml, NamespaceExists: "success when it is, NamespaceNotFound when it is not".
@habit("a namespace once found missing stays missing for NamespaceExists", "NamespaceExists")
def stays_missing(target: WrongTarget, step: Step) -> Reply | None:
    missing = target.memory.setdefault("missing", {})
    if key_of(step) in missing:
        return evolve(missing[key_of(step)], step=step)
    reply = target.correct.call(step)
    if reply.code == 1:
        missing[key_of(step)] = reply
    return reply


# rest.yaml, DescribeTable: "A table that is not there ... answers TableNotFound".
@habit("a table that was described before is described under its old name after a rename")
def old_name(target: WrongTarget, step: Step) -> Reply | None:
    told = target.memory.setdefault("told", {})
    moved = target.memory.setdefault("moved", {})
    if step.operation == "RenameTable":
        reply = target.correct.call(step)
        if reply.succeeded and key_of(step) in told:
            moved[key_of(step)] = told.pop(key_of(step))
        return reply
    if step.operation != "DescribeTable":
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        told[key_of(step)] = reply
        moved.pop(key_of(step), None)
    elif reply.code == 4 and key_of(step) in moved:
        return evolve(moved[key_of(step)], step=step)
    return reply


# rest.yaml, GetTableTagVersion: "A tag that is not there answers TableTagNotFound".
@habit(
    "a tag that was read once is still read after it was deleted", "GetTableTagVersion", "DropTable"
)
def read_once(target: WrongTarget, step: Step) -> Reply | None:
    cache = target.memory.setdefault("tags", {})
    if step.operation == "DropTable":
        cache.clear()
        return None
    key = (key_of(step), step.request.get("tag"))
    reply = target.correct.call(step)
    if reply.succeeded:
        cache[key] = reply
    return evolve(cache[key], step=step) if reply.code == 8 and key in cache else reply


# rest.yaml, IndexContent.num_unindexed_rows: "Number of rows added since, which the index does not
# cover"; num_indexed_rows: "Number of rows the index covers".
@habit("the row figures of an index are those of its first listing", "ListTableIndices")
def first_listing(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("version") is not None or step.request.get("branch"):
        return None
    cache = target.memory.setdefault("figures", {})
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    found = reply.answer or {}
    shown = []
    for index in found["indexes"]:
        figures = {k: index[k] for k in ("num_indexed_rows", "num_unindexed_rows") if k in index}
        shown.append({**index, **cache.setdefault(index["index_uuid"], figures)})
    return evolve(reply, answer={**found, "indexes": shown})


# rest.yaml, DescribeTableIndexStats: "Returns the kind of one index and how many rows it covers";
# IndexContent.index_name: "unique in its table", not among all tables.
@habit("figures of an index are cached by its name alone, whatever the table")
def by_index_name(target: WrongTarget, step: Step) -> Reply | None:
    cache = target.memory.setdefault("stats", {})
    if writes(step):
        for name in [name for name, (owner, _) in cache.items() if owner == key_of(step)]:
            del cache[name]
        if step.operation in ("DropTable", "DropNamespace", "RenameTable"):
            cache.clear()
        return None
    request = step.request
    if step.operation != "DescribeTableIndexStats":
        return None
    if request.get("version") is not None or request.get("branch"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    _, answer = cache.setdefault(request.get("index_name"), (key_of(step), reply.answer))
    return evolve(reply, answer=answer)


# rest.yaml, ListTables: "Lists the Lance tables directly in the given namespace".
@habit("a rename refreshes the cached listing of the namespace it leaves, not of the one it enters")
def enters_unseen(target: WrongTarget, step: Step) -> Reply | None:
    cache = target.memory.setdefault("listings", {})
    if step.operation == "RenameTable":
        reply = target.correct.call(step)
        if reply.succeeded:
            left = json.dumps(list(step.request["id"][:-1]))
            for key in [key for key in cache if key[0] == left]:
                del cache[key]
        return reply
    if writes(step):
        cache.clear()
        return None
    if step.operation != "ListTables":
        return None
    rest = {k: v for k, v in step.request.items() if k != "id"}
    key = (json.dumps(list(step.request.get("id") or [])), json.dumps(rest, sort_keys=True))
    if key in cache:
        return evolve(cache[key], step=step)
    reply = target.correct.call(step)
    if reply.succeeded:
        cache[key] = reply
    return reply


# rest.yaml, CountTableRows: "Counts the rows of a table", although another name differs only in
# case.
@habit("counts are cached under the name in lower case")
def folded(target: WrongTarget, step: Step) -> Reply | None:
    cache = target.memory.setdefault("counts", {})
    if writes(step) and step.operation != "CreateTable":
        cache.clear()
        return None
    if step.operation == "CreateTable" and word(step.request.get("mode")) == "overwrite":
        cache.clear()
        return None
    if step.operation != "CountTableRows":
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    rest = {k: v for k, v in step.request.items() if k != "id"}
    key = (key_of(step).lower(), json.dumps(rest, sort_keys=True))
    return evolve(reply, answer=cache.setdefault(key, reply.answer))


# rest.yaml, RenameTable: "The rows, versions and schema of the table stay as they are"; DESIGN.md,
# Tables: "Where ... the default one holds data that the catalog does not list there (after ...
# rename ...), a fresh one beside it is taken".
@habit(
    "a new table under the old name of a renamed one is written over its data",
    "RenameTable",
    "CreateTable",
)
def written_over(target: WrongTarget, step: Step) -> Reply | None:
    places = target.memory.setdefault("places", {})
    if step.operation == "RenameTable":
        reply = target.correct.call(step)
        if reply.succeeded:
            new = goal(step)
            places[json.dumps(list(step.request["id"]))] = new
        return reply
    key = json.dumps(list(step.request.get("id") or []))
    if key not in places or word(step.request.get("mode")) == "overwrite":
        return None
    reply = target.correct.call(step)
    if reply.succeeded and reply.code is None:
        new = places.pop(key)
        target.ask("InsertIntoTable", step.data, id=new, mode="overwrite")
    return reply


# --- names, values, sizes


# rest.yaml, AlterTableRequest.set_properties: "Properties to add or to give a new value"; the
# answer holds "All properties of the table after the change".
@habit("AlterTable trims the values of properties", "AlterTable")
def trimmed(target: WrongTarget, step: Step) -> Reply | None:
    sets = step.request.get("set_properties")
    if not isinstance(sets, dict) or not all(isinstance(v, str) for v in sets.values()):
        return None
    clean = {k: v.strip() for k, v in sets.items()}
    return asked(target, step, set_properties=clean) if clean != sets else None


# semantics.md, Identifiers: "ListNamespaces and ListTables return the children's own names": the
# names with which they were created. Another Unicode form is another name.
@habit("names are stored and looked up in Unicode's composed form")
def composed(target: WrongTarget, step: Step) -> Reply | None:
    change: dict[str, Any] = {}
    for name in ("id", "new_namespace_id"):
        ident = step.request.get(name)
        if isinstance(ident, list):
            changed = [unicode_form(n) for n in ident]
            if changed != ident:
                change[name] = changed
    new = step.request.get("new_table_name")
    if unicode_form(new) != new:
        change["new_table_name"] = unicode_form(new)
    return asked(target, step, **change) if change else None


# rest.yaml, DescribeNamespaceResponse.properties: "All properties of the namespace"; a catalog that
# cannot store one answers InvalidInput (CreateNamespaceRequest.properties).
@habit(
    "values of namespace properties are cut to 255 characters", "CreateNamespace", "AlterNamespace"
)
def cut_values(target: WrongTarget, step: Step) -> Reply | None:
    name = "properties" if step.operation == "CreateNamespace" else "set_properties"
    given = step.request.get(name)
    if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
        return None
    if all(len(v) <= 255 for v in given.values()):
        return None
    return asked(target, step, **{name: {k: v[:255] for k, v in given.items()}})


# rest.yaml, ListAllTables: "Each entry is a full string identifier, its levels joined by the
# delimiter".
@habit("ListAllTables names a deep table by its last two levels", "ListAllTables")
def last_two(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    found = reply.answer or {}
    shown = ["$".join(path_of(text)[-2:]) for text in found["tables"]]
    return evolve(reply, answer={**found, "tables": shown})


# rest.yaml, CreateNamespace: "A missing parent answers NamespaceNotFound".
@habit("CreateNamespace looks at the first level alone and makes those between", "CreateNamespace")
def levels_between(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    ident = step.request.get("id")
    if reply.code != 1 or not isinstance(ident, list) or len(ident) < 3:
        return reply
    if not target.ask("NamespaceExists", id=ident[:1]).succeeded:
        return reply
    for depth in range(2, len(ident)):
        target.ask("CreateNamespace", id=ident[:depth], mode="ExistOk")
    return target.correct.call(step)


# rest.yaml, UpdateFieldMetadata: "a null value removes that key", an empty string does not.
@habit("an empty text in the metadata of a column removes the key", "UpdateFieldMetadata")
def empty_removes(target: WrongTarget, step: Step) -> Reply | None:
    updates = step.request.get("updates")
    if not isinstance(updates, list):
        return None
    if not all(isinstance(u, dict) and isinstance(u.get("metadata"), dict) for u in updates):
        return None
    if not any(v == "" for u in updates for v in u["metadata"].values()):
        return None
    changed = [
        {**u, "metadata": {k: None if v == "" else v for k, v in u["metadata"].items()}}
        for u in updates
    ]
    return asked(target, step, updates=changed)
