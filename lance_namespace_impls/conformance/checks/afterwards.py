"""More responses that must reflect each change immediately: calls are made before and after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lance_namespace_client.operations import OPERATIONS, Action

from ..lab import Lab
from ..requirement import check
from ..rows import PEOPLE, people, stream
from .history import two_versions
from .operations import sensible_call

_TABLES = ["tables"]


@check("LN-FRESH-006", "Counts and rows immediately reflect restores and new columns.",
       "rest.yaml, RestoreTable: makes an earlier version current again", "RestoreTable",
       "AlterTableAddColumns", "InsertIntoTable", "CountTableRows", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def restores(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(lab.count(table), len(PEOPLE) + 1, "the number of rows")
    lab.ok("RestoreTable", id=table, version=1)
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")
    before = lab.query(table).column_names
    lab.ok("AlterTableAddColumns", id=table,
           new_columns=[{"name": "twice", "expression": "id * 2"}])  # fmt: skip
    lab.same(lab.query(table).column_names, [*before, "twice"], "the columns")


@check("LN-FRESH-007", "ListTables and DescribeTable immediately reflect RenameTable.",
       "rest.yaml, RenameTable: gives the table the name `new_table_name`", "RenameTable",
       "ListTables", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def renames(lab: Lab) -> None:
    table, new = lab.any_table(), lab.table_id()
    parent = table[:-1]

    def shown() -> list[bool]:
        names = lab.walk("ListTables", "tables", id=parent, limit=1000)
        found = [t[-1] in names for t in (table, new)]
        described = [lab.call("DescribeTable", id=t) for t in (table, new)]
        lab.same({reply.code for reply in described} - {None}, {4}, "the code of a name not there")
        found += [reply.succeeded for reply in described]
        return found + [lab.exists("TableExists", t) for t in (table, new)]

    lab.same(shown(), [True, False] * 3, "whether each name is there")
    lab.ok("RenameTable", id=table, new_table_name=new[-1])
    lab.same(shown(), [False, True] * 3, "whether each name is there")


@check("LN-FRESH-008", "Responses about namespaces immediately reflect each change.",
       "rest.yaml, DropNamespace: removes a namespace from the catalog", "CreateNamespace",
       "DropNamespace", "ListNamespaces", "NamespaceExists",
       capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    namespace = lab.namespace_id()

    def shown() -> list[bool]:
        names = lab.walk("ListNamespaces", "namespaces", id=namespace[:-1], limit=1000)
        described = lab.call("DescribeNamespace", id=namespace)
        if not described.succeeded:
            lab.must_fail(described, [1])
        there = lab.exists("NamespaceExists", namespace)
        return [namespace[-1] in names, there, described.succeeded]

    for _ in range(2):
        lab.same(shown(), [False] * 3, "whether the namespace is there")
        lab.ok("CreateNamespace", id=namespace)
        lab.same(shown(), [True] * 3, "whether the namespace is there")
        lab.ok("DropNamespace", id=namespace)


def found_once_made(lab: Lab, identifier: list[str], kind: str, make: Callable[[], object]) -> None:
    """Call all operations that read an object before and after its creation, and after its drop."""
    parts = {"table": "/v1/table/{id}/", "namespace": "/v1/namespace/{id}/"}
    reads = [
        row.name for row in OPERATIONS.values()
        if row.action is Action.READ and row.path.startswith(parts[kind])
    ]  # fmt: skip

    def missing() -> list[str]:
        replies = {name: sensible_call(lab, name, identifier) for name in reads}
        return [name for name, reply in replies.items() if reply.code in (1, 4)]

    asked = missing()
    make()
    lab.same(missing(), [], f"what does not find the {kind} that was made")
    dropped = lab.call("DropTable" if kind == "table" else "DropNamespace", id=identifier)
    if dropped.succeeded:
        lab.same(missing(), asked, f"what does not find the {kind} that was dropped")


@check("LN-FRESH-016",
       "A table requested before its creation is found once created, and not found once dropped.",
       "rest.yaml, CreateTable: makes a table; DropTable; TableNotFound", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def found_table(lab: Lab) -> None:
    table = lab.table_id()
    found_once_made(
        lab, table, "table", lambda: lab.given("CreateTable", stream(people(1)), id=table)
    )


@check("LN-FRESH-017",
       "A namespace requested before its creation is found once created, and not found once "
       "dropped.",
       "rest.yaml, CreateNamespace: makes a namespace; DropNamespace; NamespaceNotFound",
       "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def found_namespace(lab: Lab) -> None:
    namespace = lab.namespace_id()
    found_once_made(lab, namespace, "namespace", lambda: lab.given("CreateNamespace", id=namespace))


@check("LN-FRESH-009", "DescribeNamespace immediately reflects each change of the properties.",
       "rest.yaml, AlterNamespace: sets the properties", "AlterNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def properties(lab: Lab) -> None:
    namespace = lab.new_namespace()
    for value in ("one", "two"):
        lab.ok("DescribeNamespace", id=namespace)
        lab.maybe("AlterNamespace", id=namespace, set_properties={"key": value})
        found = lab.ok("DescribeNamespace", id=namespace).get("properties")
        lab.has(found, {"key": value}, "the properties")


@check("LN-FRESH-010", "GetTableStats immediately reflects deletions.",
       "rest.yaml, GetTableStatsRequest: figures on a table's latest version", "GetTableStats",
       "DeleteFromTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    table = lab.new_table()
    for left in (9, 8):
        lab.ok("GetTableStats", id=table)
        lab.ok("DeleteFromTable", id=table, predicate=f"id > {left}")
        lab.same(lab.ok("GetTableStats", id=table).get("num_rows"), left, "num_rows")


@check("LN-FRESH-011", "ListTableBranches immediately reflects each change.",
       "rest.yaml, DeleteTableBranch: removes a branch", "CreateTableBranch", "DeleteTableBranch",
       "ListTableBranches", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branches(lab: Lab) -> None:
    table = lab.new_table()

    def shown() -> list[str]:
        found = lab.ok("ListTableBranches", id=table).get("branches") or {}
        return sorted(name for name in found if name != "main")

    lab.same(shown(), [], "the branches")
    lab.ok("CreateTableBranch", id=table, name="side")
    lab.same(shown(), ["side"], "the branches")
    lab.ok("DeleteTableBranch", id=table, name="side")
    lab.same(shown(), [], "the branches")


WRITES: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("InsertIntoTable", stream(people(11)), {}),
    ("UpdateTable", None, {"predicate": "id = 1", "updates": [["name", "'x'"]]}),
    ("DeleteFromTable", None, {"predicate": "id = 2"}),
    ("MergeInsertIntoTable", stream(people(12)), {"on": "id", "when_not_matched_insert_all": True}),
    ("AlterTableAddColumns", None, {"new_columns": [{"name": "twice", "expression": "id * 2"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [{"path": "name", "rename": "label"}]}),
    ("AlterTableDropColumns", None, {"columns": ["score"]}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"a": "b"}}),
    ("UpdateFieldMetadata", None, {"updates": [{"path": "id", "metadata": {"a": "b"}}]}),
    ("CreateTableScalarIndex", None, {"column": "id", "index_type": "BTREE", "name": "by_id"}),
    ("RestoreTable", None, {"version": 1}),
)
"""Every kind of write that creates a version of a table of people."""


@check("LN-FRESH-013", "Versions, columns, counts and stats agree after every kind of write.",
       "rest.yaml, QueryTableRequest, CountTableRowsRequest and GetTableStatsRequest: the latest version",
       "CreateTable", "DescribeTable", "QueryTable", "CountTableRows",
       capabilities=_TABLES)  # fmt: skip
def after_each_write(lab: Lab) -> None:
    table = lab.new_table()
    last = agreed(lab, table, 0)
    for operation, data, request in WRITES:
        reply = lab.call(operation, data, id=table, **request)
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        last = agreed(lab, table, last)
        answered = (reply.answer or {}).get("version")
        if answered is not None:
            lab.same(answered, last, f"the version that {operation} answers")


def agreed(lab: Lab, table: list[str], before: int) -> int:
    """Return the newest version; it must be later than `before`, and all operations must agree."""
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    version = int(described.get("version") or 0)
    lab.that(version > before, f"a version after {before}", version)
    names = [field["name"] for field in (described.get("schema") or {}).get("fields") or ()]
    found = lab.query(table)
    lab.same(found.column_names, names, "the columns of a query, as they are described")
    lab.same(lab.count(table), found.num_rows, "the number of rows, as a query gives them")
    listed = lab.call("ListTableVersions", id=table, descending=True, limit=1)
    if listed.succeeded and listed.answer:
        lab.same(listed.answer["versions"][0]["version"], version, "the newest version listed")
    stats = lab.call("GetTableStats", id=table)
    if stats.succeeded and stats.answer:
        lab.same(stats.answer.get("num_rows"), found.num_rows, "num_rows of the stats")
    return version


@check("LN-TABLE-ALTER-008", "Writes to a table do not change its properties.",
       "rest.yaml, AlterTable and the operations that write", "CreateTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def properties_stay(lab: Lab) -> None:
    table, properties = lab.table_id(), {"owner": "ana", "note": "kept"}
    lab.maybe("DeclareTable", id=table, properties=properties)
    lab.given("CreateTable", stream(people(*PEOPLE)), id=table)
    for operation, data, request in (("CreateTable", None, {}), *WRITES):
        if (
            operation != "CreateTable"
            and not lab.call(operation, data, id=table, **request).succeeded
        ):
            continue
        found = lab.ok("DescribeTable", id=table).get("properties")
        lab.has(found, properties, f"the properties after {operation}")
