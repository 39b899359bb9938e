"""Branches, and operations on a branch."""

from __future__ import annotations

from typing import Any

from ...lab import Lab, NotReached, Skipped
from ...requirement import check
from ...rows import PEOPLE, people, stream
from ...table_versions import (
    SIDE,
    branch_ids,
    branch_rows,
    branch_starts,
    branch_state,
    count_on_branch,
    forked_table,
    ids_on_branch,
    insert_each,
    same_values,
    two_versions,
    version_numbers,
)

_BRANCHES = "rest.yaml, the branch operations"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)
_BRANCH = "rest.yaml, the field branch of the operations; lance format, branches"
_CREATE = "rest.yaml, tag Branch: sequences of a table's versions that are written independently"
_SIDE = {"branch": "side"}
_TWICE = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}


@check("LN-BRANCH-001", "A created branch is listed with its parent version.",
       _BRANCHES, "CreateTableBranch", "ListTableBranches", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def branch(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableBranch", id=table, name="side")
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    lab.that("side" in found, "the branch to be listed", found)
    lab.same(found["side"].get("parentVersion"), 2, "the version that it starts from")


@check("LN-BRANCH-002", "from_version sets the version from which a branch starts.", _BRANCHES,
       "CreateTableBranch", "ListTableBranches", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_version(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableBranch", id=table, name="side", from_version=1)
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    lab.same((found.get("side") or {}).get("parentVersion"), 1, "the version that it starts from")
    counted = lab.maybe("CountTableRows", id=table, branch="side").get("count")
    lab.same(counted, len(ALL), "the number of rows on the branch")


@check("LN-BRANCH-003", "Writes to a branch do not change the main branch.", _BRANCHES,
       "CreateTableBranch", "InsertIntoTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def branch_writes(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name="side")
    lab.maybe("InsertIntoTable", stream(people(11, 12)), id=table, branch="side")
    lab.same(lab.count(table), len(ALL), "the number of rows on the main branch")
    counted = lab.maybe("CountTableRows", id=table, branch="side").get("count")
    lab.same(counted, len(ALL) + 2, "the number of rows on the branch")


@check("LN-BRANCH-004", "CreateTableBranch fails with code 23 if the branch exists.", _CODES,
       "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_twice(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("CreateTableBranch", id=table, name="side")
    lab.refused("CreateTableBranch", [23], id=table, name="side")


@check("LN-BRANCH-005",
       "DeleteTableBranch removes a branch, and fails with code 22 if the branch is missing.",
       f"{_BRANCHES}; {_CODES}", "DeleteTableBranch", "CreateTableBranch", "ListTableBranches",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_delete(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name="side")
    lab.ok("DeleteTableBranch", id=table, name="side")
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    lab.that("side" not in found, "the branch to no longer exist", found)
    lab.refused("DeleteTableBranch", [22], id=table, name="side")


def branched(lab: Lab) -> list[str]:
    """Return a table of ten rows with a branch that has one more row."""
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name=SIDE)
    lab.maybe("InsertIntoTable", stream(people(11)), id=table, branch=SIDE)
    return table


@check("LN-BRANCH-006", "QueryTable and CountTableRows with a branch read that branch.", _BRANCH,
       "CreateTableBranch", "InsertIntoTable", "QueryTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def read(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name=SIDE)
    lab.given("InsertIntoTable", stream(people(12)), id=table)
    lab.same(lab.count(table, branch=SIDE), len(ALL), "the rows on the branch")
    lab.same(lab.count(table), len(ALL) + 1, "the rows on the main branch")
    lab.same(branch_ids(lab, table), ALL, "the ids on the branch")
    lab.same(branch_ids(lab, table, None), [*ALL, 12], "the ids on the main branch")
    table = branched(lab)
    if lab.count(table) > len(ALL):
        raise NotReached("InsertIntoTable with a branch wrote to the main branch (LN-BRANCH-003)")
    lab.same(branch_ids(lab, table), [*ALL, 11], "the ids on the branch")
    lab.same(branch_ids(lab, table, None), ALL, "the ids on the main branch")
    lab.same(lab.count(table, branch=SIDE), len(ALL) + 1, "the rows on the branch")


def needs_reads(lab: Lab) -> None:
    """Raise NotReached if QueryTable of a branch returns rows of the main branch only."""
    if "query of a branch" not in lab.told:
        table = lab.new_table(1)
        lab.given("CreateTableBranch", id=table, name=SIDE)
        lab.given("InsertIntoTable", stream(people(2)), id=table)
        lab.told["query of a branch"] = branch_ids(lab, table)
    found = lab.told["query of a branch"]
    if 2 in found:
        raise NotReached(f"QueryTable with a branch reads the main branch (LN-BRANCH-006): {found}")


@check("LN-BRANCH-007", "UpdateTable with a branch changes only that branch.", _BRANCH,
       "CreateTableBranch", "UpdateTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def update(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("UpdateTable", id=table, branch=SIDE, predicate="id = 1", updates=[["name", "'b'"]])
    for branch, expected in ((None, "n1"), (SIDE, "b")):
        if branch:
            needs_reads(lab)
        rows = branch_rows(lab, table, branch).rows.to_pylist()
        lab.same(
            {r["id"]: r["name"] for r in rows}[1],
            expected,
            f"the name on the branch {branch or 'main'}",
        )


@check("LN-BRANCH-008", "DeleteFromTable with a branch changes only that branch.", _BRANCH,
       "CreateTableBranch", "DeleteFromTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def delete(lab: Lab) -> None:
    table = branched(lab)
    main = branch_ids(lab, table, None)
    lab.maybe("DeleteFromTable", id=table, branch=SIDE, predicate="id > 5")
    lab.same(branch_ids(lab, table, None), main, "the ids on the main branch")
    needs_reads(lab)
    lab.same(branch_ids(lab, table), ALL[:5], "the ids on the branch")


@check("LN-BRANCH-009", "MergeInsertIntoTable with a branch changes only that branch.", _BRANCH,
       "CreateTableBranch", "MergeInsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def merge(lab: Lab) -> None:
    table = branched(lab)
    main = branch_ids(lab, table, None)
    lab.maybe(
        "MergeInsertIntoTable",
        stream(people(12)),
        id=table,
        branch=SIDE,
        on="id",
        when_not_matched_insert_all=True,
    )
    lab.same(branch_ids(lab, table, None), main, "the ids on the main branch")
    needs_reads(lab)
    found = branch_ids(lab, table)
    lab.that(12 in found, "the merged row on the branch", found)
    if 11 in main:
        raise NotReached("InsertIntoTable with a branch wrote to the main branch (LN-BRANCH-003)")
    lab.same(found, [*ALL, 11, 12], "the ids on the branch")


def columns_of(lab: Lab, table: list[str], branch: str | None) -> list[str]:
    """Return the columns on a branch."""
    return list(branch_rows(lab, table, branch).rows.column_names)


@check("LN-BRANCH-010", "Columns added to a branch are added only to that branch.",
       _BRANCH, "CreateTableBranch", "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def add_columns(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe(
        "AlterTableAddColumns",
        id=table,
        branch=SIDE,
        new_columns=[{"name": "twice", "expression": "id * 2"}],
    )
    lab.that(
        "twice" not in columns_of(lab, table, None),
        "no such column on the main branch",
        "it exists",
    )
    needs_reads(lab)
    lab.that("twice" in columns_of(lab, table, SIDE), "the column on the branch", "it is missing")


@check("LN-BRANCH-011", "Columns dropped from a branch remain on the main branch.", _BRANCH,
       "CreateTableBranch", "AlterTableDropColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def drop_columns(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("AlterTableDropColumns", id=table, branch=SIDE, columns=["score"])
    lab.that(
        "score" in columns_of(lab, table, None),
        "the column on the main branch",
        "it no longer exists",
    )
    needs_reads(lab)
    lab.that(
        "score" not in columns_of(lab, table, SIDE), "no such column on the branch", "it exists"
    )


@check("LN-BRANCH-012", "Columns renamed on a branch keep their names on the main branch.",
       _BRANCH, "CreateTableBranch", "AlterTableAlterColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def rename_columns(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe(
        "AlterTableAlterColumns",
        id=table,
        branch=SIDE,
        alterations=[{"path": "name", "rename": "label"}],
    )
    lab.that(
        "name" in columns_of(lab, table, None),
        "the old name on the main branch",
        "it no longer exists",
    )
    needs_reads(lab)
    lab.that("label" in columns_of(lab, table, SIDE), "the new name on the branch", "the old one")


@check("LN-BRANCH-013",
       "ListTableVersions and RestoreTable with a branch use the versions of that branch.",
       _BRANCH, "CreateTableBranch", "ListTableVersions", "RestoreTable", "QueryTable",
       "DescribeTableVersion", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def versions(lab: Lab) -> None:
    table = branched(lab)
    listed = lab.maybe("ListTableVersions", id=table, branch=SIDE).get("versions") or ()
    numbers = sorted(entry["version"] for entry in listed)
    lab.that(len(numbers) > 0, "versions on the branch", numbers)
    newest = lab.maybe("DescribeTableVersion", id=table, branch=SIDE).get("version") or {}
    lab.same(newest.get("version"), numbers[-1], "the newest version on the branch")
    lab.maybe("DeleteFromTable", id=table, branch=SIDE, predicate="id > 5")
    lab.maybe("RestoreTable", id=table, branch=SIDE, version=numbers[-1])
    lab.same(branch_ids(lab, table), [*ALL, 11], "the ids on the branch")
    lab.same(branch_ids(lab, table, None), ALL, "the ids on the main branch")
    lab.same(version_numbers(lab, table), [1], "the versions on the main branch")


@check("LN-BRANCH-014", "An index created on a branch exists only on that branch.", _BRANCH,
       "CreateTableBranch", "CreateTableScalarIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe(
        "CreateTableScalarIndex",
        id=table,
        branch=SIDE,
        column="id",
        index_type="BTREE",
        name="by_id",
    )
    for branch, expected in (({"branch": SIDE}, ["by_id"]), ({}, [])):
        found = lab.maybe("ListTableIndices", id=table, **branch).get("indexes") or ()
        where = "the branch" if branch else "the main branch"
        lab.same([entry["index_name"] for entry in found], expected, f"the indices on {where}")


@check("LN-BRANCH-015", "DropTableIndex with a branch keeps the index of the main branch.", _BRANCH,
       "CreateTableScalarIndex", "CreateTableBranch", "DropTableIndex", "ListTableIndices",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def drop_index(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.given("CreateTableBranch", id=table, name=SIDE)
    on_branch = lab.maybe("ListTableIndices", id=table, branch=SIDE).get("indexes") or ()
    if not on_branch:
        raise Skipped("branches start without indices on this target")
    lab.maybe("DropTableIndex", id=table, branch=SIDE, index_name="by_id")
    kept = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([entry["index_name"] for entry in kept], ["by_id"], "the indices on the main branch")


@check("LN-BRANCH-016", "DescribeTable with a branch describes that branch.", _BRANCH,
       "CreateTableBranch", "DescribeTable", "AlterTableAddColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def describe(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe(
        "AlterTableAddColumns",
        id=table,
        branch=SIDE,
        new_columns=[{"name": "twice", "expression": "id * 2"}],
    )
    answer = lab.maybe("DescribeTable", id=table, branch=SIDE, load_detailed_metadata=True)
    names = [f["name"] for f in (answer.get("schema") or {}).get("fields") or ()]
    if names:
        lab.that("twice" in names, "the column of the branch", names)


@check("LN-BRANCH-017", "GetTableStats with a branch counts the rows of that branch.", _BRANCH,
       "CreateTableBranch", "GetTableStats", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    table = branched(lab)
    answer = lab.maybe("GetTableStats", id=table, branch=SIDE)
    lab.same(answer.get("num_rows"), len(ALL) + 1, "num_rows on the branch")
    lab.same(
        lab.ok("GetTableStats", id=table).get("num_rows"), len(ALL), "num_rows on the main branch"
    )


@check("LN-BRANCH-018", "Metadata set on a branch does not appear on the main branch.", _BRANCH,
       "CreateTableBranch", "UpdateTableSchemaMetadata", "UpdateFieldMetadata", "DescribeTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def metadata(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("UpdateTableSchemaMetadata", id=table, branch=SIDE, metadata={"side": "1"})
    lab.maybe(
        "UpdateFieldMetadata",
        id=table,
        branch=SIDE,
        updates=[{"path": "name", "metadata": {"side": "1"}}],
    )
    answer = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    schema = answer.get("schema") or {}
    lab.that("side" not in (schema.get("metadata") or {}), "no metadata on the main branch", schema)
    fields = [f for f in schema.get("fields") or () if (f.get("metadata") or {}).get("side")]
    lab.same(fields, [], "the fields on the main branch that have the branch's metadata")


@check("LN-BRANCH-019", "A branch created with from_branch starts from that branch.",
       "rest.yaml, CreateTableBranchRequest: from_branch, branch to start from",
       "CreateTableBranch", "CountTableRows", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def from_branch(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("CreateTableBranch", id=table, name="second", from_branch=SIDE)
    lab.same(lab.count(table, branch="second"), len(ALL) + 1, "the rows on the second branch")


@check("LN-BRANCH-020", "A new branch starts from the newest version by default.",
       "rest.yaml, CreateTableBranchRequest: from_version, which defaults to the latest",
       "CreateTableBranch", "CountTableRows", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def from_newest(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableBranch", id=table, name=SIDE)
    lab.same(lab.count(table, branch=SIDE), len(ALL) + 1, "the rows on the branch")


@check("LN-BRANCH-021", "A branch that is deleted and created again has none of its old rows.",
       "rest.yaml, DeleteTableBranch: removes a branch, and with it the versions that exist only there",
       "CreateTableBranch", "DeleteTableBranch", "CountTableRows", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def again(lab: Lab) -> None:
    table = branched(lab)
    lab.ok("DeleteTableBranch", id=table, name=SIDE)
    lab.ok("CreateTableBranch", id=table, name=SIDE)
    lab.same(lab.count(table, branch=SIDE), len(ALL), "the rows on the new branch")


@check("LN-BRANCH-022", "A missing branch cannot be read or written.", _BRANCH,
       "CreateTableBranch", "CountTableRows", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def missing(lab: Lab) -> None:
    table = branched(lab)
    codes = [4, 11, 13, 22]
    lab.refused("CountTableRows", codes, id=table, branch="none")
    lab.refused("InsertIntoTable", codes, stream(people(12)), id=table, branch="none")
    lab.same(lab.count(table), len(ALL), "the rows on the main branch")


@check("LN-BRANCH-024", "version together with branch selects a version of that branch.", _BRANCH,
       "CreateTableBranch", "CountTableRows", "ListTableVersions", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def branch_and_version(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lab.given("CreateTableBranch", id=table, name=SIDE)
    lab.given("InsertIntoTable", stream(people(3, 4)), id=table)
    lab.maybe("InsertIntoTable", stream(people(5)), id=table, branch=SIDE)
    latest = (
        lab.ok("ListTableVersions", id=table, branch=SIDE, descending=True).get("versions") or ()
    )
    numbers = [entry["version"] for entry in latest]
    lab.same(numbers, sorted(numbers, reverse=True), "the branch's versions, newest first")
    newest = numbers[0]
    lab.same(lab.count(table, branch=SIDE, version=newest), 3, "the rows in the branch's version")
    lab.same(
        lab.count(table, branch=SIDE, version=newest, predicate="id > 4"),
        1,
        "the rows that match a predicate",
    )
    found = lab.query(table, branch=SIDE, version=newest).column("id").to_pylist()
    lab.same(sorted(found), [1, 2, 5], "the ids in the branch's version")
    told = (
        lab.maybe("DescribeTableVersion", id=table, branch=SIDE, version=newest).get("version")
        or {}
    )
    main = lab.maybe("DescribeTableVersion", id=table, version=newest).get("version") or {}
    lab.that(
        told.get("manifest_path") != main.get("manifest_path"),
        "a different manifest from that of the main branch",
        told,
    )
    for limit in (1, 2):
        page = lab.ok("ListTableVersions", id=table, branch=SIDE, descending=True, limit=limit)
        given = [entry["version"] for entry in page.get("versions") or ()]
        lab.same(given, numbers[:limit], "a page of the branch's versions, newest first")


@check("LN-BRANCH-025",
       "DescribeTable with a branch returns that branch's version, statistics and metadata.",
       _BRANCH,
       "CreateTableBranch", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def described(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lab.given("CreateTableBranch", id=table, name=SIDE)
    for number in (3, 4, 5):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    lab.maybe("DeleteFromTable", id=table, branch=SIDE, predicate="id = 1")
    lab.maybe("UpdateTableSchemaMetadata", id=table, branch=SIDE, metadata={"side": "yes"})
    answer = lab.maybe("DescribeTable", id=table, branch=SIDE, load_detailed_metadata=True)
    numbers = version_numbers(lab, table, branch=SIDE)
    if answer.get("version") is not None and numbers:
        lab.same(answer["version"], max(numbers), "the branch's version")
    if answer.get("stats"):
        found = {k: answer["stats"][k] for k in ("num_fragments", "num_deleted_rows")}
        lab.same(found, {"num_fragments": 1, "num_deleted_rows": 1}, "the branch's stats")
    held = (answer.get("schema") or {}).get("metadata")
    lab.has(held, {"side": "yes"}, "the schema metadata of the branch")


@check("LN-BRANCH-026",
       "BatchDeleteTableVersions with a branch deletes versions only from that branch.", _BRANCH,
       "CreateTableBranch", "BatchDeleteTableVersions", "ListTableVersions", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def deleted(lab: Lab) -> None:
    table = lab.new_table(1)
    for number in (2, 3):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    lab.given("CreateTableBranch", id=table, name=SIDE)
    for number in (4, 5, 6):
        lab.maybe("InsertIntoTable", stream(people(number)), id=table, branch=SIDE)

    def left(**more: Any) -> list[int]:
        return sorted(version_numbers(lab, table, **more))

    main, side = left(), left(branch=SIDE)
    lab.that(len(side) > 2, "at least three versions on the branch", side)
    goes = side[-2]
    spans = [{"start_version": goes, "end_version": goes + 1}]
    lab.maybe("BatchDeleteTableVersions", id=table, branch=SIDE, ranges=spans)
    lab.same(left(), main, "the versions on the main branch")
    lab.same(left(branch=SIDE), [v for v in side if v != goes], "the versions on the branch")
    lab.same(branch_ids(lab, table), [1, 2, 3, 4, 5, 6], "the ids on the branch")


@check("LN-BRANCH-027",
       "AnalyzeTableQueryPlan with a branch plans the query on that branch.",
       _BRANCH, "CreateTableBranch",
       "AnalyzeTableQueryPlan", "AlterTableAddColumns", "CreateTable", capabilities=_TABLES)  # fmt: skip
def analyzed(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("AlterTableAddColumns", id=table, branch=SIDE,
              new_columns=[{"name": "twice", "expression": "id * 2"}])  # fmt: skip
    query = {"id": table, "vector": lab.no_vector(), "k": 3, "filter": "twice > 2"}
    lab.maybe("AnalyzeTableQueryPlan", **query, branch=SIDE)
    lab.refused("AnalyzeTableQueryPlan", [12, 13], **query)


@check("LN-BRANCH-028", "from_version refers to a version of from_branch.",
       "rest.yaml, CreateTableBranchRequest",
       "CreateTableBranch", "ListTableVersions", "CreateTable", capabilities=_TABLES)  # fmt: skip
def from_both(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("CreateTableBranch", id=table, name=SIDE)
    for number in (2, 3):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
        lab.maybe("InsertIntoTable", stream(people(number + 10)), id=table, branch=SIDE)
    side = sorted(version_numbers(lab, table, branch=SIDE))
    lab.that(len(side) > 1, "at least two versions on the branch", side)
    at = side[-2]
    lab.maybe("CreateTableBranch", id=table, name="third", from_branch=SIDE, from_version=at)
    lab.same(branch_ids(lab, table, "third"), [1, 12], "the ids on the new branch")


@check("LN-BRANCH-029", "Tags and branches created from the main branch name no branch.",
       "rest.yaml, GetTableTagVersionResponse, TagContents and BranchContents", "CreateTableTag",
       "GetTableTagVersion", "CreateTable", capabilities=_TABLES)  # fmt: skip
def no_branch(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("CreateTableTag", id=table, tag="t", version=1)
    lab.same(
        lab.ok("GetTableTagVersion", id=table, tag="t").get("branch"), None, "the tag's branch"
    )
    tags = lab.maybe("ListTableTags", id=table).get("tags") or {}
    lab.same((tags.get("t") or {}).get("branch"), None, "the branch of the listed tag")
    lab.maybe("CreateTableBranch", id=table, name=SIDE)
    held = lab.maybe("ListTableBranches", id=table).get("branches") or {}
    lab.same(
        (held.get(SIDE) or {}).get("parentBranch"),
        None,
        "the parent of a branch of the main branch",
    )
    lab.that("main" not in held, "no entry for the main branch", list(held))


@check("LN-BRANCH-030", "Deleting a branch does not affect the branches that were created from it.",
       "rest.yaml, DeleteTableBranch: other branches keep their rows; it may be refused",
       "CreateTableBranch", "DeleteTableBranch", "InsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def delete_parent(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("CreateTableBranch", id=table, name=SIDE)
    lab.maybe("InsertIntoTable", stream(people(2)), id=table, branch=SIDE)
    lab.maybe("CreateTableBranch", id=table, name="deeper", from_branch=SIDE)
    lab.maybe("InsertIntoTable", stream(people(3)), id=table, branch="deeper")
    if [branch_ids(lab, table), branch_ids(lab, table, "deeper")] != [[1, 2], [1, 2, 3]]:
        raise NotReached("InsertIntoTable and QueryTable do not separate branches")
    reply = lab.call("DeleteTableBranch", id=table, name=SIDE)
    if not reply.succeeded:
        lab.must_fail(reply, [13, 19])
        lab.same(
            branch_ids(lab, table), [1, 2], "the ids on the branch after its rejected deletion"
        )
    lab.same(branch_ids(lab, table, "deeper"), [1, 2, 3], "the ids on the branch created from it")


@check("LN-BRANCH-023",
       "ListTableBranches returns each branch's starting version and its creation time in seconds.",
       "rest.yaml, BranchContents", "ListTableBranches", "CreateTableBranch", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_contents(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    lab.given("CreateTableBranch", id=table, name="old", from_version=1)
    lab.given("CreateTableBranch", id=table, name="new")
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    for name, version in (("old", 1), ("new", 2)):
        held = found.get(name) or {}
        lab.same(held.get("parentVersion"), version, f"parentVersion of {name}")
        lab.that(
            held.get("parentBranch") in (None, "main"), "no parent other than the main branch", held
        )
        made = held.get("createAt") or 0
        lab.that(0 <= made < 10**10, "createAt in seconds since 1970", made)


Call = tuple[str, bytes | None, dict[str, Any]]

_WRITES: tuple[Call, ...] = (
    ("InsertIntoTable", stream(people(20)), {}),
    ("UpdateTable", None, {"updates": [["name", "'w'"]]}),
    ("DeleteFromTable", None, {"predicate": "id = 1"}),
    ("MergeInsertIntoTable", stream(people(2, 21)), {
        "on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}),
    ("DropTableIndex", None, {"index_name": "by_id"}),
    ("CreateTableScalarIndex", None, {"column": "name", "index_type": "BTREE", "name": "by_name"}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"line": "written"}}),
    ("UpdateFieldMetadata", None, {"updates": [{"path": "id", "metadata": {"line": "written"}}]}),
    ("AlterTableAddColumns", None, _TWICE),
    ("AlterTableAlterColumns", None, {"alterations": [{"path": "name", "rename": "label"}]}),
    ("AlterTableDropColumns", None, {"columns": ["score"]}),
    ("InsertIntoTable", stream(people(3).select(["id", "vec"])), {"mode": "overwrite"}),
    ("RestoreTable", None, {}),
    ("BatchDeleteTableVersions", None, {}),
)  # fmt: skip
"""Every write that accepts a branch. None hides an effect of another write on other branches."""


def _written(lab: Lab, table: list[str], first: int, **of: Any) -> None:
    """Apply every kind of write to a branch, restore version ``first`` and delete two after it.

    No branch may start from the deleted versions, since branches may share versions.
    """
    for operation, data, request in _WRITES:
        if operation == "RestoreTable":
            request = {"version": first}
        elif operation == "BatchDeleteTableVersions":
            request = {"ranges": [{"start_version": first + 1, "end_version": first + 3}]}
        lab.call(operation, data, id=table, **request, **of)


@check("LN-BRANCH-060", "Changes to the main branch do not affect other branches.", _CREATE,
       "CreateTableBranch", "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def main_written(lab: Lab) -> None:
    table = forked_table(lab)
    for name in ("side", "other"):  # own versions with the numbers that are deleted from main
        insert_each(lab, table, 12, 13, branch=name)
    before = {name: branch_state(lab, table, branch=name) for name in ("side", "other")}
    listed = branch_starts(lab, table)
    _written(lab, table, max(version_numbers(lab, table)))
    for name, told in before.items():
        same_values(
            lab,
            told,
            branch_state(lab, table, branch=name),
            f"{name} after all writes to the main branch",
        )
    lab.same(branch_starts(lab, table), listed, "the start versions of the branches")


@check("LN-BRANCH-061", "Changes to a branch affect neither the main branch nor other branches.",
       _CREATE, "CreateTableBranch", "InsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def side_written(lab: Lab) -> None:
    table = forked_table(lab)
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    lines: tuple[dict[str, Any], ...] = ({}, {"branch": "other"})
    before = [branch_state(lab, table, **of) for of in lines]
    listed = branch_starts(lab, table), lab.call("ListTableTags", id=table).answer
    _written(lab, table, max(version_numbers(lab, table)), **_SIDE)
    for of, told in zip(lines, before, strict=True):
        what = f"{of.get('branch', 'the main branch')} after all writes to another branch"
        same_values(lab, told, branch_state(lab, table, **of), what)
    after = branch_starts(lab, table), lab.call("ListTableTags", id=table).answer
    lab.same(after, listed, "the listed branches and tags after writes to a branch")


@check("LN-BRANCH-062", "Column names are resolved on the branch that the request names.",
       "rest.yaml, the field branch of the operations", "CreateTableBranch", "AlterTableAddColumns",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def columns_of_a_line(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lab.given("CreateTableBranch", id=table, name="side")
    insert_each(
        lab, table, 5, **_SIDE
    )  # a branch is supported, so later failures have other causes
    merge = {"on": "id", "when_not_matched_insert_all": True}
    lab.maybe("MergeInsertIntoTable", stream(people(6)), id=table, **merge, **_SIDE)
    lab.maybe("AlterTableAddColumns", id=table, **_TWICE, **_SIDE)
    wide = people(8).append_column("twice", [[16]])
    merge = {"on": "twice", "when_not_matched_insert_all": True}
    calls: tuple[Call, ...] = (
        ("InsertIntoTable", stream(wide), {}),
        ("MergeInsertIntoTable", stream(wide), merge),
        ("UpdateTable", None, {"updates": [["twice", "twice + 1"]], "predicate": "twice > 4"}),
        ("CountTableRows", None, {"predicate": "twice > 16"}),
        ("UpdateFieldMetadata", None, {"updates": [{"path": "twice", "metadata": {"a": "1"}}]}),
        ("CreateTableScalarIndex", None, {"column": "twice", "index_type": "BTREE"}),
        ("DeleteFromTable", None, {"predicate": "twice = 2"}),
        ("AlterTableAlterColumns", None, {"alterations": [{"path": "twice", "rename": "both"}]}),
    )
    for operation, data, request in calls:
        reply = lab.call(operation, data, id=table, **request)
        if reply.code != 0:
            lab.must_fail(reply, [12, 13, 20])
        reply = lab.call(operation, data, id=table, **request, **_SIDE)
        (lab.may_refuse if data is None else lab.must_succeed)(reply)
    found = {r["id"]: r.get("both") for r in branch_rows(lab, table).rows.to_pylist()}
    lab.same(found, {2: 4, 5: 11, 6: 13, 8: 17}, "the values of the new column by id")
    lab.maybe("AlterTableDropColumns", id=table, columns=["both"], **_SIDE)
    lab.same(
        (lab.ids(table), count_on_branch(lab, table, **_SIDE)),
        ([1, 2], 4),
        "the rows on both branches",
    )


@check("LN-BRANCH-063",
       "Deleting a version of one branch keeps the version with the same number of another branch.",
       "rest.yaml, BatchDeleteTableVersionsRequest, branch", "CreateTableBranch", "BatchDeleteTableVersions",
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def deleted_on_one(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("CreateTableBranch", id=table, name="side")
    insert_each(lab, table, *range(2, 7))
    insert_each(lab, table, *range(12, 17), **_SIDE)
    both = sorted({2, 3, 4, 5} & set(version_numbers(lab, table, **_SIDE)))
    if len(both) < 4:
        raise Skipped("version numbers of a branch do not continue from its start version")
    due = {
        "main": {v: [*range(1, v + 1)] for v in both},
        "side": {v: ids_on_branch(lab, table, version=v, **_SIDE) for v in both},
    }
    for name, gone in (("side", 3), ("main", 4)):
        of = _SIDE if name == "side" else {}
        lab.maybe("BatchDeleteTableVersions", id=table, **of,
                  ranges=[{"start_version": gone, "end_version": gone + 1}])  # fmt: skip
        if gone in version_numbers(lab, table, **of):
            raise Skipped("the target does not delete this version")
        del due[name][gone]
        for operation in ("CountTableRows", "DescribeTableVersion", "RestoreTable"):
            reply = lab.call(operation, id=table, version=gone, **of)
            if reply.code != 0:
                lab.must_fail(reply, [11])
        for line, versions in due.items():
            on = _SIDE if line == "side" else {}
            found = {v: ids_on_branch(lab, table, version=v, **on) for v in versions}
            lab.same(
                found, versions, f"the ids on {line} after version {gone} was deleted on {name}"
            )


@check("LN-BRANCH-064",
       "A branch created under the name of a deleted branch inherits nothing from it.",
       "rest.yaml, DeleteTableBranch: removes a branch, and with it the versions that exist only there",
       "DeleteTableBranch", "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def made_again(lab: Lab) -> None:
    table = forked_table(lab)
    _written(lab, table, max(version_numbers(lab, table)), **_SIDE)
    last = max(version_numbers(lab, table, **_SIDE))
    lab.ok("DeleteTableBranch", id=table, name="side")
    for name in ("side", "new"):
        lab.ok("CreateTableBranch", id=table, name=name, from_version=1)
    fresh = {k: v for k, v in branch_state(lab, table, branch="new").items() if "version" not in k}
    same_values(
        lab,
        fresh,
        branch_state(lab, table, **_SIDE),
        "a re-created branch, as for a branch with a new name,",
    )
    count_on_branch(lab, table, **_SIDE)  # skips if a branch cannot be read
    lab.refused("CountTableRows", [0, 11], id=table, version=last, **_SIDE)
    listed = lab.ok("ListTableBranches", id=table).get("branches") or {}
    found = (listed.get("side") or {}).get("parentVersion")
    lab.same(found, 1, "the version that it starts from")


@check("LN-BRANCH-065",
       "Branches whose names differ only in case, punctuation or suffix are independent.",
       "rest.yaml, CreateTableBranch and the branch of the other requests", "CreateTableBranch",
       "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_names(lab: Lab) -> None:
    table = lab.new_table(1)
    made: dict[str, int] = {}
    for number, name in enumerate(
        ("side", "Side", "si-de", "si_de", "si.de", "si", "a/side", *("n" * n + e for n in (64, 128)
                                                                    for e in ("", "a", "b"))), 10
    ):  # fmt: skip
        reply = lab.call("CreateTableBranch", id=table, name=name)
        if not reply.succeeded:
            lab.must_fail(reply, [0, 13])  # the target rejects the branch name
            continue
        made[name] = number
        lab.given("InsertIntoTable", stream(people(number)), id=table, branch=name)
    for name, number in made.items():
        lab.same(branch_ids(lab, table, name), [1, number], f"the ids of branch {name}")
    lab.same(lab.ids(table), [1], "the ids on the main branch")
