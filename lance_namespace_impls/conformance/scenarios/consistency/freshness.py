"""Reads return the current state after each kind of change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lance_namespace_client.operations import OPERATIONS, Action

from ...catalog_objects import place_for_tables
from ...comparison import (
    ALL_READS,
    CURRENT_READS,
    Read,
    facts,
    facts_of_new,
    first_table,
    same_facts,
    second_table,
)
from ...exchange import Reply, Step
from ...indexed_tables import indexed_table
from ...lab import Lab, Skipped
from ...locations import place_of
from ...requirement import check
from ...rows import PEOPLE, people, plain, stream
from ...sample_calls import WRITES, sensible_call
from ...table_state import FULL, state, unchanged
from ...table_versions import branch_ids, branch_rows, two_versions, version_numbers

_TABLES = ["tables"]
_READS = ("ListTableVersions", "DescribeTableVersion", "ListTableTags", "ListTableBranches",
          "ListTableIndices", "GetTableStats")  # fmt: skip
ALL = list(PEOPLE)
_INDEX = {"column": "id", "index_type": "BTREE", "name": "by_id"}
_MERGE = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
_ENDS = ("DropTable", "DeregisterTable")
_WAYS = "rest.yaml, CreateTable, RegisterTable, DropTable, DeregisterTable and DropNamespace"
_SIDE = {"branch": "side"}


@check("LN-FRESH-014",
       "TableExists and DescribeTable reflect each change, even if called before it.",
       "rest.yaml, TableExists and NamespaceExists", "TableExists", "DeclareTable", "DescribeTable",
       "DeregisterTable", capabilities=["tables"])  # fmt: skip
def existence(lab: Lab) -> None:
    table = lab.new_declared()
    for operation in ("DropTable", "DeregisterTable", "RenameTable"):
        lab.that(lab.exists("TableExists", table), "the table to exist", "it does not exist")
        more = {"new_table_name": lab.ledger.fresh()} if operation == "RenameTable" else {}
        if not lab.call(operation, id=table, **more).succeeded:
            continue
        lab.that(not lab.exists("TableExists", table), f"no table after {operation}", "it exists")
        lab.refused("DescribeTable", [4], id=table)
        told = lab.given("DeclareTable", id=table).get("location")
        due = lab.ok("DescribeTable", id=table).get("location")
        lab.same(told or due, due, "the location of the re-declared table")


@check("LN-FRESH-015",
       "GetTableStats immediately reflects new and dropped indices and new fragments.",
       "rest.yaml, GetTableStatsRequest: the size and layout of a table's latest version",
       "GetTableStats", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats_after_indices(lab: Lab) -> None:
    table = lab.new_table(1)

    def told() -> tuple[int, int]:
        found = lab.ok("GetTableStats", id=table)
        return found["num_indices"], found["fragment_stats"]["lengths"]["max"]

    lab.same(told(), (0, 1), "the number of indices and of rows in the longest fragment")
    lab.given("InsertIntoTable", stream(people(2, 3, 4)), id=table)
    lab.same(told(), (0, 3), "the number of indices and of rows in the longest fragment")
    lab.maybe("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.same(told(), (1, 3), "the number of indices and of rows in the longest fragment")
    second = {"column": "id", "index_type": "BITMAP", "name": "also"}
    if lab.call("CreateTableScalarIndex", id=table, **second).succeeded:
        lab.same(told()[0], 2, "the number of indices with two on one column")
        lab.given("DropTableIndex", id=table, index_name="also")
    lab.maybe("DropTableIndex", id=table, index_name="by_id")
    lab.same(told()[0], 0, "the indices")


def _lasting(reply: Reply) -> object:
    """Return the stable parts of an answer, without credentials and contexts."""
    if reply.rows is not None:
        return sorted(reply.rows.to_pylist(), key=repr)
    answer = dict(reply.answer or {})
    return {k: v for k, v in answer.items() if k not in ("storage_options", "context")}


@check("LN-FRESH-012", "Two identical reads without a change between them return the same answer.",
       "rest.yaml, the answers of the operations that read", "CreateTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def read_twice(lab: Lab) -> None:
    table = indexed_table(lab) if "CreateTableScalarIndex" in lab.worked else lab.new_table()
    lab.call("InsertIntoTable", stream(people(11)), id=table)
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    lab.call("CreateTableBranch", id=table, name="side")
    reads = [
        Step("DescribeTable", {"id": table, "load_detailed_metadata": True}),
        *(Step(operation, {"id": table}) for operation in _READS),
        Step("DescribeTableIndexStats", {"id": table, "index_name": "by_id"}),
        Step("QueryTable", {"id": table, "vector": lab.no_vector(), "k": 100, "with_row_id": True}),
    ]
    first = [lab.call(step.operation, **step.request) for step in reads]
    time.sleep(0.005)  # so that the time of the call in milliseconds differs
    for before in first:
        if before.succeeded:
            after = lab.call(before.step.operation, **before.step.request)
            lab.same(_lasting(after), _lasting(before), f"a second {before.step.operation}")


@check("LN-FRESH-001", "After a write, reads return the changed rows and no earlier result.",
       "rest.yaml, CountTableRowsRequest and QueryTableRequest: the latest version by default", "CreateTable",
       "CountTableRows", "QueryTable", "InsertIntoTable", "UpdateTable", "DeleteFromTable",
       "MergeInsertIntoTable", capabilities=_TABLES)  # fmt: skip
def rows_are_fresh(lab: Lab) -> None:
    table = lab.new_table()
    names = {i: f"n{i}" for i in ALL}

    def look() -> None:
        lab.same(lab.count(table), len(names), "the number of rows")
        found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
        lab.same(found, names, "the names")

    look()
    lab.ok("InsertIntoTable", stream(people(11)), id=table)
    names[11] = "n11"
    look()
    lab.ok("UpdateTable", id=table, predicate="id = 11", updates=[["name", "'new'"]])
    names[11] = "new"
    look()
    lab.ok("MergeInsertIntoTable", stream(people(12)), id=table, on="id",
           when_not_matched_insert_all=True)  # fmt: skip
    names[12] = "n12"
    look()
    lab.ok("DeleteFromTable", id=table, predicate="id > 10")
    del names[11], names[12]
    look()


@check("LN-FRESH-002", "Versions and statistics reflect each write immediately.",
       "rest.yaml, DescribeTableVersionRequest.version and GetTableStatsRequest: of the latest version",
       "CreateTable", "InsertIntoTable", "GetTableStats", "ListTableVersions", "DescribeTableVersion",
       capabilities=_TABLES)  # fmt: skip
def versions_are_fresh(lab: Lab) -> None:
    table = lab.new_table()
    for number in (1, 2, 3):
        stats = lab.ok("GetTableStats", id=table)
        lab.same(stats.get("num_rows"), len(ALL) + number - 1, "num_rows")
        lab.that((stats.get("total_bytes") or 0) > 0, "total_bytes above 0", stats)
        shown = sorted(version_numbers(lab, table))
        lab.same(shown, list(range(1, number + 1)), "the versions")
        newest = (lab.ok("DescribeTableVersion", id=table).get("version") or {}).get("version")
        lab.same(newest, number, "the newest version")
        lab.given("InsertIntoTable", stream(people(10 + number)), id=table)


@check("LN-FRESH-003", "Indices and tags reflect each change immediately.",
       "rest.yaml, ListTableIndicesRequest: the latest version; ListTableTags: the tags of a table",
       "CreateTable", "CreateTableScalarIndex", "ListTableIndices", "DropTableIndex", "CreateTableTag",
       "ListTableTags", "UpdateTableTag", "GetTableTagVersion", "InsertIntoTable",
       capabilities=_TABLES)  # fmt: skip
def refs_are_fresh(lab: Lab) -> None:
    table = lab.new_table()

    def indices() -> list[str]:
        entries = lab.ok("ListTableIndices", id=table).get("indexes") or ()
        uuids = [entry["index_uuid"] for entry in entries]
        lab.same(len(uuids), len(set(uuids)), "the number of distinct index_uuid values")
        return sorted(entry["index_name"] for entry in entries)

    lab.same(indices(), [], "the indices")
    for name, column in (("one", "id"), ("two", "name")):
        lab.ok("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
    lab.same(indices(), ["one", "two"], "the indices")
    lab.ok("DropTableIndex", id=table, index_name="one")
    lab.same(indices(), ["two"], "the indices")
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    lab.ok("CreateTableTag", id=table, tag="t", version=1)
    for version in (1, 2):
        lab.ok("UpdateTableTag", id=table, tag="t", version=version)
        answer = lab.ok("GetTableTagVersion", id=table, tag="t")
        lab.same(answer.get("version"), version, "the version of the tag")
        found = lab.ok("ListTableTags", id=table).get("tags") or {}
        lab.same({n: tag["version"] for n, tag in found.items()}, {"t": version}, "the tags")


@check("LN-FRESH-004", "Listings and descriptions reflect each change immediately.",
       "rest.yaml, ListTables: lists the Lance tables in the given namespace; DescribeTable", "ListTables",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def listings_are_fresh(lab: Lab) -> None:
    parent = list(lab.shape.table_parent or ())
    table = lab.table_id()

    def listed() -> bool:
        return table[-1] in lab.walk("ListTables", "tables", id=parent, limit=1000)

    def there() -> bool:
        reply = lab.call("DescribeTable", id=table)
        if not reply.succeeded:
            lab.must_fail(reply, [4])
        return reply.succeeded

    for _ in range(2):
        lab.same((listed(), there()), (False, False), "whether the table exists")
        made = lab.call("DeclareTable", id=table)
        if not made.succeeded:
            lab.given("CreateTable", stream(people(1)), id=table)
        lab.same((listed(), there()), (True, True), "whether the table exists")
        lab.ok("DropTable", id=table)


@check("LN-FRESH-005",
       "DescribeTableIndexStats counts rows that were inserted after the index was created.",
       "rest.yaml, DescribeTableIndexStatsResponse", "CreateTableScalarIndex",
       "DescribeTableIndexStats", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index_stats(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    for _ in range(2):
        answer = lab.ok("DescribeTableIndexStats", id=table, index_name="by_id")
        lab.given("InsertIntoTable", stream(people(11)), id=table)
    later = lab.ok("DescribeTableIndexStats", id=table, index_name="by_id")
    counted = [
        (a.get("num_indexed_rows") or 0) + (a.get("num_unindexed_rows") or 0)
        for a in (answer, later)
    ]
    lab.same(counted, [len(ALL) + 1, len(ALL) + 2], "indexed and unindexed rows")
    stats = lab.call("GetTableStats", id=table)
    if stats.succeeded:
        lab.same((stats.answer or {}).get("num_indices"), 1, "num_indices")


@check("LN-FRESH-066",
       "DeclareTable, DropTable and DeregisterTable describe the current table, not an"
       " earlier one with the same name.",
       "rest.yaml, DeclareTableResponse, DropTableResponse and DeregisterTableResponse",
       "CreateTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def of_this_table(lab: Lab) -> None:
    # A deregistered table keeps its location, so the next table with its name has another one.
    table = lab.table_id()
    for number, end in enumerate((*_ENDS, *_ENDS, "DropTable")):
        owner = f"owner {number}"
        made = lab.call("CreateTable", plain(1), id=table, properties={"owner": owner})
        if not made.succeeded and not lab.call("CreateTable", plain(1), id=table).succeeded:
            break  # the location follows from the name, and the old data still occupies it
        where = lab.ok("DescribeTable", id=table).get("location")
        ended = lab.call(end, id=table)
        if not ended.succeeded:
            lab.given("DropTable", id=table)
            continue
        told = ended.answer or {}
        if told.get("location") is not None:
            lab.same(
                place_of(told["location"]), place_of(where), f"the location that {end} returns"
            )
        of = (told.get("properties") or {}).get("owner", owner)
        lab.same(of, owner, f"the owner that {end} returns")
    declared = lab.table_id()
    for end in (*_ENDS, "DropTable"):
        reply = lab.call("DeclareTable", id=declared)
        if not reply.succeeded:
            break
        due = lab.ok("DescribeTable", id=declared).get("location")
        where = (reply.answer or {}).get("location") or due
        lab.same(place_of(where), place_of(due), "the location that DeclareTable returns")
        if not lab.call(end, id=declared).succeeded:
            break


@check("LN-FRESH-067", "A repeated write returns the version and the row counts of its own call.",
       "rest.yaml, the responses of the operations: the version and the numbers of rows",
       "CreateTable", "DescribeTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def of_this_write(lab: Lab) -> None:
    table, column = lab.new_table(1), {"name": "twice", "expression": "id * 2"}
    went: set[str] = set()
    for number in (1, 2):
        new = range(10 * number, 10 * number + number)
        merged = people(*new, *range(90, 90 + number))
        for operation, rows, request, due in (
            ("InsertIntoTable", people(*new), {}, {"num_inserted_rows": number}),
            ("UpdateTable", None, {"updates": [["name", "'x'"]], "predicate": "id > 1"},
             {"updated_rows": number}),
            ("MergeInsertIntoTable", merged, _MERGE,
             {"num_updated_rows": number, "num_inserted_rows": number}),
            ("AlterTableAddColumns", None, {"new_columns": [column]}, {}),
            ("AlterTableDropColumns", None, {"columns": ["twice"]}, {}),
            ("DeleteFromTable", None, {"predicate": "id > 1"}, {}),
        ):  # fmt: skip
            if operation == "AlterTableDropColumns" and "AlterTableAddColumns" not in went:
                continue  # there is no column to drop
            data = None if rows is None else stream(rows)
            reply = lab.call(operation, data, id=table, **request)
            if reply.code == 0 and not lab.supports(operation):
                continue
            lab.must_succeed(reply)
            went.add(operation)
            told = {k: v for k, v in (reply.answer or {}).items() if v is not None}
            described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            for key, value in {**due, "version": described.get("version")}.items():
                lab.same(told.get(key, value), value, f"the {key} that {operation} returns")


@check("LN-FRESH-068",
       "After each kind of write, all responses that report versions or indices agree.",
       "rest.yaml, ListTableVersions, ListTableIndices, DescribeTableIndexStats and GetTableStats",
       "CreateTable", "DescribeTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def versions_after_each_write(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)

    def look(what: str) -> None:
        version = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("version")
        listed = lab.call("ListTableVersions", id=table).answer or {}
        numbers = [entry["version"] for entry in listed.get("versions") or ()]
        if numbers and version is not None:
            lab.same(max(numbers), version, f"the newest listed version after {what}")
        found = (lab.call("ListTableIndices", id=table).answer or {}).get("indexes")
        count = (lab.call("GetTableStats", id=table).answer or {}).get("num_indices")
        if found is not None and count is not None:
            lab.same(count, len(found), f"num_indices after {what}")
        for index in found or ():
            name = index["index_name"]
            reply = lab.call("DescribeTableIndexStats", id=table, index_name=name)
            for key in ("num_indexed_rows", "num_unindexed_rows"):
                told = (reply.answer or {}).get(key)
                if told is not None and index.get(key) is not None:
                    lab.same(told, index[key], f"{key} of {name} after {what}")

    look("CreateTable")
    for operation, rows, request in (
        ("CreateTableScalarIndex", None, _INDEX), ("InsertIntoTable", people(4), {}),
        ("MergeInsertIntoTable", people(3, 5), _MERGE), ("DeleteFromTable", None, {"predicate": "id = 2"}),
        ("UpdateTable", None, {"updates": [["name", "'x'"]], "predicate": "id = 1"}),
        ("CreateTableIndex", None, {"column": "name", "index_type": "FTS", "name": "words"}),
        ("DropTableIndex", None, {"index_name": "words"}), ("InsertIntoTable", people(6), {}),
        ("CreateTable", people(7, 8), {"mode": "Overwrite"}),
    ):  # fmt: skip
        data = None if rows is None else stream(rows)
        if lab.call(operation, data, id=table, **request).succeeded:
            look(operation)


@check("LN-FRESH-006", "Counts and rows immediately reflect restores and new columns.",
       "rest.yaml, RestoreTable: restores the content of an earlier version", "RestoreTable",
       "AlterTableAddColumns", "InsertIntoTable", "CountTableRows", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def restores(lab: Lab) -> None:
    table = two_versions(lab)
    lab.same(lab.count(table), len(PEOPLE) + 1, "the number of rows")
    lab.ok("RestoreTable", id=table, version=1)
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")
    before = lab.query(table).column_names
    lab.ok(
        "AlterTableAddColumns", id=table, new_columns=[{"name": "twice", "expression": "id * 2"}]
    )
    lab.same(lab.query(table).column_names, [*before, "twice"], "the columns")


@check("LN-FRESH-007", "ListTables and DescribeTable immediately reflect RenameTable.",
       "rest.yaml, RenameTable: renames the table to `new_table_name`", "RenameTable",
       "ListTables", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def renames(lab: Lab) -> None:
    table, new = lab.any_table(), lab.table_id()
    parent = table[:-1]

    def shown() -> list[bool]:
        names = lab.walk("ListTables", "tables", id=parent, limit=1000)
        found = [t[-1] in names for t in (table, new)]
        described = [lab.call("DescribeTable", id=t) for t in (table, new)]
        lab.same(
            {reply.code for reply in described} - {None}, {4}, "the error code for a missing name"
        )
        found += [reply.succeeded for reply in described]
        return found + [lab.exists("TableExists", t) for t in (table, new)]

    lab.same(shown(), [True, False] * 3, "whether each name exists")
    lab.ok("RenameTable", id=table, new_table_name=new[-1])
    lab.same(shown(), [False, True] * 3, "whether each name exists")


@check("LN-FRESH-008", "Responses about namespaces immediately reflect each change.",
       "rest.yaml, DropNamespace: removes a namespace from the catalog", "CreateNamespace",
       "DropNamespace", "ListNamespaces", "NamespaceExists",
       capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    namespace = lab.namespace_id()

    def shown() -> list[bool]:
        names = lab.walk("ListNamespaces", "namespaces", id=namespace[:-1], limit=1000)
        described = lab.call("DescribeNamespace", id=namespace)
        if not described.succeeded:
            lab.must_fail(described, [1])
        there = lab.exists("NamespaceExists", namespace)
        return [namespace[-1] in names, there, described.succeeded]

    for _ in range(2):
        lab.same(shown(), [False] * 3, "whether the namespace exists")
        lab.ok("CreateNamespace", id=namespace)
        lab.same(shown(), [True] * 3, "whether the namespace exists")
        lab.ok("DropNamespace", id=namespace)


def found_once_made(lab: Lab, identifier: list[str], kind: str, make: Callable[[], object]) -> None:
    """Call all operations that read an object before and after its creation, and after its drop."""
    parts = {"table": "/v1/table/{id}/", "namespace": "/v1/namespace/{id}/"}
    reads = [
        row.name
        for row in OPERATIONS.values()
        if row.action is Action.READ and row.path.startswith(parts[kind])
    ]

    def missing() -> list[str]:
        replies = {name: sensible_call(lab, name, identifier) for name in reads}
        return [name for name, reply in replies.items() if reply.code in (1, 4)]

    asked = missing()
    make()
    lab.same(missing(), [], f"the operations that do not find the new {kind}")
    dropped = lab.call("DropTable" if kind == "table" else "DropNamespace", id=identifier)
    if dropped.succeeded:
        lab.same(missing(), asked, f"the operations that do not find the dropped {kind}")


@check("LN-FRESH-016",
       "A table requested before its creation is found once created, and not found once dropped.",
       "rest.yaml, CreateTable: creates a table; DropTable; TableNotFound", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def found_table(lab: Lab) -> None:
    table = lab.table_id()
    found_once_made(
        lab, table, "table", lambda: lab.given("CreateTable", stream(people(1)), id=table)
    )


@check("LN-FRESH-017",
       "A namespace requested before its creation is found once created, and not found once "
       "dropped.",
       "rest.yaml, CreateNamespace: creates a namespace; DropNamespace; NamespaceNotFound",
       "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def found_namespace(lab: Lab) -> None:
    namespace = lab.namespace_id()
    found_once_made(lab, namespace, "namespace", lambda: lab.given("CreateNamespace", id=namespace))


@check("LN-FRESH-009", "DescribeNamespace immediately reflects each change of the properties.",
       "rest.yaml, AlterNamespace: sets the properties", "AlterNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def properties(lab: Lab) -> None:
    namespace = lab.new_namespace()
    for value in ("one", "two"):
        lab.ok("DescribeNamespace", id=namespace)
        lab.maybe("AlterNamespace", id=namespace, set_properties={"key": value})
        found = lab.ok("DescribeNamespace", id=namespace).get("properties")
        lab.has(found, {"key": value}, "the properties")


@check("LN-FRESH-010", "GetTableStats immediately reflects deletions.",
       "rest.yaml, GetTableStatsRequest: statistics of a table's latest version", "GetTableStats",
       "DeleteFromTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats_after_deletions(lab: Lab) -> None:
    table = lab.new_table()
    for left in (9, 8):
        lab.ok("GetTableStats", id=table)
        lab.ok("DeleteFromTable", id=table, predicate=f"id > {left}")
        lab.same(lab.ok("GetTableStats", id=table).get("num_rows"), left, "num_rows")


@check("LN-FRESH-011", "ListTableBranches immediately reflects each change.",
       "rest.yaml, DeleteTableBranch: removes a branch", "CreateTableBranch", "DeleteTableBranch",
       "ListTableBranches", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branches(lab: Lab) -> None:
    table = lab.new_table()

    def shown() -> list[str]:
        found = lab.ok("ListTableBranches", id=table).get("branches") or {}
        return sorted(name for name in found if name != "main")

    lab.same(shown(), [], "the branches")
    lab.ok("CreateTableBranch", id=table, name="side")
    lab.same(shown(), ["side"], "the branches")
    lab.ok("DeleteTableBranch", id=table, name="side")
    lab.same(shown(), [], "the branches")


def agreed(lab: Lab, table: list[str], before: int) -> int:
    """Return the newest version; it must be later than `before`, and all operations must agree."""
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    version = int(described.get("version") or 0)
    lab.that(version > before, f"a version after {before}", version)
    names = [field["name"] for field in (described.get("schema") or {}).get("fields") or ()]
    found = lab.query(table)
    lab.same(found.column_names, names, "the columns that a query returns")
    lab.same(lab.count(table), found.num_rows, "the number of rows that CountTableRows returns")
    listed = lab.call("ListTableVersions", id=table, descending=True, limit=1)
    if listed.succeeded and listed.answer:
        lab.same(listed.answer["versions"][0]["version"], version, "the newest listed version")
    stats = lab.call("GetTableStats", id=table)
    if stats.succeeded and stats.answer:
        lab.same(stats.answer.get("num_rows"), found.num_rows, "num_rows of the stats")
    return version


@check("LN-FRESH-013", "Versions, columns, counts and stats agree after every kind of write.",
       "rest.yaml, QueryTableRequest, CountTableRowsRequest and GetTableStatsRequest: the latest version",
       "CreateTable", "DescribeTable", "QueryTable", "CountTableRows",
       capabilities=_TABLES)  # fmt: skip
def agree_after_each_write(lab: Lab) -> None:
    table = lab.new_table()
    last = agreed(lab, table, 0)
    for operation, data, request in WRITES:
        reply = lab.call(operation, data, id=table, **request)
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        last = agreed(lab, table, last)
        answered = (reply.answer or {}).get("version")
        if answered is not None:
            lab.same(answered, last, f"the version that {operation} returns")


_OTHERS = stream(people(4, 5, 6, 7).drop_columns(["score"]))


def _single(lab: Lab, table: list[str]) -> list[str]:
    """Return a table created by one call, so that no later write refreshes a cached answer."""
    lab.given("CreateTable", _OTHERS, id=table)
    return table


@check("LN-FRESH-060",
       "Reads of a table that replaced another one return nothing of the replaced table.",
       _WAYS, "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def replaced(lab: Lab) -> None:
    for way in ("DropTable", "Overwrite", "DeregisterTable", "DropNamespace", "again", "over"):
        reads = ALL_READS if way == "DropTable" else CURRENT_READS
        if way == "DropNamespace" and not lab.shape.tables_in_new:
            continue
        due, table = facts_of_new(lab, _single, reads), [*place_for_tables(lab), lab.ledger.fresh()]
        facts(lab, first_table(lab, table), reads)
        if way in ("again", "over"):
            other = _single(lab, lab.table_id())
            where = lab.ok("DescribeTable", id=other).get("location")
            for gone in (other, table)[: 1 + (way == "again")]:
                lab.call("DeregisterTable", id=gone)
            mode = "Create" if way == "again" else "Overwrite"
            if not lab.call("RegisterTable", id=table, location=where, mode=mode).succeeded:
                continue
        elif way == "Overwrite":
            reply = lab.call("CreateTable", _OTHERS, id=table, mode=way)
            if reply.code == 0:
                continue  # the properties of the old table cannot be removed
            lab.must_be_given(reply)
        else:
            named, more = (table[:-1], {"behavior": "Cascade"}) if "Name" in way else (table, {})
            if not lab.call(way, id=named, **more).succeeded:
                continue
            if more:
                lab.given("CreateNamespace", id=named)
            _single(lab, table)
        same_facts(lab, facts(lab, table, reads), due, f"after another table replaced it ({way})")


@check("LN-FRESH-061", "Tables that swap their names keep everything that is reported about them.",
       "rest.yaml, RenameTable: the rows, versions and schema of the table stay unchanged", "RenameTable",
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def swapped(lab: Lab) -> None:
    one, other = first_table(lab, lab.table_id()), second_table(lab, lab.table_id())
    before, aside = [facts(lab, other), facts(lab, one)], [*one[:-1], lab.ledger.fresh()]
    for old, new in ((one, aside), (other, one), (aside, other)):
        reply = lab.call("RenameTable", id=old, new_table_name=new[-1])
        if reply.code == 19:  # some storage cannot move a table that has branches
            raise Skipped(f"RenameTable: {reply.outcome()}")
        lab.may_refuse(reply)
    for table, due in zip((one, other), before, strict=True):
        same_facts(lab, facts(lab, table), due, "after two tables swapped their names")


def _newest(lab: Lab, table: list[str], before: int) -> int:
    """Return the newest version of the branch, which all reads must agree on."""
    rows = branch_rows(lab, table).rows
    reads: tuple[Read, ...] = (
        ("DescribeTable", FULL), ("ListTableVersions", {"descending": True, "limit": 1}),
        ("DescribeTableVersion", {}), ("GetTableStats", {}), ("CountTableRows", {}),
    )  # fmt: skip
    steps = [Step(name, {"id": table, **_SIDE, **more}) for name, more in reads]
    found = [reply.answer or {} if reply.succeeded else {} for reply in lab.together(steps)]
    described, listed, version, stats, counted = found
    known = {described.get("version"), (version.get("version") or {}).get("version")}
    known = (known | {max((v["version"] for v in listed.get("versions") or ()), default=None)}) - {
        None
    }
    lab.that(len(known) < 2, "all reads to agree on the newest version of the branch", known)
    newest = next((int(version) for version in known if version), before + 1)
    lab.that(newest > before, f"a version after {before}", newest)
    counts = {stats.get("num_rows"), counted.get("count")}
    lab.that(counts <= {None, rows.num_rows}, f"{rows.num_rows} rows on the branch", counts)
    columns = [each["name"] for each in (described.get("schema") or {}).get("fields") or ()]
    lab.that(columns in ([], rows.column_names), f"the columns {rows.column_names}", columns)
    return newest


@check("LN-FRESH-064",
       "All reads of a branch agree after each write to it, and the main branch is unchanged.",
       "rest.yaml, CreateTableBranch, DeleteTableBranch and the field branch of the operations",
       "CreateTableBranch", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def on_a_branch(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    lab.given("CreateTableBranch", id=table, name="side")
    before = {k: v for k, v in state(lab, table).items() if "branch" not in k}
    first = last = _newest(lab, table, 0)
    for operation, data, request in WRITES:
        more = {"version": first} if operation == "RestoreTable" else request
        if lab.call(operation, data, id=table, **more, **_SIDE).succeeded:
            last = _newest(lab, table, last)
    unchanged(lab, before, state(lab, table), "writes to a branch")
    lab.maybe("DeleteFromTable", id=table, predicate="id > 1", **_SIDE)
    _newest(lab, table, last)
    lab.given("DeleteTableBranch", id=table, name="side")
    lab.given("CreateTableBranch", id=table, name="side")
    _newest(lab, table, 0)
    lab.same(branch_ids(lab, table), [1, 2, 3, 4], "the ids on a re-created branch")


@check("LN-FRESH-065",
       "Every listing of tables reflects each change, with and without declared tables.",
       "rest.yaml, ListTables and ListAllTables", "ListTables", "CreateTable", "DropTable",
       capabilities=_TABLES)  # fmt: skip
def listings(lab: Lab) -> None:
    table = [*place_for_tables(lab), lab.ledger.fresh()]
    names = [table, [*table[:-1], lab.ledger.fresh()], [*place_for_tables(lab), lab.ledger.fresh()]]
    first = lab.call("ListAllTables", limit=1000)
    every = first.succeeded and not (first.answer or {}).get("page_token")

    def shown(where: list[str] | None, declared: bool = False) -> None:
        for full in (True, False):
            asked: dict[str, Any] = {"include_declared": full, "limit": 1000}
            for each in names:
                due = each == where and (full or not declared)
                listed = each[-1] in lab.walk("ListTables", "tables", id=each[:-1], **asked)
                lab.same(listed, due, f"whether ListTables with {asked} returns {each[-1]}")
        whole = lab.ok("ListAllTables", limit=1000) if every else {"page_token": "unread"}
        for each in () if whole.get("page_token") else names:  # one page has them all
            listed = "$".join(each) in (whole.get("tables") or ())
            lab.same(listed, each == where, f"whether ListAllTables returns {each[-1]}")

    shown(None)
    if lab.call("DeclareTable", id=table).succeeded:
        shown(table, declared=True)
    lab.given("CreateTable", stream(people(1)), id=table)
    shown(table)
    for new in names[1:]:
        more = {"new_namespace_id": new[:-1]} if new is names[2] else {}
        if lab.call("RenameTable", id=table, new_table_name=new[-1], **more).succeeded:
            table = new
            shown(table)
    where = lab.ok("DescribeTable", id=table).get("location")
    if lab.call("DeregisterTable", id=table).succeeded:
        shown(None)
        lab.maybe("RegisterTable", id=table, location=where)
        shown(table)
    lab.ok("DropTable", id=table)
    shown(None)
