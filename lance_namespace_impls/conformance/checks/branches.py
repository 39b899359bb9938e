"""Operations that name a branch affect that branch and leave the main branch unchanged."""

from __future__ import annotations

from typing import Any

from ..exchange import Reply
from ..lab import Lab, NotReached, Skipped
from ..requirement import check
from ..rows import PEOPLE, people, stream
from .history import two_versions, version_numbers

_BRANCH = "rest.yaml, the field branch of the operations; lance format, branches"
_TABLES = ["tables"]
SIDE = "side"
ALL = list(PEOPLE)


def branched(lab: Lab) -> list[str]:
    """Return a table of ten rows with a branch that has one more row."""
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name=SIDE)
    lab.maybe("InsertIntoTable", stream(people(11)), id=table, branch=SIDE)
    return table


def branch_ids(lab: Lab, table: list[str], branch: str | None = SIDE) -> list[int]:
    """Return the row ids on a branch."""
    return sorted(branch_rows(lab, table, branch).rows.column("id").to_pylist())


def needs_reads(lab: Lab) -> None:
    """Raise NotReached if QueryTable of a branch returns rows of the main branch only."""
    if "query of a branch" not in lab.told:
        table = lab.new_table(1)
        lab.given("CreateTableBranch", id=table, name=SIDE)
        lab.given("InsertIntoTable", stream(people(2)), id=table)
        lab.told["query of a branch"] = branch_ids(lab, table)
    found = lab.told["query of a branch"]
    if 2 in found:
        raise NotReached(f"QueryTable of a branch reads the main line, LN-BRANCH-006: {found}")


def branch_rows(lab: Lab, table: list[str], branch: str | None = SIDE) -> Reply:
    """Return the reply to a query of a branch."""
    request: dict[str, Any] = {"id": table, "vector": lab.no_vector(table), "k": 1000}
    reply = lab.call("QueryTable", **request, **({} if branch is None else {"branch": branch}))
    if reply.code in (0, 13):
        raise Skipped(f"QueryTable of a branch: {reply.outcome()}")
    lab.must_succeed(reply)
    return reply


def columns_of(lab: Lab, table: list[str], branch: str | None) -> list[str]:
    """Return the columns on a branch."""
    return list(branch_rows(lab, table, branch).rows.column_names)


@check("LN-BRANCH-006", "QueryTable and CountTableRows with a branch read that branch.", _BRANCH,
       "CreateTableBranch", "InsertIntoTable", "QueryTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def read(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name=SIDE)
    lab.given("InsertIntoTable", stream(people(12)), id=table)
    lab.same(lab.count(table, branch=SIDE), len(ALL), "the rows of the branch")
    lab.same(lab.count(table), len(ALL) + 1, "the rows of the main line")
    lab.same(branch_ids(lab, table), ALL, "the ids of the branch")
    lab.same(branch_ids(lab, table, None), [*ALL, 12], "the ids of the main line")
    table = branched(lab)
    if lab.count(table) > len(ALL):
        raise NotReached("InsertIntoTable of a branch wrote to the main line: LN-BRANCH-003")
    lab.same(branch_ids(lab, table), [*ALL, 11], "the ids of the branch")
    lab.same(branch_ids(lab, table, None), ALL, "the ids of the main line")
    lab.same(lab.count(table, branch=SIDE), len(ALL) + 1, "the rows of the branch")


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
        lab.same({r["id"]: r["name"] for r in rows}[1], expected, f"the name on {branch or 'main'}")


@check("LN-BRANCH-008", "DeleteFromTable with a branch changes only that branch.", _BRANCH,
       "CreateTableBranch", "DeleteFromTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def delete(lab: Lab) -> None:
    table = branched(lab)
    main = branch_ids(lab, table, None)
    lab.maybe("DeleteFromTable", id=table, branch=SIDE, predicate="id > 5")
    lab.same(branch_ids(lab, table, None), main, "the ids of the main line")
    needs_reads(lab)
    lab.same(branch_ids(lab, table), ALL[:5], "the ids of the branch")


@check("LN-BRANCH-009", "MergeInsertIntoTable with a branch changes only that branch.", _BRANCH,
       "CreateTableBranch", "MergeInsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def merge(lab: Lab) -> None:
    table = branched(lab)
    main = branch_ids(lab, table, None)
    lab.maybe("MergeInsertIntoTable", stream(people(12)), id=table, branch=SIDE, on="id",
          when_not_matched_insert_all=True)  # fmt: skip
    lab.same(branch_ids(lab, table, None), main, "the ids of the main line")
    needs_reads(lab)
    found = branch_ids(lab, table)
    lab.that(12 in found, "the merged row on the branch", found)
    if 11 in main:
        raise NotReached("InsertIntoTable of a branch wrote to the main line: LN-BRANCH-003")
    lab.same(found, [*ALL, 11, 12], "the ids of the branch")


@check("LN-BRANCH-010", "Columns added to a branch are added only to that branch.",
       _BRANCH, "CreateTableBranch", "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def add_columns(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("AlterTableAddColumns", id=table, branch=SIDE,
          new_columns=[{"name": "twice", "expression": "id * 2"}])  # fmt: skip
    lab.that(
        "twice" not in columns_of(lab, table, None), "no column on the main line", "it is there"
    )
    needs_reads(lab)
    lab.that("twice" in columns_of(lab, table, SIDE), "the column on the branch", "it is missing")


@check("LN-BRANCH-011", "Columns dropped from a branch remain on the main branch.", _BRANCH,
       "CreateTableBranch", "AlterTableDropColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def drop_columns(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("AlterTableDropColumns", id=table, branch=SIDE, columns=["score"])
    lab.that("score" in columns_of(lab, table, None), "the column on the main line", "it is gone")
    needs_reads(lab)
    lab.that("score" not in columns_of(lab, table, SIDE), "no column on the branch", "it is there")


@check("LN-BRANCH-012", "Columns renamed on a branch keep their names on the main branch.",
       _BRANCH, "CreateTableBranch", "AlterTableAlterColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def rename_columns(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("AlterTableAlterColumns", id=table, branch=SIDE,
          alterations=[{"path": "name", "rename": "label"}])  # fmt: skip
    lab.that("name" in columns_of(lab, table, None), "the old name on the main line", "it is gone")
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
    lab.that(len(numbers) > 0, "versions of the branch", numbers)
    newest = lab.maybe("DescribeTableVersion", id=table, branch=SIDE).get("version") or {}
    lab.same(newest.get("version"), numbers[-1], "the newest version of the branch")
    lab.maybe("DeleteFromTable", id=table, branch=SIDE, predicate="id > 5")
    lab.maybe("RestoreTable", id=table, branch=SIDE, version=numbers[-1])
    lab.same(branch_ids(lab, table), [*ALL, 11], "the ids of the branch")
    lab.same(branch_ids(lab, table, None), ALL, "the ids of the main line")
    lab.same(version_numbers(lab, table), [1], "the versions of the main line")


@check("LN-BRANCH-014", "An index created on a branch exists only on that branch.", _BRANCH,
       "CreateTableBranch", "CreateTableScalarIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("CreateTableScalarIndex", id=table, branch=SIDE, column="id", index_type="BTREE",
          name="by_id")  # fmt: skip
    for branch, expected in (({"branch": SIDE}, ["by_id"]), ({}, [])):
        found = lab.maybe("ListTableIndices", id=table, **branch).get("indexes") or ()
        where = "the branch" if branch else "the main line"
        lab.same([entry["index_name"] for entry in found], expected, f"the indices of {where}")


@check("LN-BRANCH-015", "DropTableIndex with a branch keeps the index of the main branch.", _BRANCH,
       "CreateTableScalarIndex", "CreateTableBranch", "DropTableIndex", "ListTableIndices",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def drop_index(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.given("CreateTableBranch", id=table, name=SIDE)
    on_branch = lab.maybe("ListTableIndices", id=table, branch=SIDE).get("indexes") or ()
    if not on_branch:
        raise Skipped("a branch starts without indices here")
    lab.maybe("DropTableIndex", id=table, branch=SIDE, index_name="by_id")
    kept = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([entry["index_name"] for entry in kept], ["by_id"], "the indices of the main line")


@check("LN-BRANCH-016", "DescribeTable with a branch describes that branch.", _BRANCH,
       "CreateTableBranch", "DescribeTable", "AlterTableAddColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def describe(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("AlterTableAddColumns", id=table, branch=SIDE,
          new_columns=[{"name": "twice", "expression": "id * 2"}])  # fmt: skip
    answer = lab.maybe("DescribeTable", id=table, branch=SIDE, load_detailed_metadata=True)
    names = [f["name"] for f in (answer.get("schema") or {}).get("fields") or ()]
    if names:
        lab.that("twice" in names, "the branch's column", names)


@check("LN-BRANCH-017", "GetTableStats with a branch counts the rows of that branch.", _BRANCH,
       "CreateTableBranch", "GetTableStats", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    table = branched(lab)
    answer = lab.maybe("GetTableStats", id=table, branch=SIDE)
    lab.same(answer.get("num_rows"), len(ALL) + 1, "num_rows of the branch")
    lab.same(
        lab.ok("GetTableStats", id=table).get("num_rows"), len(ALL), "num_rows of the main line"
    )


@check("LN-BRANCH-018", "Metadata set on a branch does not appear on the main branch.", _BRANCH,
       "CreateTableBranch", "UpdateTableSchemaMetadata", "UpdateFieldMetadata", "DescribeTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def metadata(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("UpdateTableSchemaMetadata", id=table, branch=SIDE, metadata={"side": "1"})
    lab.maybe("UpdateFieldMetadata", id=table, branch=SIDE,
          updates=[{"path": "name", "metadata": {"side": "1"}}])  # fmt: skip
    answer = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    schema = answer.get("schema") or {}
    lab.that("side" not in (schema.get("metadata") or {}), "no metadata on the main line", schema)
    fields = [f for f in schema.get("fields") or () if (f.get("metadata") or {}).get("side")]
    lab.same(fields, [], "fields of the main line with the branch's metadata")


@check("LN-BRANCH-019", "A branch created with from_branch starts from that branch.",
       "rest.yaml, CreateTableBranchRequest: from_branch, branch to start from",
       "CreateTableBranch", "CountTableRows", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def from_branch(lab: Lab) -> None:
    table = branched(lab)
    lab.maybe("CreateTableBranch", id=table, name="second", from_branch=SIDE)
    lab.same(lab.count(table, branch="second"), len(ALL) + 1, "the rows of the second branch")


@check("LN-BRANCH-020", "A new branch starts from the newest version by default.",
       "rest.yaml, CreateTableBranchRequest: from_version, the latest if left out",
       "CreateTableBranch", "CountTableRows", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def from_newest(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableBranch", id=table, name=SIDE)
    lab.same(lab.count(table, branch=SIDE), len(ALL) + 1, "the rows of the branch")


@check("LN-BRANCH-021", "A branch that is deleted and created again has none of its old rows.",
       "rest.yaml, DeleteTableBranch: removes a branch, and with it the versions that exist only there",
       "CreateTableBranch", "DeleteTableBranch", "CountTableRows", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def again(lab: Lab) -> None:
    table = branched(lab)
    lab.ok("DeleteTableBranch", id=table, name=SIDE)
    lab.ok("CreateTableBranch", id=table, name=SIDE)
    lab.same(lab.count(table, branch=SIDE), len(ALL), "the rows of the new branch")


@check("LN-BRANCH-022", "A missing branch cannot be read or written.", _BRANCH,
       "CreateTableBranch", "CountTableRows", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def missing(lab: Lab) -> None:
    table = branched(lab)
    codes = [4, 11, 13, 22]
    lab.refused("CountTableRows", codes, id=table, branch="none")
    lab.refused("InsertIntoTable", codes, stream(people(12)), id=table, branch="none")
    lab.same(lab.count(table), len(ALL), "the rows of the main line")


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
    lab.same(lab.count(table, branch=SIDE, version=newest), 3, "the rows of the branch's version")
    lab.same(
        lab.count(table, branch=SIDE, version=newest, predicate="id > 4"), 1, "rows of a predicate"
    )
    found = lab.query(table, branch=SIDE, version=newest).column("id").to_pylist()
    lab.same(sorted(found), [1, 2, 5], "the ids of the branch's version")
    told = (
        lab.maybe("DescribeTableVersion", id=table, branch=SIDE, version=newest).get("version")
        or {}
    )
    main = lab.maybe("DescribeTableVersion", id=table, version=newest).get("version") or {}
    lab.that(told.get("manifest_path") != main.get("manifest_path"), "a manifest of its own", told)
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
    lab.has(held, {"side": "yes"}, "the metadata of the branch's schema")


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
    lab.that(len(side) > 2, "three versions of the branch or more", side)
    goes = side[-2]
    spans = [{"start_version": goes, "end_version": goes + 1}]
    lab.maybe("BatchDeleteTableVersions", id=table, branch=SIDE, ranges=spans)
    lab.same(left(), main, "the versions of the main line")
    lab.same(left(branch=SIDE), [v for v in side if v != goes], "the versions of the branch")
    lab.same(branch_ids(lab, table), [1, 2, 3, 4, 5, 6], "the ids of the branch")


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
    lab.that(len(side) > 1, "two versions of the branch or more", side)
    at = side[-2]
    lab.maybe("CreateTableBranch", id=table, name="third", from_branch=SIDE, from_version=at)
    lab.same(branch_ids(lab, table, "third"), [1, 12], "the ids of the new branch")


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
        (held.get(SIDE) or {}).get("parentBranch"), None, "the parent of a branch of the main line"
    )
    lab.that("main" not in held, "the main line left out", list(held))


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
        raise NotReached("InsertIntoTable and QueryTable do not keep branches apart")
    reply = lab.call("DeleteTableBranch", id=table, name=SIDE)
    if not reply.succeeded:
        lab.must_fail(reply, [13, 19])
        lab.same(branch_ids(lab, table), [1, 2], "the ids of the branch that was to be deleted")
    lab.same(branch_ids(lab, table, "deeper"), [1, 2, 3], "the ids of the branch made from it")
