"""Versions that the namespace manages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...exchange import Step
from ...lab import Failed, Lab, Skipped
from ...orders import at_once
from ...requirement import check
from ...rows import people, stream
from ...table_versions import branch_ids
from .client_commits import _ROWS, managed_table, newest, staged

_VERSION = "rest.yaml, CreateTableVersion and TableVersion"
_BATCH = "rest.yaml, BatchCreateTableVersions"
_COMMIT = "rest.yaml, BatchCommitTables and CommitTableOperation"
_TABLES = ["tables"]
CONFLICT = [14]


def is_file(path: object, size: object) -> bool:
    """Return whether the manifest in an answer exists and has the reported size, if any."""
    file = Path("/") / str(path)
    return file.is_file() and size in (None, file.stat().st_size)


def right_version(lab: Lab, found: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Check what an answer reports about a committed version."""
    lab.same(found.get("version"), request["version"], "the version")
    there = is_file(found.get("manifest_path"), found.get("manifest_size"))
    lab.that(there, "an existing manifest with the reported size", found)
    lab.that(found.get("timestamp_millis", 2**41) > 10**12, "a timestamp in milliseconds", found)


@check("LN-MANAGED-001",
       "CreateTableVersion commits a staged manifest as the next version, which reads return "
       "immediately.",
       _VERSION, "CreateTableVersion", "CreateTable", "DescribeTable", "ListTableVersions",
       "DescribeTableVersion", "CountTableRows", capabilities=_TABLES)  # fmt: skip
def commit(lab: Lab) -> None:
    table = managed_table(lab)
    lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
    lab.same(
        (newest(lab, table), lab.count(table)),
        (1, _ROWS),
        "the version and the rows before the commit",
    )
    request = staged(lab, table, 11, 12)
    right_version(lab, lab.ok("CreateTableVersion", **request).get("version") or {}, request)
    listed = lab.ok("ListTableVersions", id=table, descending=True).get("versions") or []
    lab.same([entry["version"] for entry in listed], [2, 1], "the versions")
    right_version(lab, listed[0], request)
    right_version(lab, lab.ok("DescribeTableVersion", id=table, version=2)["version"], request)
    described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
    lab.same(described.get("version"), 2, "the described version")
    lab.same(lab.count(table), _ROWS + 2, "the rows")
    lab.same(lab.count(table, version=1), _ROWS, "the rows in version 1")


@check("LN-MANAGED-002", "CreateTableVersion stores the metadata and e_tag of a version.", _VERSION,
       "CreateTableVersion", "CreateTable", "DescribeTable", "DescribeTableVersion",
       capabilities=_TABLES)  # fmt: skip
def kept(lab: Lab) -> None:
    table = managed_table(lab)
    more = {"metadata": {"by": "kit"}, "e_tag": "etag-1"}
    lab.ok("CreateTableVersion", **staged(lab, table), **more)
    found = lab.ok("DescribeTableVersion", id=table, version=2)["version"]
    lab.has(found, more, "the version")


@check("LN-MANAGED-003",
       "CreateTableVersion changes nothing if the version exists (code 14) or leaves a gap (13 or "
       "14).",
       f"{_VERSION}; protocol semantics, Errors, code 14", "CreateTableVersion", "CreateTable",
       "DescribeTable", "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def taken(lab: Lab) -> None:
    table = managed_table(lab)
    first, second = staged(lab, table, 11), staged(lab, table, 12)
    lab.ok("CreateTableVersion", **first)
    lab.refused("CreateTableVersion", CONFLICT, **second)
    lab.same((newest(lab, table), lab.ids(table)[-1]), (2, 11), "the version and the last id")
    lab.refused("CreateTableVersion", [13, 14], **{**staged(lab, table), "version": 9})
    lab.same(newest(lab, table), 2, "the latest version")


@check("LN-MANAGED-004", "CreateTableVersion with a missing manifest fails and creates no version.",
       _VERSION, "CreateTableVersion", "CreateTable", "DescribeTable", "ListTableVersions",
       capabilities=_TABLES)  # fmt: skip
def no_manifest(lab: Lab) -> None:
    table = managed_table(lab)
    request = staged(lab, table)
    os.remove(Path("/") / request["manifest_path"])
    lab.refused("CreateTableVersion", [13, 14, 18, 19], **request)
    lab.same((newest(lab, table), lab.count(table)), (1, _ROWS), "the version and the rows")


@check("LN-MANAGED-005", "Of several concurrent commits of the same version, exactly one succeeds.",
       f"{_VERSION}; Lance table format: commits are atomic", "CreateTableVersion", "CreateTable",
       "DescribeTable", "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def at_the_same_time(lab: Lab) -> None:
    table = managed_table(lab)
    for _ in range(3):
        latest = newest(lab, table)
        steps = [Step("CreateTableVersion", staged(lab, table, 20 + n)) for n in range(3)]
        replies = at_once(lab, steps)
        for reply in replies:
            if not reply.succeeded:
                lab.must_fail(reply, CONFLICT)
        lab.same(sum(reply.succeeded for reply in replies), 1, "the number of successful calls")
        lab.same(newest(lab, table), latest + 1, "the latest version")


@check("LN-MANAGED-006",
       "managed_versioning states whether CreateTableVersion creates versions or is rejected.",
       "rest.yaml, DescribeTableResponse, DeclareTableResponse and CreateTableVersion", "CreateTableVersion",
       "CreateTable", "DescribeTable", "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def told(lab: Lab) -> None:
    described = lab.ok("DescribeTable", id=(table := lab.new_table()))
    reply = lab.call("CreateTableVersion", **staged(lab, table))
    if described.get("managed_versioning"):
        lab.must_succeed(reply)
    elif reply.succeeded:
        raise Failed(
            "managed_versioning to be true if CreateTableVersion commits versions",
            str(described),
            reply,
        )
    else:
        lab.must_fail(reply, [0, 19])  # code 19 if other tables of the catalog accept versions
    declared = lab.table_id()
    answer = lab.call("DeclareTable", id=declared).answer or {}
    if "managed_versioning" in answer:
        found = lab.ok("DescribeTable", id=declared).get("managed_versioning")
        lab.same(bool(found), bool(answer["managed_versioning"]), "managed_versioning")


@check("LN-MANAGED-007",
       "BatchCreateTableVersions commits every version and returns the versions in order.",
       _BATCH, "BatchCreateTableVersions", "CreateTable", "DescribeTable", "ListTableVersions",
       capabilities=_TABLES)  # fmt: skip
def batch(lab: Lab) -> None:
    tables = [managed_table(lab), managed_table(lab)]
    lab.ok("ListTableVersions", id=tables[0])
    lab.given("InsertIntoTable", stream(people(50)), id=tables[1])
    kept = [{"by": "kit", "number": str(number)} for number in range(2)]
    entries = [
        {**staged(lab, table), "metadata": notes} for table, notes in zip(tables, kept, strict=True)
    ]
    found = lab.ok("BatchCreateTableVersions", entries=entries).get("versions") or ()
    lab.same([v.get("version") for v in found], [2, 3], "the versions")
    for version, notes in zip(found, kept, strict=True):
        if version.get("metadata") is not None:
            lab.has(version["metadata"], notes, "the returned metadata")
    lab.same([newest(lab, table) for table in tables], [2, 3], "the latest versions")
    lab.same([lab.count(table) for table in tables], [_ROWS + 1, _ROWS + 2], "the rows")


@check("LN-MANAGED-008", "BatchCreateTableVersions is atomic: it commits all versions or none.",
       _BATCH, "BatchCreateTableVersions", "CreateTable", "DescribeTable", "ListTableVersions",
       capabilities=_TABLES)  # fmt: skip
def batch_conflict(lab: Lab) -> None:
    tables = [managed_table(lab), managed_table(lab)]
    entries = [staged(lab, table) for table in tables]
    lab.given("InsertIntoTable", stream(people(50)), id=tables[1])
    lab.refused("BatchCreateTableVersions", CONFLICT, entries=entries)
    lab.same([newest(lab, table) for table in tables], [1, 2], "the latest versions")


@check("LN-MANAGED-009",
       "BatchCommitTables executes every operation and returns the results in order.",
       _COMMIT, "BatchCommitTables", "CreateTable", "DescribeTable", "ListTableVersions",
       capabilities=_TABLES)  # fmt: skip
def commit_tables(lab: Lab) -> None:
    written, gone, trimmed, new = (managed_table(lab) for _ in range(4))
    for number in (50, 51):
        lab.given("InsertIntoTable", stream(people(number)), id=trimmed)
    lab.given("DeregisterTable", id=new)
    lab.ok("DescribeTable", id=written, load_detailed_metadata=True)
    before = lab.call("DescribeTableVersion", id=trimmed, version=2)
    kept: dict[str, Any] = {"metadata": {"by": "Kit"}, "e_tag": "tag-1"}
    operations: list[dict[str, Any]] = [
        {"create_table_version": {**staged(lab, written), **kept}},
        {"declare_table": {"id": new, "properties": {"owner": "ana"}}, "create_table_version": None},
        {"delete_table_versions": {
            "id": trimmed, "ranges": [{"start_version": 2, "end_version": 3}]}},
        {"deregister_table": {"id": gone}},
    ]  # fmt: skip
    old = lab.ok("DescribeTable", id=gone)
    results = lab.ok("BatchCommitTables", operations=operations).get("results") or []
    told = results[3]["deregister_table"]
    for key, due in (("id", gone), ("location", old.get("location")),
                     ("properties", old.get("properties"))):  # fmt: skip
        if told.get(key) is not None:
            lab.same(told[key], due, f"the {key} of the deregistered table")
    deleted = results[2]["delete_table_versions"].get("deleted_count")
    lab.that(deleted in (None, 1), "one deleted version", deleted)
    given = [[key for key, value in o.items() if value is not None] for o in operations]
    told = [[key for key, value in r.items() if value is not None] for r in results]
    lab.same(told, given, "the results")
    lab.same(results[0]["create_table_version"]["version"]["version"], 2, "the version")
    lab.same(newest(lab, written), 2, "the latest version")
    described = lab.ok("DescribeTable", id=written, load_detailed_metadata=True)
    lab.same(described.get("version"), 2, "the described version")
    where = lab.ok("DescribeTable", id=new)
    lab.has(where.get("properties"), {"owner": "ana"}, "the properties of the declared table")
    for key in ("location", "properties", "managed_versioning"):
        lab.same(
            results[1]["declare_table"].get(key), where.get(key), f"the {key} of the declared table"
        )
    made = lab.ok("DescribeTableVersion", id=written, version=2).get("version") or {}
    lab.has(made, kept, "the version")
    answered = results[0]["create_table_version"]["version"].get("metadata")
    lab.has({"by": "Kit"} if answered is None else answered, {"by": "Kit"}, "the returned metadata")
    path = results[0]["create_table_version"]["version"]["manifest_path"]
    lab.same(path, made.get("manifest_path"), "the manifest of the new version")
    lab.that(before.succeeded, "version 2 before the call", before.outcome())
    lab.refused("DescribeTableVersion", [11], id=trimmed, version=2)
    lab.ok("DescribeTableVersion", id=trimmed, version=1)
    lab.that(not lab.exists("TableExists", gone), "the table to no longer exist", "it exists")


@check("LN-MANAGED-010", "BatchCommitTables is atomic: it executes all operations or none.",
       _COMMIT, "BatchCommitTables", "CreateTable", "DescribeTable", "ListTableVersions",
       capabilities=_TABLES)  # fmt: skip
def commit_conflict(lab: Lab) -> None:
    first, second, new = managed_table(lab), managed_table(lab), lab.table_id()
    late = staged(lab, second)
    lab.given("InsertIntoTable", stream(people(50)), id=second)
    operations: list[dict[str, Any]] = [
        {"declare_table": {"id": new}},
        {"create_table_version": staged(lab, first)},
        {"deregister_table": {"id": first}},
        {"create_table_version": late},
    ]
    lab.refused("BatchCommitTables", CONFLICT, operations=operations)
    lab.that(not lab.exists("TableExists", new), "no table declared", "it exists")
    lab.that(lab.exists("TableExists", first), "the table to remain", "it no longer exists")
    lab.same((newest(lab, first), newest(lab, second)), (1, 2), "the latest versions")


@check("LN-MANAGED-011",
       "A BatchCommitTables entry without exactly one operation fails with code 13 and has no "
       "effect.",
       _COMMIT, "BatchCommitTables", capabilities=_TABLES)  # fmt: skip
def one_operation(lab: Lab) -> None:
    new, table = lab.table_id(), managed_table(lab)
    for wrong in ({}, {"declare_table": {"id": lab.table_id()}, "deregister_table": {"id": table}}):
        operations = [{"declare_table": {"id": new}}, wrong]
        lab.refused("BatchCommitTables", [13], operations=operations)
        lab.that(not lab.exists("TableExists", new), "no table declared", "it exists")
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-MANAGED-012", "managed_versioning reports the current state of each table.",
       "rest.yaml, DescribeTableResponse", "DescribeTable", "CreateTable", "DropTable",
       capabilities=_TABLES)  # fmt: skip
def managed_each(lab: Lab) -> None:
    plain, asked = lab.new_table(1), lab.table_id()
    lab.ok("DescribeTable", id=plain)
    reply = lab.call("DeclareTable", id=asked, properties={"managed_versioning": "true"})
    if reply.succeeded and (reply.answer or {}).get("managed_versioning") is not None:
        found = bool(lab.ok("DescribeTable", id=asked).get("managed_versioning"))
        answered = (reply.answer or {})["managed_versioning"]
        lab.same(found, answered, "managed_versioning, as DeclareTable returned it,")
    table = managed_table(lab)
    told = bool(lab.ok("DescribeTable", id=plain).get("managed_versioning"))
    for _ in range(2):
        lab.same(
            lab.ok("DescribeTable", id=table).get("managed_versioning"), True, "managed_versioning"
        )
        found = bool(lab.ok("DescribeTable", id=plain).get("managed_versioning"))
        lab.same(found, told, "managed_versioning of the other table")
    lab.ok("DropTable", id=table)
    lab.given("CreateTable", stream(people(1)), id=table)
    found = bool(lab.ok("DescribeTable", id=table).get("managed_versioning"))
    lab.same(found, told, "managed_versioning of a table re-created in the same way as the other")


@check("LN-MANAGED-013", "CreateTableVersion returns the version of the requested table.",
       "rest.yaml, CreateTableVersionResponse", "CreateTableVersion", "CreateTable", "DescribeTable",
       "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def version_each(lab: Lab) -> None:
    one, other = managed_table(lab), managed_table(lab)
    for table in (one, one, other, one):
        request = staged(lab, table, 20)
        found = lab.ok("CreateTableVersion", **request).get("version")
        if found is not None:
            lab.same(found["version"], request["version"], "the returned version")


@check("LN-MANAGED-062",
       "Every operation that commits a version commits it to the branch in the request.",
       "rest.yaml, CreateTableVersionRequest and CreateTableVersionEntry: branch", "CreateTableVersion",
       "CreateTable", "CreateTableBranch", "ListTableVersions", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def on_a_branch(lab: Lab) -> None:
    table, branch = managed_table(lab), "Side"
    lab.maybe("CreateTableBranch", id=table, name=branch)
    before, ids = newest(lab, table), lab.ids(table)
    due = list(ids)
    for number, operation in enumerate(
        ("CreateTableVersion", "BatchCreateTableVersions", "BatchCommitTables"), 20
    ):
        commit = staged(lab, table, number, branch=branch)
        whole: dict[str, dict[str, Any]] = {
            "CreateTableVersion": commit,
            "BatchCreateTableVersions": {"entries": [commit]},
            "BatchCommitTables": {"operations": [{"create_table_version": commit}]},
        }
        reply = lab.call(operation, **whole[operation])
        if reply.code == 0:
            continue  # the target manages versions of the main line only
        lab.must_succeed(reply)
        due.append(number)
        lab.same(branch_ids(lab, table, branch), due, f"the ids on the branch after {operation}")
    lab.same(newest(lab, table), before, "the latest version on the main branch")
    lab.same(lab.ids(table), ids, "the ids on the main branch")


@check("LN-MANAGED-014", "If any operation of BatchCommitTables fails, none of them takes effect.",
       "rest.yaml, BatchCommitTables: all of them take effect or none", "BatchCommitTables", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def all_or_none(lab: Lab) -> None:
    # An existing name is not among the failures: the table of codes has no code 5 for this
    # operation, so its code is unspecified.
    def failing() -> list[tuple[int, dict[str, Any]]]:
        missing, ranges = lab.table_id(), [{"start_version": 1, "end_version": 2}]
        found: list[tuple[int, dict[str, Any]]] = [
            (4, {"deregister_table": {"id": missing}}),
            (4, {"delete_table_versions": {"id": missing, "ranges": ranges}}),
        ]
        if lab.shape.namespace_parent is not None:
            found.append((1, {"declare_table": {"id": [*lab.namespace_id(), "t"]}}))
        return found

    if lab.call(
        "BatchCommitTables", operations=[{"declare_table": {"id": lab.table_id()}}]
    ).code in (0, 13):
        raise Skipped("BatchCommitTables does not declare tables on this target")
    kept = lab.new_table(1)
    for number in range(len(failing())):
        gone, new, other = lab.new_table(2), lab.table_id(), lab.table_id()
        code, wrong = failing()[number]
        for before in (
            [{"declare_table": {"id": new}}],
            [{"declare_table": {"id": new}}, {"deregister_table": {"id": gone}}],
            [{"deregister_table": {"id": gone}}, {"declare_table": {"id": new}},
             {"declare_table": {"id": other}}],
        ):  # fmt: skip
            reply = lab.call("BatchCommitTables", operations=[*before, wrong])
            lab.that(not reply.succeeded, f"a batch with {wrong} to fail", reply.outcome())
            lab.must_fail(reply, [code, 14])
            for table, due in ((new, False), (other, False), (gone, True), (kept, True)):
                there = lab.exists("TableExists", table)
                lab.same(there, due, f"whether {table} exists after the failed batch with {wrong}")
            lab.same((lab.ids(gone), lab.ids(kept)), ([2], [1]), "the ids in the remaining tables")


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
            lab.same(
                [newest(lab, t) for t in tables],
                [1, 1],
                f"the versions after the failure with one of the codes {codes}",
            )
        if wrong is not one:
            lab.refused("CreateTableVersion", codes, **wrong)
    found = lab.ok("BatchCreateTableVersions", entries=[two, one]).get("versions") or []
    lab.same(len(found), 2, "the number of versions in the response")
    for entry, version in zip((two, one), found, strict=True):
        right_version(lab, version, entry)
        told = lab.ok("DescribeTableVersion", id=entry["id"], version=2)["version"]
        lab.has(told, kept, "the version")
        lab.same(
            version["manifest_path"],
            told["manifest_path"],
            "the manifest path that the commit returned",
        )


@check("LN-MANAGED-061", "BatchCommitTables applies its operations in the given order.",
       "rest.yaml, BatchCommitTablesRequest, operations", "BatchCommitTables", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def in_order(lab: Lab) -> None:
    table, new = managed_table(lab), lab.table_id()
    for at, names in (
        (table, ("deregister_table", "declare_table")),
        (new, ("declare_table", "deregister_table")),
    ):
        answer = lab.maybe("BatchCommitTables", operations=[{name: {"id": at}} for name in names])
        told = [k for r in answer.get("results") or () for k, v in r.items() if v is not None]
        lab.same(told, list(names), "the results")
    found = [lab.exists("TableExists", at) for at in (table, new)]
    lab.same(found, [True, False], "whether the tables declared last and first exist")
