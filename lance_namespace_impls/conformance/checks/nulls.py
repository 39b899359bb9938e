"""A field that is null means the same as an absent field."""

from __future__ import annotations

from typing import Any

from attrs import fields as attributes

from lance_namespace_client.operations import OPERATIONS

from ..lab import Lab
from ..requirement import check
from ..rows import people, stream

_NULL = "rest.yaml, info: a field that is absent and one that is null are the same"
_TABLES = ["tables"]
_READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("DescribeTable", {}), ("TableExists", {}), ("CountTableRows", {}), ("GetTableStats", {}),
    ("ListTableVersions", {}), ("ListTableTags", {}), ("ListTableBranches", {}),
    ("ListTableIndices", {}), ("DescribeTableVersion", {}), ("QueryTable", {"k": 100}),
)  # fmt: skip


def _nulls(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return a request with null for every field that it omits."""
    known = [field.name for field in attributes(OPERATIONS[operation].request_type)]
    left_out = set(known) - {"id", "identity", "context", "data", *request}
    return {**dict.fromkeys(sorted(left_out)), **request}


def _alike(lab: Lab, operation: str, request: dict[str, Any]) -> None:
    plain = lab.call(operation, **request)
    if not plain.succeeded:
        return  # other checks cover it
    reply = lab.call(operation, **_nulls(operation, request))
    lab.may_refuse(reply)
    if plain.rows is not None:
        lab.same(reply.rows.num_rows, plain.rows.num_rows, f"the rows of {operation}")
    else:  # each call may return different credentials
        found, due = (
            {key: value for key, value in (each.answer or {}).items() if key != "storage_options"}
            for each in (reply, plain)
        )
        lab.same(found, due, f"the answer of {operation}")


@check("LN-NULL-001",
       "A read with its optional fields set to null returns the same as the read without them.",
       _NULL,
       "CreateTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def reads(lab: Lab) -> None:
    table = lab.new_table()
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    for operation, request in _READS:
        query = {"vector": lab.no_vector()} if operation == "QueryTable" else {}
        _alike(lab, operation, {"id": table, **request, **query})


@check("LN-NULL-002",
       "A listing with its optional fields set to null returns the same as the listing"
       " without them.", _NULL,
       "DeclareTable", "ListTables", capabilities=["tables", "namespaces"])  # fmt: skip
def listings(lab: Lab) -> None:
    from .listings import place_for_tables

    parent = place_for_tables(lab)
    for number in range(2):
        lab.maybe("DeclareTable", id=[*parent, f"declared{number}"])
    for operation in ("ListTables", "ListNamespaces", "DescribeNamespace", "NamespaceExists"):
        _alike(lab, operation, {"id": parent})


@check("LN-NULL-003",
       "A write with its optional fields set to null does the same as the write without them.",
       _NULL,
       "CreateTable", "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def writes(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    request = _nulls("CreateTable", {"id": table})
    lab.refused("CreateTable", [5, 13], stream(people(9)), **request)
    lab.maybe("InsertIntoTable", stream(people(3)), **_nulls("InsertIntoTable", {"id": table}))
    lab.same(lab.ids(table), [1, 2, 3], "the ids after rows were added")
    merge = {"id": table, "on": "id", "when_not_matched_insert_all": True}
    merged = lab.call(
        "MergeInsertIntoTable", stream(people(1, 4)), **_nulls("MergeInsertIntoTable", merge)
    )
    if merged.code not in (0, 13):
        lab.must_succeed(merged)
        lab.same(lab.ids(table), [1, 2, 3, 4], "the ids after a merge that inserts")
    branch = _nulls("CreateTableBranch", {"id": table, "name": "side"})
    if lab.call("CreateTableBranch", **branch).succeeded:
        found = lab.maybe("CountTableRows", id=table, branch="side").get("count")
        lab.same(found, lab.count(table), "the rows of a new branch")
