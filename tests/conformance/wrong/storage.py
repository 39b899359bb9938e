"""Handwritten wrong namespaces: locations, storage, and equal names in different parents."""

from __future__ import annotations

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .python import WrongTarget, add, answer, listing, no_effect, without, wrong

add("namespaces are listed backwards", "LN-PAGE-020",
    listing("ListNamespaces", lambda n: n[::-1]))  # fmt: skip
add("a given location is ignored", "LN-TABLE-DECLARE-011", without("DeclareTable", "location"))
add("inserted rows never reach storage", "LN-STORAGE-001",
    no_effect("InsertIntoTable", {"version": 2}))  # fmt: skip
add("versions are said to be the namespace's", "LN-STORAGE-002",
    answer("DescribeTable", lambda a: {**a, "managed_versioning": True}))  # fmt: skip


@wrong("tables are counted once and for all", "LN-STORAGE-002")
def counted_once(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CountTableRows":
        return None
    table = tuple(step.request["id"])
    if table not in target.memory:
        target.memory[table] = target.correct.call(step)
    return target.memory[table]


@wrong("tables are found by their last name", "LN-TABLE-CREATE-024")
def found_by_last_name(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation not in ("CreateTable", "CountTableRows"):
        return None
    first = target.memory.setdefault(step.request["id"][-1], step.request["id"])
    if step.operation == "CreateTable":
        return None
    found = target.correct.call(evolve(step, request={**step.request, "id": first}))
    return evolve(found, step=step)
