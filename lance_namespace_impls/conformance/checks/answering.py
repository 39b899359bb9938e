"""Every response describes the current call and the object with exactly the requested name."""

from __future__ import annotations

import pyarrow as pa

from ..lab import Lab
from ..requirement import check
from ..rows import people, plain, stream
from .branches import branch_ids
from .tables import place_of

_TABLES = ["tables"]
_INDEX = {"column": "id", "index_type": "BTREE", "name": "by_id"}
_MERGE = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
_ENDS = ("DropTable", "DeregisterTable")


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
            lab.same(place_of(told["location"]), place_of(where), f"the location as {end} tells it")
        of = (told.get("properties") or {}).get("owner", owner)
        lab.same(of, owner, f"the owner as {end} tells it")
    declared = lab.table_id()
    for end in (*_ENDS, "DropTable"):
        reply = lab.call("DeclareTable", id=declared)
        if not reply.succeeded:
            break
        due = lab.ok("DescribeTable", id=declared).get("location")
        where = (reply.answer or {}).get("location") or due
        lab.same(place_of(where), place_of(due), "the location as DeclareTable tells it")
        if not lab.call(end, id=declared).succeeded:
            break


@check("LN-FRESH-067", "A repeated write returns the version and the row counts of its own call.",
       "rest.yaml, the responses of the operations: version, and the numbers of rows",
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
                lab.same(told.get(key, value), value, f"{key} as {operation} tells it")


@check("LN-FRESH-068",
       "After each kind of write, all responses that report versions or indices agree.",
       "rest.yaml, ListTableVersions, ListTableIndices, DescribeTableIndexStats and GetTableStats",
       "CreateTable", "DescribeTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def after_each_write(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)

    def look(what: str) -> None:
        version = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("version")
        listed = lab.call("ListTableVersions", id=table).answer or {}
        numbers = [entry["version"] for entry in listed.get("versions") or ()]
        if numbers and version is not None:
            lab.same(max(numbers), version, f"the newest version that is listed after {what}")
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


@check("LN-VALUE-016",
       "Special numbers and unusual strings come back unchanged after an insert or a merge.",
       'protocol semantics, "Bodies that are not JSON objects"; Arrow columnar format', "CreateTable",
       "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def added_values(lab: Lab) -> None:
    numbers, texts = [float("nan"), -0.0, float("-inf"), None], ["x" * 300, " a\u00a0", "", None]

    def rows(first: int) -> bytes:
        ids = pa.array(range(first, first + len(numbers)), pa.int64())
        return stream(
            pa.table({"id": ids, "number": pa.array(numbers, pa.float64()), "text": texts})
        )

    table = lab.table_id()
    lab.given("CreateTable", rows(0), id=table)
    lab.ok("InsertIntoTable", rows(10), id=table)
    times = 2 + lab.call("MergeInsertIntoTable", rows(20), id=table, **_MERGE).succeeded
    found = lab.query(table).sort_by("id")
    for column, due in (("number", numbers), ("text", texts)):
        lab.same([repr(v) for v in found.column(column).to_pylist()], [repr(v) for v in due] * times,
                 f"column {column}")  # fmt: skip


@check("LN-BRANCH-065",
       "Branches whose names differ only in case, punctuation or suffix are independent.",
       "rest.yaml, CreateTableBranch and the branch of the other requests", "CreateTableBranch",
       "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branch_names(lab: Lab) -> None:
    table = lab.new_table(1)
    made: dict[str, int] = {}
    for number, name in enumerate(
        ("side", "Side", "si-de", "si_de", "si.de", "si", "a/side", *("n" * n + e for n in (64, 128)
                                                                    for e in ("", "a", "b"))), 10
    ):  # fmt: skip
        reply = lab.call("CreateTableBranch", id=table, name=name)
        if not reply.succeeded:
            lab.must_fail(reply, [0, 13])  # the target rejects the branch name
            continue
        made[name] = number
        lab.given("InsertIntoTable", stream(people(number)), id=table, branch=name)
    for name, number in made.items():
        lab.same(branch_ids(lab, table, name), [1, number], f"the ids of branch {name}")
    lab.same(lab.ids(table), [1], "the ids of the main line")


@check("LN-TABLE-RENAME-061",
       "A renamed table has exactly the requested name, or the new name is rejected.",
       "rest.yaml, RenameTableRequest: new_table_name", "RenameTable", "CreateTable", "QueryTable",
       "ListTables", capabilities=_TABLES)  # fmt: skip
def exact_names(lab: Lab) -> None:
    table, made = lab.new_table(1), list[str]()
    parent = table[:-1]
    for ending in (
        "_Mixed_Case",
        "-a-b",
        ".a",
        "n" * 64,
        "n" * 64 + "a",
        "n" * 128,
        "n" * 128 + "a",
    ):
        name = lab.ledger.fresh() + ending
        reply = lab.call("RenameTable", id=table, new_table_name=name)
        if not reply.succeeded:
            lab.must_fail(reply, [0, 13])
            lab.same(lab.ids(table), [1], "the ids of the table that keeps its name")
            continue
        lab.that(not lab.exists("TableExists", table), "the old name to be free", table[-1])
        table = [*parent, name]
        lab.same(lab.ids(table), [1], f"the ids of {name}")
        listed = lab.walk("ListTables", "tables", id=parent)
        lab.same(
            [n for n in listed if n == name or n in made], [name], "the names that it has, or had"
        )
        made.append(name)
