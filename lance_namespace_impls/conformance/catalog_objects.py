"""Namespaces for checks, and properties of namespaces and tables."""

from __future__ import annotations

from typing import Any

from .lab import Lab, Skipped

__all__ = [
    "PROPERTIES",
    "change_properties",
    "deep",
    "namespace_for_tables",
    "place_for_tables",
    "with_properties",
]

PROPERTIES = {"owner": "ana", "note": "two words"}
_LEVELS = 4


def with_properties(lab: Lab, properties: dict[str, str] | None = None) -> list[str]:
    """Return a new namespace with properties; skip the check if the catalog rejects them."""
    identifier = lab.namespace_id()
    lab.maybe("CreateNamespace", id=identifier, properties=properties or PROPERTIES)
    return identifier


def place_for_tables(lab: Lab) -> list[str]:
    """Return a new namespace for tables, or the existing one if new ones cannot hold tables."""
    parent = lab.shape.table_parent
    if parent is None:
        raise Skipped("no tables can be created here")
    if lab.shape.tables_in_new:
        return lab.new_namespace()
    return list(parent)


def change_properties(lab: Lab, operation: str, read: str, identifier: list[str]) -> None:
    """Apply changes one after another and compare each result with a dictionary."""
    held: dict[str, str] = {}
    steps: list[tuple[dict[str, str], list[str]]] = [
        ({f"k{n}": f"v{n}" for n in range(20)}, []), ({"k1": "new"}, ["k2", "k3"]), ({}, ["k4"]),
        ({}, ["never there"]), ({"k2": "back"}, ["k1"]), ({"k5": "v5"}, []), ({}, ["k6", "never"]),
    ]  # fmt: skip
    for changed, removed in steps:
        request: dict[str, Any] = {"set_properties": changed} if changed else {}
        request |= {"unset_properties": removed} if removed else {}
        answer = lab.maybe(operation, id=identifier, **request)
        held = {k: v for k, v in {**held, **changed}.items() if k not in removed}
        for found in (answer.get("properties"), lab.ok(read, id=identifier).get("properties")):
            ours = {k: v for k, v in (found or {}).items() if k.startswith(("k", "never"))}
            lab.same(ours, held, f"the properties after {request}")


def deep(lab: Lab) -> list[list[str]]:
    """Return namespaces, each nested in the previous one, as deep as the target allows."""
    found = [lab.new_namespace()]
    for _ in range(_LEVELS):
        child = [*found[-1], lab.ledger.fresh()]
        if not lab.call("CreateNamespace", id=child, properties={"old": "1"}).succeeded:
            break
        found.append(child)
    return found


def namespace_for_tables(lab: Lab) -> list[str]:
    """Return a new namespace that can contain tables."""
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    return lab.new_namespace()
