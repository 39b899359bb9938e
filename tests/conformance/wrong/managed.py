"""Wrong namespaces with managed table versions: versions, commits and transactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .fresh import adding
from .python import Act, WrongTarget, answer, code_instead, succeeds_instead, without

__all__ = ["MANAGED"]

MANAGED: dict[str, Act] = {}
add = adding(MANAGED)


def managed(name: str) -> Callable[[Act], Act]:
    return partial(add, name)


def each_version(operation: str, **more: Callable[[dict[str, Any]], Any]) -> Act:
    """Return an act that changes fields of an answered version."""

    def change(found: dict[str, Any]) -> dict[str, Any]:
        version = found["version"]
        return {**found, "version": {**version, **{k: f(version) for k, f in more.items()}}}

    return answer(operation, change)


# --- versions


@managed("a version that does not follow the latest is taken")
def any_number(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateTableVersion":
        return None
    reply = target.correct.call(step)
    if reply.code != 14:
        return reply
    request = step.request
    version = {"version": request["version"], "manifest_path": request["manifest_path"]}
    return Reply(step=step, answer={"version": version})


add("a version's metadata is lost", without("CreateTableVersion", "metadata"))
add("a version's tag of its manifest is lost", without("CreateTableVersion", "e_tag"))
add("a version names a manifest that is not there",
    each_version("CreateTableVersion", manifest_path=lambda v: v["manifest_path"] + ".gone"))  # fmt: skip
add("a version is described with another manifest",
    each_version("DescribeTableVersion", manifest_path=lambda v: v["manifest_path"] + ".gone"))  # fmt: skip
add(
    "a version is described with another size",
    each_version("DescribeTableVersion", manifest_size=lambda v: (v.get("manifest_size") or 0) + 1),
)
add("CreateTableVersion answers the version before",
    each_version("CreateTableVersion", version=lambda v: v["version"] - 1))  # fmt: skip
add("a conflict of versions is code 13", code_instead("CreateTableVersion", 14, 13))
add("managed tables do not say so", answer("DescribeTable", lambda a: {
    k: v for k, v in a.items() if k != "managed_versioning"}))  # fmt: skip


@managed("versions at once are both taken")
def accepts_both(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateTableVersion":
        return None
    key = repr((step.request["id"], step.request["version"]))
    lock = target.memory.setdefault("lock", threading.Lock())
    with lock:
        now = time.monotonic()
        recent = now - target.memory.get(key, -9) < 0.5
        target.memory[key] = now
    reply = target.correct.call(step)
    if reply.code == 14 and recent:
        request = step.request
        version = {"version": request["version"], "manifest_path": request["manifest_path"]}
        return Reply(step=step, answer={"version": version})
    return reply


@managed("a manifest that is not there becomes a version")
def no_manifest(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateTableVersion":
        return None
    reply = target.correct.call(step)
    if reply.code != 13:
        return reply
    request = step.request
    version = {"version": request["version"], "manifest_path": request["manifest_path"]}
    return Reply(step=step, answer={"version": version})


# --- batches


@managed("a batch of versions stops at the first conflict and keeps those before")
def partial_batch(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "BatchCreateTableVersions":
        return None
    made = []
    for entry in step.request.get("entries") or ():
        reply = target.ask("CreateTableVersion", **entry)
        if not reply.succeeded:
            return evolve(reply, step=step)
        made.append((reply.answer or {})["version"])
    return Reply(step=step, answer={"versions": made})


ONE_BY_ONE = {
    "declare_table": "DeclareTable",
    "create_table_version": "CreateTableVersion",
    "delete_table_versions": "BatchDeleteTableVersions",
    "deregister_table": "DeregisterTable",
}


@managed("a commit of several tables is one by one")
def one_by_one(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "BatchCommitTables":
        return None
    results = []
    for entry in step.request.get("operations") or ():
        for key, operation in ONE_BY_ONE.items():
            if entry.get(key):
                reply = target.ask(operation, **entry[key])
                if not reply.succeeded:
                    return evolve(reply, step=step)
                results.append({key: dict(reply.answer or {})})
    return Reply(step=step, answer={"results": results})


add("results of a commit are backwards",
    answer("BatchCommitTables", lambda a: {**a, "results": a["results"][::-1]}))  # fmt: skip
add("a commit has no results", answer("BatchCommitTables", lambda a: {**a, "results": []}))
add("a batch answers the last version alone",
    answer("BatchCreateTableVersions", lambda a: {**a, "versions": a["versions"][-1:]}))  # fmt: skip


def left_out(kind: str) -> Act:
    """Return an act that leaves one kind of change out of a commit."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != "BatchCommitTables":
            return None
        kept = [o for o in step.request.get("operations") or () if not o.get(kind)]
        if len(kept) == len(step.request.get("operations") or ()):
            return None
        reply = target.correct.call(evolve(step, request={**step.request, "operations": kept}))
        if not kept:
            return Reply(step=step, answer={"results": [{kind: {}}]})
        return evolve(reply, step=step)

    return act


for _kind in ("deregister_table", "delete_table_versions", "declare_table"):
    add(f"a commit leaves {_kind} out", left_out(_kind))

# --- transactions

add("an unknown transaction is running", lambda t, s: Reply(step=s, answer={"status": "RUNNING"})
    if s.operation == "DescribeTransaction" and t.correct.call(s).code == 10 else None)  # fmt: skip
add("an unknown transaction is code 13", code_instead("DescribeTransaction", 10, 13))
add("an unknown transaction is changed", succeeds_instead("AlterTransaction", 10))
add("every transaction is queued", answer("DescribeTransaction", lambda a: {
    **a, "status": "QUEUED"}))  # fmt: skip
add("a transaction's status is no status", answer("DescribeTransaction", lambda a: {
    **a, "status": "WHO-KNOWS"}))  # fmt: skip
add("a transaction has no properties", answer("DescribeTransaction", lambda a: {
    k: v for k, v in a.items() if k != "properties"}))  # fmt: skip


@managed("properties of a transaction are not kept")
def not_kept(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTransaction":
        return None
    found = target.ask("DescribeTransaction", id=step.request["id"])
    if not found.succeeded:
        return evolve(found, step=step)
    shown = dict((found.answer or {}).get("properties") or {})
    for action in step.request.get("actions") or ():
        setting = action.get("setPropertyAction")
        if setting:
            shown[setting["key"]] = setting["value"]
    return Reply(step=step, answer={**(found.answer or {}), "properties": shown})


def without_mode(kind: str) -> Act:
    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != "AlterTransaction":
            return None
        actions = [
            {**a, kind: {k: v for k, v in a[kind].items() if k != "mode"}} if a.get(kind) else a
            for a in step.request.get("actions") or ()
        ]
        changed = evolve(step, request={**step.request, "actions": actions})
        return evolve(target.correct.call(changed), step=step)

    return act


add("a property of a transaction is set in any mode", without_mode("setPropertyAction"))
add("a property of a transaction is unset in any mode", without_mode("unsetPropertyAction"))


@managed("actions on a transaction are one by one")
def action_by_action(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTransaction" or len(step.request.get("actions") or ()) < 2:
        return None
    reply = None
    for action in step.request["actions"]:
        reply = target.ask("AlterTransaction", id=step.request["id"], actions=[action])
        if not reply.succeeded:
            break
    return reply and evolve(reply, step=step)


add("the first action on a transaction is the only one", lambda t, s: evolve(t.correct.call(evolve(
    s, request={**s.request, "actions": s.request["actions"][:1]})), step=s)
    if s.operation == "AlterTransaction" and s.request.get("actions") else None)  # fmt: skip
add("transactions are told by ids that nobody knows", lambda t, s: evolve(r, answer={
    **r.answer, "transaction_id": str(uuid4())}) if (r := t.correct.call(s)).answer
    and r.answer.get("transaction_id") else r)  # fmt: skip
