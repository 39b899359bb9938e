"""Versions of a table: their listing, description, deletion and restoration."""

from __future__ import annotations

import time
from typing import Any

from ...lab import Lab, Skipped
from ...requirement import Level, check
from ...rows import PEOPLE, people, stream
from ...table_versions import (
    answer_of,
    count_on_branch,
    ids_on_branch,
    insert_each,
    two_versions,
    version_numbers,
)

_VERSIONS = "rest.yaml, ListTableVersions and DescribeTableVersion"
_RESTORE = "rest.yaml, RestoreTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)
_DELETE_VERSIONS = "rest.yaml, BatchDeleteTableVersions"
_VERSION_OPERATIONS = "rest.yaml, TableVersion and the version operations"
_ONE = "rest.yaml, the descriptions of the operations that write"
_SIDE = {"branch": "side"}
_TWICE = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}
_BY_ID = {"column": "id", "index_type": "BTREE", "name": "by_id"}


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


@check("LN-VERSION-017", "Restoring the newest version creates a new version and keeps the rows.",
       _RESTORE, "RestoreTable", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def restore_newest(lab: Lab) -> None:
    table = two_versions(lab)
    lab.ok("RestoreTable", id=table, version=2)
    lab.same(lab.count(table), len(ALL) + 1, "the number of rows")
    newest = lab.ok("DescribeTableVersion", id=table)["version"]["version"]
    lab.that(newest > 2, "a version after 2", newest)


@check("LN-VERSION-010",
       "BatchDeleteTableVersions deletes the versions in its ranges and returns their number.",
       _DELETE_VERSIONS, "BatchDeleteTableVersions", "ListTableVersions", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def delete_versions(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12, 13, 14):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    answer = lab.maybe(
        "BatchDeleteTableVersions", id=table, ranges=[{"start_version": 1, "end_version": 3}]
    )
    left = sorted(version_numbers(lab, table))
    # The protocol leaves open whether a range includes its end.
    lab.that(
        left in ([3, 4, 5], [4, 5]), "versions 1 and 2 to be deleted, and 4 and 5 to remain", left
    )
    if answer.get("deleted_count") is not None:
        lab.same(answer["deleted_count"], 5 - len(left), "deleted_count")
    lab.refused("CountTableRows", [11], id=table, version=1)
    lab.same(lab.count(table), len(ALL) + 4, "the rows in the newest version")


@check("LN-VERSION-011",
       "Each version has its own manifest and a timestamp that does not decrease.",
       _VERSION_OPERATIONS, "ListTableVersions", "DescribeTableVersion", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def entries(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    listed = lab.ok("ListTableVersions", id=table).get("versions") or ()
    found = {entry["version"]: entry for entry in listed}
    lab.same(sorted(found), [1, 2, 3], "the versions")
    paths = [entry["manifest_path"] for entry in found.values()]
    lab.same(len(set(paths)), 3, "the number of distinct manifests")
    times = [found[n].get("timestamp_millis") for n in (1, 2, 3)]
    if None not in times:
        lab.same(times, sorted(times), "the timestamps in the order of the versions")
        now = time.time() * 1000
        lab.that(
            all(abs(now - t) < 86_400_000 for t in times),
            "timestamps of today, in milliseconds",
            times,
        )
    for number, entry in found.items():
        one = lab.ok("DescribeTableVersion", id=table, version=number).get("version") or {}
        for key in ("version", "manifest_path", "manifest_size"):
            lab.same(one.get(key), entry.get(key), f"the {key} of version {number}")


@check("LN-VERSION-012", "Each version keeps its rows after later writes.",
       "rest.yaml, UpdateTable: earlier versions keep the old values; RestoreTable",
       "CountTableRows", "QueryTable", "UpdateTable", "DeleteFromTable",
       "AlterTableAddColumns", "RestoreTable", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def kept(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lab.given("InsertIntoTable", stream(people(3)), id=table)
    lab.given("UpdateTable", id=table, predicate="id = 1", updates=[["name", "'new'"]])
    lab.given("DeleteFromTable", id=table, predicate="id = 2")
    lab.given("InsertIntoTable", stream(people(9)), id=table, mode="overwrite")
    due = [{1: "n1", 2: "n2"}, {1: "n1", 2: "n2", 3: "n3"}, {1: "new", 2: "n2", 3: "n3"},
           {1: "new", 3: "n3"}, {9: "n9"}]  # fmt: skip
    for number, names in enumerate(due, start=1):
        found = {row["id"]: row["name"] for row in lab.query(table, version=number).to_pylist()}
        lab.same(found, names, f"the names in version {number}")
        lab.same(lab.count(table, version=number), len(names), f"the rows in version {number}")
    lab.ok("RestoreTable", id=table, version=2)
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    lab.same(found, due[1], "the names after the restore of version 2")
    lab.given("InsertIntoTable", stream(people(20)), id=table)
    lab.same(lab.ids(table), [1, 2, 3, 20], "the ids after rows are added to the restored version")
    lab.same(lab.ids(table, version=5), [9], "the ids in version 5")


@check("LN-VERSION-013", "A range of versions includes its start and excludes its end.",
       "rest.yaml, VersionRange and BatchDeleteTableVersionsRequest", "BatchDeleteTableVersions",
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def ranges(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12, 13, 14, 15):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    wanted = [{"start_version": 1, "end_version": 2}, {"start_version": 3, "end_version": 5}]
    answer = lab.maybe("BatchDeleteTableVersions", id=table, ranges=wanted)
    lab.same(sorted(version_numbers(lab, table)), [2, 5, 6], "the versions")
    if answer.get("deleted_count") is not None:
        lab.same(answer["deleted_count"], 3, "deleted_count")
    lab.same(lab.count(table, version=2), 11, "the rows in version 2")
    lab.same(lab.count(table), 15, "the rows in the newest version")


@check("LN-VERSION-014", "Writes return the version that they created.",
       "rest.yaml, the responses of the write operations", "InsertIntoTable", "UpdateTable",
       "DeleteFromTable", "MergeInsertIntoTable", "DescribeTableVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def answered(lab: Lab) -> None:
    table = lab.new_table()
    for operation, data, request in (
        ("InsertIntoTable", stream(people(11)), {}),
        ("UpdateTable", None, {"predicate": "id = 1", "updates": [["name", "'x'"]]}),
        ("DeleteFromTable", None, {"predicate": "id = 2"}),
        ("MergeInsertIntoTable", stream(people(3, 12)), {
            "on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}),
        ("AlterTableAddColumns", None, {"new_columns": [{"name": "twice", "expression": "id * 2"}]}),
    ):  # fmt: skip
        version = lab.ok(operation, data, id=table, **request).get("version")
        newest = lab.ok("DescribeTableVersion", id=table).get("version") or {}
        if version is not None:
            lab.same(version, newest.get("version"), f"the version that {operation} returns")


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
        [{"start_version": 2, "end_version": 3}],
        [{"start_version": 0, "end_version": 4}],
        [{"start_version": 1, "end_version": 4}, {"start_version": 4, "end_version": 5}],
    ):
        before = sorted(version_numbers(lab, table))
        answer = lab.maybe("BatchDeleteTableVersions", id=table, ranges=ranges)
        left = version_numbers(lab, table)
        gone = [version for version in before if version not in left]
        within = {v for r in ranges for v in range(r["start_version"], r["end_version"])}
        lab.that(within & set(before) <= set(gone), f"all versions in {ranges} to be deleted", gone)
        if answer.get("deleted_count") is not None:
            lab.same(answer["deleted_count"], len(gone), f"deleted_count for {ranges}")


@check("LN-VERSION-019",
       "A range that ends at -1 includes all versions from its start, with or without the latest.",
       "rest.yaml, VersionRange: the versions that the server may delete; the published "
       "description of end_version: up to and including the latest",
       "BatchDeleteTableVersions", "ListTableVersions", "InsertIntoTable",
       "CreateTable", level=Level.MAY, capabilities=_TABLES)  # fmt: skip
def to_the_end(lab: Lab) -> None:
    table = _versioned(lab, 5)
    reply = lab.call(
        "BatchDeleteTableVersions", id=table, ranges=[{"start_version": 2, "end_version": -1}]
    )
    if reply.code in (0, 13):  # a range that includes the latest version may be rejected
        raise Skipped(f"BatchDeleteTableVersions: {reply.outcome()}")
    lab.must_succeed(reply)
    left = sorted(version_numbers(lab, table))
    lab.that(left in ([1, 5], [1]), "versions 1 and 5, or only version 1, to remain", left)
    lab.same(lab.ids(table), [*range(1, left[-1] + 1)], f"the ids in version {left[-1]}")


@check("LN-VERSION-020",
       "ListTableVersions with descending sorts more than ten versions by number, newest first.",
       "rest.yaml, ListTableVersionsRequest, descending", "ListTableVersions", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def many_versions(lab: Lab) -> None:
    table = lab.new_table(1)
    for number in range(10):
        lab.given("InsertIntoTable", stream(people(10 + number)), id=table)
    due = list(range(11, 0, -1))
    for request in ({}, {"limit": 4}):
        found: list[int] = []
        for answer in lab.pages("ListTableVersions", id=table, descending=True, **request):
            found += [entry["version"] for entry in answer.get("versions") or ()]
        lab.same(found, due, "the versions")


CHANGES: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("InsertIntoTable", stream(people(11, 12), batch_rows=1), {}),
    ("InsertIntoTable", stream(people(1, 2, 3), batch_rows=1), {"mode": "overwrite"}),
    ("UpdateTable", None, {"updates": [["name", "'x'"], ["score", "2.5"]], "predicate": "id < 3"}),
    ("MergeInsertIntoTable", stream(people(2, 9)), {
        "on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True,
        "when_not_matched_by_source_delete": True}),
    ("DeleteFromTable", None, {"predicate": "id = 9"}),
    ("AlterTableAddColumns", None, {"new_columns": [
        {"name": "twice", "expression": "id * 2"}, {"name": "thrice", "expression": "id * 3"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [
        {"path": "twice", "rename": "double"}, {"path": "thrice", "nullable": True}]}),
    ("AlterTableDropColumns", None, {"columns": ["double", "thrice"]}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"a": "1", "b": "2"}}),
    ("UpdateFieldMetadata", None, {"updates": [
        {"path": "id", "metadata": {"a": "1"}}, {"path": "name", "metadata": {"a": "1"}}]}),
    ("RestoreTable", None, {"version": 1}),
)  # fmt: skip


@check("LN-VERSION-021",
       "A call that changes a table creates exactly one version, with the next number.", _ONE,
       *dict.fromkeys(operation for operation, _, _ in CHANGES), "ListTableVersions", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def one_version(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    lines: list[dict[str, Any]] = [{}]
    if lab.call("CreateTableBranch", id=table, name="side").succeeded:
        lines.append({"branch": "side"})
    for of in lines:
        before = version_numbers(lab, table, **of)
        for operation, data, request in CHANGES:
            if not lab.call(operation, data, id=table, **request, **of).succeeded:
                continue  # other checks cover it
            after = version_numbers(lab, table, **of)
            where = " on a branch" if of else ""
            lab.same(sorted(set(after) - set(before)), [max(before) + 1],
                     f"the versions that {operation} creates{where}")  # fmt: skip
            before = after


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
        first = answer_of(lab, "DescribeTableVersion", id=table, **of)["version"]["version"]
        before = ids_on_branch(lab, table, **of)
        insert_each(lab, table, 12, 13, 14, 15, **of)
        ranges = [{"start_version": first + 1, "end_version": first + 4}]
        lab.maybe("BatchDeleteTableVersions", id=table, ranges=ranges, **of)
        insert_each(lab, table, 16, **of)
        answer_of(lab, "RestoreTable", id=table, version=first, **of)
        lab.same(
            ids_on_branch(lab, table, **of),
            before,
            f"the ids in the restored version {of}",
        )
        found = [v for v in version_numbers(lab, table, descending=True, **of) if v > first]
        lab.same(found, [first + n for n in (6, 5, 4)], f"the versions {of or ''}")
        for version in () if of else (first, *found):
            lab.maybe("TableExists", id=table, version=version)
        lab.refused("RestoreTable", [11], id=table, version=first + 2, **of)


@check("LN-VERSION-061",
       "Writes after RestoreTable use the columns and indices of the restored version.",
       "rest.yaml, RestoreTable: restores the content of an earlier version", "RestoreTable",
       "AlterTableAddColumns", "AlterTableDropColumns", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def written_after(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lines = ({}, _SIDE) if lab.call("CreateTableBranch", id=table, name="side").succeeded else ({},)
    for of in lines:
        full = answer_of(lab, "DescribeTableVersion", id=table, **of)["version"]["version"]
        answer_of(lab, "AlterTableDropColumns", id=table, columns=["score"], **of)
        answer_of(lab, "AlterTableAddColumns", id=table, **_TWICE, **of)
        other = answer_of(lab, "DescribeTableVersion", id=table, **of)["version"]["version"]
        lab.call("CreateTableScalarIndex", id=table, **_BY_ID, **of)
        answer_of(lab, "RestoreTable", id=table, version=full, **of)
        for operation, data, request in (
            ("InsertIntoTable", stream(people(3)), {}),
            ("CreateTableScalarIndex", None, _BY_ID),
            ("UpdateTable", None, {"updates": [["score", "7.0"]]}),
            ("AlterTableAddColumns", None, _TWICE),
        ):
            reply = lab.call(operation, data, id=table, **request, **of)
            (lab.may_refuse if of else lab.must_succeed)(reply)
        answer_of(lab, "RestoreTable", id=table, version=other, **of)
        none = [0] if of else []
        lab.refused("InsertIntoTable", [13, 20, *none], stream(people(4)), id=table, **of)
        lab.refused("UpdateTable", [12, 13, *none], id=table, updates=[["score", "7.0"]], **of)
        lab.refused("CountTableRows", [12, 13, *none], id=table, predicate="score > 1", **of)
        found = count_on_branch(lab, table, predicate="twice = 4", **of)
        lab.same(found, 1, "the rows that match the other column")
        found = count_on_branch(lab, table, version=full, predicate="score > 0", **of)
        lab.same(found, 2, "the older rows")
