"""A table with tags and a branch, and everything that a target reports about a table."""

from __future__ import annotations

from typing import Any

from .lab import Lab
from .rows import people, stream

__all__ = [
    "FULL",
    "fields",
    "furnished",
    "state",
    "table_entry",
    "unchanged",
]

FULL = {"load_detailed_metadata": True}
"""Makes DescribeTable open the dataset; otherwise the catalog alone may answer."""
_TAGGED = {"first": 1, "last": 2}


def fields(lab: Lab, table: list[str]) -> dict[str, dict[str, Any]]:
    """Return the columns of a table by name, in table order."""
    answer = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    return {f["name"]: f for f in (answer.get("schema") or {}).get("fields") or ()}


def furnished(lab: Lab) -> list[str]:
    """Return a table of two versions, with properties, tags and a branch if supported."""
    table = lab.table_id()
    made = lab.call("CreateTable", stream(people(1, 2, 3)), id=table, properties={"owner": "ana"})
    if made.code in (0, 13):  # these properties are not supported
        table = lab.table_id()
        made = lab.call("CreateTable", stream(people(1, 2, 3)), id=table)
    lab.must_be_given(made)
    lab.given("InsertIntoTable", stream(people(4)), id=table)
    for tag, version in _TAGGED.items():
        lab.call("CreateTableTag", id=table, tag=tag, version=version)
    lab.call("CreateTableBranch", id=table, name="side")
    return table


def state(lab: Lab, table: list[str]) -> dict[str, Any]:
    """Return everything that a target reports about a table."""
    told: dict[str, Any] = {"rows": lab.query(table).sort_by("id").to_pylist()}
    described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
    told |= {
        k: described.get(k) for k in ("location", "version", "schema", "properties", "metadata")
    }
    for operation, key in (
        ("ListTableTags", "tags"),
        ("ListTableBranches", "branches"),
        ("ListTableIndices", "indexes"),
        ("ListTableVersions", "versions"),
    ):
        reply = lab.call(operation, id=table)
        found = (reply.answer or {}).get(key) if reply.succeeded else None
        told[key] = sorted(found, key=repr) if isinstance(found, list) else found
    if "side" in (told["branches"] or {}):
        side = lab.call("QueryTable", id=table, branch="side", vector=lab.no_vector(), k=100)
        told["the branch"] = side.rows.sort_by("id").to_pylist() if side.rows is not None else None
    return told


def unchanged(lab: Lab, before: dict[str, Any], after: dict[str, Any], what: str) -> None:
    """Fail at the first value that differs."""
    for key, value in before.items():
        lab.same(after.get(key), value, f"{key} after {what}")


def table_entry(lab: Lab, table: list[str], rows: bool = True) -> dict[str, Any]:
    """Return the reported location and properties of a table, and its row ids."""
    told = lab.ok("DescribeTable", id=table)
    found = {f"the {key}": told.get(key) for key in ("location", "properties")}
    return found | ({"the rows": lab.ids(table)} if rows else {})
