"""Branches of a table, their versions and tags: independence and effects of every change."""

from __future__ import annotations

from typing import Any

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import people, stream
from .branches import branch_ids, branch_rows
from .due import NO_BRANCH
from .history import version_numbers
from .managed import managed_table, newest, right_version, staged
from .whole import FULL

_CREATE = "rest.yaml, tag Branch: Lines of versions of a table that are written independently"
_TABLES = ["tables"]
_SIDE = {"branch": "side"}
_TWICE = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}
_NAMES = ("", " ", "a b", "../x", "/a", "a/", "x" * 300, "a\nb", "sch\u00f6n", "1", "a.b")
_BY_ID = {"column": "id", "index_type": "BTREE", "name": "by_id"}
Call = tuple[str, bytes | None, dict[str, Any]]


def _line(lab: Lab, table: list[str], **of: Any) -> dict[str, Any]:
    """Return everything that is reported about one branch of a table."""
    reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=100, **of)
    lab.may_refuse(reply)
    told: dict[str, Any] = {"rows": reply.rows.sort_by("id").to_pylist()}
    for operation, keys, more in (
        ("DescribeTable", ("version", "schema", "stats", "metadata"), {"load_detailed_metadata": True}),
        ("ListTableIndices", ("indexes",), {}),
        ("GetTableStats", ("num_rows", "num_indices", "fragment_stats"), {}),
        ("DescribeTableIndexStats", ("num_indexed_rows", "num_unindexed_rows"), {"index_name": "by_id"}),
    ):  # fmt: skip
        answer = lab.call(operation, id=table, **more, **of).answer or {}
        told |= {f"{key} of {operation}": answer.get(key) for key in keys}
    return told | {"its versions": sorted(version_numbers(lab, table, **of))}


def _kept(lab: Lab, before: dict[str, Any], after: dict[str, Any], what: str) -> None:
    for key, value in before.items():
        lab.same(after[key], value, f"{key} of {what}")


def _starts(lab: Lab, table: list[str]) -> dict[str, Any]:
    """Return where each branch of a table starts."""
    found = (lab.call("ListTableBranches", id=table).answer or {}).get("branches") or {}
    keys = ("parentBranch", "parentVersion", "createAt")
    return {name: [entry.get(key) for key in keys] for name, entry in found.items()}


def _ask(lab: Lab, operation: str, **request: Any) -> dict[str, Any]:
    """Return the answer to a call that must succeed, except that a branch may be unsupported."""
    return dict((lab.maybe if request.get("branch") else lab.ok)(operation, **request))


def _count(lab: Lab, table: list[str], **request: Any) -> Any:
    return _ask(lab, "CountTableRows", id=table, **request).get("count")


def _ids(lab: Lab, table: list[str], **request: Any) -> list[int]:
    """Return the row ids of a branch, except that reading a branch may be unsupported."""
    if not request.get("branch"):
        return lab.ids(table, **request)
    reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=1000, **request)
    lab.may_refuse(reply)
    return sorted(reply.rows.column("id").to_pylist())


def _put(lab: Lab, table: list[str], *ids: int, **of: Any) -> None:
    """Insert rows one by one, each in a new version."""
    for number in ids:
        lab.maybe("InsertIntoTable", stream(people(number)), id=table, **of)


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


def _forked(lab: Lab) -> list[str]:
    """Return a table with an index and two branches that have one more row each."""
    table = lab.new_table(1, 2, 3)
    lab.call("CreateTableScalarIndex", id=table, **_BY_ID)
    for number, name in enumerate(("side", "other"), start=10):
        lab.given("CreateTableBranch", id=table, name=name)
        _put(lab, table, number, branch=name)
    return table


@check("LN-BRANCH-060", "Changes to the main branch do not affect other branches.", _CREATE,
       "CreateTableBranch", "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def main_written(lab: Lab) -> None:
    table = _forked(lab)
    for name in ("side", "other"):  # own versions with the numbers that are deleted from main
        _put(lab, table, 12, 13, branch=name)
    before = {name: _line(lab, table, branch=name) for name in ("side", "other")}
    listed = _starts(lab, table)
    _written(lab, table, max(version_numbers(lab, table)))
    for name, told in before.items():
        _kept(
            lab, told, _line(lab, table, branch=name), f"{name} after all writes to the main line"
        )
    lab.same(_starts(lab, table), listed, "where the branches start, as it was")


@check("LN-BRANCH-061", "Changes to a branch affect neither the main branch nor other branches.",
       _CREATE, "CreateTableBranch", "InsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def side_written(lab: Lab) -> None:
    table = _forked(lab)
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    lines: tuple[dict[str, Any], ...] = ({}, {"branch": "other"})
    before = [_line(lab, table, **of) for of in lines]
    listed = _starts(lab, table), lab.call("ListTableTags", id=table).answer
    _written(lab, table, max(version_numbers(lab, table)), **_SIDE)
    for of, told in zip(lines, before, strict=True):
        what = f"{of.get('branch', 'the main line')} after all writes to a branch"
        _kept(lab, told, _line(lab, table, **of), what)
    after = _starts(lab, table), lab.call("ListTableTags", id=table).answer
    lab.same(after, listed, "the branches and tags that are listed after writes to a branch")


@check("LN-BRANCH-062", "Column names are resolved on the branch that the request names.",
       "rest.yaml, the field branch of the operations", "CreateTableBranch", "AlterTableAddColumns",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def columns_of_a_line(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lab.given("CreateTableBranch", id=table, name="side")
    _put(lab, table, 5, **_SIDE)  # a branch is supported, so later failures have other causes
    merge = {"on": "id", "when_not_matched_insert_all": True}
    lab.maybe("MergeInsertIntoTable", stream(people(6)), id=table, **merge, **_SIDE)
    lab.maybe("AlterTableAddColumns", id=table, **_TWICE, **_SIDE)
    wide = people(8).append_column("twice", [[16]])
    merge = {"on": "twice", "when_not_matched_insert_all": True}
    calls: tuple[Call, ...] = (
        ("InsertIntoTable", stream(wide), {}), ("MergeInsertIntoTable", stream(wide), merge),
        ("UpdateTable", None, {"updates": [["twice", "twice + 1"]], "predicate": "twice > 4"}),
        ("CountTableRows", None, {"predicate": "twice > 16"}),
        ("UpdateFieldMetadata", None, {"updates": [{"path": "twice", "metadata": {"a": "1"}}]}),
        ("CreateTableScalarIndex", None, {"column": "twice", "index_type": "BTREE"}),
        ("DeleteFromTable", None, {"predicate": "twice = 2"}),
        ("AlterTableAlterColumns", None, {"alterations": [{"path": "twice", "rename": "both"}]}),
    )  # fmt: skip
    for operation, data, request in calls:
        reply = lab.call(operation, data, id=table, **request)
        if reply.code != 0:
            lab.must_fail(reply, [12, 13, 20])
        reply = lab.call(operation, data, id=table, **request, **_SIDE)
        (lab.may_refuse if data is None else lab.must_succeed)(reply)
    found = {r["id"]: r.get("both") for r in branch_rows(lab, table).rows.to_pylist()}
    lab.same(found, {2: 4, 5: 11, 6: 13, 8: 17}, "the new column by id")
    lab.maybe("AlterTableDropColumns", id=table, columns=["both"], **_SIDE)
    lab.same((lab.ids(table), _count(lab, table, **_SIDE)), ([1, 2], 4), "the rows of both lines")


@check("LN-BRANCH-063",
       "Deleting a version of one branch keeps the version with the same number of another branch.",
       "rest.yaml, BatchDeleteTableVersionsRequest, branch", "CreateTableBranch", "BatchDeleteTableVersions",
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def deleted_on_one(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("CreateTableBranch", id=table, name="side")
    _put(lab, table, *range(2, 7))
    _put(lab, table, *range(12, 17), **_SIDE)
    both = sorted({2, 3, 4, 5} & set(version_numbers(lab, table, **_SIDE)))
    if len(both) < 4:
        raise Skipped("versions of a branch are not counted from where it starts")
    due = {"main": {v: [*range(1, v + 1)] for v in both},
           "side": {v: _ids(lab, table, version=v, **_SIDE) for v in both}}  # fmt: skip
    for name, gone in (("side", 3), ("main", 4)):
        of = _SIDE if name == "side" else {}
        lab.maybe("BatchDeleteTableVersions", id=table, **of,
                  ranges=[{"start_version": gone, "end_version": gone + 1}])  # fmt: skip
        if gone in version_numbers(lab, table, **of):
            raise Skipped("the version may not be deleted here")
        del due[name][gone]
        for operation in ("CountTableRows", "DescribeTableVersion", "RestoreTable"):
            reply = lab.call(operation, id=table, version=gone, **of)
            if reply.code != 0:
                lab.must_fail(reply, [11])
        for line, versions in due.items():
            on = _SIDE if line == "side" else {}
            found = {v: _ids(lab, table, version=v, **on) for v in versions}
            lab.same(found, versions, f"the ids on {line} after {gone} was deleted on {name}")


@check("LN-BRANCH-064",
       "A branch created under the name of a deleted branch inherits nothing from it.",
       "rest.yaml, DeleteTableBranch: removes a branch, and with it the versions that exist only there",
       "DeleteTableBranch", "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def made_again(lab: Lab) -> None:
    table = _forked(lab)
    _written(lab, table, max(version_numbers(lab, table)), **_SIDE)
    last = max(version_numbers(lab, table, **_SIDE))
    lab.ok("DeleteTableBranch", id=table, name="side")
    for name in ("side", "new"):
        lab.ok("CreateTableBranch", id=table, name=name, from_version=1)
    fresh = {k: v for k, v in _line(lab, table, branch="new").items() if "version" not in k}
    _kept(lab, fresh, _line(lab, table, **_SIDE), "a branch made again, as of one of a new name")
    _count(lab, table, **_SIDE)  # skips if a branch cannot be read
    lab.refused("CountTableRows", [0, 11], id=table, version=last, **_SIDE)
    listed = lab.ok("ListTableBranches", id=table).get("branches") or {}
    found = (listed.get("side") or {}).get("parentVersion")
    lab.same(found, 1, "the version that it starts from")


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
    ):  # fmt: skip
        lab.refused(operation, codes, id=table, **request)
    lab.same((lab.ids(table), branch_ids(lab, table)), ([1], [1]), "the ids of both lines")


@check("LN-REFERENCE-061",
       "A tag or branch name is stored unchanged, or fails with code 13 and creates nothing.",
       "rest.yaml, CreateTableTag and CreateTableBranch, InvalidInput",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def odd_names(lab: Lab) -> None:
    table = lab.new_table(1)
    for create, key, listing, things, remove in (
        ("CreateTableTag", "tag", "ListTableTags", "tags", "DeleteTableTag"),
        ("CreateTableBranch", "name", "ListTableBranches", "branches", "DeleteTableBranch"),
    ):  # fmt: skip
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
        told = _ask(lab, "DescribeTableVersion", id=table, version=version, **of)["version"]
        return told.get("manifest_size")

    if size(1) is None:
        raise Skipped("sizes of manifests are not told")
    for tag in ("kept", "t"):
        lab.given("CreateTableTag", id=table, tag=tag, version=1)
    sides = sorted(version_numbers(lab, table, **_SIDE))
    for version, of in ((1, {}), (2, {}), (sides[-1], _SIDE), (1, {})):
        lab.maybe("UpdateTableTag", id=table, tag="t", version=version, **of)
        found = lab.ok("ListTableTags", id=table)["tags"]
        told = (found["t"]["manifestSize"], found["kept"]["manifestSize"])
        lab.same(told, (size(version, **of), size(1)), f"the sizes for {version} {of or ''}")
    listed = lab.ok("ListTableBranches", id=table)["branches"]["side"]["manifestSize"]
    lab.that(listed in (size(1), size(sides[0], **_SIDE)), "the size where it starts", listed)


@check("LN-REFERENCE-063",
       "A declared table has no versions, tags or branches, and failed calls create none.",
       "protocol semantics, DescribeTable: declared-only holds no dataset; Errors, code 19", "DeclareTable",
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
        lab.that(not reply.succeeded, f"{operation} of a declared table to fail", reply.outcome())
    told = lab.maybe("DescribeTable", id=table, check_declared=True)
    lab.same(told.get("is_only_declared"), True, "is_only_declared after all of that")
    lab.given("CreateTable", stream(people(1)), id=table)
    for operation, key in (("ListTableTags", "tags"), ("ListTableBranches", "branches")):
        found = (lab.call(operation, id=table).answer or {}).get(key) or ()
        lab.same(list(found), [], f"the {key} when it has rows")
    lab.same(version_numbers(lab, table), [1], "the versions when it has rows")


@check("LN-TABLE-RENAME-060",
       "A renamed or moved table keeps its branches, and a new table of the old name has none.",
       "rest.yaml, RenameTable: the rows, versions and schema of the table stay as they are", "RenameTable",
       "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def renamed(lab: Lab) -> None:
    table = old = _forked(lab)
    lab.call("CreateTableTag", id=table, tag="t", version=1)

    def told(at: list[str]) -> dict[str, Any]:
        side = {f"{key}, branch": value for key, value in _line(lab, at, **_SIDE).items()}
        tags = lab.call("ListTableTags", id=at).answer
        return {**_line(lab, at), **side, "the tags": tags, "the branches": _starts(lab, at)}

    before = told(table)
    moves: list[tuple[list[str], dict[str, Any]]] = [(lab.table_id(), {})]
    if lab.shape.tables_in_new:
        parent = lab.new_namespace()
        moves.append(([*parent, "moved"], {"new_namespace_id": parent}))
    for new, more in moves:
        reply = lab.call("RenameTable", id=table, new_table_name=new[-1], **more)
        if reply.code == 19:
            raise Skipped(f"RenameTable of a table with branches: {reply.outcome()}")
        (lab.may_refuse if more else lab.must_succeed)(reply)
        table = new
        _kept(lab, before, told(table), f"a table renamed to {new}")
    lab.given("CreateTable", stream(people(7)), id=old)
    found = (_starts(lab, old), version_numbers(lab, old))
    lab.same(found, ({}, [1]), "branches and versions of a new table of the old name")
    lab.refused("DeleteTableTag", [0, 8], id=old, tag="t")
    _kept(lab, before, told(table), "the renamed table beside one of its old name")


@check("LN-TABLE-CREATE-060",
       "Versions, tags and branches that remain after mode Overwrite can be read unchanged.",
       "rest.yaml, CreateTable, mode Overwrite; ListTableVersions, ListTableTags and ListTableBranches",
       "CreateTable", "CreateTableBranch", "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def overwritten(lab: Lab) -> None:
    table = _forked(lab)
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    version = lab.maybe("CreateTable", stream(people(11)), id=table, mode="Overwrite").get(
        "version"
    )
    versions = version_numbers(lab, table, descending=True)
    lab.that(version in (None, versions[0]), "the newest version in the answer", version)
    lab.same(lab.ids(table, version=versions[0]), [11], "the ids of the newest version")
    for number in {1, 2} & set(versions[1:]):
        lab.same(lab.ids(table, version=number), [1, 2, 3], f"the ids of version {number}")
    for tag in (lab.call("ListTableTags", id=table).answer or {}).get("tags") or ():
        held = lab.ok("GetTableTagVersion", id=table, tag=tag)["version"]
        lab.that(held in versions[1:], f"the tag {tag} to go with its version", versions)
    listed = lab.ok("ListTableBranches", id=table).get("branches") or {}
    for name, number in (("side", 10), ("other", 11)):
        if name in listed:
            lab.same(branch_ids(lab, table, name), [1, 2, 3, number], f"the ids of {name}")
            continue
        lab.refused("CountTableRows", [0, 11], id=table, branch=name)
        lab.ok("CreateTableBranch", id=table, name=name)
        lab.same(branch_ids(lab, table, name), [11], f"the ids of a new branch {name}")


@check("LN-VERSION-060",
       "Version numbers continue from the latest version, whichever earlier ones were deleted.",
       "rest.yaml, CreateTableVersionRequest: one more than the latest; BatchDeleteTableVersions",
       "RestoreTable", "BatchDeleteTableVersions", "ListTableVersions", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def counted_on(lab: Lab) -> None:
    table = lab.new_table(1)
    for of in ({}, _SIDE):
        if of:
            lab.maybe("CreateTableBranch", id=table, name="side")
        first = _ask(lab, "DescribeTableVersion", id=table, **of)["version"]["version"]
        before = _ids(lab, table, **of)
        _put(lab, table, 12, 13, 14, 15, **of)
        ranges = [{"start_version": first + 1, "end_version": first + 4}]
        lab.maybe("BatchDeleteTableVersions", id=table, ranges=ranges, **of)
        _put(lab, table, 16, **of)
        _ask(lab, "RestoreTable", id=table, version=first, **of)
        lab.same(_ids(lab, table, **of), before, f"the ids of the version that was restored {of}")
        found = [v for v in version_numbers(lab, table, descending=True, **of) if v > first]
        lab.same(found, [first + n for n in (6, 5, 4)], f"the versions {of or ''}")
        for version in () if of else (first, *found):
            lab.maybe("TableExists", id=table, version=version)
        lab.refused("RestoreTable", [11], id=table, version=first + 2, **of)


@check("LN-VERSION-061",
       "Writes after RestoreTable use the columns and indices of the restored version.",
       "rest.yaml, RestoreTable: makes the contents of an earlier version current again", "RestoreTable",
       "AlterTableAddColumns", "AlterTableDropColumns", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def written_after(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lines = ({}, _SIDE) if lab.call("CreateTableBranch", id=table, name="side").succeeded else ({},)
    for of in lines:
        full = _ask(lab, "DescribeTableVersion", id=table, **of)["version"]["version"]
        _ask(lab, "AlterTableDropColumns", id=table, columns=["score"], **of)
        _ask(lab, "AlterTableAddColumns", id=table, **_TWICE, **of)
        other = _ask(lab, "DescribeTableVersion", id=table, **of)["version"]["version"]
        lab.call("CreateTableScalarIndex", id=table, **_BY_ID, **of)
        _ask(lab, "RestoreTable", id=table, version=full, **of)
        for operation, data, request in (
            ("InsertIntoTable", stream(people(3)), {}), ("CreateTableScalarIndex", None, _BY_ID),
            ("UpdateTable", None, {"updates": [["score", "7.0"]]}), ("AlterTableAddColumns", None, _TWICE),
        ):  # fmt: skip
            reply = lab.call(operation, data, id=table, **request, **of)
            (lab.may_refuse if of else lab.must_succeed)(reply)
        _ask(lab, "RestoreTable", id=table, version=other, **of)
        none = [0] if of else []
        lab.refused("InsertIntoTable", [13, 20, *none], stream(people(4)), id=table, **of)
        lab.refused("UpdateTable", [12, 13, *none], id=table, updates=[["score", "7.0"]], **of)
        lab.refused("CountTableRows", [12, 13, *none], id=table, predicate="score > 1", **of)
        found = _count(lab, table, predicate="twice = 4", **of)
        lab.same(found, 1, "the rows by the other column")
        found = _count(lab, table, version=full, predicate="score > 0", **of)
        lab.same(found, 2, "its older rows")


@check("LN-MANAGED-060",
       "One invalid entry fails a whole batch of versions with the error code of that entry.",
       "rest.yaml, BatchCreateTableVersionsRequest, CreateTableVersionEntry and ManifestNamingScheme",
       "BatchCreateTableVersions", "CreateTable", "DescribeTableVersion", capabilities=_TABLES)  # fmt: skip
def batches(lab: Lab) -> None:
    tables = [managed_table(lab), managed_table(lab)]
    kept: dict[str, Any] = {"metadata": {"by": "kit"}, "e_tag": "tag-1"}
    one, two = ({**staged(lab, table), **kept, "naming_scheme": "v2"} for table in tables)
    for codes, wrong in (
        ([4], {**two, "id": lab.table_id()}), ([0, 4, 13], {**two, "branch": "nowhere"}),
        ([13], {**two, "naming_scheme": "V3"}), ([13], one), ([13, 14], {**two, "version": 1}),
    ):  # fmt: skip
        for entries in ([one, wrong], [wrong, one]):
            lab.refused("BatchCreateTableVersions", codes, entries=entries)
            lab.same([newest(lab, t) for t in tables], [1, 1], f"the versions after code {codes}")
        if wrong is not one:
            lab.refused("CreateTableVersion", codes, **wrong)
    found = lab.ok("BatchCreateTableVersions", entries=[two, one]).get("versions") or []
    lab.same(len(found), 2, "the number of versions in the answer")
    for entry, version in zip((two, one), found, strict=True):
        right_version(lab, version, entry)
        told = lab.ok("DescribeTableVersion", id=entry["id"], version=2)["version"]
        lab.has(told, kept, "the version")
        lab.same(version["manifest_path"], told["manifest_path"], "its manifest as it was answered")


@check("LN-MANAGED-061", "BatchCommitTables applies its operations in the given order.",
       "rest.yaml, BatchCommitTablesRequest, operations", "BatchCommitTables", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def in_order(lab: Lab) -> None:
    table, new = managed_table(lab), lab.table_id()
    for at, names in ((table, ("deregister_table", "declare_table")),
                      (new, ("declare_table", "deregister_table"))):  # fmt: skip
        answer = lab.maybe("BatchCommitTables", operations=[{name: {"id": at}} for name in names])
        told = [k for r in answer.get("results") or () for k, v in r.items() if v is not None]
        lab.same(told, list(names), "the results")
    found = [lab.exists("TableExists", at) for at in (table, new)]
    lab.same(found, [True, False], "whether what was declared last, and first, is there")
