"""Tables for the checks of operations on tables."""

from __future__ import annotations

from ...catalog_objects import PROPERTIES
from ...lab import Lab, Skipped


def declared_with_properties(lab: Lab) -> list[str]:
    """Return a declared table with properties, if the catalog supports them."""
    identifier = lab.table_id()
    lab.maybe("DeclareTable", id=identifier, properties=PROPERTIES)
    return identifier


def missing_namespace_table(lab: Lab) -> list[str]:
    """Return the identifier of a table in a missing namespace."""
    parent = list(lab.shape.table_parent or ())
    if lab.shape.namespace_parent is None or not parent:
        raise Skipped("no namespaces can be created here")
    return [*parent[:-1], lab.ledger.fresh(), lab.ledger.fresh()]


def deregistered(lab: Lab) -> tuple[list[str], str]:
    """Return a deregistered table with data, and its location."""
    table = lab.new_table()
    where = str(lab.given("DescribeTable", id=table).get("location"))
    answer = lab.ok("DeregisterTable", id=table)
    return table, str(answer.get("location") or where)


def register_again(lab: Lab, table: list[str], location: str) -> None:
    """Register a table at its location, as a relative path if the server requires one."""
    reply = lab.call("RegisterTable", id=table, location=location)
    if reply.code == 13 and "/" in location:
        reply = lab.call(
            "RegisterTable", id=table, location=location.rstrip("/").rpartition("/")[2]
        )
    if reply.code == 13:
        lab.maybe("RegisterTable", id=table, location=location)
    lab.must_succeed(reply)
