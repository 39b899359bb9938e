"""Repeated operations, and similar names of tags, branches and indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lab import Lab, Skipped
from ...requirement import check
from ...rows import people, plain, stream

_TABLES = ["tables"]
_EACH = "rest.yaml, the operations on tags, branches and indexes"
_NAMES = 'protocol semantics, "Identifiers"; rest.yaml, the fields that contain a name'
_ALIKE = (("v.1", "v.2"), ("v-1", "v_1"), ("Case", "case"), ("long" * 20 + "a", "long" * 20 + "b"),
          ("e%41", "eA"), ("a/b", "a/c"), ("a b", "a+b"), ("sch\u00f6n", "scho\u0308n"))  # fmt: skip
"""Pairs of names that differ in one place; a server may reject either name."""


def _named(lab: Lab, operation: str, key: str, table: list[str]) -> set[str]:
    found = lab.ok(operation, id=table).get(key) or ()
    return {each["index_name"] if isinstance(each, dict) else str(each) for each in found}


_THINGS: dict[str, tuple[str, str, str, str, Callable[[str], dict[str, Any]]]] = {
    "tag": ("CreateTableTag", "DeleteTableTag", "ListTableTags", "tags",
            lambda name: {"tag": name, "version": 1}),
    "branch": ("CreateTableBranch", "DeleteTableBranch", "ListTableBranches", "branches",
               lambda name: {"name": name}),
    "index": ("CreateTableScalarIndex", "DropTableIndex", "ListTableIndices", "indexes",
              lambda name: {"name": name, "column": "id", "index_type": "BTREE"}),
}  # fmt: skip


def _gone(create: str, remove: str, name: str) -> dict[str, Any]:
    key = {"DeleteTableTag": "tag", "DeleteTableBranch": "name", "DropTableIndex": "index_name"}
    return {key[remove]: name}


def _again(create: str, remove: str, listing: str, key: str, request: Any) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = lab.new_table(1, 2)
        for _ in range(2):
            for name in ("first", "second"):
                lab.ok(create, id=table, **request(name))
            lab.same(_named(lab, listing, key, table), {"first", "second"}, f"the {key}")
            for name, left in (("first", {"second"}), ("second", set[str]())):
                lab.ok(remove, id=table, **_gone(create, remove, name))
                lab.same(_named(lab, listing, key, table), left, f"the remaining {key}")

    return run


def _apart(create: str, remove: str, listing: str, key: str, request: Any) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = lab.new_table(1, 2)
        made: set[str] = set()
        for pair in _ALIKE:
            for name in pair:
                reply = lab.call(create, id=table, **request(name))
                if reply.code in (0, 13):
                    continue
                lab.must_succeed(reply)
                made.add(name)
        if not made:
            raise Skipped("every one of the names is rejected")
        lab.same(_named(lab, listing, key, table), made, f"the {key}")
        for name in sorted(made):
            lab.ok(remove, id=table, **_gone(create, remove, name))
            made.remove(name)
            lab.same(_named(lab, listing, key, table), made, f"the {key} without {name!r}")

    return run


for _number, (_thing, _way) in enumerate(_THINGS.items()):
    check(f"LN-AGAIN-{_number + 1:03}",
          f"Creating and deleting the same {_thing} again works as it did the first time.", _EACH,
          *_way[:3], capabilities=_TABLES)(_again(*_way))  # fmt: skip
    check(f"LN-APART-{_number + 1:03}",
          f"Similar {_thing} names are distinct: they are compared character by character.", _NAMES,
          *_way[:3], capabilities=_TABLES)(_apart(*_way))  # fmt: skip


@check("LN-AGAIN-004",
       "Inserting the same rows again adds them again, and each answer reports the current "
       "version.",
       "rest.yaml, InsertIntoTableResponse: version of the table that the write created",
       "InsertIntoTable", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def inserted(lab: Lab) -> None:
    table = lab.new_table(1)
    for count in (2, 3, 4):
        answer = lab.ok("InsertIntoTable", stream(people(5)), id=table)
        told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("version")
        if answer.get("version") is not None:
            lab.same(answer["version"], told, "the version that InsertIntoTable returns")
        lab.same(lab.count(table), count, "the rows")


@check("LN-AGAIN-005",
       "A table name can be created, overwritten and dropped repeatedly, and answers match "
       "DescribeTable.",
       "rest.yaml, CreateTableResponse and DescribeTableResponse", "CreateTable", "DropTable",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def made_again(lab: Lab) -> None:
    table = lab.table_id()
    for data in (stream(people(1)), stream(people(1)), plain(1, 2)):
        for request in ({}, {"mode": "Overwrite"}, {"mode": "Overwrite"}):
            reply = lab.call("CreateTable", data, id=table, **request)
            if request and reply.code in (0, 13):
                break
            lab.must_succeed(reply)
            told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            for key in ("location", "version"):
                found = (reply.answer or {}).get(key)
                lab.that(found in (None, told.get(key)), f"{key} {told.get(key)!r}", found)
        dropped = lab.ok("DropTable", id=table)
        if dropped.get("location") is not None:
            lab.same(
                dropped["location"], told.get("location"), "the location that DropTable returns"
            )
        lab.that(not lab.exists("TableExists", table), "the table to no longer exist", "it exists")


@check("LN-AGAIN-006",
       "Repeated changes of properties, metadata, columns and names take effect each time.",
       "rest.yaml, AlterTable, UpdateTableSchemaMetadata, AlterTableAddColumns and RenameTable",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def altered_again(lab: Lab) -> None:
    table = lab.new_table(1)
    for number in ("1", "2", "2"):
        reply = lab.call("AlterTable", id=table, set_properties={"round": number})
        if reply.succeeded:
            lab.has(
                lab.ok("DescribeTable", id=table).get("properties"), {"round": number}, "properties"
            )
        reply = lab.call("UpdateTableSchemaMetadata", id=table, metadata={"round": number})
        if reply.succeeded:
            told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            kept = (told.get("schema") or {}).get("metadata") or {}
            lab.same((reply.answer or {}).get("metadata"), kept, "the returned metadata")
            lab.has(kept, {"round": number}, "the metadata")
    for name in ("first", "second"):
        column = {"name": name, "expression": "id + 1"}
        reply = lab.call("AlterTableAddColumns", id=table, new_columns=[column])
        if reply.succeeded:
            lab.that(name in lab.query(table).column_names, f"a column {name}", "none")
            reply = lab.call("AlterTableDropColumns", id=table, columns=[name])
            there = name in lab.query(table).column_names
            lab.same(there, not reply.succeeded, f"whether the column {name} exists")
    for _ in range(2):
        new = lab.ledger.fresh()
        reply = lab.call("RenameTable", id=table, new_table_name=new)
        if reply.code in (0, 13):
            return
        lab.must_succeed(reply)
        lab.that(
            not lab.exists("TableExists", table), "the old name to be unused", "it is still in use"
        )
        table = [*table[:-1], new]
        lab.same(lab.ids(table), [1], "the ids under the new name")


@check("LN-AGAIN-007",
       "With include_declared false, ListTables returns a declared table only after it has rows.",
       "rest.yaml, ListTablesRequest, include_declared", "ListTables", "DeclareTable",
       "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def filled(lab: Lab) -> None:
    merge = {"on": "id", "when_not_matched_insert_all": True}
    for operation, request in (("InsertIntoTable", {}), ("MergeInsertIntoTable", merge),
                               ("CreateTable", {"mode": "Overwrite"})):  # fmt: skip
        table = lab.new_declared()
        for due in (False, True):
            names = lab.walk("ListTables", "tables", id=table[:-1], include_declared=False)
            lab.same(
                table[-1] in names, due, f"whether the table is listed before and after {operation}"
            )
            if not due:
                reply = lab.call(operation, stream(people(1)), id=table, **request)
                if not reply.succeeded:
                    break
