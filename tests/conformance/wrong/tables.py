"""Handwritten wrong namespaces: tables, writes, versions, tags, branches, indices and columns."""

from __future__ import annotations

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .python import (
    WrongTarget,
    add,
    answer,
    body_instead,
    code_instead,
    instead,
    no_effect,
    some_rows,
    succeeds_instead,
    with_field,
    without,
    wrong,
)

# --- declaring, describing, existing

add("DeclareTable makes nothing", "LN-TABLE-DECLARE-001",
    no_effect("DeclareTable", {"location": "/nowhere"}))  # fmt: skip
add(
    "DeclareTable answers no location", "LN-TABLE-DECLARE-002", answer("DeclareTable", lambda a: {})
)
add("DeclareTable answers another location", "LN-TABLE-DECLARE-003",
    answer("DeclareTable", lambda a: {**a, "location": a["location"] + "x"}))  # fmt: skip
add("declared twice succeeds", "LN-TABLE-DECLARE-004", succeeds_instead("DeclareTable", 5))
add("declared twice is code 2", "LN-TABLE-DECLARE-004", code_instead("DeclareTable", 5, 2))
add("declared twice is code 14", "LN-TABLE-DECLARE-004", code_instead("DeclareTable", 5, 14))
add("declared in a missing namespace is code 4", "LN-TABLE-DECLARE-006",
    code_instead("DeclareTable", 1, 4))  # fmt: skip
add(
    "declared properties are dropped", "LN-TABLE-DECLARE-007", without("DeclareTable", "properties")
)
add("all tables are declared at one place", "LN-TABLE-DECLARE-008",
    answer("DeclareTable", lambda a: {**a, "location": "/one/place"}))  # fmt: skip
add("DescribeTable names no table", "LN-TABLE-DESCRIBE-001",
    answer("DescribeTable", lambda a: {k: v for k, v in a.items() if k != "table"}))  # fmt: skip
add("DescribeTable names another table", "LN-TABLE-DESCRIBE-001",
    answer("DescribeTable", lambda a: {**a, "table": "other"}))  # fmt: skip
add("DescribeTable gives no location", "LN-TABLE-DESCRIBE-002",
    answer("DescribeTable", lambda a: {k: v for k, v in a.items() if k != "location"}))  # fmt: skip
add("missing table is code 1", "LN-TABLE-DESCRIBE-003", code_instead("DescribeTable", 4, 1))
add("missing table is code 18", "LN-TABLE-DESCRIBE-003", code_instead("DescribeTable", 4, 18))
add("missing table is described", "LN-TABLE-DESCRIBE-003", succeeds_instead("DescribeTable", 4))
add("check_declared is ignored", "LN-TABLE-DESCRIBE-005",
    answer("DescribeTable", lambda a: {k: v for k, v in a.items() if k != "is_only_declared"}))  # fmt: skip
add("every table is declared only", "LN-TABLE-DESCRIBE-005",
    answer("DescribeTable", lambda a: {**a, "is_only_declared": True}))  # fmt: skip
add("the schema is left out", "LN-TABLE-DESCRIBE-006",
    answer("DescribeTable", lambda a: {k: v for k, v in a.items() if k != "schema"}))  # fmt: skip
add("the version is one too high", "LN-TABLE-DESCRIBE-006",
    answer("DescribeTable", lambda a: {**a, "version": (a.get("version") or 0) + 1}))  # fmt: skip
add("every column is a string", "LN-TABLE-DESCRIBE-007",
    answer("DescribeTable", lambda a: a if not a.get("schema") else {**a, "schema": {"fields": [
        {**f, "type": {"type": "utf8"}} for f in a["schema"]["fields"]]}}))  # fmt: skip
add(
    "with_table_uri is ignored", "LN-TABLE-DESCRIBE-008", without("DescribeTable", "with_table_uri")
)
add("a missing version is described", "LN-TABLE-DESCRIBE-009", without("DescribeTable", "version"))
add("tag beside version is ignored", "LN-TABLE-DESCRIBE-010",
    without("DescribeTable", "tag", when=lambda s: "version" in s.request))  # fmt: skip
add("every table exists", "LN-TABLE-EXISTS-002", no_effect("TableExists"))
add("no table exists", "LN-TABLE-EXISTS-001",
    lambda t, s: Reply(step=s, code=4, message="none") if s.operation == "TableExists" else None)  # fmt: skip
add("TableExists says code 1", "LN-TABLE-EXISTS-002", code_instead("TableExists", 4, 1))


@wrong("declared tables do not exist", "LN-TABLE-EXISTS-003")
def declared_missing(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "TableExists":
        return None
    found = target.ask("DescribeTable", id=step.request["id"], check_declared=True)
    if (found.answer or {}).get("is_only_declared"):
        return Reply(step=step, code=4, message="no data")
    return None


@wrong("the description is stale", "LN-TABLE-DESCRIBE-011")
def stale(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "DescribeTable":
        return None
    reply = target.correct.call(step)
    if (reply.answer or {}).get("version"):
        return evolve(reply, answer={**(reply.answer or {}), "version": 1})
    return reply


add("AlterTable does nothing", "LN-TABLE-ALTER-001", no_effect("AlterTable"))
add("AlterTable removes nothing", "LN-TABLE-ALTER-002", without("AlterTable", "unset_properties"))
add("AlterTable answers nothing", "LN-TABLE-ALTER-003", answer("AlterTable", lambda a: {}))
add(
    "AlterTable of a missing table succeeds",
    "LN-TABLE-ALTER-004",
    succeeds_instead("AlterTable", 4),
)
add("AlterTable takes a key twice", "LN-TABLE-ALTER-005",
    without("AlterTable", "unset_properties", when=lambda s: "set_properties" in s.request))  # fmt: skip

# --- creating

add("CreateTable makes nothing", "LN-TABLE-CREATE-001", no_effect("CreateTable"))
add("CreateTable declares", "LN-TABLE-CREATE-002",
    lambda t, s: evolve(t.ask("DeclareTable", id=s.request["id"]), step=s)
    if s.operation == "CreateTable" else None)  # fmt: skip
add("an existing table is replaced", "LN-TABLE-CREATE-004",
    with_field("CreateTable", mode="Overwrite"))  # fmt: skip
add("an existing table is kept quietly", "LN-TABLE-CREATE-004",
    lambda t, s: with_field("CreateTable", mode="ExistOk")(t, s)
    if s.request.get("mode") in (None, "Create", "CREATE") else None)  # fmt: skip
add("an existing table is code 2", "LN-TABLE-CREATE-004", code_instead("CreateTable", 5, 2))
add("ExistOk replaces the rows", "LN-TABLE-CREATE-005",
    lambda t, s: with_field("CreateTable", mode="Overwrite")(t, s)
    if str(s.request.get("mode")).lower().replace("_", "") == "existok" else None)  # fmt: skip
add("ExistOk appends the rows", "LN-TABLE-CREATE-005",
    lambda t, s: evolve(t.ask("InsertIntoTable", s.data, id=s.request["id"], mode="overwrite"), step=s)
    if s.operation == "CreateTable" and s.request.get("mode") == "ExistOk"
    and t.ask("TableExists", id=s.request["id"]).succeeded else None)  # fmt: skip
add("Overwrite keeps the rows", "LN-TABLE-CREATE-007",
    lambda t, s: with_field("CreateTable", mode="ExistOk")(t, s)
    if s.request.get("mode") == "Overwrite" else None)  # fmt: skip
add("an unknown mode creates", "LN-TABLE-CREATE-008",
    without("CreateTable", "mode", when=lambda s: s.request.get("mode") == "sometimes"))  # fmt: skip
add("a bad stream is code 18", "LN-TABLE-CREATE-010", code_instead("CreateTable", 13, 18))
add("a bad stream declares the table", "LN-TABLE-CREATE-010",
    lambda t, s: (t.ask("DeclareTable", id=s.request["id"]), t.correct.call(s))[1]
    if s.operation == "CreateTable" and s.data and b"ARROW" not in s.data
    and s.data[:4] != b"\xff\xff\xff\xff" else None)  # fmt: skip
add("no rows is refused", "LN-TABLE-CREATE-012",
    lambda t, s: Reply(step=s, code=18, message="No data provided")
    if s.operation == "CreateTable" and s.data is not None and len(s.data) < 900
    and b"score" in s.data else None)  # fmt: skip
add("CreateTable answers no location", "LN-TABLE-CREATE-016",
    answer("CreateTable", lambda a: {k: v for k, v in a.items() if k != "location"}))  # fmt: skip
add("CreateTable answers version 7", "LN-TABLE-CREATE-017",
    answer("CreateTable", lambda a: {**a, "version": 7}))  # fmt: skip
add("created properties are dropped", "LN-TABLE-CREATE-019", without("CreateTable", "properties"))
add(
    "created in a missing namespace is code 4",
    "LN-TABLE-CREATE-009",
    code_instead("CreateTable", 1, 4),
)

# --- dropping, deregistering and renaming

add("DropTable does nothing", "LN-TABLE-DROP-001", no_effect("DropTable"))
add("DropTable of a missing table succeeds", "LN-TABLE-DROP-002", succeeds_instead("DropTable", 4))
add("DropTable of a missing table is code 1", "LN-TABLE-DROP-002", code_instead("DropTable", 4, 1))
add("DropTable answers another id", "LN-TABLE-DROP-007",
    answer("DropTable", lambda a: {**a, "id": ["other"]}))  # fmt: skip
add("DropTable answers another location", "LN-TABLE-DROP-007",
    answer("DropTable", lambda a: {**a, "location": "/elsewhere"}))  # fmt: skip
add("DeregisterTable does nothing", "LN-TABLE-DEREGISTER-001", no_effect("DeregisterTable"))
add("DeregisterTable deletes the data", "LN-TABLE-DEREGISTER-003",
    instead("DeregisterTable", "DropTable"))  # fmt: skip
add("DeregisterTable of a missing table succeeds", "LN-TABLE-DEREGISTER-002",
    succeeds_instead("DeregisterTable", 4))  # fmt: skip
add("DeregisterTable answers another location", "LN-TABLE-DEREGISTER-005",
    answer("DeregisterTable", lambda a: {**a, "location": "/elsewhere"}))  # fmt: skip
add("RegisterTable of an existing table succeeds", "LN-TABLE-REGISTER-002",
    succeeds_instead("RegisterTable", 5))  # fmt: skip
add("RegisterTable takes an unknown mode", "LN-TABLE-REGISTER-005",
    without("RegisterTable", "mode", when=lambda s: s.request.get("mode") == "sometimes"))  # fmt: skip
add("RenameTable copies nothing and succeeds", "LN-TABLE-RENAME-001", no_effect("RenameTable"))
add(
    "RenameTable to a taken name is code 13",
    "LN-TABLE-RENAME-004",
    code_instead("RenameTable", 5, 13),
)
add("RenameTable of a missing table is code 13", "LN-TABLE-RENAME-005",
    code_instead("RenameTable", 4, 13))  # fmt: skip
add("RenameTable ignores the new namespace", "LN-TABLE-RENAME-006",
    without("RenameTable", "new_namespace_id"))  # fmt: skip


@wrong("RenameTable keeps the old name too", "LN-TABLE-RENAME-001")
def rename_copies(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "RenameTable":
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        target.ask("DeclareTable", id=step.request["id"])
    return reply


@wrong("a drop takes tables with the same beginning along", "LN-TABLE-DROP-006")
def drops_prefix(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DropTable":
        names = list(step.request["id"])
        target.ask("DropTable", id=[*names[:-1], names[-1] + "x"])
    return None


@wrong("a drop takes the whole namespace along", "LN-SAFE-001")
def drops_all(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DropTable":
        parent = list(step.request["id"])[:-1]
        found = target.ask("ListTables", id=parent).answer or {}
        for name in found.get("tables") or ():
            if name != step.request["id"][-1]:
                target.ask("DropTable", id=[*parent, name])
    return None


# --- writes

add("append overwrites", "LN-ROWS-INSERT-001",
    lambda t, s: with_field("InsertIntoTable", mode="overwrite")(t, s))  # fmt: skip
add("overwrite appends", "LN-ROWS-INSERT-003", with_field("InsertIntoTable", mode="append"))
add("an unknown insert mode appends", "LN-ROWS-INSERT-004",
    without("InsertIntoTable", "mode", when=lambda s: s.request.get("mode") == "sometimes"))  # fmt: skip
add("insert makes a missing table", "LN-ROWS-INSERT-005",
    lambda t, s: evolve(t.ask("CreateTable", s.data, id=s.request["id"]), step=s)
    if s.operation == "InsertIntoTable"
    and t.ask("TableExists", id=s.request["id"]).code == 4 else None)  # fmt: skip
add(
    "insert into a missing table is code 1",
    "LN-ROWS-INSERT-005",
    code_instead("InsertIntoTable", 4, 1),
)
add("insert stores the first batch", "LN-ROWS-INSERT-008",
    body_instead("InsertIntoTable", some_rows(lambda t: t.slice(0, 4))))  # fmt: skip
add("insert answers a wrong number", "LN-ROWS-INSERT-009",
    answer("InsertIntoTable", lambda a: {**a, "num_inserted_rows": 1}))  # fmt: skip
add("insert answers the old version", "LN-ROWS-INSERT-009",
    answer("InsertIntoTable", lambda a: {**a, "version": (a.get("version") or 2) - 1}))  # fmt: skip
add("another schema is code 18", "LN-ROWS-INSERT-006", code_instead("InsertIntoTable", 20, 18))
add("update ignores the predicate", "LN-ROWS-UPDATE-001", without("UpdateTable", "predicate"))
add("update does nothing", "LN-ROWS-UPDATE-001",
    no_effect("UpdateTable", {"updated_rows": 2, "version": 2}))  # fmt: skip
add("update counts no rows", "LN-ROWS-UPDATE-002",
    answer("UpdateTable", lambda a: {**a, "updated_rows": 0}))  # fmt: skip
add("update needs a predicate", "LN-ROWS-UPDATE-003",
    lambda t, s: Reply(step=s, code=13, message="no predicate")
    if s.operation == "UpdateTable" and "predicate" not in s.request else None)  # fmt: skip
add("update of a missing column is code 18", "LN-ROWS-UPDATE-004",
    code_instead("UpdateTable", 12, 18))  # fmt: skip
add("update of a missing table is code 1", "LN-ROWS-UPDATE-006", code_instead("UpdateTable", 4, 1))
add("delete ignores the predicate", "LN-ROWS-DELETE-001",
    with_field("DeleteFromTable", predicate="true"))  # fmt: skip
add("delete does nothing", "LN-ROWS-DELETE-001", no_effect("DeleteFromTable", {"version": 2}))
add("delete with a bad predicate succeeds", "LN-ROWS-DELETE-003",
    succeeds_instead("DeleteFromTable", 13))  # fmt: skip
add(
    "delete of a missing table succeeds",
    "LN-ROWS-DELETE-004",
    succeeds_instead("DeleteFromTable", 4),
)
add("merge only inserts", "LN-ROWS-MERGE-001",
    without("MergeInsertIntoTable", "when_matched_update_all"))  # fmt: skip
add("merge always inserts", "LN-ROWS-MERGE-001",
    with_field("MergeInsertIntoTable", when_not_matched_insert_all=True))  # fmt: skip
add("merge never inserts", "LN-ROWS-MERGE-002",
    without("MergeInsertIntoTable", "when_not_matched_insert_all"))  # fmt: skip
add("merge never deletes", "LN-ROWS-MERGE-004",
    without("MergeInsertIntoTable", "when_not_matched_by_source_delete"))  # fmt: skip
add("merge ignores its filter", "LN-ROWS-MERGE-007",
    without("MergeInsertIntoTable", "when_matched_update_all_filt"))  # fmt: skip
add("merge counts wrongly", "LN-ROWS-MERGE-003",
    answer("MergeInsertIntoTable", lambda a: {**a, "num_updated_rows": 9}))  # fmt: skip

# --- versions, tags, branches

add("versions are listed backwards", "LN-VERSION-002", without("ListTableVersions", "descending"))
add("the first version is not listed", "LN-VERSION-001",
    answer("ListTableVersions", lambda a: {**a, "versions": [
        v for v in a["versions"] if v["version"] != 1]}))  # fmt: skip
add("version pages have no token", "LN-VERSION-004",
    answer("ListTableVersions", lambda a: {"versions": a["versions"]}))  # fmt: skip
add(
    "DescribeTableVersion gives the newest",
    "LN-VERSION-005",
    without("DescribeTableVersion", "version"),
)
add("a missing version is code 4", "LN-VERSION-006", code_instead("DescribeTableVersion", 11, 4))
add("RestoreTable does nothing", "LN-VERSION-007", no_effect("RestoreTable"))
add("RestoreTable of a missing version is code 18", "LN-VERSION-009",
    code_instead("RestoreTable", 11, 18))  # fmt: skip
add("a tag names version 1", "LN-TAG-001", answer("GetTableTagVersion", lambda a: {"version": 1}))
add("no tag is listed", "LN-TAG-002", answer("ListTableTags", lambda a: {"tags": {}}))
add("a tag is made twice", "LN-TAG-003", succeeds_instead("CreateTableTag", 9))
add("a tag of a missing version is code 13", "LN-TAG-004", code_instead("CreateTableTag", 11, 13))
add("a tag does not move", "LN-TAG-005", no_effect("UpdateTableTag"))
add("a tag is not deleted", "LN-TAG-006", no_effect("DeleteTableTag"))
add("a missing tag is code 4", "LN-TAG-007", code_instead("GetTableTagVersion", 8, 4))
add("a missing tag is deleted", "LN-TAG-007", succeeds_instead("DeleteTableTag", 8))
add("branches ignore their version", "LN-BRANCH-002", without("CreateTableBranch", "from_version"))
add("writes go to the main line", "LN-BRANCH-003", without("InsertIntoTable", "branch"))
add("a branch is made twice", "LN-BRANCH-004", succeeds_instead("CreateTableBranch", 23))
add("a branch is not deleted", "LN-BRANCH-005", no_effect("DeleteTableBranch"))

# --- indices, columns, metadata

add("no index is listed", "LN-INDEX-001", answer("ListTableIndices", lambda a: {"indexes": []}))
add("an index names another column", "LN-INDEX-001",
    answer("ListTableIndices", lambda a: {**a, "indexes": [
        {**i, "columns": ["other"]} for i in a["indexes"]]}))  # fmt: skip
add("an index is made twice", "LN-INDEX-003", succeeds_instead("CreateTableScalarIndex", 7))
add(
    "a missing index column is code 6",
    "LN-INDEX-004",
    code_instead("CreateTableScalarIndex", 12, 6),
)
add("an index is not dropped", "LN-INDEX-006", no_effect("DropTableIndex"))
add("a missing index is dropped", "LN-INDEX-007", succeeds_instead("DropTableIndex", 6))
add("index stats count nothing", "LN-INDEX-008",
    answer("DescribeTableIndexStats", lambda a: {**a, "num_indexed_rows": 0}))  # fmt: skip
add("a column is not added", "LN-COLUMN-001", no_effect("AlterTableAddColumns", {"version": 2}))
add("a column is not dropped", "LN-COLUMN-003", no_effect("AlterTableDropColumns", {"version": 2}))
add("a missing column is dropped", "LN-COLUMN-004", succeeds_instead("AlterTableDropColumns", 12))
add("a column is not renamed", "LN-COLUMN-005", no_effect("AlterTableAlterColumns", {"version": 2}))
add("altering a missing column is code 18", "LN-COLUMN-006",
    code_instead("AlterTableAlterColumns", 12, 18))  # fmt: skip
add("schema metadata is lost", "LN-METADATA-001",
    no_effect("UpdateTableSchemaMetadata", {"metadata": {}}))  # fmt: skip
add("column metadata is lost", "LN-METADATA-002", no_effect("UpdateFieldMetadata", {"version": 2}))
add("a claimed operation is code 0", "LN-OPERATIONS-002",
    lambda t, s: Reply(step=s, code=0, message="no") if s.operation == "GetTableStats" else None)  # fmt: skip
add("ListOperations names one twice", "LN-OPERATIONS-001",
    answer("ListOperations", lambda a: {"operations": [*a["operations"], "ListTables"]}))  # fmt: skip
add("an operation is claimed that is not there", "LN-OPERATIONS-002",
    answer("ListOperations", lambda a: {
        "operations": [*a["operations"], "CreateMaterializedView"]}))  # fmt: skip
add("an operation works that is not claimed", "LN-OPERATIONS-003",
    answer("ListOperations", lambda a: {"operations": [
        o for o in a["operations"] if o != "DescribeTable"]}))  # fmt: skip
