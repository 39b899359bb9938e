"""Combinations of two settings, objects or pages: each still has its usual effect."""

from __future__ import annotations

from typing import Any

from ..lab import Lab
from ..requirement import check
from ..rows import PEOPLE, people, plain, stream
from .evolving import fields
from .listings import make_tables, place_for_tables
from .register import deregistered, register_again

_TABLES = ["tables"]
_ROWS = ("QueryTable", "CreateTable")
_LEVELS = 4


def deep(lab: Lab) -> list[list[str]]:
    """Return namespaces, each nested in the previous one, as deep as the target allows."""
    found = [lab.new_namespace()]
    for _ in range(_LEVELS):
        child = [*found[-1], lab.ledger.fresh()]
        if not lab.call("CreateNamespace", id=child, properties={"old": "1"}).succeeded:
            break
        found.append(child)
    return found


@check("LN-NAMESPACE-CREATE-020",
       "CreateNamespace with mode Overwrite replaces a namespace at every level.",
       "rest.yaml, CreateNamespace: replaces it with a new empty one", "CreateNamespace",
       "DescribeNamespace", capabilities=["nested"])  # fmt: skip
def overwrite_deep(lab: Lab) -> None:
    for namespace in reversed(deep(lab)[1:]):
        lab.maybe("CreateNamespace", id=namespace, mode="Overwrite", properties={"new": "2"})
        found = lab.ok("DescribeNamespace", id=namespace).get("properties") or {}
        lab.that("old" not in found, f"no old property at level {len(namespace)}", found)
        lab.ok("DropNamespace", id=namespace)


@check("LN-LIST-ALL-003", "ListAllTables returns the tables of every level.",
       "rest.yaml, ListAllTables: in whatever namespace", "ListAllTables", "DeclareTable",
       capabilities=["nested", *_TABLES])  # fmt: skip
def all_levels(lab: Lab) -> None:
    made = [[*namespace, lab.ledger.fresh()] for namespace in deep(lab)]
    held = [table for table in made if lab.call("DeclareTable", id=table).succeeded]
    found = lab.walk("ListAllTables", "tables")
    lab.same([t for t in held if "$".join(t) not in found], [], "tables that are left out")


@check("LN-PAGE-030", "include_declared=false omits declared tables on every page.",
       "rest.yaml, ListTablesRequest, include_declared; protocol semantics, Paging", "ListTables",
       "ListAllTables", "DeclareTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def pages_without_declared(lab: Lab) -> None:
    parent = place_for_tables(lab)
    before = [lab.ledger.fresh() for _ in range(5)]
    declared = make_tables(lab, parent, 3)
    due = [*before, declared.pop()]
    for name in due:
        lab.maybe("CreateTable", plain(1), id=[*parent, name], mode="Overwrite")
    # The whole catalog may be large, so its pages have a higher limit.
    for operation, limit, request in (
        ("ListTables", 1, {"id": parent}), ("ListAllTables", 5, {}),
    ):  # fmt: skip
        found = lab.walk(operation, "tables", limit=limit, include_declared=False, **request)
        last = [name.rpartition("$")[2] for name in found]
        lab.same(sorted(n for n in last if n in {*due, *declared}), sorted(due), operation)


@check("LN-TABLE-REGISTER-012",
       "RegisterTable with mode Overwrite keeps no property of the old entry.",
       "rest.yaml, RegisterTable: replaces the catalog entry", "RegisterTable", "DescribeTable",
       "DeregisterTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def register_over(lab: Lab) -> None:
    _, where = deregistered(lab)
    taken = lab.table_id()
    lab.maybe("CreateTable", plain(1), id=taken, properties={"old": "1"})
    lab.maybe("RegisterTable", id=taken, location=where, mode="Overwrite")
    found = lab.ok("DescribeTable", id=taken).get("properties") or {}
    lab.that("old" not in found, "no property of the entry that was replaced", found)


@check("LN-TABLE-DECLARE-012",
       "DeclareTable stores its properties even if the request specifies a location.",
       "rest.yaml, DeclareTableRequest, location and properties", "DeclareTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def declare_at(lab: Lab) -> None:
    table, given = lab.table_id(), {"owner": "ana"}
    plainly = lab.maybe("DeclareTable", id=lab.table_id(), properties=given).get("properties")
    answer = lab.maybe("DeclareTable", id=table, location=lab.free_location(), properties=given)
    if plainly is None:
        return
    lab.has(answer.get("properties"), given, "the properties of the answer")
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), given, "the properties")


@check("LN-TABLE-DESCRIBE-023",
       "The stats that DescribeTable returns are those of the described version.",
       "rest.yaml, DescribeTableResponse: basic figures of the described version", "DescribeTable",
       "InsertIntoTable", "DeleteFromTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats_as_of(lab: Lab) -> None:
    table = lab.new_table()

    def stats(**request: Any) -> Any:
        return lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, **request).get(
            "stats"
        )

    before = stats()
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    lab.given("DeleteFromTable", id=table, predicate="id = 3")
    lab.that(stats() != before, "other figures after two writes", before)
    lab.same(stats(version=1), before, "the figures of version 1")
    lab.call("CreateTableTag", id=table, tag="first", version=1)
    if lab.last is not None and lab.last.succeeded:
        lab.same(stats(tag="first"), before, "the figures of the tag of version 1")


@check("LN-TABLE-DROP-012", "DropTable also deletes the data of a table that was registered.",
       "rest.yaml, DropTable: deletes its data on storage", "DropTable", "RegisterTable",
       "DeregisterTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def drop_registered(lab: Lab) -> None:
    table, where = deregistered(lab)
    register_again(lab, table, where)
    lab.ok("DropTable", id=table)
    again = lab.table_id()
    if lab.call("RegisterTable", id=again, location=where).succeeded:
        reply = lab.call("CountTableRows", id=again)
        lab.that(not reply.succeeded, "no rows to be left", reply.outcome())


@check("LN-TABLE-CREATE-030",
       "CreateTable with mode Overwrite also replaces a table that has tags, branches and indices.",
       "rest.yaml, CreateTable: rows, schema and properties give way to the new ones", "CreateTable",
       "QueryTable", capabilities=_TABLES)  # fmt: skip
def overwrite_named(lab: Lab) -> None:
    table = lab.new_table()
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    lab.call("CreateTableBranch", id=table, name="side")
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE")
    lab.ok("CreateTable", stream(people(11)), id=table, mode="Overwrite")
    lab.same(lab.ids(table), [11], "the ids")


@check("LN-ROWS-DELETE-007", "A blank predicate is code 13 and deletes nothing.",
       "rest.yaml, DeleteFromTableRequest: one that is empty or cannot be parsed", "DeleteFromTable",
       *_ROWS, capabilities=_TABLES)  # fmt: skip
def blank_predicate(lab: Lab) -> None:
    table = lab.new_table()
    for predicate in ("", " ", "\t\n"):
        lab.refused("DeleteFromTable", [13], id=table, predicate=predicate)
    lab.same(lab.ids(table), list(PEOPLE), "the ids")


@check("LN-METADATA-008",
       "replace removes the keys that the request omits, even if one of its values is null.",
       "rest.yaml, UpdateFieldMetadataEntry, metadata and replace", "UpdateFieldMetadata",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def replace_with_null(lab: Lab) -> None:
    table, path = lab.new_table(), {"path": "id"}
    first = {**path, "metadata": {"a": "1", "b": "2", "c": "3"}}
    second = {**path, "metadata": {"a": "4", "b": None}, "replace": True}
    lab.maybe("UpdateFieldMetadata", id=table, updates=[first])
    lab.maybe("UpdateFieldMetadata", id=table, updates=[second])
    held = fields(lab, table)["id"].get("metadata") or {}
    lab.same({k: held.get(k) for k in "abc"}, {"a": "4", "b": None, "c": None}, "the metadata")


@check("LN-COLUMN-020",
       "One alteration can change the name, type and nullability of a column together.",
       "rest.yaml, AlterColumnsEntry", "AlterTableAlterColumns", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def altered_in_all(lab: Lab) -> None:
    for change in (
        {"nullable": False}, {"data_type": {"type": "int32"}},
        {"nullable": False, "data_type": {"type": "int32"}},
    ):  # fmt: skip
        table = lab.new_table()
        alteration = {"path": "id", "rename": "key", **change}
        reply = lab.call("AlterTableAlterColumns", id=table, alterations=[alteration])
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        held = fields(lab, table)
        lab.that("key" in held and "id" not in held, "id to be called key", sorted(held))
        if "nullable" in change:
            lab.same(held["key"].get("nullable"), False, "whether key may hold nulls")
        if "data_type" in change:
            lab.same(held["key"]["type"]["type"], "int32", "the type of key")


@check("LN-TAG-015",
       "A tag moves to the specified branch, even if both lines have a version of that number.",
       "rest.yaml, UpdateTableTagRequest, branch", "UpdateTableTag", "CreateTableTag",
       "GetTableTagVersion", "CreateTableBranch", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_of_both(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name="side")
    lab.maybe("InsertIntoTable", stream(people(11)), id=table, branch="side")
    version = lab.maybe("DescribeTableVersion", id=table, branch="side")["version"]["version"]
    for _ in range(version):
        if lab.ok("DescribeTableVersion", id=table)["version"]["version"] >= version:
            break
        lab.given("InsertIntoTable", stream(people(12)), id=table)
    lab.given("CreateTableTag", id=table, tag="t", version=1)
    for branch in ("side", None):
        more = {"branch": branch} if branch else {}
        lab.maybe("UpdateTableTag", id=table, tag="t", version=version, **more)
        found = lab.ok("GetTableTagVersion", id=table, tag="t")
        there = None if found.get("branch") == "main" else found.get("branch")
        lab.same((found.get("version"), there), (version, branch), "the version of the tag")
