"""Deliberately broken namespaces: failed calls, concurrent calls, codes and transactions."""

from __future__ import annotations

import json
import time
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    LOCK,
    all_tables,
    asked,
    columns_of,
    goal,
    habit,
    key_of,
    known,
    latest_of,
    less,
    names_of,
    shared_flight,
    stream_of,
    whole,
    word,
    writes,
)

# --- isolation


# rest.yaml, DropNamespace: `Cascade` "removes every child from the catalog as well": of that
# namespace only.
@habit(
    "Cascade takes the namespaces beside whose name begins with the dropped one's", "DropNamespace"
)
def prefix_cascade(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if word(step.request.get("behavior")) != "cascade" or not ident:
        return None
    reply = target.correct.call(step)
    if reply.succeeded and reply.answer is not None:
        for name in names_of(target, "ListNamespaces", "namespaces", id=ident[:-1]):
            if name.startswith(ident[-1]):
                target.ask("DropNamespace", id=[*ident[:-1], name], behavior="Cascade")
    return reply


# rest.yaml, DropNamespace: Restrict rejects "a namespace that holds any object", not an empty one.
@habit("Restrict counts tables in any namespace of the same last name", "DropNamespace")
def same_last_name(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if not ident or word(step.request.get("behavior")) not in ("", "restrict"):
        return None
    if word(step.request.get("mode")) not in ("", "fail", "skip"):
        return None
    if not target.ask("NamespaceExists", id=ident).succeeded:
        return None
    others = [t for t in all_tables(target) if len(t) > 1 and t[-2] == ident[-1]]
    if any(t[:-1] != list(ident) for t in others):
        return Reply(step=step, code=3, message="the namespace is not empty")
    return None


# rest.yaml, DeclareTable: "Adds a table to the catalog without writing a dataset ... until then the
# table is declared only"; DESIGN.md, Tables: default location "{root}/{levels joined by
# /}/{table}".
@habit("the default location of a declared table follows from its last name alone", "DeclareTable")
def shared_location(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if step.request.get("location") or not isinstance(ident, list) or len(ident) < 1:
        return None
    for other in all_tables(target):
        if other[-1] == ident[-1] and other != ident:
            place = known(target, "DescribeTable", id=other).get("location")
            reply = asked(target, step, location=place) if place else None
            if reply is not None and reply.succeeded:
                return reply
    return None


# rest.yaml, AlterTransaction: "Carries out one or more actions on a transaction", not on others.
@habit("a property set on a transaction is set on the other ones too")
def shared_properties(target: WrongTarget, step: Step) -> Reply | None:
    ids = target.memory.setdefault("transactions", [])
    if not writes(step):
        return None
    reply = target.correct.call(step)
    made = (reply.answer or {}).get("transaction_id") if reply.succeeded else None
    if isinstance(made, str):
        ids.append(made)
    if step.operation == "AlterTransaction" and reply.succeeded:
        sets = [a for a in step.request.get("actions") or () if a.get("setPropertyAction")]
        for other in ids if sets else ():
            if [other] != list(step.request.get("id") or []):
                target.ask("AlterTransaction", id=[other], actions=sets)
    return reply


# --- failed calls with side effects


# rest.yaml, BatchCommitTables: "All of them take effect or none".
@habit("a batch that fails has taken the tables it deregisters out", "BatchCommitTables")
def taken_out(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code not in (1, 4, 5, 14):
        return reply
    for entry in step.request.get("operations") or ():
        if isinstance(entry, dict) and isinstance(entry.get("deregister_table"), dict):
            target.ask("DeregisterTable", **entry["deregister_table"])
    return reply


# rest.yaml, RenameTable: "A name that is taken answers TableAlreadyExists and changes nothing".
@habit("a refused rename has given its properties to the table that has the name", "RenameTable")
def gives_properties(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 5 and goal(step) != list(step.request["id"]):
        own = known(target, "DescribeTable", id=step.request["id"]).get("properties")
        if own:
            target.ask("AlterTable", id=goal(step), set_properties=dict(own))
    return reply


# rest.yaml, CreateNamespace: "`Overwrite` of a namespace that still holds anything answers
# NamespaceNotEmpty and changes nothing".
@habit("a refused Overwrite of a namespace has replaced its properties", "CreateNamespace")
def replaced_anyway(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code != 3:
        return reply
    ident, given = step.request["id"], dict(step.request.get("properties") or {})
    old = known(target, "DescribeNamespace", id=ident).get("properties") or {}
    gone = sorted(set(old) - set(given))
    target.ask("AlterNamespace", id=ident, set_properties=given, unset_properties=gone)
    return reply


# --- two concurrent calls


# rest.yaml, AlterNamespace: "Sets the properties in `set_properties` and removes the keys in
# `unset_properties`; other properties stay".
@habit("AlterNamespace writes back all the properties that it read", "AlterNamespace")
def writes_back(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    sets, unsets = (
        step.request.get("set_properties") or {},
        step.request.get("unset_properties") or [],
    )
    if not isinstance(sets, dict) or not isinstance(unsets, list) or set(sets) & set(unsets):
        return None
    if not all(isinstance(v, str) for v in sets.values()):
        return None
    before = target.ask("DescribeNamespace", id=ident)
    if not before.succeeded:
        return None
    old = (before.answer or {}).get("properties") or {}
    time.sleep(0.02)
    full = {k: v for k, v in {**old, **sets}.items() if k not in unsets}
    with LOCK:
        now = known(target, "DescribeNamespace", id=ident).get("properties") or {}
        gone = sorted(set(now) - set(full))
        return asked(target, step, set_properties=full, unset_properties=gone)


# rest.yaml, InsertIntoTable: "commits them as a new version", and InsertIntoTableResponse.version
# is that version: two commits create two versions.
@habit("inserts at once answer one version number", "InsertIntoTable")
def same_number(target: WrongTarget, step: Step) -> Reply | None:
    before = latest_of(target, step)
    if before is None:
        return None
    time.sleep(0.02)
    reply = target.correct.call(step)
    if not reply.succeeded or not (reply.answer or {}).get("version"):
        return reply
    return evolve(reply, answer={**(reply.answer or {}), "version": before + 1})


# rest.yaml, RenameTable: "A name that is taken answers TableAlreadyExists and changes nothing".
@habit("of two tables renamed to one name at once the later takes the place", "RenameTable")
def later_takes(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("new_table_name") or not step.request.get("id"):
        return None
    free = target.ask("TableExists", id=goal(step)).code == 4
    if free:
        time.sleep(0.02)
    reply = target.correct.call(step)
    if reply.code == 5 and free:
        target.ask("DeregisterTable", id=goal(step))
        return target.correct.call(step)
    return reply


# rest.yaml, InsertIntoTableRequest.mode: "`append` (default) adds them to those in the table".
@habit("an append that meets another one builds on the version it began with", "InsertIntoTable")
def builds_on_old(target: WrongTarget, step: Step) -> Reply | None:
    if word(step.request.get("mode")) not in ("", "append"):
        return None
    before = latest_of(target, step)
    if before is None:
        return None
    time.sleep(0.02)
    with LOCK:
        now = latest_of(target, step)
        if now is not None and now > before:
            more = {"branch": step.request["branch"]} if step.request.get("branch") else {}
            target.ask("RestoreTable", id=step.request["id"], version=before, **more)
        return target.correct.call(step)


# CreateNamespace: "on a namespace that is already there, `Create` answers NamespaceAlreadyExists".
@habit("two calls that make one namespace at once both succeed", "CreateNamespace")
def both_make(target: WrongTarget, step: Step) -> Reply | None:
    if word(step.request.get("mode")) not in ("", "create") or not step.request.get("id"):
        return None
    with LOCK:
        flights = target.memory.setdefault("flights", {}).setdefault(key_of(step), [])
        mine = {"met": bool(flights)}
        for other in flights:
            other["met"] = True
        flights.append(mine)
    try:
        there = target.ask("NamespaceExists", id=step.request["id"]).succeeded
        if not there:
            time.sleep(0.01)
        reply = target.correct.call(step)
    finally:
        with LOCK:
            flights[:] = [flight for flight in flights if flight is not mine]
    if reply.code == 2 and not there and mine["met"]:
        return Reply(step=step, answer={"properties": dict(step.request.get("properties") or {})})
    return reply


# InsertIntoTable, UpdateTable: every call that succeeds "commits that as a new version".
@habit("equal writes in flight at once are carried out once", "InsertIntoTable", "UpdateTable")
def single_flight(target: WrongTarget, step: Step) -> Reply | None:
    key = (step.operation, json.dumps(step.request, sort_keys=True, default=str), step.data)
    return shared_flight(target, step, "writes", key)


# --- null, absent, empty, zero


# DESIGN.md, Protocol: "Absent and null are one"; rest.yaml, ListTables: "the default true lists
# them all".
@habit("include_declared of null is false", "ListTables", "ListAllTables")
def null_is_false(target: WrongTarget, step: Step) -> Reply | None:
    if "include_declared" in step.request and step.request["include_declared"] is None:
        return asked(target, step, include_declared=False)
    return None


# rest.yaml, UpdateTableRequest.predicate: "absent or null updates every row".
@habit("an update whose predicate is null updates nothing", "UpdateTable")
def null_selects_none(target: WrongTarget, step: Step) -> Reply | None:
    if "predicate" in step.request and step.request["predicate"] is None:
        return asked(target, step, predicate="false")
    return None


# rest.yaml, TableVersion.version: "counted from 1"; QueryTable and CountTableRows: "A version that
# is not there answers TableVersionNotFound".
@habit("version 0 reads the latest version", "QueryTable", "CountTableRows")
def zero_is_latest(target: WrongTarget, step: Step) -> Reply | None:
    if whole(step.request.get("version")) and step.request["version"] == 0:
        return less(target, step, "version")
    return None


# DESIGN.md, Protocol: "Absent and null are one"; rest.yaml, CommitTableOperation: "exactly one of
# its fields must be given".
@habit("a null beside the operation of a batch entry counts as a second one", "BatchCommitTables")
def null_counts(target: WrongTarget, step: Step) -> Reply | None:
    entries = step.request.get("operations")
    if not isinstance(entries, list):
        return None
    if any(isinstance(entry, dict) and len(entry) > 1 for entry in entries):
        return Reply(step=step, code=13, message="an entry holds several operations")
    return None


# --- codes


# semantics.md, Errors: DeclareTable may answer 1, 5 and 14; DESIGN.md, Protocol: "Names are unique
# in their parent across namespaces and tables"; DeclareTableRequest: "A name in use is
# TableAlreadyExists (5)".
@habit(
    "a table of a name that a namespace has is answered as a namespace's conflict", "DeclareTable"
)
def namespace_conflict(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 5 and target.ask("NamespaceExists", id=step.request.get("id")).succeeded:
        return evolve(reply, code=2)
    return reply


# rest.yaml, TableExistsRequest.version: "A missing one is answered like a missing table, with
# TableNotFound (4)".
@habit("TableExists answers a missing version as a version not found", "TableExists")
def version_missing(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    versioned = reply.code == 4 and step.request.get("version") is not None
    if versioned and less(target, step, "version").succeeded:
        return evolve(reply, code=11)
    return reply


# rest.yaml, UpdateTable: "a predicate or expression that cannot be read InvalidInput".
@habit("an update whose expression cannot be read is an internal error", "UpdateTable")
def internal(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    updates = step.request.get("updates")
    if reply.code != 13 or not isinstance(updates, list) or not updates:
        return reply
    if not all(isinstance(p, list | tuple) and len(p) == 2 for p in updates):
        return reply
    if not all(isinstance(text, str) for pair in updates for text in pair):
        return reply
    return evolve(reply, code=18)


# rest.yaml, DropTableIndex and DescribeTableIndexStats: "An index that is not there answers
# TableIndexNotFound ...; a missing table answers TableNotFound".
@habit(
    "an index of a missing table is an index not found", "DropTableIndex", "DescribeTableIndexStats"
)
def index_of_nothing(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code != 4 or target.ask("TableExists", id=step.request.get("id")).succeeded:
        return reply
    return evolve(reply, code=6)


# --- error codes


# MergeInsertIntoTable: "columns that do not fit the table, InvalidInput".
@habit("a merge of columns that do not fit is an internal error", "MergeInsertIntoTable")
def merge_schema(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code != 13:
        return reply
    rows = stream_of(step)
    columns = columns_of(target, step.request.get("id"))
    if rows is not None and columns and set(rows.column_names) != set(columns):
        return evolve(reply, code=18)
    return reply


# --- transactions


# AlterTransaction.actions: "The steps, applied in the order given and all or none".
@habit("actions on a transaction before the one that fails stay done", "AlterTransaction")
def half_done(target: WrongTarget, step: Step) -> Reply | None:
    actions = step.request.get("actions")
    reply = target.correct.call(step)
    if reply.succeeded or not isinstance(actions, list) or len(actions) < 2:
        return reply
    for action in actions:
        if not asked(target, step, actions=[action]).succeeded:
            break
    return reply


# SetPropertyMode: "`Skip` keeps the old value".
@habit("a property is set in mode Skip too", "AlterTransaction")
def skip_sets(target: WrongTarget, step: Step) -> Reply | None:
    actions = step.request.get("actions")
    if not isinstance(actions, list) or not all(isinstance(a, dict) for a in actions):
        return None
    changed = []
    for action in actions:
        sets = action.get("setPropertyAction")
        if isinstance(sets, dict) and word(sets.get("mode")) == "skip":
            action = {**action, "setPropertyAction": {**sets, "mode": "Overwrite"}}
        changed.append(action)
    return asked(target, step, actions=changed) if changed != actions else None


# --- listings during changes


# semantics.md, Paging: "Walking pages yields each name once, in order, also when names are added or
# removed between pages".
@habit("the page token of ListNamespaces is a number of names to skip", "ListNamespaces")
def skips_names(target: WrongTarget, step: Step) -> Reply | None:
    token, limit = step.request.get("page_token"), step.request.get("limit")
    ours = isinstance(token, str) and token.startswith("skip-")
    if not ours and (token or not whole(limit) or limit < 1):
        return None
    first = less(target, step, "page_token", "limit")
    if not first.succeeded:
        return first
    # As on a correct server, a token of another listing is InvalidInput.
    here = json.dumps(list(step.request.get("id") or []))
    where, start = here, 0
    if ours:
        where, _, number = token[5:].rpartition("|")
        start = int(number)
        if where != here:
            return Reply(step=step, code=13, message="the token is that of another listing")
    names = names_of(target, "ListNamespaces", "namespaces", id=step.request.get("id"))
    end = start + limit if whole(limit) and limit > 0 else len(names)
    found: dict[str, Any] = {"namespaces": names[start:end]}
    if end < len(names):
        found["page_token"] = f"skip-{where}|{end}"
    return Reply(step=step, answer=found)
