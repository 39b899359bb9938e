"""How tags, branches and versions refer to each other."""

from __future__ import annotations

from typing import Any

from ...lab import Lab, Skipped
from ...missing_codes import NO_BRANCH
from ...requirement import check
from ...rows import people, stream
from ...sample_calls import ON_BRANCH
from ...table_state import FULL
from ...table_versions import answer_of, branch_ids, two_versions, version_numbers

_FIELDS = "rest.yaml, the fields branch and version of the requests; protocol semantics, Errors"
_TABLES = ["tables"]
_SIDE = {"branch": "side"}
_NAMES = ("", " ", "a b", "../x", "/a", "a/", "x" * 300, "a\nb", "sch\u00f6n", "1", "a.b")


@check("LN-REFERENCE-001",
       "An operation on a missing branch fails with code 4, 11 or 22 and changes nothing.", _FIELDS,
       "CreateTable", "CountTableRows", capabilities=_TABLES)  # fmt: skip
def missing_branches(lab: Lab) -> None:
    table = lab.new_table()
    index = {"column": "id", "index_type": "BTREE", "name": "by_id"}
    has_index = lab.call("CreateTableScalarIndex", id=table, **index).succeeded
    versions = lab.call("ListTableVersions", id=table)
    for operation, (data, request) in ON_BRANCH.items():
        if lab.claimed is not None and operation not in lab.claimed:
            continue
        reply = lab.call(operation, data, id=table, branch="nowhere", **request)
        if reply.code == 0:
            continue
        # A writer lists the versions of a new branch before it creates the first one, so an empty
        # list is valid.
        found = reply.answer if operation == "ListTableVersions" and reply.succeeded else None
        if found is not None and not found.get("versions"):
            continue
        also = [6, 13] if operation == "DropTableIndex" else [13]
        lab.must_fail(reply, [*NO_BRANCH, *also])
    lab.same(lab.count(table), 10, "the number of rows")
    if has_index:
        stats = lab.call("DescribeTableIndexStats", id=table, index_name="by_id")
        lab.that(
            stats.succeeded or stats.code == 0,
            "the index on the main branch to remain",
            stats.outcome(),
        )
    if versions.succeeded:
        again = version_numbers(lab, table)
        before = (versions.answer or {}).get("versions") or ()
        lab.same(len(again), len(before), "the number of versions")


@check("LN-REFERENCE-002", "CreateTableBranch from a missing branch or version is rejected.",
       "rest.yaml, CreateTableBranchRequest", "CreateTableBranch", "ListTableBranches",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_of_nothing(lab: Lab) -> None:
    table = lab.new_table()
    for more in ({"from_version": 99}, {"from_branch": "nowhere"}):
        lab.refused("CreateTableBranch", [0, 4, 11, 13, 22], id=table, name="side", **more)
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    lab.that("side" not in found, "no branch", found)


@check("LN-REFERENCE-003", "A tag on a branch reports the branch and its version.",
       "rest.yaml, CreateTableTagRequest, TagContents and GetTableTagVersionResponse",
       "CreateTableTag", "GetTableTagVersion", "ListTableTags", "CreateTableBranch",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_tags(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name="side")
    lab.maybe("InsertIntoTable", stream(people(11)), id=table, branch="side")
    version = lab.maybe("DescribeTableVersion", id=table, branch="side")["version"]["version"]
    lab.maybe("CreateTableTag", id=table, tag="t", version=version, branch="side")
    found = lab.ok("GetTableTagVersion", id=table, tag="t")
    lab.same((found.get("version"), found.get("branch")), (version, "side"), "the tag")
    listed = (lab.ok("ListTableTags", id=table).get("tags") or {}).get("t") or {}
    lab.same((listed.get("version"), listed.get("branch")), (version, "side"), "the listed tag")
    lab.ok("CreateTableTag", id=table, tag="m", version=1)
    found = lab.ok("GetTableTagVersion", id=table, tag="m")
    lab.that(found.get("branch") in (None, "main"), "no branch for a tag on the main branch", found)
    lab.maybe("UpdateTableTag", id=table, tag="m", version=version, branch="side")
    found = lab.ok("GetTableTagVersion", id=table, tag="m")
    lab.same((found.get("version"), found.get("branch")), (version, "side"), "the moved tag")


@check("LN-REFERENCE-004", "DescribeTableIndexStats reports on the requested branch and version.",
       "rest.yaml, DescribeTableIndexStatsRequest", "DescribeTableIndexStats",
       "CreateTableScalarIndex", "CreateTableBranch", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index_stats(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.given("CreateTableBranch", id=table, name="side")
    lab.maybe("InsertIntoTable", stream(people(11, 12)), id=table, branch="side")

    def rows(**more: Any) -> int:
        found = lab.maybe("DescribeTableIndexStats", id=table, index_name="by_id", **more)
        return (found.get("num_indexed_rows") or 0) + (found.get("num_unindexed_rows") or 0)

    lab.same(
        (rows(), rows(branch="side")),
        (10, 12),
        "the number of rows on the main branch and on the branch",
    )
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    newest = max(version_numbers(lab, table))
    lab.same((rows(), rows(version=newest - 1)), (11, 10), "the number of rows in two versions")


@check("LN-REFERENCE-005",
       "ListTableIndices at an earlier version lists the indices of that version.",
       "rest.yaml, ListTableIndicesRequest", "ListTableIndices", "CreateTableScalarIndex",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def indices_of_version(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    found = lab.maybe("ListTableIndices", id=table, version=1).get("indexes")
    lab.same(list(found or ()), [], "the indices in version 1")
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same(
        [entry["index_name"] for entry in found], ["by_id"], "the indices in the newest version"
    )


@check("LN-REFERENCE-006", "The main branch cannot be deleted.",
       "rest.yaml, DeleteTableBranchRequest and CreateTableBranchRequest", "DeleteTableBranch",
       "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def main_branch(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("DeleteTableBranch", [13, 22], id=table, name="main")
    lab.same(lab.count(table), 10, "the number of rows")


@check("LN-REFERENCE-007", "ListTableBranches reports where each branch starts.",
       "rest.yaml, BranchContents", "ListTableBranches", "CreateTableBranch", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_contents(lab: Lab) -> None:
    table = two_versions(lab)
    lab.given("CreateTableBranch", id=table, name="new")
    lab.maybe("CreateTableBranch", id=table, name="old", from_version=1)
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    starts = {name: found[name].get("parentVersion") for name in ("new", "old") if name in found}
    lab.same(starts, {"new": 2, "old": 1}, "the start versions of the branches")
    lab.that(found["new"].get("parentBranch") in (None, "main"), "no parent branch", found["new"])
    lab.that(
        (found["new"].get("createAt") or 0) > 1_600_000_000, "a timestamp in seconds", found["new"]
    )
    lab.that((found["new"].get("manifestSize") or 0) > 0, "a size in bytes", found["new"])


@check("LN-REFERENCE-008", "ListTableTags reports the manifest size of a tag.",
       "rest.yaml, TagContents", "ListTableTags", "CreateTableTag", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_contents(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("CreateTableTag", id=table, tag="t", version=1)
    entry = (lab.ok("ListTableTags", id=table).get("tags") or {}).get("t") or {}
    lab.that((entry.get("manifestSize") or 0) > 0, "a size in bytes", entry)


@check("LN-REFERENCE-009",
       "A branch of a branch reports it as its parent and starts with its rows.",
       "rest.yaml, BranchContents", "ListTableBranches", "CreateTableBranch", "InsertIntoTable",
       "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_of_branch(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name="side")
    lab.maybe("InsertIntoTable", stream(people(11)), id=table, branch="side")
    lab.maybe("CreateTableBranch", id=table, name="deep", from_branch="side")
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    lab.same((found.get("deep") or {}).get("parentBranch"), "side", "the parent branch")
    lab.same(lab.count(table, branch="deep"), 11, "the number of rows")


@check("LN-REFERENCE-010",
       "A table created with the name of a dropped table inherits nothing from it.",
       "rest.yaml, DropTable: the table is removed together with its data", "CreateTable",
       "DropTable", "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def nothing_of_the_old(lab: Lab) -> None:
    table = two_versions(lab)
    for operation, more in (
        ("CreateTableTag", {"tag": "t", "version": 1}),
        ("CreateTableBranch", {"name": "side"}),
        ("CreateTableScalarIndex", {"column": "id", "index_type": "BTREE", "name": "by_id"}),
        ("UpdateTableSchemaMetadata", {"metadata": {"a": "b"}}),
        ("UpdateFieldMetadata", {"updates": [{"path": "id", "metadata": {"a": "b"}}]}),
    ):
        lab.call(operation, id=table, **more)
    lab.given("DropTable", id=table)
    lab.given("CreateTable", stream(people(1)), id=table)
    for operation, key in (("ListTableTags", "tags"), ("ListTableBranches", "branches"),
                           ("ListTableIndices", "indexes")):  # fmt: skip
        reply = lab.call(operation, id=table)
        if reply.succeeded:
            found = [name for name in (reply.answer or {}).get(key) or () if name != "main"]
            lab.same(found, [], key)
    lab.same(version_numbers(lab, table), [1], "the versions")
    described = lab.call("DescribeTable", id=table, load_detailed_metadata=True).answer or {}
    fields = (described.get("schema") or {}).get("fields") or ()
    told = [described.get("metadata") or {}, *(field.get("metadata") or {} for field in fields)]
    lab.that(not any("a" in metadata for metadata in told), "no metadata of the old table", told)


@check("LN-REFERENCE-011",
       "DescribeTable with a tag of a branch describes the table on that branch.",
       "rest.yaml, DescribeTableRequest and TagContents", "DescribeTable", "CreateTableTag",
       "CreateTableBranch", "AlterTableAddColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def described_by_tag(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableBranch", id=table, name="side")
    new = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}
    lab.maybe("AlterTableAddColumns", id=table, branch="side", **new)
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    version = lab.maybe("DescribeTableVersion", id=table, branch="side")["version"]["version"]
    lab.maybe("CreateTableTag", id=table, tag="t", version=version, branch="side")
    lab.ok("CreateTableTag", id=table, tag="m", version=1)
    for more, due in (
        ({"tag": "t"}, True),
        ({"branch": "side"}, True),
        ({"tag": "m"}, False),
        ({}, False),
    ):
        found = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, **more)
        names = [field["name"] for field in (found.get("schema") or {}).get("fields") or ()]
        lab.same("twice" in names, due, f"whether the new column is there with {more}")
        if "tag" in more:
            lab.same(found.get("version"), version if due else 1, f"the version with {more}")


@check("LN-REFERENCE-012",
       "DeleteTableBranch does not affect tags, other branches and the main branch.",
       "rest.yaml, DeleteTableBranch", "DeleteTableBranch", "CreateTableBranch", "CreateTableTag",
       "ListTableTags", "ListTableBranches", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_alone(lab: Lab) -> None:
    table = two_versions(lab)
    for name in ("side", "sidewards"):
        lab.given("CreateTableBranch", id=table, name=name)
        lab.call("CreateTableTag", id=table, tag=name, version=1)
    tags = lab.ok("ListTableTags", id=table).get("tags")
    lab.ok("DeleteTableBranch", id=table, name="side")
    lab.same(lab.ok("ListTableTags", id=table).get("tags"), tags, "the tags")
    found = lab.ok("ListTableBranches", id=table).get("branches") or {}
    lab.same([name for name in found if name != "main"], ["sidewards"], "the branches")
    lab.same((lab.count(table), lab.count(table, branch="sidewards")), (11, 11), "the rows")


@check("LN-REFERENCE-060", "Tags and branches are not interchangeable, and the names of each kind "
       "are unique in a table.",
       "rest.yaml, the fields tag, branch, name and from_branch", "CreateTableBranch", "CreateTableTag",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def not_the_other(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("CreateTableTag", id=table, tag="label", version=1)
    lab.given("CreateTableBranch", id=table, name="side")
    branch, query = {"branch": "label"}, {"vector": lab.no_vector(), "k": 1}
    for operation, data, request, code in (
        ("DescribeTable", None, {"tag": "side", **FULL}, 11),
        ("DescribeTable", None, {**branch, **FULL}, 11),
        ("GetTableTagVersion", None, {"tag": "side"}, 8), ("DeleteTableTag", None, {"tag": "side"}, 8),
        ("UpdateTableTag", None, {"tag": "side", "version": 1}, 8),
        ("QueryTable", None, {**query, **branch}, 11), ("CountTableRows", None, branch, 11),
        ("InsertIntoTable", stream(people(3)), branch, 4),
        ("RestoreTable", None, {"version": 1, **branch}, 11),
        ("DeleteTableBranch", None, {"name": "label"}, 22),
        ("CreateTableBranch", None, {"name": "new", "from_branch": "label"}, 4),
        ("CreateTableTag", None, {"tag": "new", "version": 1, **branch}, 11),
        ("GetTableTagVersion", None, {"tag": "new"}, 8), ("DeleteTableBranch", None, {"name": "new"}, 22),
    ):  # fmt: skip
        reply = lab.call(operation, data, id=table, **request)
        if reply.code != 0:
            of_line = "branch" in request or "from_branch" in request
            lab.must_fail(reply, [*NO_BRANCH, 13] if of_line else [code])
    for operation, request, codes in (
        ("CreateTableBranch", {"name": "main"}, [13, 23]),
        ("CreateTableBranch", {"name": "side", "from_branch": "side"}, [0, 23]),
        ("CreateTableTag", {"tag": "label", "version": 1, **_SIDE}, [0, 9, 11, 13]),
    ):
        lab.refused(operation, codes, id=table, **request)
    lab.same((lab.ids(table), branch_ids(lab, table)), ([1], [1]), "the ids on both branches")


@check("LN-REFERENCE-061",
       "A tag or branch name is stored unchanged, or fails with code 13 and creates nothing.",
       "rest.yaml, CreateTableTag and CreateTableBranch, InvalidInput",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def odd_names(lab: Lab) -> None:
    table = lab.new_table(1)
    for create, key, listing, things, remove in (
        ("CreateTableTag", "tag", "ListTableTags", "tags", "DeleteTableTag"),
        ("CreateTableBranch", "name", "ListTableBranches", "branches", "DeleteTableBranch"),
    ):
        more = {"version": 1} if key == "tag" else {}
        for name in _NAMES:
            reply = lab.call(create, id=table, **{key: name}, **more)
            if reply.code == 0:
                break
            if not reply.succeeded:
                lab.must_fail(reply, [13])
            found = list(lab.ok(listing, id=table).get(things) or ())
            lab.same(found, [name] if reply.succeeded else [], f"the {things} after {create}")
            if reply.succeeded:
                lab.ok(remove, id=table, **{key: name})


@check("LN-REFERENCE-062",
       "The listed manifest sizes of tags and branches are those of the versions that they name.",
       "rest.yaml, TagContents and BranchContents, manifestSize; TableVersion, manifest_size",
       "ListTableTags", "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def sizes(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("UpdateTableSchemaMetadata", id=table, metadata={"long": "x" * 500})
    lab.given("CreateTableBranch", id=table, name="side", from_version=1)
    lab.maybe("UpdateTableSchemaMetadata", id=table, metadata={"long": "x" * 900}, **_SIDE)

    def size(version: int, **of: Any) -> Any:
        told = answer_of(lab, "DescribeTableVersion", id=table, version=version, **of)["version"]
        return told.get("manifest_size")

    if size(1) is None:
        raise Skipped("the target does not report manifest sizes")
    for tag in ("kept", "t"):
        lab.given("CreateTableTag", id=table, tag=tag, version=1)
    sides = sorted(version_numbers(lab, table, **_SIDE))
    for version, of in ((1, {}), (2, {}), (sides[-1], _SIDE), (1, {})):
        lab.maybe("UpdateTableTag", id=table, tag="t", version=version, **of)
        found = lab.ok("ListTableTags", id=table)["tags"]
        told = (found["t"]["manifestSize"], found["kept"]["manifestSize"])
        lab.same(
            told,
            (size(version, **of), size(1)),
            f"the manifest sizes for version {version} {of or ''}",
        )
    listed = lab.ok("ListTableBranches", id=table)["branches"]["side"]["manifestSize"]
    lab.that(
        listed in (size(1), size(sides[0], **_SIDE)),
        "the manifest size of the branch's start version",
        listed,
    )


Call = tuple[str, bytes | None, dict[str, Any]]


@check("LN-REFERENCE-063",
       "A declared table has no versions, tags or branches, and failed calls create none.",
       "protocol semantics, DescribeTable: a declared-only table has no dataset; Errors, code 19",
       "DeclareTable",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def of_declared(lab: Lab) -> None:
    table = lab.new_declared()
    calls: tuple[Call, ...] = (
        ("RestoreTable", None, {"version": 1}), ("DescribeTableVersion", None, {}),
        ("CreateTableTag", None, {"tag": "t", "version": 1}), ("GetTableTagVersion", None, {"tag": "t"}),
        ("CreateTableBranch", None, {"name": "side"}), ("DeleteTableBranch", None, {"name": "side"}),
        ("TableExists", None, {"version": 1}), ("DescribeTable", None, {"version": 1}),
        ("DescribeTable", None, {"tag": "t"}), ("DescribeTable", None, _SIDE),
        ("CountTableRows", None, _SIDE), ("InsertIntoTable", stream(people(1)), _SIDE),
    )  # fmt: skip
    for operation, data, request in calls:
        reply = lab.call(operation, data, id=table, **request)
        lab.that(not reply.succeeded, f"{operation} on a declared table to fail", reply.outcome())
    told = lab.maybe("DescribeTable", id=table, check_declared=True)
    lab.same(told.get("is_only_declared"), True, "is_only_declared after these calls")
    lab.given("CreateTable", stream(people(1)), id=table)
    for operation, key in (("ListTableTags", "tags"), ("ListTableBranches", "branches")):
        found = (lab.call(operation, id=table).answer or {}).get(key) or ()
        lab.same(list(found), [], f"the {key} after the table has rows")
    lab.same(version_numbers(lab, table), [1], "the versions after the table has rows")
