"""Wrong namespaces: the lifecycle of a table, from its declaration to its removal."""

from __future__ import annotations

import json
import re
import time
from urllib.parse import quote

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.rows import stream

from ..python import WrongTarget
from .asking import (
    LOCK,
    asked,
    goal,
    habit,
    key_of,
    known,
    less,
    only_declared,
    space,
    stream_of,
    strings,
    taken,
    word,
)

# --- declared, registered, renamed and altered tables


def new_id(step: Step) -> list[str]:
    parent = step.request.get("new_namespace_id")
    return [
        *(step.request["id"][:-1] if parent is None else parent),
        step.request["new_table_name"],
    ]


# RenameTable: "A name that is taken answers TableAlreadyExists and changes nothing".
@habit("RenameTable takes the place of a table that is only declared", "RenameTable")
def takes_place(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 5 and only_declared(target, new_id(step)):
        target.ask("DeregisterTable", id=new_id(step))
        return target.correct.call(step)
    return reply


# RenameTable.new_namespace_id: "stays where it is if left out, or if empty where the root cannot
# hold tables": here the root can hold tables.
@habit("an empty new_namespace_id is as if it were left out", "RenameTable")
def empty_is_current_namespace(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("new_namespace_id") == []:
        return less(target, step, "new_namespace_id")
    return None


# RegisterTable: "data is neither copied nor deleted, also not that of a replaced entry".
@habit("Overwrite of RegisterTable deletes the data of the replaced entry", "RegisterTable")
def replaces_data(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if word(step.request.get("mode")) != "overwrite" or not ident:
        return None
    old = known(target, "DescribeTable", id=ident).get("location")
    reply = target.correct.call(step)
    now = known(target, "DescribeTable", id=ident).get("location")
    if reply.succeeded and old and now and old.rstrip("/") != now.rstrip("/"):
        bin_ = [*ident[:-1], f"{ident[-1]}-replaced"]
        if target.ask("RegisterTable", id=bin_, location=old).succeeded:
            target.ask("DropTable", id=bin_)
    return reply


# MergeInsertIntoTable: "A table that is declared and has no data yet is made with all rows".
@habit("a merge into a declared table must insert, else it is refused", "MergeInsertIntoTable")
def must_insert(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if request.get("when_not_matched_insert_all") or stream_of(step) is None:
        return None
    if not request.get("when_matched_update_all") and not request.get(
        "when_not_matched_by_source_delete"
    ):
        return None
    if only_declared(target, request.get("id")):
        return Reply(step=step, code=19, message="the table has no data to merge into")
    return None


# DescribeTable.table: "The table's own name, the last level of its identifier".
@habit("after a rename DescribeTable gives the name the table was made with")
def first_name(target: WrongTarget, step: Step) -> Reply | None:
    names = target.memory.setdefault("names", {})
    if step.operation == "RenameTable":
        reply = target.correct.call(step)
        if reply.succeeded:
            old = names.pop(key_of(step), step.request["id"][-1])
            names[json.dumps(new_id(step))] = old
        return reply
    if step.operation in ("CreateTable", "DeclareTable", "RegisterTable"):
        reply = target.correct.call(step)
        if reply.succeeded and word(step.request.get("mode")) != "existok":
            names.pop(key_of(step), None)
        return reply
    if step.operation == "DescribeTable" and key_of(step) in names:
        reply = target.correct.call(step)
        if reply.succeeded:
            return evolve(reply, answer={**(reply.answer or {}), "table": names[key_of(step)]})
        return reply
    return None


# --- registering, declaring, renaming, dropping


# RegisterTableRequest.mode: "What to do where the name is taken": a free name is always registered.
@habit("Overwrite of RegisterTable needs a table to replace", "RegisterTable")
def must_be_there(target: WrongTarget, step: Step) -> Reply | None:
    ident = strings(step)
    if (
        word(step.request.get("mode")) != "overwrite"
        or not ident
        or not step.request.get("location")
    ):
        return None
    if space(target, ident[:-1]) and not space(target, ident) and not taken(target, ident):
        return Reply(step=step, code=4, message="there is no table to replace")
    return None


# RegisterTableRequest.mode, after Create and Overwrite: "Any other value is InvalidInput (13)".
@habit("RegisterTable knows the mode ExistOk and keeps the entry", "RegisterTable")
def register_exist_ok(target: WrongTarget, step: Step) -> Reply | None:
    if word(step.request.get("mode")) != "existok":
        return None
    ident = strings(step)
    if ident and taken(target, ident):
        told = known(target, "DescribeTable", id=ident)
        answer = {k: told[k] for k in ("location", "properties") if k in told}
        return Reply(step=step, answer=answer)
    return asked(target, step, mode="Create")


# DeregisterTable: "can be registered again from the location in the answer".
@habit("DeregisterTable answers the default location, wherever the table was", "DeregisterTable")
def default_place(target: WrongTarget, step: Step) -> Reply | None:
    ident = strings(step)
    if not ident or not taken(target, ident):
        return None
    probe = [*ident[:-1], f"{ident[-1]}-0"]
    if not target.ask("DeclareTable", id=probe).succeeded:
        return None
    place = (known(target, "DeregisterTable", id=probe).get("location") or "").rstrip("/")
    default = f"{place.rpartition('/')[0]}/{quote(ident[-1], safe='')}"
    reply = target.correct.call(step)
    found = reply.answer or {}
    if reply.succeeded and not str(found.get("location")).startswith(default):
        return evolve(reply, answer={**found, "location": default})
    return reply


# DeregisterTable: "its data stays on storage as it is"; CreateTable: "writes the rows ... as its
# first version"; DESIGN, Tables: "a fresh one beside it is taken ... Old rows never come back".
@habit(
    "a table made under a deregistered name writes over the data that stayed",
    "DeregisterTable",
    "CreateTable",
)
def writes_over(target: WrongTarget, step: Step) -> Reply | None:
    stayed = target.memory.setdefault("stayed", {})
    ident, key = strings(step), key_of(step)
    if step.operation == "DeregisterTable":
        declared = bool(ident) and only_declared(target, ident)
        reply = target.correct.call(step)
        if reply.succeeded and not declared:
            stayed[key] = (reply.answer or {}).get("location")
        return reply
    if key not in stayed or word(step.request.get("mode")) not in (
        "",
        "create",
        "existok",
        "overwrite",
    ):
        return None
    if not ident or taken(target, ident) or stream_of(step) is None:
        return None
    place, given = stayed.pop(key), step.request.get("properties") or {}
    if not target.ask("RegisterTable", id=ident, location=place, properties=given).succeeded:
        return None
    written = target.ask("InsertIntoTable", step.data, id=ident, mode="overwrite")
    if not written.succeeded:
        target.ask("DeregisterTable", id=ident)
        return None
    told = known(target, "DescribeTable", id=ident)
    answer = {"location": place, "version": (written.answer or {}).get("version")}
    return Reply(step=step, answer={**answer, "properties": told.get("properties") or {}})


# DropTable: "Removes the table from the catalog and deletes its data on storage".
@habit("DropTable leaves the data of a table that was registered")
def external(target: WrongTarget, step: Step) -> Reply | None:
    registered = target.memory.setdefault("registered", set())
    key = key_of(step)
    if step.operation == "DropTable" and key in registered:
        reply = evolve(target.ask("DeregisterTable", **step.request), step=step)
        registered.discard(key)
        return reply
    if step.operation not in ("RegisterTable", "DeregisterTable", "RenameTable", "CreateTable"):
        return None
    reply = target.correct.call(step)
    if reply.succeeded and step.operation == "RegisterTable":
        registered.add(key)
    elif reply.succeeded and step.operation == "RenameTable" and key in registered:
        registered.discard(key)
        registered.add(json.dumps(goal(step)))
    elif reply.succeeded and step.operation == "DeregisterTable":
        registered.discard(key)
    return reply


# DropTable: "answers TableNotFound, so a repeat of a call that went through answers that too".
@habit("a repeated DropTable answers as the first one did", "DropTable")
def again(target: WrongTarget, step: Step) -> Reply | None:
    dropped = target.memory.setdefault("dropped", {})
    reply = target.correct.call(step)
    if reply.succeeded:
        dropped[key_of(step)] = reply
    elif reply.code == 4 and key_of(step) in dropped:
        return evolve(dropped[key_of(step)], step=step)
    return reply


# RenameTable: "The rows, versions and schema of the table stay as they are".
@habit("RenameTable copies the rows into a new table of one version", "RenameTable")
def copies(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    new = goal(step)
    if not reply.succeeded or new is None or only_declared(target, new):
        return reply
    found = target.ask("QueryTable", id=new, k=0, vector=None)
    held = known(target, "DescribeTable", id=new).get("properties") or {}
    if found.rows is None:
        return reply
    target.ask("DropTable", id=new)
    target.ask("CreateTable", stream(found.rows), id=new, properties=held)
    return reply


# DeclareTableRequest.properties: "Properties to store with the table in the catalog".
@habit("DeclareTable answers its properties and does not store them", "DeclareTable")
def not_stored(target: WrongTarget, step: Step) -> Reply | None:
    given = step.request.get("properties")
    if not isinstance(given, dict) or not given:
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        target.ask("AlterTable", id=step.request["id"], unset_properties=list(given))
    return reply


# --- creating tables


# CreateTable: "a stream with a schema and no rows makes an empty table".
@habit("CreateTable with a stream without rows only declares the table", "CreateTable")
def declares_empty(target: WrongTarget, step: Step) -> Reply | None:
    rows = stream_of(step)
    if rows is None or rows.num_rows or word(step.request.get("mode")) not in ("", "create"):
        return None
    more = {"properties": step.request["properties"]} if step.request.get("properties") else {}
    reply = target.ask("DeclareTable", id=step.request.get("id"), **more)
    if not reply.succeeded:
        return None
    found = {k: v for k, v in (reply.answer or {}).items() if k != "managed_versioning"}
    return evolve(reply, step=step, answer={**found, "version": 1})


# --- CreateTable and AlterTable


# CreateTable: "`ExistOk` (what is there is kept with its properties and the stream is not
# written)".
@habit("ExistOk of CreateTable appends the rows to the table that is there", "CreateTable")
def appends(target: WrongTarget, step: Step) -> Reply | None:
    ident = strings(step)
    if word(step.request.get("mode")) != "existok" or not ident or not taken(target, ident):
        return None
    if not only_declared(target, ident):
        target.ask("InsertIntoTable", step.data, id=ident)
    return None


# AlterTable: "Sets the properties in `set_properties` ...; other properties stay".
@habit("set_properties of AlterTable replaces all properties", "AlterTable")
def replaces_all(target: WrongTarget, step: Step) -> Reply | None:
    given = step.request.get("set_properties")
    if not isinstance(given, dict) or not given or step.request.get("unset_properties"):
        return None
    held = known(target, "DescribeTable", id=step.request.get("id")).get("properties") or {}
    gone = sorted(set(held) - set(given))
    return asked(target, step, unset_properties=gone) if gone else None


# AlterTable: "other properties stay", also those set by a concurrent call; otherwise "a change made
# by someone else meanwhile ConcurrentModification".
@habit("of two AlterTable calls at once the later one undoes what the other added", "AlterTable")
def lost_update(target: WrongTarget, step: Step) -> Reply | None:
    given = step.request.get("set_properties")
    if not isinstance(given, dict) or not given or step.request.get("unset_properties"):
        return None
    before = known(target, "DescribeTable", id=step.request.get("id")).get("properties")
    time.sleep(0.01)
    if before is None:
        return None
    with LOCK:
        now = known(target, "DescribeTable", id=step.request.get("id")).get("properties") or {}
        gone = sorted(set(now) - set(before) - set(given))
        return asked(target, step, unset_properties=gone) if gone else target.correct.call(step)


# --- descriptions


# DescribeTable.schema: "Arrow schema of the described version".
@habit("the schema of an earlier version is that of the latest", "DescribeTable")
def newest_schema(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("version") is None or not step.request.get("load_detailed_metadata"):
        return None
    reply = target.correct.call(step)
    now = known(target, "DescribeTable", id=step.request.get("id"), load_detailed_metadata=True)
    if reply.succeeded and now.get("schema"):
        return evolve(reply, answer={**(reply.answer or {}), "schema": now["schema"]})
    return reply


# DescribeTable.tag: "Name of the tag whose version is described": a tag can be on a branch.
@habit(
    "a tag on a branch is described by the main branch's version of that number", "DescribeTable"
)
def tag_on_main(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    if not request.get("tag") or request.get("version") is not None or request.get("branch"):
        return None
    told = known(target, "GetTableTagVersion", id=request.get("id"), tag=request["tag"])
    if not told.get("branch"):
        return None
    moved = {**{k: v for k, v in request.items() if k != "tag"}, "version": told["version"]}
    return evolve(target.correct.call(evolve(step, request=moved)), step=step)


# DescribeTable.is_only_declared: "True where ... storage holds no dataset for it yet".
@habit("a table without rows is told to be only declared", "DescribeTable")
def empty_is_declared(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("check_declared"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded or (reply.answer or {}).get("is_only_declared") is not False:
        return reply
    if known(target, "CountTableRows", id=step.request.get("id")).get("count") == 0:
        return evolve(reply, answer={**(reply.answer or {}), "is_only_declared": True})
    return reply


# --- looking up tables


# DescribeTable: "a version, tag or branch that is not there answers TableVersionNotFound".
@habit("an unknown tag of DescribeTable is a tag not found", "DescribeTable")
def tag_code(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    return evolve(reply, code=8) if reply.code == 11 and step.request.get("tag") else reply


# DescribeTableResponse.metadata: "Metadata entries of the dataset itself, kept with its schema".
@habit("metadata holds the properties of the catalog as well", "DescribeTable")
def both_kinds(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    found = reply.answer or {}
    if reply.succeeded and found.get("metadata") is not None and found.get("properties"):
        more = {**found["properties"], **found["metadata"]}
        return evolve(reply, answer={**found, "metadata": more})
    return reply


# DescribeTableResponse.table_uri: "Full URI of the table, with its scheme".
@habit("table_uri is the location as it is, without a scheme", "DescribeTable")
def no_scheme(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    found = reply.answer or {}
    if reply.succeeded and found.get("table_uri"):
        bare = re.sub(r"^file://", "", found["table_uri"])
        return evolve(reply, answer={**found, "table_uri": bare})
    return reply


# TableExists: "A declared table without a dataset exists too".
@habit("a table that is only declared does not exist", "TableExists")
def declared_is_none(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.succeeded and only_declared(target, step.request.get("id")):
        return Reply(step=step, code=4, message="the table does not exist")
    return reply


# --- transactions and operations


# AlterTransactionUnsetProperty.mode: "What to do when the property is not set; `Skip` if left out".
@habit("unsetting a property that is not set fails without a mode", "AlterTransaction")
def unset_fails(target: WrongTarget, step: Step) -> Reply | None:
    actions = step.request.get("actions")
    if not isinstance(actions, list) or not all(isinstance(a, dict) for a in actions):
        return None
    changed = []
    for action in actions:
        unset = action.get("unsetPropertyAction")
        if isinstance(unset, dict) and unset.get("mode") is None:
            action = {**action, "unsetPropertyAction": {**unset, "mode": "Fail"}}
        changed.append(action)
    return asked(target, step, actions=changed) if changed != actions else None


# AlterTransactionRequest.actions: "The steps, applied in the order given".
@habit("all removals of properties are carried out before the settings", "AlterTransaction")
def removals_first(target: WrongTarget, step: Step) -> Reply | None:
    actions = step.request.get("actions")
    if not isinstance(actions, list) or not all(isinstance(a, dict) for a in actions):
        return None
    order = sorted(actions, key=lambda a: 0 if a.get("unsetPropertyAction") else 1)
    return asked(target, step, actions=order) if order != actions else None


# DescribeTransaction: "A transaction that the server does not know ... answers
# TransactionNotFound".
@habit("a transaction that is not known has failed", "DescribeTransaction")
def unknown_failed(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    return Reply(step=step, answer={"status": "Failed"}) if reply.code == 10 else reply


# ListOperations: "whatever is not in the list answers Unsupported".
@habit("ListOperations leaves out operations that work", "ListOperations")
def leaves_out(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    shown = [
        n for n in (reply.answer or {})["operations"] if n not in ("AlterTable", "RenameTable")
    ]
    return evolve(reply, answer={**(reply.answer or {}), "operations": shown})
