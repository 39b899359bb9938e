"""Tables with managed versioning: commits to one or several tables, and transactions."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...core.imports import load
from ..exchange import Step
from ..lab import Failed, Lab, Skipped
from ..requirement import check
from ..rows import people, stream
from .races import at_once
from .storage import local_path

_VERSION = "rest.yaml, CreateTableVersion and TableVersion"
_BATCH = "rest.yaml, BatchCreateTableVersions"
_COMMIT = "rest.yaml, BatchCommitTables and CommitTableOperation"
_TRANSACTION = "rest.yaml, DescribeTransaction and TransactionStatus"
_ALTER = "rest.yaml, AlterTransaction, SetPropertyMode and UnsetPropertyMode"
_TABLES = ["tables"]
_ROWS = 10
CONFLICT = [14]


def managed_table(lab: Lab) -> list[str]:
    """Return a table of ten people whose versions the namespace manages.

    Raises:
        Skipped: the namespace manages no versions, neither by default nor on request.
    """
    for more in ({}, {"properties": {"managed_versioning": "true"}}):
        table = lab.table_id()
        reply = lab.call("CreateTable", stream(people(*range(1, _ROWS + 1))), id=table, **more)
        if reply.succeeded and lab.ok("DescribeTable", id=table).get("managed_versioning"):
            return table
    raise Skipped("no table's versions are kept by the namespace")


def newest(lab: Lab, table: list[str], **of: Any) -> int:
    """Return the number of the latest version of a table or of one of its branches."""
    found = lab.ok("ListTableVersions", id=table, descending=True, limit=1, **of).get("versions")
    return int(found[0]["version"]) if found else 0


def staged(lab: Lab, table: list[str], *ids: int, branch: str | None = None) -> dict[str, Any]:
    """Write a commit of rows like a client, up to its manifest; return the request to commit it."""
    lance = load("lance")

    of = {} if branch is None else {"branch": branch}
    version = newest(lab, table, **of) + 1
    path = Path(local_path(lab.ok("DescribeTable", id=table)))
    if not os.access(path, os.W_OK):
        raise Skipped("the location cannot be written from here")
    with tempfile.TemporaryDirectory(prefix="lnkit-") as folder:
        beside = Path(folder) / "copy"
        shutil.copytree(path, beside)
        onto = lance.dataset(str(beside)).checkout_version((branch, None))
        lance.write_dataset(people(*(ids or (11,))), onto, mode="append")
        if branch is not None:
            beside, path = beside / "tree" / branch, path / "tree" / branch
        for kind in ("data", "_transactions"):
            (path / kind).mkdir(exist_ok=True)
            for file in (beside / kind).iterdir():
                if not (path / kind / file.name).exists():
                    shutil.copy(file, path / kind / file.name)
        name = f"{2**64 - 1 - version:020d}.manifest"
        manifest = path / "_versions" / f"{name}-{secrets.token_hex(4)}"
        shutil.copy(beside / "_versions" / name, manifest)
    return {
        "id": table,
        "version": version,
        "manifest_path": str(manifest).lstrip("/"),
        "manifest_size": manifest.stat().st_size,
        "naming_scheme": "V2",
        **of,
    }


def is_file(path: object, size: object) -> bool:
    """Return whether the manifest in an answer exists and has the reported size, if any."""
    file = Path("/") / str(path)
    return file.is_file() and size in (None, file.stat().st_size)


def right_version(lab: Lab, found: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Check what an answer reports about a committed version."""
    lab.same(found.get("version"), request["version"], "the version")
    there = is_file(found.get("manifest_path"), found.get("manifest_size"))
    lab.that(there, "a manifest that is there, of its size", found)
    lab.that(found.get("timestamp_millis", 2**41) > 10**12, "a time in milliseconds", found)


@check("LN-MANAGED-001",
       "CreateTableVersion commits a staged manifest as the next version, which reads return "
       "immediately.",
       _VERSION, "CreateTableVersion", "CreateTable", "DescribeTable", "ListTableVersions",
       "DescribeTableVersion", "CountTableRows", capabilities=_TABLES)  # fmt: skip
def commit(lab: Lab) -> None:
    table = managed_table(lab)
    lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
    lab.same((newest(lab, table), lab.count(table)), (1, _ROWS), "the version and the rows before")
    request = staged(lab, table, 11, 12)
    right_version(lab, lab.ok("CreateTableVersion", **request).get("version") or {}, request)
    listed = lab.ok("ListTableVersions", id=table, descending=True).get("versions") or []
    lab.same([entry["version"] for entry in listed], [2, 1], "the versions")
    right_version(lab, listed[0], request)
    right_version(lab, lab.ok("DescribeTableVersion", id=table, version=2)["version"], request)
    described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
    lab.same(described.get("version"), 2, "the described version")
    lab.same(lab.count(table), _ROWS + 2, "the rows")
    lab.same(lab.count(table, version=1), _ROWS, "the rows of version 1")


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
        lab.same(sum(reply.succeeded for reply in replies), 1, "how many succeed")
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
        raise Failed("managed_versioning, since versions are committed", str(described), reply)
    else:
        lab.must_fail(reply, [0, 19])  # code 19 if other tables of the catalog accept versions
    declared = lab.table_id()
    answer = lab.call("DeclareTable", id=declared).answer or {}
    if "managed_versioning" in answer:
        found = lab.ok("DescribeTable", id=declared).get("managed_versioning")
        lab.same(bool(found), bool(answer["managed_versioning"]), "managed_versioning")


# --- several tables


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
            lab.has(version["metadata"], notes, "the metadata that is answered")
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
            lab.same(told[key], due, f"{key} of the table that was deregistered")
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
            results[1]["declare_table"].get(key), where.get(key), f"{key} of the declared table"
        )
    made = lab.ok("DescribeTableVersion", id=written, version=2).get("version") or {}
    lab.has(made, kept, "the version")
    answered = results[0]["create_table_version"]["version"].get("metadata")
    lab.has({"by": "Kit"} if answered is None else answered, {"by": "Kit"}, "the metadata answered")
    path = results[0]["create_table_version"]["version"]["manifest_path"]
    lab.same(path, made.get("manifest_path"), "the manifest of the new version")
    lab.that(before.succeeded, "version 2 before", before.outcome())
    lab.refused("DescribeTableVersion", [11], id=trimmed, version=2)
    lab.ok("DescribeTableVersion", id=trimmed, version=1)
    lab.that(not lab.exists("TableExists", gone), "the table to be gone", "it is there")


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
    lab.that(not lab.exists("TableExists", new), "no table declared", "it is there")
    lab.that(lab.exists("TableExists", first), "the table to stay", "it is gone")
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
        lab.that(not lab.exists("TableExists", new), "no table declared", "it is there")
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


# --- transactions


def transaction(lab: Lab) -> list[str]:
    """Return the identifier of the transaction in the answer to a commit."""
    reply = lab.call("CreateTableVersion", **staged(lab, managed_table(lab)))
    lab.must_succeed(reply)
    found = (reply.answer or {}).get("transaction_id")
    if not found:
        raise Skipped("commits answer no transaction")
    return [str(found)]


@check("LN-TRANSACTION-001",
       "DescribeTransaction reports the transaction of a successful commit as succeeded.",
       _TRANSACTION, "DescribeTransaction", "CreateTableVersion", capabilities=_TABLES)  # fmt: skip
def describe(lab: Lab) -> None:
    status = lab.ok("DescribeTransaction", id=transaction(lab)).get("status")
    lab.same(str(status).lower(), "succeeded", "the status")


@check("LN-TRANSACTION-002",
       "DescribeTransaction and AlterTransaction of an unknown transaction fail with code 10.",
       f"{_TRANSACTION}; protocol semantics, Errors", "DescribeTransaction")  # fmt: skip
def unknown(lab: Lab) -> None:
    missing = [lab.ledger.fresh()]
    reply = lab.call("DescribeTransaction", id=missing)
    if reply.code == 13:  # the identifier may have to include the table
        missing = [*lab.new_table(), *missing]
        reply = lab.call("DescribeTransaction", id=missing)
    lab.must_fail(reply, [10])
    action = {"setPropertyAction": {"key": "a", "value": "b"}}
    lab.refused("AlterTransaction", [10], id=missing, actions=[action])


def properties(lab: Lab, answer: Mapping[str, Any], identifier: list[str]) -> dict[str, str]:
    """Check that an answer and a description agree on a transaction's properties; return them."""
    found = dict(lab.ok("DescribeTransaction", id=identifier).get("properties") or {})
    lab.same(found, dict(answer.get("properties") or {}), "the properties as described")
    return found


def setting(key: str, value: str, mode: str | None = None) -> dict[str, Any]:
    """Return an action that sets a property."""
    more = {} if mode is None else {"mode": mode}
    return {"setPropertyAction": {"key": key, "value": value, **more}}


def unsetting(key: str, mode: str | None = None) -> dict[str, Any]:
    """Return an action that unsets a property."""
    return {"unsetPropertyAction": {"key": key, **({} if mode is None else {"mode": mode})}}


@check("LN-TRANSACTION-003",
       "AlterTransaction applies its actions in order, each according to its mode.",
       _ALTER, "AlterTransaction", "DescribeTransaction", capabilities=_TABLES)  # fmt: skip
def alter(lab: Lab) -> None:
    identifier = transaction(lab)
    for actions, due in (
        ([setting("a", "1"), setting("b", "2")], {"a": "1", "b": "2"}),
        ([setting("a", "3")], {"a": "3", "b": "2"}),
        ([setting("a", "4", "Skip"), setting("c", "5", "skip")], {"a": "3", "b": "2", "c": "5"}),
        ([setting("a", "6", "overwrite"), unsetting("c")], {"a": "6", "b": "2", "c": None}),
        ([unsetting("gone"), unsetting("gone", "SKIP")], {"a": "6", "b": "2", "c": None}),
        ([setting("d", "7"), unsetting("d", "Fail"), setting("d", "Ann", "Fail")], {"d": "Ann"}),
    ):
        answer = lab.ok("AlterTransaction", id=identifier, actions=actions)
        found = properties(lab, answer, identifier)
        lab.same({key: found.get(key) for key in due}, due, "the properties")


@check("LN-TRANSACTION-004",
       "AlterTransaction is atomic, and mode Fail rejects setting an existing or unsetting a "
       "missing key.",
       "rest.yaml, AlterTransactionRequest: all or none; SetPropertyMode and UnsetPropertyMode",
       "AlterTransaction", "DescribeTransaction", capabilities=_TABLES)  # fmt: skip
def alter_refused(lab: Lab) -> None:
    identifier = transaction(lab)
    lab.ok("AlterTransaction", id=identifier, actions=[setting("a", "1")])
    before = lab.ok("DescribeTransaction", id=identifier)
    other = {"setStatusAction": {"status": "Canceled"}}
    for codes, wrong in (
        ([13, 14], setting("a", "2", "Fail")), ([13, 14], unsetting("gone", "fail")),
        ([13], setting("a", "2", "sometimes")), ([13], unsetting("a", "sometimes")),
        ([13], {}), ([13], {**setting("a", "2"), **unsetting("a")}),
        ([13], {"setStatusAction": {"status": "sometimes"}}), ([14], other),
    ):  # fmt: skip
        actions = [setting("a", "3"), wrong]
        lab.refused("AlterTransaction", codes, id=identifier, actions=actions)
        after = lab.ok("DescribeTransaction", id=identifier)
        lab.same((after.get("status"), after.get("properties")),
                 (before.get("status"), before.get("properties")), "the transaction")  # fmt: skip
    lab.refused("AlterTransaction", [13], id=identifier, actions=[])
