"""Namespaces and tables for the checks of listings, pages and names."""

from __future__ import annotations

from ...catalog_objects import PROPERTIES, namespace_for_tables
from ...exchange import Step
from ...lab import Lab, NotReached
from ...rows import people, plain, stream


def make_tables(lab: Lab, parent: list[str], count: int) -> list[str]:
    """Create tables in a namespace, and return their names sorted."""
    names = [lab.ledger.fresh() for _ in range(count)]
    first = lab.call("DeclareTable", id=[*parent, names[0]])
    if first.code == 0:
        for name in names:
            lab.given("CreateTable", plain(1), id=[*parent, name])
        return sorted(names)
    lab.must_succeed(first)
    for reply in lab.together(Step("DeclareTable", {"id": [*parent, n]}) for n in names[1:]):
        lab.must_succeed(reply)
    return sorted(names)


def ours(lab: Lab, names: list[str]) -> list[str]:
    """Return the names in a listing that this run created."""
    return [name for name in names if isinstance(name, str) and name.startswith(lab.ledger.prefix)]


def needs_letters(lab: Lab) -> None:
    """Raise NotReached if a table with a non-ASCII name can be declared but is not listed."""
    table = lab.table_id()
    table[-1] += "\u00e4"
    made = lab.call("DeclareTable", id=table).succeeded
    if made and table[-1] not in lab.walk("ListTables", "tables", id=table[:-1]):
        raise NotReached(f"{table[-1]!r} can be declared but is not listed (LN-NAME-001)")


def filled_namespace(lab: Lab) -> list[str]:
    """Return a namespace with a table, a declared table and, if supported, a child namespace."""
    namespace = namespace_for_tables(lab)
    lab.call("AlterNamespace", id=namespace, set_properties=PROPERTIES)
    lab.given("CreateTable", stream(people(1, 2)), id=[*namespace, "t"])
    lab.call("DeclareTable", id=[*namespace, "d"])
    lab.call("CreateNamespace", id=[*namespace, "c"])
    return namespace
