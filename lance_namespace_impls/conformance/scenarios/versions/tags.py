"""Tags."""

from __future__ import annotations

from ...lab import Lab, Skipped
from ...requirement import check
from ...rows import people, stream
from ...table_versions import two_versions

_TAGS = "rest.yaml, the tag operations"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]


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
    lab.same(
        dict(lab.ok("ListTableTags", id=table).get("tags") or {}),
        {},
        "the tags before the first one is created",
    )
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


@check("LN-TAG-013", "UpdateTableTag accepts the version that the tag already has.",
       _TAGS, "UpdateTableTag", "CreateTableTag", "GetTableTagVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_to_its_version(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("CreateTableTag", id=table, tag="t", version=1)
    for version in (1, 2, 2, 1):
        lab.ok("UpdateTableTag", id=table, tag="t", version=version)
        lab.same(lab.ok("GetTableTagVersion", id=table, tag="t")["version"], version, "the version")


@check("LN-TAG-060", "A tag has the version and the branch that were set on its own table.",
       "rest.yaml, GetTableTagVersionResponse: branch of the version; absent for the main branch",
       "GetTableTagVersion", "CreateTableTag", "CreateTableBranch", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_of_its_table(lab: Lab) -> None:
    tables = {branch: lab.new_table(1) for branch in (None, "side", "beside")}
    for branch, table in tables.items():
        if branch is None:
            lab.given("CreateTableTag", id=table, tag="t", version=1)
            continue
        lab.given("CreateTableBranch", id=table, name=branch)
        lab.given("InsertIntoTable", stream(people(2)), id=table, branch=branch)
        lab.maybe("CreateTableTag", id=table, tag="t", version=2, branch=branch)
    for branch, table in [*tables.items()] * 2:
        told = lab.ok("GetTableTagVersion", id=table, tag="t")
        due = (2 if branch else 1, branch)
        lab.same((told["version"], told.get("branch")), due, "the version and branch of the tag")


@check("LN-TAG-010", "Tags belong to one table and are deleted with it.",
       "rest.yaml, the tag operations; DropTable: tags and branches included", "CreateTableTag",
       "GetTableTagVersion", "DropTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def own_tags(lab: Lab) -> None:
    table, other = lab.new_table(), lab.new_table()
    lab.ok("CreateTableTag", id=table, tag="first", version=1)
    lab.refused("GetTableTagVersion", [8], id=other, tag="first")
    lab.ok("CreateTableTag", id=other, tag="first", version=1)
    lab.given("DropTable", id=table)
    lab.given("CreateTable", stream(people(1)), id=table)
    lab.refused("GetTableTagVersion", [8], id=table, tag="first")
    lab.ok("GetTableTagVersion", id=other, tag="first")


@check("LN-TAG-011",
       "UpdateTableTag does not create a tag, and DeleteTableTag deletes only the named tag.",
       _TAGS,
       "CreateTableTag", "UpdateTableTag", "DeleteTableTag", "ListTableTags", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def other_tags(lab: Lab) -> None:
    table = lab.new_table()
    for name in ("one", "two", "three"):
        lab.ok("CreateTableTag", id=table, tag=name, version=1)
    lab.ok("DeleteTableTag", id=table, tag="two")
    lab.refused("UpdateTableTag", [8], id=table, tag="two", version=1)
    found = lab.ok("ListTableTags", id=table).get("tags") or {}
    lab.same(sorted(found), ["one", "three"], "the tags")


@check("LN-TAG-014", "A tag whose name is a number is not treated as a version.",
       "rest.yaml, DescribeTableRequest.tag: the name of the tag", "CreateTableTag", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def digits(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    reply = lab.call("CreateTableTag", id=table, tag="2", version=1)
    if reply.code in (0, 13):
        raise Skipped(f"CreateTableTag: {reply.outcome()}")
    lab.must_succeed(reply)
    lab.same(lab.ok("GetTableTagVersion", id=table, tag="2").get("version"), 1, "the tag's version")
    answer = lab.maybe("DescribeTable", id=table, tag="2", load_detailed_metadata=True)
    if answer.get("version") is not None:
        lab.same(answer["version"], 1, "the described version of the tag")
    lab.refused("GetTableTagVersion", [8], id=table, tag="1")


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
