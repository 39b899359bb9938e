"""InsertIntoTable, UpdateTable, DeleteFromTable and MergeInsertIntoTable."""

from __future__ import annotations

import pyarrow as pa

from ..lab import Failed, Lab
from ..requirement import check
from ..rows import PEOPLE, people, plain, stream

_INSERT = 'rest.yaml, InsertIntoTable; protocol semantics, "Modes"'
_UPDATE = "rest.yaml, UpdateTable"
_DELETE = "rest.yaml, DeleteFromTable"
_MERGE = "rest.yaml, MergeInsertIntoTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)


def names(lab: Lab, table: list[str]) -> dict[int, str]:
    """Return the names in a table of people by id."""
    rows = lab.query(table)
    return dict(zip(rows.column("id").to_pylist(), rows.column("name").to_pylist(), strict=True))


@check("LN-ROWS-INSERT-001", "InsertIntoTable adds rows and keeps the existing ones.",
       _INSERT, "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def insert(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("InsertIntoTable", stream(people(11, 12)), id=table)
    lab.same(lab.ids(table), [*ALL, 11, 12], "the ids")


@check("LN-ROWS-INSERT-002", "InsertIntoTable accepts mode append in any letter case.", _INSERT,
       "InsertIntoTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def insert_append(lab: Lab) -> None:
    table = lab.new_table()
    for mode in ("append", "Append", "APPEND"):
        lab.ok("InsertIntoTable", stream(people(11)), id=table, mode=mode)
    lab.same(lab.count(table), len(ALL) + 3, "the number of rows")


@check("LN-ROWS-INSERT-003", "InsertIntoTable with mode overwrite replaces the rows.",
       _INSERT, "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def insert_overwrite(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("InsertIntoTable", stream(people(21)), id=table, mode="overwrite")
    lab.same(lab.ids(table), [21], "the ids")


@check("LN-ROWS-INSERT-004",
       "InsertIntoTable with an unknown mode fails with code 13 and adds nothing.",
       _INSERT, "InsertIntoTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def insert_unknown_mode(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("InsertIntoTable", [13], stream(people(11)), id=table, mode="sometimes")
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-INSERT-005",
       "InsertIntoTable into a missing table fails with code 4 and creates no table.", _CODES,
       "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def insert_missing(lab: Lab) -> None:
    table = lab.table_id()
    lab.refused("InsertIntoTable", [4], plain(1), id=table)
    lab.that(not lab.exists("TableExists", table), "no table to be made", "it is there")


@check("LN-ROWS-INSERT-006",
       "InsertIntoTable rejects rows with a different schema and changes nothing.",
       'protocol semantics, "Errors", code 20', "InsertIntoTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def insert_other_schema(lab: Lab) -> None:
    table = lab.new_table()
    more = people(11).append_column("more", [["x"]])
    for other in (pa.table({"elsewhere": ["a"]}), more, people(11).set_column(1, "name", [[[1]]])):
        lab.refused("InsertIntoTable", [13, 20, 12], stream(other), id=table)
        lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-INSERT-007",
       "InsertIntoTable with a truncated stream fails with code 13 and adds nothing.",
       "rest.yaml, InsertIntoTable: a body that is no such stream, InvalidInput", "InsertIntoTable",
       "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def insert_truncated(lab: Lab) -> None:
    table = lab.new_table()
    whole = stream(people(*range(100, 300)), batch_rows=50)
    lab.refused("InsertIntoTable", [13], whole[: len(whole) * 2 // 3], id=table)
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-INSERT-008", "InsertIntoTable adds all batches of a stream.",
       _INSERT, "InsertIntoTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def insert_batches(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("InsertIntoTable", stream(people(*range(100, 130)), batch_rows=4), id=table)
    lab.same(lab.count(table), len(ALL) + 30, "the number of rows")


@check("LN-ROWS-INSERT-009",
       "InsertIntoTable returns the number of inserted rows and the new version.",
       "rest.yaml, InsertIntoTableResponse", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def insert_answers(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("InsertIntoTable", stream(people(11, 12, 13)), id=table)
    if answer.get("num_inserted_rows") is not None:
        lab.same(answer["num_inserted_rows"], 3, "num_inserted_rows")
    if answer.get("version") is not None:
        lab.that(answer["version"] > 1, "a version after the first", answer)
        described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
        lab.same(answer["version"], described.get("version"), "the version")


@check("LN-ROWS-INSERT-010", "InsertIntoTable stores nested and null values unchanged.", _INSERT,
       "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def insert_values(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("InsertIntoTable", stream(people(16)), id=table)
    found = lab.query(table, filter="id = 16").to_pylist()
    lab.same(found, people(16).to_pylist(), "the row")


@check("LN-ROWS-UPDATE-001", "UpdateTable changes the rows that match its predicate and no others.",
       _UPDATE, "UpdateTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def update(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("UpdateTable", id=table, predicate="id > 8", updates=[["name", "'old'"]])
    expected = {i: "old" if i > 8 else f"n{i}" for i in ALL}
    lab.same(names(lab, table), expected, "the names")


@check("LN-ROWS-UPDATE-002", "UpdateTable returns the number of updated rows and a new version.",
       "rest.yaml, UpdateTableResponse", "UpdateTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def update_answers(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("UpdateTable", id=table, predicate="id > 8", updates=[["name", "'old'"]])
    lab.same(answer.get("updated_rows"), 2, "updated_rows")
    version = answer.get("version")
    lab.that(isinstance(version, int) and version > 1, "a version after the first", answer)


@check("LN-ROWS-UPDATE-003", "UpdateTable without a predicate updates every row.", _UPDATE,
       "UpdateTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def update_all(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("UpdateTable", id=table, updates=[["score", "id * 2"]])
    lab.same(answer.get("updated_rows"), len(ALL), "updated_rows")
    found = {row["id"]: row["score"] for row in lab.query(table).to_pylist()}
    lab.same(found, {i: i * 2.0 for i in ALL}, "the scores")


@check("LN-ROWS-UPDATE-004", "UpdateTable of a missing column fails with code 12 or 13.", _CODES,
       "UpdateTable", "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def update_column(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("UpdateTable", [12, 13], id=table, updates=[["nothing", "1"]])
    lab.same(names(lab, table), {i: f"n{i}" for i in ALL}, "the names")


@check("LN-ROWS-UPDATE-005",
       "UpdateTable with an invalid predicate fails with code 13 and changes nothing.",
       _UPDATE, "UpdateTable", "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def update_predicate(lab: Lab) -> None:
    table = lab.new_table()
    updates = [["name", "'x'"]]
    lab.refused("UpdateTable", [13], id=table, predicate="id >>> ((", updates=updates)
    lab.same(names(lab, table), {i: f"n{i}" for i in ALL}, "the names")


@check("LN-ROWS-UPDATE-006", "UpdateTable of a missing table fails with code 4.",
       _CODES, "UpdateTable", capabilities=_TABLES)  # fmt: skip
def update_missing(lab: Lab) -> None:
    lab.refused("UpdateTable", [4], id=lab.table_id(), updates=[["a", "1"]])


@check("LN-ROWS-UPDATE-007", "UpdateTable succeeds and updates no row if none matches.", _UPDATE,
       "UpdateTable", "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def update_none(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("UpdateTable", id=table, predicate="id > 99", updates=[["name", "'x'"]])
    lab.same(answer.get("updated_rows"), 0, "updated_rows")
    lab.same(names(lab, table), {i: f"n{i}" for i in ALL}, "the names")


@check("LN-ROWS-DELETE-001",
       "DeleteFromTable removes the rows that match its predicate and no others.",
       _DELETE, "DeleteFromTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def delete(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("DeleteFromTable", id=table, predicate="id > 3 AND id <= 9")
    lab.same(lab.ids(table), [1, 2, 3, 10], "the ids")
    lab.same(lab.count(table), 4, "the number of rows")


@check("LN-ROWS-DELETE-002", "DeleteFromTable succeeds and removes no row if none matches.",
       _DELETE, "DeleteFromTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def delete_none(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("DeleteFromTable", id=table, predicate="id > 99")
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-DELETE-003",
       "DeleteFromTable removes nothing if the predicate is invalid (code 13) or names a missing "
       "column (12 or 13).",
       _DELETE, "DeleteFromTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def delete_predicate(lab: Lab) -> None:
    table = lab.new_table()
    for predicate in ("id >>> ((", ""):
        lab.refused("DeleteFromTable", [13], id=table, predicate=predicate)
    lab.refused("DeleteFromTable", [12, 13], id=table, predicate="nothing = 1")
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-DELETE-004", "DeleteFromTable on a missing table fails with code 4.", _CODES,
       "DeleteFromTable", capabilities=_TABLES)  # fmt: skip
def delete_missing(lab: Lab) -> None:
    lab.refused("DeleteFromTable", [4], id=lab.table_id(), predicate="true")


@check("LN-ROWS-DELETE-005",
       "DeleteFromTable without a predicate fails with code 13 and removes nothing.",
       "rest.yaml, DeleteFromTableRequest", "DeleteFromTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def delete_everything(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("DeleteFromTable", [13], id=table)
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-DELETE-006", "DeleteFromTable returns the version that it created.",
       "rest.yaml, DeleteFromTableResponse", "DeleteFromTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def delete_answers(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("DeleteFromTable", id=table, predicate="id = 1")
    if answer.get("version") is not None:
        described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
        lab.same(answer["version"], described.get("version"), "the version")


@check("LN-ROWS-MERGE-001", "when_matched_update_all updates the rows whose keys match.", _MERGE,
       "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_update(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("MergeInsertIntoTable", stream(_renamed(9, 10, 11)), id=table, on="id",
           when_matched_update_all=True)  # fmt: skip
    expected = {i: "new" if i > 8 else f"n{i}" for i in ALL}
    lab.same(names(lab, table), expected, "the names")
    empty = people(1).set_column(2, "score", pa.array([None], pa.float64()))
    lab.ok("MergeInsertIntoTable", stream(empty), id=table, on="id", when_matched_update_all=True)
    lab.same([row["score"] for row in lab.query(table, filter="id = 1").to_pylist()], [None],
             "the score that the stream has a null for")  # fmt: skip


@check("LN-ROWS-MERGE-002", "when_not_matched_insert_all inserts the rows whose keys are new.",
       _MERGE, "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_insert(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("MergeInsertIntoTable", stream(_renamed(9, 10, 11)), id=table, on="id",
           when_not_matched_insert_all=True)  # fmt: skip
    lab.same(names(lab, table), {**{i: f"n{i}" for i in ALL}, 11: "new"}, "the names")


@check("LN-ROWS-MERGE-003",
       "when_matched_update_all and when_not_matched_insert_all can be combined, and the answer "
       "counts both.", _MERGE,
       "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_both(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("MergeInsertIntoTable", stream(_renamed(9, 10, 11)), id=table, on="id",
                    when_matched_update_all=True, when_not_matched_insert_all=True)  # fmt: skip
    expected = {i: "new" if i > 8 else f"n{i}" for i in [*ALL, 11]}
    lab.same(names(lab, table), expected, "the names")
    for key, number in (("num_updated_rows", 2), ("num_inserted_rows", 1), ("num_deleted_rows", 0)):
        if answer.get(key) is not None:
            lab.same(answer[key], number, key)


@check("LN-ROWS-MERGE-004",
       "when_not_matched_by_source_delete removes rows that are missing from the source.",
       _MERGE, "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_delete(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("MergeInsertIntoTable", stream(_renamed(9, 10, 11)), id=table, on="id",
           when_not_matched_insert_all=True, when_not_matched_by_source_delete=True)  # fmt: skip
    lab.same(lab.ids(table), [9, 10, 11], "the ids")


@check("LN-ROWS-MERGE-005",
       "MergeInsertIntoTable with a missing key column fails with code 12, 13 or 20.", _CODES,
       "MergeInsertIntoTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_key(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("MergeInsertIntoTable", [12, 13, 20], stream(people(11)), id=table, on="nothing",
                when_not_matched_insert_all=True)  # fmt: skip
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-MERGE-006", "MergeInsertIntoTable into a missing table fails with code 4.", _CODES,
       "MergeInsertIntoTable", capabilities=_TABLES)  # fmt: skip
def merge_missing(lab: Lab) -> None:
    lab.refused("MergeInsertIntoTable", [4], stream(people(1)), id=lab.table_id(), on="id",
                when_not_matched_insert_all=True)  # fmt: skip


@check("LN-ROWS-MERGE-007", "when_matched_update_all_filt limits which rows are updated.", _MERGE,
       "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_filter(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("MergeInsertIntoTable", stream(_renamed(9, 10)), id=table, on="id",
              when_matched_update_all=True,
              when_matched_update_all_filt="target.id = 10")  # fmt: skip
    expected = {i: "new" if i == 10 else f"n{i}" for i in ALL}
    lab.same(names(lab, table), expected, "the names")


@check("LN-ROWS-MERGE-008", "MergeInsertIntoTable without a key column fails with code 13.", _MERGE,
       "MergeInsertIntoTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_no_key(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("MergeInsertIntoTable", [13], stream(people(11)), id=table,
                when_not_matched_insert_all=True)  # fmt: skip
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-MERGE-013",
       "MergeInsertIntoTable with incompatible columns fails with code 12, 13 or 20 and changes "
       "nothing.",
       "rest.yaml, MergeInsertIntoTable: columns that do not fit the table; error code 20",
       "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_misfit(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    rows = people(2, 3)
    more = rows.append_column("more", pa.array([1, 2]))
    other = rows.set_column(1, "name", pa.array([[1], [2]]))
    for misfit in (more, other):
        lab.refused("MergeInsertIntoTable", [12, 13, 20], stream(misfit), id=table, on="id",
                    when_matched_update_all=True, when_not_matched_insert_all=True)  # fmt: skip
    lab.same(names(lab, table), {1: "n1", 2: "n2"}, "the names")


@check("LN-ROWS-SEQUENCE-001", "Consecutive writes all take effect.",
       "rest.yaml, the write operations", "InsertIntoTable", "DeleteFromTable", "UpdateTable",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def sequence(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("InsertIntoTable", stream(people(11, 12)), id=table)
    lab.ok("DeleteFromTable", id=table, predicate="id < 10")
    lab.ok("UpdateTable", id=table, predicate="id = 11", updates=[["name", "'x'"]])
    lab.ok("InsertIntoTable", stream(people(13)), id=table)
    lab.same(names(lab, table), {10: "n10", 11: "x", 12: "n12", 13: "n13"}, "the names")


@check("LN-ROWS-DECLARED-001", "CountTableRows of a declared table fails or returns 0.",
       'protocol semantics, "DescribeTable" and "Errors"', "CountTableRows", "DeclareTable",
       capabilities=_TABLES)  # fmt: skip
def declared(lab: Lab) -> None:
    reply = lab.call("CountTableRows", id=lab.new_declared())
    if reply.succeeded and (reply.answer or {}).get("count") not in (0, None):
        raise Failed("no rows in a declared table", reply.outcome(), reply)
    if not reply.succeeded:
        lab.must_fail(reply, [0, 4, 11, 13, 18, 19])


def _renamed(*ids: int) -> pa.Table:
    rows = people(*ids)
    return rows.set_column(1, "name", pa.array(["new"] * len(ids)))


@check("LN-ROWS-INSERT-011",
       "InsertIntoTable matches columns by name, or rejects a different column order.",
       _INSERT, "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def by_name(lab: Lab) -> None:
    table = lab.table_id()
    lab.given("CreateTable", stream(pa.table({"a": [1], "b": [2]})), id=table)
    reply = lab.call("InsertIntoTable", stream(pa.table({"b": [20], "a": [10]})), id=table)
    due = [{"a": 1, "b": 2}]
    if reply.succeeded:
        due.append({"a": 10, "b": 20})
    else:
        lab.must_fail(reply, [13, 20])
    found = sorted(lab.query(table).to_pylist(), key=lambda row: row["a"])
    lab.same(found, due, "the rows")


@check("LN-ROWS-INSERT-012",
       "InsertIntoTable with mode overwrite and no rows empties the table and keeps its columns.",
       _INSERT, "InsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def overwrite_with_none(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("InsertIntoTable", stream(people(1).slice(1)), id=table, mode="overwrite")
    found = lab.query(table)
    lab.same((found.num_rows, found.column_names), (0, people(1).column_names), "the table")
    lab.same(lab.count(table), 0, "the number of rows")
