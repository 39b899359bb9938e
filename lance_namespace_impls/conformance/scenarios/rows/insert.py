"""InsertIntoTable, consecutive writes, and rows of declared tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...lab import Failed, Lab
from ...requirement import check
from ...rows import PEOPLE, people, plain, stream
from ...table_versions import newest_version
from .fixtures import ids_and_names, names_by_id

_INSERT = 'rest.yaml, InsertIntoTable; protocol semantics, "Modes"'
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)
_READ = ("QueryTable", "CreateTable")


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
    lab.that(not lab.exists("TableExists", table), "no table to be created", "it exists")


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
       "rest.yaml, InsertIntoTable: a body that is not an Arrow stream, InvalidInput", "InsertIntoTable",
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


@check("LN-ROWS-DECLARED-001", "CountTableRows of a declared table fails or returns 0.",
       'protocol semantics, "DescribeTable" and "Errors"', "CountTableRows", "DeclareTable",
       capabilities=_TABLES)  # fmt: skip
def declared_counts(lab: Lab) -> None:
    reply = lab.call("CountTableRows", id=lab.new_declared())
    if reply.succeeded and (reply.answer or {}).get("count") not in (0, None):
        raise Failed("no rows in a declared table", reply.outcome(), reply)
    if not reply.succeeded:
        lab.must_fail(reply, [0, 4, 11, 13, 18, 19])


@check("LN-ROWS-DECLARED-002",
       "Inserting or merging rows into a declared table creates the table with these rows.",
       "rest.yaml, InsertIntoTable and MergeInsertIntoTable; protocol semantics, Errors: or code 19",
       "DeclareTable", "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def declared_filled(lab: Lab) -> None:
    merge = {"on": "id", "when_not_matched_insert_all": True}
    for operation, request in (
        ("InsertIntoTable", {}),
        ("InsertIntoTable", {"mode": "overwrite"}),
        ("MergeInsertIntoTable", merge),
    ):
        table = lab.new_declared()
        reply = lab.call(operation, stream(people(1, 2)), id=table, **request)
        if not reply.succeeded:
            lab.must_fail(reply, [0, 19])
            continue
        lab.same(lab.ids(table), [1, 2], f"the ids after {operation}")


_FLAGS = (
    "when_matched_update_all",
    "when_not_matched_insert_all",
    "when_not_matched_by_source_delete",
)


@check("LN-ROWS-DECLARED-003",
       "Every write that creates a declared table stores all rows of the request.",
       "rest.yaml, MergeInsertIntoTable and InsertIntoTable: a declared table is created with all rows",
       "DeclareTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def declared_by_every_write(lab: Lab) -> None:
    writes: list[tuple[str, dict[str, Any]]] = [
        *(("InsertIntoTable", {"mode": mode}) for mode in ("append", "overwrite", "OVERWRITE")),
        *(("MergeInsertIntoTable", {"on": "id", flag: True}) for flag in _FLAGS),
        ("MergeInsertIntoTable", {"on": ["id", "name"], **dict.fromkeys(_FLAGS, True)}),
        ("CreateTable", {}),
        ("CreateTable", {"mode": "Overwrite"}),
    ]
    made: dict[str, list[bool]] = {}
    for operation, request in writes:
        table = lab.new_declared()
        reply = lab.call(operation, stream(people(1, 2, 3), batch_rows=2), id=table, **request)
        made.setdefault(operation, []).append(reply.succeeded)
        lab.that(
            len(set(made[operation])) == 1,
            f"{operation} to fill declared tables always or never, whatever its other fields",
            reply.outcome(),
        )
        if reply.succeeded:
            lab.same(lab.ids(table), [1, 2, 3], f"the ids after {operation} with {request}")
            told = lab.maybe("DescribeTable", id=table, check_declared=True)
            lab.that(told.get("is_only_declared") is not True, "a table that has data", told)


@check("LN-ROWS-DECLARED-060", "Only adding rows turns a declared table into a table with data.",
       "rest.yaml, DescribeTableResponse, is_only_declared; protocol semantics, DescribeTable",
       "DeclareTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def stays_declared(lab: Lab) -> None:
    table = lab.new_declared()
    scan = {"vector": lab.no_vector(), "k": 1}
    for operation, request in (
        ("QueryTable", scan), ("CountTableRows", {}), ("GetTableStats", {}), ("AnalyzeTableQueryPlan", scan),
        ("ExplainTableQueryPlan", {"query": scan}), ("DeleteFromTable", {"predicate": "true"}),
        ("UpdateTable", {"updates": [["name", "'x'"]]}),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if reply.succeeded:
            answer = reply.answer or {}
            none = (answer.get(k) or 0 for k in ("count", "num_rows", "updated_rows"))
            lab.that(not any(none) and not reply.rows, f"no rows from {operation}", answer)
        else:
            lab.must_fail(reply, [0, 4, 11, 12, 13, 18, 19])
        told = lab.maybe("DescribeTable", id=table, check_declared=True).get("is_only_declared")
        lab.that(told is not False, f"a table that is only declared after {operation}", told)


@check("LN-ROWS-SEQUENCE-001", "Consecutive writes all take effect.",
       "rest.yaml, the write operations", "InsertIntoTable", "DeleteFromTable", "UpdateTable",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def sequence(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("InsertIntoTable", stream(people(11, 12)), id=table)
    lab.ok("DeleteFromTable", id=table, predicate="id < 10")
    lab.ok("UpdateTable", id=table, predicate="id = 11", updates=[["name", "'x'"]])
    lab.ok("InsertIntoTable", stream(people(13)), id=table)
    lab.same(names_by_id(lab, table), {10: "n10", 11: "x", 12: "n12", 13: "n13"}, "the names")


@check("LN-ROWS-SEQUENCE-060",
       "Each write creates one version, and the previous version keeps its rows.",
       "rest.yaml, the write operations: commits that as a new version", "InsertIntoTable",
       "UpdateTable", "DeleteFromTable", *_READ, capabilities=_TABLES)  # fmt: skip
def one_version(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    for operation, data, request in (
        ("InsertIntoTable", stream(people(5, 6, 7), batch_rows=1), {}),
        ("UpdateTable", None, {"updates": [["name", "'u'"], ["score", "1.0"]]}),
        ("DeleteFromTable", None, {"predicate": "id IN (1, 6)"}),
        ("InsertIntoTable", stream(people(8, 9), batch_rows=1), {"mode": "overwrite"}),
        ("DeleteFromTable", None, {"predicate": "true"}),
    ):
        before, rows = newest_version(lab, table), ids_and_names(lab, table)
        lab.ok(operation, data, id=table, **request)
        lab.same(newest_version(lab, table), before + 1, f"the version after {operation}")
        lab.same(ids_and_names(lab, table, version=before), rows, f"the version before {operation}")
