"""Versions, tags and branches."""

from __future__ import annotations

from typing import Any

from ..lab import MOST_PAGES, Failed, Lab
from ..requirement import check
from ..rows import PEOPLE, people, stream

_VERSIONS = "rest.yaml, ListTableVersions and DescribeTableVersion"
_RESTORE = "rest.yaml, RestoreTable"
_TAGS = "rest.yaml, the tag operations"
_BRANCHES = "rest.yaml, the branch operations"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)


def two_versions(lab: Lab) -> list[str]:
    """Return a table with two versions: ten rows, then eleven."""
    table = lab.new_table()
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    return table


def version_numbers(lab: Lab, table: list[str], **more: Any) -> list[int]:
    """Return the version numbers of a table, in the order of ListTableVersions.

    All pages are read, or only the first one if a limit is passed. The target may reject a branch.
    """
    found: list[int] = []
    token: str | None = None
    ask = lab.ok if more.get("branch") is None else lab.maybe
    for _ in range(MOST_PAGES):
        next_page = {} if token is None else {"page_token": token}
        answer = ask("ListTableVersions", id=table, **more, **next_page)
        found += [entry["version"] for entry in answer.get("versions") or ()]
        token = answer.get("page_token")
        if not token or "limit" in more:
            return found
    raise Failed("the versions to end", f"{MOST_PAGES} pages", lab.last)


@check("LN-VERSION-001", "ListTableVersions returns every version once.", _VERSIONS,
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def listed(lab: Lab) -> None:
    lab.same(sorted(version_numbers(lab, two_versions(lab))), [1, 2], "the versions")


@check("LN-VERSION-002", "descending lists the newest version first.", _VERSIONS,
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def descending(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(version_numbers(lab, table, descending=True), [2, 1], "the versions")
    lab.same(version_numbers(lab, table, descending=True, limit=1), [2], "the newest version")


@check("LN-VERSION-003", "ListTableVersions of a missing table fails with code 4.", _CODES,
       "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def listed_missing(lab: Lab) -> None:
    lab.refused("ListTableVersions", [4], id=lab.table_id())


@check("LN-VERSION-004", "The pages of ListTableVersions contain every version once.",
       _VERSIONS, "ListTableVersions", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def paged(lab: Lab) -> None:
    table = two_versions(lab)
    lab.given("InsertIntoTable", stream(people(12)), id=table)
    answer = lab.ok("ListTableVersions", id=table, limit=2)
    found = list(answer.get("versions") or ())
    lab.same(len(found), 2, "the versions on a page")
    for _ in range(10):
        if not answer.get("page_token"):
            break
        token = answer["page_token"]
        answer = lab.ok("ListTableVersions", id=table, limit=2, page_token=token)
        found += answer.get("versions") or ()
    lab.same(sorted(entry["version"] for entry in found), [1, 2, 3], "the versions")


@check("LN-VERSION-005",
       "DescribeTableVersion returns the requested version, or the newest one by default.",
       _VERSIONS, "DescribeTableVersion", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def described(lab: Lab) -> None:
    table = two_versions(lab)
    for number in (1, 2):
        answer = lab.ok("DescribeTableVersion", id=table, version=number)
        lab.same((answer.get("version") or {}).get("version"), number, "the version")
    answer = lab.ok("DescribeTableVersion", id=table)
    lab.same((answer.get("version") or {}).get("version"), 2, "the newest version")


@check("LN-VERSION-006", "DescribeTableVersion of a missing version fails with code 11.", _CODES,
       "DescribeTableVersion", "CreateTable", capabilities=_TABLES)  # fmt: skip
def described_missing(lab: Lab) -> None:
    lab.refused("DescribeTableVersion", [11], id=lab.shared_table(), version=999)


@check("LN-VERSION-007", "RestoreTable restores the rows of an earlier version.", _RESTORE,
       "RestoreTable", "QueryTable", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def restore(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("RestoreTable", id=table, version=1)
    lab.same(lab.ids(table), ALL, "the ids")


@check("LN-VERSION-008", "RestoreTable keeps the history and creates a new version.", _RESTORE,
       "RestoreTable", "ListTableVersions", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def restore_history(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("RestoreTable", id=table, version=1)
    lab.same(sorted(version_numbers(lab, table)), [1, 2, 3], "the versions")


@check("LN-VERSION-009", "RestoreTable to a missing version fails with code 11.", _CODES,
       "RestoreTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def restore_missing(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("RestoreTable", [11], id=table, version=999)
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-TAG-001", "GetTableTagVersion returns the version of a created tag.",
       _TAGS, "CreateTableTag", "GetTableTagVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableTag", id=table, tag="first", version=1)
    lab.ok("CreateTableTag", id=table, tag="second", version=2)
    for name, number in (("first", 1), ("second", 2)):
        answer = lab.ok("GetTableTagVersion", id=table, tag=name)
        lab.same(answer.get("version"), number, f"the version of {name}")


@check("LN-TAG-002", "ListTableTags returns every tag with its version.", _TAGS, "ListTableTags",
       "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tags(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(dict(lab.ok("ListTableTags", id=table).get("tags") or {}), {}, "the tags at first")
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    lab.given("CreateTableTag", id=table, tag="second", version=2)
    found = lab.ok("ListTableTags", id=table).get("tags") or {}
    shown = {name: entry["version"] for name, entry in found.items()}
    lab.same(shown, {"first": 1, "second": 2}, "the tags")


@check("LN-TAG-003",
       "CreateTableTag fails with code 9 if the tag exists, and does not move the tag.",
       _CODES, "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tag_twice(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableTag", id=table, tag="first", version=1)
    lab.refused("CreateTableTag", [9], id=table, tag="first", version=2)
    answer = lab.ok("GetTableTagVersion", id=table, tag="first")
    lab.same(answer.get("version"), 1, "the version of the tag")


@check("LN-TAG-004", "CreateTableTag for a missing version fails with code 11.",
       _CODES, "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tag_missing_version(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("CreateTableTag", [11], id=table, tag="first", version=999)
    lab.refused("GetTableTagVersion", [8], id=table, tag="first")


@check("LN-TAG-005", "UpdateTableTag moves a tag to another version.",
       _TAGS, "UpdateTableTag", "CreateTableTag", "GetTableTagVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_move(lab: Lab) -> None:
    table = two_versions(lab)
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    lab.ok("UpdateTableTag", id=table, tag="first", version=2)
    answer = lab.ok("GetTableTagVersion", id=table, tag="first")
    lab.same(answer.get("version"), 2, "the version of the tag")


@check("LN-TAG-009", "UpdateTableTag to a missing version fails with code 11.", _CODES,
       "UpdateTableTag", "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tag_move_missing(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    lab.refused("UpdateTableTag", [11], id=table, tag="first", version=999)


@check("LN-TAG-006", "DeleteTableTag removes one tag and keeps the others.",
       _TAGS, "DeleteTableTag", "CreateTableTag", "GetTableTagVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_delete(lab: Lab) -> None:
    table = two_versions(lab)
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    lab.given("CreateTableTag", id=table, tag="second", version=1)
    lab.ok("DeleteTableTag", id=table, tag="first")
    lab.refused("GetTableTagVersion", [8], id=table, tag="first")
    lab.ok("GetTableTagVersion", id=table, tag="second")


@check("LN-TAG-007",
       "GetTableTagVersion, UpdateTableTag and DeleteTableTag fail with code 8 if the tag is "
       "missing.", _CODES, "GetTableTagVersion",
       "UpdateTableTag", "DeleteTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tag_missing(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("GetTableTagVersion", [8], id=table, tag="none")
    lab.refused("UpdateTableTag", [8], id=table, tag="none", version=1)
    lab.refused("DeleteTableTag", [8], id=table, tag="none")


@check("LN-TAG-008", "ListTableTags of a missing table fails with code 4.", _CODES, "ListTableTags",
       capabilities=_TABLES)  # fmt: skip
def tags_missing_table(lab: Lab) -> None:
    lab.refused("ListTableTags", [4], id=lab.table_id())


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
    lab.same(counted, len(ALL), "the number of rows of the branch")


@check("LN-BRANCH-003", "Writes to a branch do not change the main branch.", _BRANCHES,
       "CreateTableBranch", "InsertIntoTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def branch_writes(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name="side")
    lab.maybe("InsertIntoTable", stream(people(11, 12)), id=table, branch="side")
    lab.same(lab.count(table), len(ALL), "the number of rows of the main line")
    counted = lab.maybe("CountTableRows", id=table, branch="side").get("count")
    lab.same(counted, len(ALL) + 2, "the number of rows of the branch")


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
    lab.that("side" not in found, "the branch to be gone", found)
    lab.refused("DeleteTableBranch", [22], id=table, name="side")


@check("LN-VERSION-015",
       "Versions start at 1: version 0 and negative versions fail with code 4, 11 or 13.",
       f"rest.yaml, TableVersion; {_CODES}", "CreateTable", "CountTableRows",
       capabilities=_TABLES)  # fmt: skip
def version_zero(lab: Lab) -> None:
    table = two_versions(lab)
    query = {"vector": lab.no_vector(), "k": 1}
    for operation, more in (
        ("DescribeTable", {"load_detailed_metadata": True}), ("CountTableRows", {}),
        ("QueryTable", query), ("TableExists", {}),
        ("DescribeTableVersion", {}), ("RestoreTable", {}), ("CreateTableTag", {"tag": "zero"}),
        ("ListTableIndices", {}),
    ):  # fmt: skip
        for version in (0, -1):
            reply = lab.call(operation, id=table, version=version, **more)
            if reply.code != 0:
                without_11 = operation in ("TableExists", "ListTableIndices")
                lab.must_fail(reply, [4, 11, 13] if without_11 else [11, 13])
    lab.same(lab.count(table), len(ALL) + 1, "the number of rows")


@check("LN-VERSION-016",
       "After RestoreTable, every operation reports the new version as the newest.",
       _RESTORE, "RestoreTable", "ListTableVersions", "DescribeTableVersion", "DescribeTable",
       "CreateTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def restored(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("RestoreTable", id=table, version=1)
    listed = version_numbers(lab, table, descending=True)
    lab.same(listed, [3, 2, 1], "the versions")
    lab.same(lab.ok("DescribeTableVersion", id=table)["version"]["version"], 3, "the newest")
    described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
    lab.same(described.get("version"), 3, "the described version")


@check("LN-TAG-012", "Tag names are compared exactly.", _TAGS, "CreateTableTag",
       "GetTableTagVersion", "ListTableTags", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tag_names(lab: Lab) -> None:
    table = two_versions(lab)
    made = []
    for name in ("Stable", "v1.0", "a-b_c", "2024"):
        reply = lab.call("CreateTableTag", id=table, tag=name, version=1)
        if reply.code != 13:
            lab.must_succeed(reply)
            made.append(name)
    for other in ("stable", "STABLE", "v1_0", "v1", "a_b_c", "Stabl", "Stable2", "1", "24"):
        lab.refused("GetTableTagVersion", [8, 13], id=table, tag=other)
    found = lab.ok("ListTableTags", id=table).get("tags") or {}
    lab.same(sorted(found), sorted(made), "the tags")


@check("LN-VERSION-017", "Restoring the newest version creates a new version and keeps the rows.",
       _RESTORE, "RestoreTable", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def restore_newest(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("RestoreTable", id=table, version=2)
    lab.same(lab.count(table), len(ALL) + 1, "the number of rows")
    newest = lab.ok("DescribeTableVersion", id=table)["version"]["version"]
    lab.that(newest > 2, "a version after 2", newest)


@check("LN-TAG-013", "UpdateTableTag accepts the version that the tag already has.",
       _TAGS, "UpdateTableTag", "CreateTableTag", "GetTableTagVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_to_its_version(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableTag", id=table, tag="t", version=1)
    for version in (1, 2, 2, 1):
        lab.ok("UpdateTableTag", id=table, tag="t", version=version)
        lab.same(lab.ok("GetTableTagVersion", id=table, tag="t")["version"], version, "the version")
