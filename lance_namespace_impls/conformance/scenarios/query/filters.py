"""SQL conditions of queries, counts, updates and deletions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ...lab import Lab
from ...requirement import check
from ...rows import stream

_SQL = "rest.yaml, the SQL conditions of the requests; SQL, comparisons and null"
_TABLES = ["tables"]
NAMES = ("Ann", "ann", "O'Hara", "", None, "a%b", "日本", "Zoe")
SCORES = (1.5, None, -2.0, 0.0, 3.5, None, 1.5, 10.0)
FLAGS = (True, False, None, True, False, True, None, False)


Row = dict[str, Any]

CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "id >= 7": lambda r: r["id"] >= 7,
    "id <= 2": lambda r: r["id"] <= 2,
    "id < 3": lambda r: r["id"] < 3,
    "id <> 4": lambda r: r["id"] != 4,
    "id BETWEEN 3 AND 5": lambda r: 3 <= r["id"] <= 5,
    "id NOT IN (1, 2, 3)": lambda r: r["id"] > 3,
    "id IN (2, 5, 7)": lambda r: r["id"] in (2, 5, 7),
    "score > 1": lambda r: r["score"] is not None and r["score"] > 1,
    "NOT (score > 1)": lambda r: r["score"] is not None and r["score"] <= 1,
    "score = 0": lambda r: r["score"] == 0,
    "score < 0": lambda r: r["score"] is not None and r["score"] < 0,
    "score IS NOT NULL": lambda r: r["score"] is not None,
    "score IS NULL OR id = 1": lambda r: r["score"] is None or r["id"] == 1,
    "name = 'ann'": lambda r: r["name"] == "ann",
    "name = 'O''Hara'": lambda r: r["name"] == "O'Hara",
    "name = ''": lambda r: r["name"] == "",
    "name <> 'Ann'": lambda r: r["name"] not in (None, "Ann"),
    "name = '日本'": lambda r: r["name"] == "日本",
    "name LIKE 'A%'": lambda r: (r["name"] or "").startswith("A"),
    "name IS NULL": lambda r: r["name"] is None,
    "flag = true": lambda r: r["flag"] is True,
    "flag = false": lambda r: r["flag"] is False,
    "id > 2 AND score > 1 OR name = 'Ann'": lambda r: (
        (r["id"] > 2 and (r["score"] or 0) > 1) or r["name"] == "Ann"
    ),
    "id > 2 AND (score > 1 OR name = 'Ann')": lambda r: r["id"] > 2 and (r["score"] or 0) > 1,
    "id % 2 = 0": lambda r: r["id"] % 2 == 0,
    "id > 1000": lambda r: False,
    "id = -1": lambda r: False,
}


def records() -> list[Row]:
    """Return rows with nulls, quotes, empty strings and non-Latin letters."""
    columns = zip(NAMES, SCORES, FLAGS, strict=True)
    return [
        {"id": n, "name": name, "score": score, "flag": flag}
        for n, (name, score, flag) in enumerate(columns, start=1)
    ]


def table_of_records(lab: Lab) -> list[str]:
    """Return a new table with the rows of `records`."""
    table = lab.table_id()
    lab.given("CreateTable", stream(pa.Table.from_pylist(records())), id=table)
    return table


def fit(condition: str) -> list[int]:
    """Return the ids of the records that match a condition."""
    return [row["id"] for row in records() if CONDITIONS[condition](row)]


@check("LN-SQL-001",
       "A query filter returns exactly the matching rows; a comparison with null never matches.",
       _SQL,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def queries(lab: Lab) -> None:
    table = table_of_records(lab)
    for condition in CONDITIONS:
        lab.same(
            lab.ids(table, filter=condition), fit(condition), f"the ids of rows with {condition}"
        )


@check("LN-SQL-002",
       "A count predicate counts exactly the matching rows; a comparison with null never matches.",
       _SQL, "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def counts(lab: Lab) -> None:
    table = table_of_records(lab)
    for condition in CONDITIONS:
        found = lab.count(table, predicate=condition)
        lab.same(found, len(fit(condition)), f"the number of rows with {condition}")


def as_before(lab: Lab, table: list[str]) -> None:
    """Overwrite a table with the rows of `records`."""
    rows = stream(pa.Table.from_pylist(records()))
    lab.given("InsertIntoTable", rows, id=table, mode="overwrite")


CHANGED = (
    "id >= 7", "score > 1", "NOT (score > 1)", "score IS NULL OR id = 1", "name = 'O''Hara'",
    "id <> 4", "id BETWEEN 3 AND 5", "name <> 'Ann'", "id IN (2, 5, 7)", "id < 3", "flag = true",
    "name LIKE 'A%'", "id > 2 AND (score > 1 OR name = 'Ann')",
)  # fmt: skip


@check("LN-SQL-003",
       "A deletion removes exactly the rows that match its predicate; a comparison with"
       " null never matches.",
       _SQL, "DeleteFromTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def deletions(lab: Lab) -> None:
    table = table_of_records(lab)
    for condition in CHANGED:
        as_before(lab, table)
        lab.ok("DeleteFromTable", id=table, predicate=condition)
        left = [row["id"] for row in records() if row["id"] not in fit(condition)]
        lab.same(lab.ids(table), left, f"the ids after a deletion with {condition}")


@check("LN-SQL-004",
       "An update changes only the rows that match its predicate, and only the updated columns.",
       _SQL, "UpdateTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def updates(lab: Lab) -> None:
    table = table_of_records(lab)
    for condition in CHANGED:
        as_before(lab, table)
        answer = lab.ok("UpdateTable", id=table, predicate=condition, updates=[["flag", "true"]])
        due = [row | ({"flag": True} if row["id"] in fit(condition) else {}) for row in records()]
        found = sorted(lab.query(table).to_pylist(), key=lambda row: row["id"])
        lab.same(found, due, f"the rows after an update with {condition}")
        lab.same(answer.get("updated_rows"), len(fit(condition)), "updated_rows")


EXPRESSIONS: dict[str, tuple[str, str, Callable[[Row], Any]]] = {
    "a number": ("score", "2.5", lambda r: 2.5),
    "null": ("score", "NULL", lambda r: None),
    "the column itself": ("score", "score", lambda r: r["score"]),
    "a sum with nulls": ("score", "score + 1", lambda r: (r["score"] and r["score"] + 1) or (
        1.0 if r["score"] == 0 else None)),
    "another column": ("score", "id", lambda r: float(r["id"])),
    "a text with a quote": ("name", "'it''s'", lambda r: "it's"),
    "an empty text": ("name", "''", lambda r: ""),
    "text in upper case": ("name", "upper(name)", lambda r: r["name"] and r["name"].upper()),
}  # fmt: skip


@check("LN-SQL-005",
       "An update expression is evaluated for each row, and an expression on null yields null.",
       "rest.yaml, UpdateTableRequest; SQL, expressions and null", "UpdateTable", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def values(lab: Lab) -> None:
    for what, (column, text, value) in EXPRESSIONS.items():
        table = table_of_records(lab)
        lab.ok("UpdateTable", id=table, updates=[[column, text]])
        found = {row["id"]: row[column] for row in lab.query(table).to_pylist()}
        lab.same(found, {row["id"]: value(row) for row in records()}, f"{column} set to {what}")


@check("LN-SQL-006", "If one call updates several columns, every expression reads the old values.",
       "rest.yaml, UpdateTableRequest", "UpdateTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def old_values(lab: Lab) -> None:
    table = lab.table_id()
    rows = pa.table({"a": pa.array([1, 2], pa.int64()), "b": pa.array([10, 20], pa.int64())})
    lab.given("CreateTable", stream(rows), id=table)
    lab.ok("UpdateTable", id=table, updates=[["a", "b"], ["b", "a"]])
    found = sorted((row["a"], row["b"]) for row in lab.query(table).to_pylist())
    lab.same(found, [(10, 1), (20, 2)], "the swapped values")


@check("LN-SQL-007",
       "A merge condition can refer to the row in the table and to the row that is merged.",
       "rest.yaml, MergeInsertIntoTableRequest", "MergeInsertIntoTable", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def merges(lab: Lab) -> None:
    table = lab.table_id()
    held = pa.table({"k": pa.array([1, 2, 3], pa.int64()), "v": pa.array([5, 5, 5], pa.int64())})
    new = pa.table({"k": pa.array([1, 2, 4], pa.int64()), "v": pa.array([4, 6, 9], pa.int64())})
    lab.given("CreateTable", stream(held), id=table)
    answer = lab.maybe("MergeInsertIntoTable", stream(new), id=table, on="k",
                       when_matched_update_all=True, when_not_matched_insert_all=True,
                       when_matched_update_all_filt="source.v > target.v")  # fmt: skip
    found = sorted((row["k"], row["v"]) for row in lab.query(table).to_pylist())
    lab.same(found, [(1, 5), (2, 6), (3, 5), (4, 9)], "the rows")
    counted = [answer.get(f"num_{what}_rows") for what in ("updated", "inserted", "deleted")]
    for got, due in zip(counted, (1, 1, 0), strict=True):
        lab.that(got in (None, due), f"{due} rows in the response", answer)


@check("LN-SQL-008", "version, filter, columns, k and offset all take effect together.",
       "rest.yaml, QueryTableRequest and CountTableRowsRequest", "QueryTable", "CountTableRows",
       "DeleteFromTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def with_version(lab: Lab) -> None:
    table = table_of_records(lab)
    lab.given("DeleteFromTable", id=table, predicate="id > 6")
    lab.same(lab.ids(table, version=1, filter="id > 5"), [6, 7, 8], "the ids in version 1")
    found = lab.query(table, version=1, filter="id > 5", columns={"column_names": ["name", "id"]})
    lab.same(sorted(found.column_names), ["id", "name"], "the columns")
    lab.same(lab.count(table, predicate="id > 5"), 1, "the rows in the newest version")
    lab.same(lab.query(table, filter="score IS NOT NULL", k=2, offset=1).num_rows, 2,
             "two rows after the first one")  # fmt: skip
