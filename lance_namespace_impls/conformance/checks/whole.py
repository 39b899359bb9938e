"""A call has exactly its specified effect, or it is rejected and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ..lab import Lab, NotReached, Skipped
from ..requirement import Level, check
from ..rows import people, plain, stream
from .history import version_numbers

_SOURCE = "rest.yaml, the operation's description and the codes of its fields"
_TABLES = ["tables"]
FULL = {"load_detailed_metadata": True}
"""Makes DescribeTable open the dataset; otherwise the catalog alone may answer."""
_TAGGED = {"first": 1, "last": 2}


def furnished(lab: Lab) -> list[str]:
    """Return a table of two versions, with properties, tags and a branch if supported."""
    table = lab.table_id()
    made = lab.call("CreateTable", stream(people(1, 2, 3)), id=table, properties={"owner": "ana"})
    if made.code in (0, 13):  # these properties are not supported
        table = lab.table_id()
        made = lab.call("CreateTable", stream(people(1, 2, 3)), id=table)
    lab.must_be_given(made)
    lab.given("InsertIntoTable", stream(people(4)), id=table)
    for tag, version in _TAGGED.items():
        lab.call("CreateTableTag", id=table, tag=tag, version=version)
    lab.call("CreateTableBranch", id=table, name="side")
    return table


def rename(lab: Lab, table: list[str], name: str) -> None:
    """Rename a table that has branches.

    Raises:
        Skipped: the target cannot move it, since a branch in Lance records the data's location.
    """
    reply = lab.call("RenameTable", id=table, new_table_name=name)
    if reply.code == 19:
        raise Skipped(f"RenameTable of a table with branches: {reply.outcome()}")
    lab.may_refuse(reply)


def state(lab: Lab, table: list[str]) -> dict[str, Any]:
    """Return everything that a target reports about a table."""
    told: dict[str, Any] = {"rows": lab.query(table).sort_by("id").to_pylist()}
    described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
    told |= {
        k: described.get(k) for k in ("location", "version", "schema", "properties", "metadata")
    }
    for operation, key in (
        ("ListTableTags", "tags"), ("ListTableBranches", "branches"),
        ("ListTableIndices", "indexes"), ("ListTableVersions", "versions"),
    ):  # fmt: skip
        reply = lab.call(operation, id=table)
        found = (reply.answer or {}).get(key) if reply.succeeded else None
        told[key] = sorted(found, key=repr) if isinstance(found, list) else found
    if "side" in (told["branches"] or {}):
        side = lab.call("QueryTable", id=table, branch="side", vector=lab.no_vector(), k=100)
        told["the branch"] = side.rows.sort_by("id").to_pylist() if side.rows is not None else None
    return told


def unchanged(lab: Lab, before: dict[str, Any], after: dict[str, Any], what: str) -> None:
    """Fail at the first value that differs."""
    for key, value in before.items():
        lab.same(after.get(key), value, f"{key} after {what}")


_TWICE = [{"name": "twice", "expression": "id * 2"}]
_REFUSED: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("CreateTable", b"no stream", {"mode": "Overwrite"}),
    ("CreateTable", stream(people(*range(99)))[:-400], {"mode": "Overwrite"}),
    ("CreateTable", stream(people(9)), {"mode": "sometimes"}),
    ("InsertIntoTable", b"no stream", {"mode": "overwrite"}),
    ("InsertIntoTable", stream(people(*range(99)))[:-400], {}),
    ("InsertIntoTable", stream(people(9)), {"mode": "sometimes"}),
    ("InsertIntoTable", plain(1, column="other"), {}),
    ("MergeInsertIntoTable", stream(people(9)),
     {"on": "nothing", "when_not_matched_insert_all": True}),
    ("MergeInsertIntoTable", stream(people(9)), {"on": "id"}),
    ("MergeInsertIntoTable", stream(people(1)), {
        "on": "id", "when_matched_update_all": True, "when_matched_update_all_filt": "no such ("}),
    ("UpdateTable", None, {"updates": [["name", "'x'"], ["nothing", "1"]]}),
    ("UpdateTable", None, {"updates": [["name", "'x'"], ["id", "no such ("]]}),
    ("UpdateTable", None, {"updates": [["name", "'x'"]], "predicate": "nothing = 1"}),
    ("DeleteFromTable", None, {"predicate": "nothing = 1"}),
    ("DeleteFromTable", None, {"predicate": ""}),
    ("RegisterTable", None, {"mode": "sometimes", "location": "free"}),
    ("AlterTable", None, {"set_properties": {"owner": "bob", "more": "1"}, "unset_properties": ["owner"]}),
    ("AlterTableAddColumns", None, {"new_columns": [*_TWICE, {"name": "id", "expression": "1"}]}),
    ("AlterTableAddColumns", None, {"new_columns": [*_TWICE, {"name": "nothing"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [
        {"path": "name", "rename": "label"}, {"path": "nothing", "rename": "other"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [
        {"path": "name", "rename": "label"}, {"path": "score", "nullable": False}]}),
    ("AlterTableDropColumns", None, {"columns": ["name", "nothing"]}),
    ("UpdateFieldMetadata", None, {"updates": [
        {"path": "id", "metadata": {"a": "1"}}, {"path": "nothing", "metadata": {"a": "1"}}]}),
    ("CreateTableScalarIndex", None, {"column": "nothing", "index_type": "BTREE"}),
    ("CreateTableScalarIndex", None, {"column": "id", "index_type": "SOMETIMES"}),
    ("CreateTableIndex", None, {"column": "name", "index_type": "IVF_FLAT"}),
    ("DropTableIndex", None, {"index_name": "nothing"}),
    ("RestoreTable", None, {"version": 99}),
    ("CreateTableTag", None, {"tag": "other", "version": 99}),
    ("CreateTableTag", None, {"tag": "first", "version": 2}),
    ("CreateTableTag", None, {"tag": "no / name", "version": 1}),
    ("UpdateTableTag", None, {"tag": "first", "version": 99}),
    ("UpdateTableTag", None, {"tag": "nothing", "version": 1}),
    ("DeleteTableTag", None, {"tag": "nothing"}),
    ("CreateTableBranch", None, {"name": "other", "from_version": 99}),
    ("CreateTableBranch", None, {"name": "other", "from_branch": "nothing"}),
    ("CreateTableBranch", None, {"name": "side", "from_version": 1}),
    ("DeleteTableBranch", None, {"name": "nothing"}),
    ("RenameTable", None, {"new_table_name": ""}),
    ("BatchDeleteTableVersions", None, {"ranges": [{"start_version": "no", "end_version": 2}]}),
    ("CreateTableVersion", None, {"version": 99, "manifest_path": "nowhere"}),
)  # fmt: skip
"""Calls that every target rejects, each with a part that could be carried out first."""


def _refusals(area: str, operations: set[str]) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = furnished(lab)
        before = state(lab, table)
        asked = False
        for operation, data, request in _REFUSED:
            if operation not in operations:
                continue
            if "location" in request:  # a location that no table uses
                request = {**request, "location": lab.free_location()}
            reply = lab.call(operation, data, id=table, **request)
            if reply.code == 0:
                continue
            asked = True
            after = state(lab, table)
            if not reply.succeeded:  # the operation's own checks cover the codes
                unchanged(lab, before, after, f"{operation} of {request} was refused")
            before = after
        if not asked:
            raise Skipped(f"no operation of {area}")

    return run


for _number, (_area, _operations) in enumerate(
    (
        ("tables", {"CreateTable", "RegisterTable", "AlterTable", "RenameTable"}),
        ("rows", {"InsertIntoTable", "MergeInsertIntoTable", "UpdateTable", "DeleteFromTable"}),
        ("columns", {"AlterTableAddColumns", "AlterTableAlterColumns", "AlterTableDropColumns",
                     "UpdateFieldMetadata"}),
        ("indices", {"CreateTableScalarIndex", "CreateTableIndex", "DropTableIndex"}),
        ("tags and versions", {"RestoreTable", "CreateTableTag", "UpdateTableTag", "DeleteTableTag",
                               "BatchDeleteTableVersions", "CreateTableVersion"}),
        ("branches", {"CreateTableBranch", "DeleteTableBranch"}),
    ),
    1,
):  # fmt: skip
    check(f"LN-WHOLE-{_number:03}", f"A rejected operation on {_area} leaves the table unchanged.",
          _SOURCE, "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable",
          capabilities=_TABLES)(_refusals(_area, _operations))  # fmt: skip


_MERGE = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
_CHANGES: tuple[tuple[str, bytes | None, dict[str, Any], set[str]], ...] = (
    ("InsertIntoTable", stream(people(9)), {}, {"rows"}),
    ("InsertIntoTable", stream(people(9)), {"mode": "overwrite"}, {"rows"}),
    ("UpdateTable", None, {"updates": [["name", "'x'"]]}, {"rows"}),
    ("DeleteFromTable", None, {"predicate": "id = 2"}, {"rows"}),
    ("MergeInsertIntoTable", stream(people(1, 9)), _MERGE, {"rows"}),
    ("RestoreTable", None, {"version": 1}, {"rows", "schema", "metadata"}),
    ("AlterTable", None, {"set_properties": {"more": "1"}}, {"properties"}),
    ("AlterTableAddColumns", None, {"new_columns": _TWICE}, {"rows", "schema"}),
    ("AlterTableAlterColumns", None, {"alterations": [{"path": "name", "rename": "label"}]},
     {"rows", "schema"}),
    ("AlterTableDropColumns", None, {"columns": ["score"]}, {"rows", "schema"}),
    ("UpdateFieldMetadata", None, {"updates": [{"path": "id", "metadata": {"a": "1"}}]}, {"schema"}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"a": "1"}}, {"schema", "metadata"}),
    ("CreateTableScalarIndex", None, {"column": "score", "index_type": "BTREE"}, {"indexes"}),
    ("CreateTableTag", None, {"tag": "more", "version": 1}, {"tags"}),
    ("UpdateTableTag", None, {"tag": "last", "version": 1}, {"tags"}),
    ("DeleteTableTag", None, {"tag": "last"}, {"tags"}),
    ("DeleteTableTag", None, {"tag": "first"}, {"tags"}),
    ("CreateTableBranch", None, {"name": "more"}, {"branches"}),
    ("DeleteTableBranch", None, {"name": "side"}, {"branches", "the branch"}),
)  # fmt: skip
"""Calls that succeed, each with what it may change in a table besides its versions."""
_NO_VERSION = {
    "AlterTable", "CreateTableTag", "UpdateTableTag", "DeleteTableTag", "CreateTableBranch",
    "DeleteTableBranch",
}  # fmt: skip


def _only_its_own(data: bool) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        for operation, rows, request, changes in _CHANGES:
            if (operation in _NO_VERSION) == data:
                continue
            table = furnished(lab)
            before = state(lab, table)
            reply = lab.call(operation, rows, id=table, **request)
            if not reply.succeeded:
                continue
            after = state(lab, table)
            if data:
                changes = changes | {"version", "versions"}
            for key in changes:
                before.pop(key, None)
            unchanged(lab, before, after, operation)

    return run


check("LN-WHOLE-007", "A write to rows, columns or metadata changes nothing else in the table.",
      _SOURCE, "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable",
      capabilities=_TABLES)(_only_its_own(True))  # fmt: skip
check("LN-WHOLE-008",
      "Changes to properties, tags and branches create no version and affect no rows or columns.",
      _SOURCE, "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable",
      capabilities=_TABLES)(_only_its_own(False))  # fmt: skip


@check("LN-WHOLE-009",
       "A rejected call on a namespace changes neither its properties nor its tables.",
       _SOURCE, "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    namespace = lab.namespace_id()
    reply = lab.call("CreateNamespace", id=namespace, properties={"owner": "ana"})
    if not reply.succeeded:
        lab.given("CreateNamespace", id=namespace)
    full = lab.shape.tables_in_new
    if full:
        lab.given("DeclareTable", id=[*namespace, "kept"])
    before = lab.ok("DescribeNamespace", id=namespace).get("properties")
    both = {"set_properties": {"owner": "bob", "more": "1"}, "unset_properties": ["owner"]}
    for operation, request in (
        ("CreateNamespace", {"properties": {"owner": "bob"}}),
        ("CreateNamespace", {"mode": "sometimes", "properties": {"owner": "bob"}}),
        ("CreateNamespace", {"mode": "Overwrite", "properties": {"owner": "bob"}}),
        ("DropNamespace", {}), ("DropNamespace", {"mode": "Skip"}),
        ("DropNamespace", {"mode": "sometimes"}), ("DropNamespace", {"behavior": "sometimes"}),
        ("AlterNamespace", both),
    ):  # fmt: skip
        if not full and "mode" in request and request["mode"] != "sometimes":
            continue
        if not full and operation == "DropNamespace" and not request:
            continue
        if lab.call(operation, id=namespace, **request).succeeded:
            found = lab.call("DescribeNamespace", id=namespace)
            if not found.succeeded:
                raise NotReached(f"{operation} of {request} went through: {found.outcome()}")
            before = (found.answer or {}).get("properties")
            full = full and lab.exists("TableExists", [*namespace, "kept"])
            continue
        after = lab.ok("DescribeNamespace", id=namespace).get("properties")
        lab.same(after, before, f"the properties after {operation} of {request} was refused")
        if full:
            lab.that(
                lab.exists("TableExists", [*namespace, "kept"]), "its table to stay", operation
            )


@check("LN-ROWS-MERGE-011",
       "A merge with several key columns matches rows on all of them together.",
       "rest.yaml, MergeInsertIntoTableRequest: names of the key columns", "MergeInsertIntoTable",
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def several_keys(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    lab.given("UpdateTable", id=table, predicate="id = 1", updates=[["name", "'other'"]])
    request = {"when_matched_update_all": True, "when_not_matched_insert_all": True}
    source = people(1, 2, 4).set_column(1, "name", [["n1", "n2", "n3"]])
    reply = lab.call("MergeInsertIntoTable", stream(source), id=table, on=["id", "name"], **request)
    if reply.code in (12, 13):
        raise Skipped(f"MergeInsertIntoTable by several columns: {reply.outcome()}")
    lab.must_succeed(reply)
    found = sorted((row["id"], row["name"]) for row in lab.query(table).to_pylist())
    due = [(1, "n1"), (1, "other"), (2, "n2"), (3, "n3"), (4, "n3")]
    lab.same(found, due, "the rows: one of another id or another name is no match")


@check("LN-ROWS-MERGE-012",
       "A merge condition without its flag has no effect or the same effect as with the flag.",
       "rest.yaml, MergeInsertIntoTableRequest: unused without the flag; the published texts of the two "
       "conditions: rows are updated or deleted where they hold", "MergeInsertIntoTable",
       "CreateTable", "QueryTable", level=Level.MAY, capabilities=_TABLES)  # fmt: skip
def conditions_alone(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    rows = people(1, 9).set_column(1, "name", [["new", "new"]])
    lab.ok("MergeInsertIntoTable", stream(rows), id=table, on="id", when_not_matched_insert_all=True,
           when_matched_update_all_filt="target.id > 0",
           when_not_matched_by_source_delete_filt="id < 3")  # fmt: skip
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    right = [{1: name, **rest, 3: "n3", 9: "new"}
             for name in ("n1", "new") for rest in ({}, {2: "n2"})]  # fmt: skip
    lab.that(found in right, "the names by id as without the conditions or with their flags", found)


@check("LN-METADATA-007",
       "UpdateFieldMetadata returns all metadata of the columns that it changes.",
       "rest.yaml, UpdateFieldMetadataResponse", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def all_metadata(lab: Lab) -> None:
    table = lab.new_table()
    for given, due in (
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}), ({"b": "3"}, {"a": "1", "b": "3"}),
        ({"a": None}, {"b": "3"}),
    ):  # fmt: skip
        answer = lab.maybe(
            "UpdateFieldMetadata", id=table, updates=[{"path": "id", "metadata": given}]
        )
        if (answer.get("fields") or {}).get("id") is None:
            raise Skipped("the answer holds no metadata")
        lab.same(answer["fields"]["id"], due, f"the metadata after {given}")


def _versioned(lab: Lab, count: int) -> list[str]:
    """Return a table of ``count`` versions, each with one row more than the previous one."""
    table = lab.new_table(1)
    for number in range(2, count + 1):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    return table


@check("LN-VERSION-018", "deleted_count is the number of existing versions that were deleted.",
       "rest.yaml, BatchDeleteTableVersionsRequest and Response", "BatchDeleteTableVersions",
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def counted_once(lab: Lab) -> None:
    table = _versioned(lab, 6)
    for ranges in (
        [{"start_version": 2, "end_version": 3}], [{"start_version": 0, "end_version": 4}],
        [{"start_version": 1, "end_version": 4}, {"start_version": 4, "end_version": 5}],
    ):  # fmt: skip
        before = sorted(version_numbers(lab, table))
        answer = lab.maybe("BatchDeleteTableVersions", id=table, ranges=ranges)
        left = version_numbers(lab, table)
        gone = [version for version in before if version not in left]
        within = {v for r in ranges for v in range(r["start_version"], r["end_version"])}
        lab.that(within & set(before) <= set(gone), f"all versions of {ranges} to be gone", gone)
        if answer.get("deleted_count") is not None:
            lab.same(answer["deleted_count"], len(gone), f"deleted_count for {ranges}")


@check("LN-VERSION-019",
       "A range that ends at -1 includes all versions from its start, with or without the latest.",
       "rest.yaml, VersionRange: what the server may delete; the published text of end_version: up to "
       "and including the latest", "BatchDeleteTableVersions", "ListTableVersions", "InsertIntoTable",
       "CreateTable", level=Level.MAY, capabilities=_TABLES)  # fmt: skip
def to_the_end(lab: Lab) -> None:
    table = _versioned(lab, 5)
    reply = lab.call("BatchDeleteTableVersions", id=table,
                     ranges=[{"start_version": 2, "end_version": -1}])  # fmt: skip
    if reply.code in (0, 13):  # a range that includes the latest version may be rejected
        raise Skipped(f"BatchDeleteTableVersions: {reply.outcome()}")
    lab.must_succeed(reply)
    left = sorted(version_numbers(lab, table))
    lab.that(left in ([1, 5], [1]), "versions 1 and 5 to be left, or version 1", left)
    lab.same(lab.ids(table), [*range(1, left[-1] + 1)], f"the ids of version {left[-1]}")


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
        lab.same(answer["version"], 1, "the version that the tag describes")
    lab.refused("GetTableTagVersion", [8], id=table, tag="1")


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
            held.get("parentBranch") in (None, "main"), "no other parent than the main line", held
        )
        made = held.get("createAt") or 0
        lab.that(0 <= made < 10**10, "createAt in seconds since 1970", made)


@check("LN-ROWS-DECLARED-002",
       "Inserting or merging rows into a declared table creates the table with these rows.",
       "rest.yaml, InsertIntoTable and MergeInsertIntoTable; protocol semantics, Errors: or code 19",
       "DeclareTable", "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def declared(lab: Lab) -> None:
    merge = {"on": "id", "when_not_matched_insert_all": True}
    for operation, request in (
        ("InsertIntoTable", {}), ("InsertIntoTable", {"mode": "overwrite"}), ("MergeInsertIntoTable", merge),
    ):  # fmt: skip
        table = lab.new_declared()
        reply = lab.call(operation, stream(people(1, 2)), id=table, **request)
        if not reply.succeeded:
            lab.must_fail(reply, [0, 19])
            continue
        lab.same(lab.ids(table), [1, 2], f"the ids after {operation}")


@check("LN-TABLE-CREATE-029",
       "A schema with two columns of the same name fails with code 13 or 20 and creates nothing.",
       "rest.yaml, CreateTable: a schema that Lance cannot store", "CreateTable", "TableExists",
       capabilities=_TABLES)  # fmt: skip
def twice_the_name(lab: Lab) -> None:
    table = lab.table_id()
    rows = pa.table([[1], [2]], names=["x", "x"])
    lab.refused("CreateTable", [13, 20], stream(rows), id=table)
    lab.that(not lab.exists("TableExists", table), "no table", "one")


@check("LN-TABLE-DESCRIBE-021",
       "DescribeTable with more than one of version, tag and branch fails with code 13.",
       "rest.yaml, DescribeTableRequest", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def at_most_one(lab: Lab) -> None:
    table = furnished(lab)
    for request in (
        {"version": 1, "tag": "first"}, {"version": 1, "branch": "side"}, {"tag": "first", "branch": "side"},
    ):  # fmt: skip
        lab.refused("DescribeTable", [0, 13], id=table, **request)


@check("LN-STATS-004",
       "Fragment statistics report the minimum, maximum, mean and median number of rows.",
       "rest.yaml, FragmentSummary", "GetTableStats", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def fragments(lab: Lab) -> None:
    table = lab.new_table(1)
    for size in (2, 3, 4, 10):
        lab.given("InsertIntoTable", stream(people(*range(size))), id=table)
    found = lab.ok("GetTableStats", id=table).get("fragment_stats") or {}
    if found.get("num_fragments") != 5:
        raise Skipped("rows are not kept in a fragment a write")
    lab.has(found.get("lengths"), {"min": 1, "max": 10, "mean": 4, "p50": 3}, "the lengths")
    for key, least, most in (("p25", 1, 3), ("p75", 3, 10), ("p99", 4, 10)):
        lab.that(least <= found["lengths"][key] <= most, f"{key} from {least} to {most}", found)


@check("LN-WHOLE-010", "A table operation on a namespace fails and leaves the namespace unchanged.",
       'protocol semantics, "Errors"; general specification, "Object Name"', "CreateNamespace",
       "DescribeTable", capabilities=["namespaces", "tables"])  # fmt: skip
def on_a_namespace(lab: Lab) -> None:
    namespace = lab.new_namespace()
    told = lab.ok("DescribeNamespace", id=namespace)
    calls = [("DropTable", None, {}), ("DeregisterTable", None, {}), ("DescribeTable", None, {}),
             ("RenameTable", None, {"new_table_name": lab.ledger.fresh()})]  # fmt: skip
    for operation, data, request in (*calls, *((c[0], c[1], c[2]) for c in _CHANGES)):
        reply = lab.call(operation, data, id=namespace, **request)
        if reply.code != 0:
            lab.that(not reply.succeeded, f"{operation} of a namespace to fail", reply.outcome())
        now = lab.ok("DescribeNamespace", id=namespace)
        lab.same(now, told, f"the namespace after {operation}")
