"""UpdateTable and DeleteFromTable."""

from __future__ import annotations

from ...indexed_tables import search
from ...lab import Lab
from ...requirement import check
from ...rows import PEOPLE, people, stream
from .fixtures import names_by_id

_UPDATE = "rest.yaml, UpdateTable"
_DELETE = "rest.yaml, DeleteFromTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)
_UPDATE_REQUEST = "rest.yaml, UpdateTableRequest"
_ROWS = ("QueryTable", "CreateTable")


@check("LN-ROWS-UPDATE-001", "UpdateTable changes the rows that match its predicate and no others.",
       _UPDATE, "UpdateTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def update(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("UpdateTable", id=table, predicate="id > 8", updates=[["name", "'old'"]])
    expected = {i: "old" if i > 8 else f"n{i}" for i in ALL}
    lab.same(names_by_id(lab, table), expected, "the names")


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
    lab.same(names_by_id(lab, table), {i: f"n{i}" for i in ALL}, "the names")


@check("LN-ROWS-UPDATE-005",
       "UpdateTable with an invalid predicate fails with code 13 and changes nothing.",
       _UPDATE, "UpdateTable", "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def update_predicate(lab: Lab) -> None:
    table = lab.new_table()
    updates = [["name", "'x'"]]
    lab.refused("UpdateTable", [13], id=table, predicate="id >>> ((", updates=updates)
    lab.same(names_by_id(lab, table), {i: f"n{i}" for i in ALL}, "the names")


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
    lab.same(names_by_id(lab, table), {i: f"n{i}" for i in ALL}, "the names")


@check("LN-ROWS-UPDATE-008", "UpdateTable applies each of several updates.", _UPDATE_REQUEST, "UpdateTable",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def several_updates(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok(
        "UpdateTable", id=table, predicate="id = 2", updates=[["name", "'new'"], ["score", "7.5"]]
    )
    (row,) = lab.query(table, filter="id = 2").to_pylist()
    lab.same((row["name"], row["score"]), ("new", 7.5), "the row")


@check("LN-ROWS-UPDATE-009",
       "UpdateTable evaluates the value of an update as an expression over the row.", _UPDATE_REQUEST,
       "UpdateTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def expression(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("UpdateTable", id=table, predicate="id > 8", updates=[["id", "id + 100"]])
    lab.same(lab.ids(table), [*ALL[:8], 109, 110], "the ids")


@check("LN-ROWS-UPDATE-010", "Each write returns a later version than the write before it.",
       "rest.yaml, UpdateTableResponse, DeleteFromTableResponse and MergeInsertIntoTableResponse",
       "UpdateTable", "DeleteFromTable", "MergeInsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def write_versions(lab: Lab) -> None:
    table = lab.new_table()
    calls = (
        ("UpdateTable", None, {"predicate": "id = 1", "updates": [["name", "'a'"]]}),
        ("DeleteFromTable", None, {"predicate": "id = 2"}),
        ("MergeInsertIntoTable", stream(people(20)), {"on": "id", "when_not_matched_insert_all": True}),
        ("UpdateTable", None, {"predicate": "id = 3", "updates": [["name", "'b'"]]}),
    )  # fmt: skip
    last = 1
    for operation, data, request in calls:
        version = lab.ok(operation, data, id=table, **request).get("version")
        if version is not None:
            lab.that(version > last, f"{operation} to return a version after {last}", version)
            last = version


@check("LN-ROWS-UPDATE-060", "An invalid update fails with code 13 and changes nothing.",
       "rest.yaml, UpdateTable: an invalid expression; UpdateTableRequest: an entry that is not a pair",
       "UpdateTable", *_ROWS, capabilities=_TABLES)  # fmt: skip
def unreadable_update(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    right = ["score", "5.0"]
    for wrong, codes in (
        (["name", "id > > ("], [13]), (["name", ""], [13]), (["name", "nothing"], [12, 13]), (["name"], [13]),
        (["name", "'x'", "'y'"], [13]), ([], [13]),
    ):  # fmt: skip
        for updates in ([wrong], [right, wrong]):
            lab.refused("UpdateTable", codes, id=table, updates=updates)
    lab.refused("UpdateTable", [12, 13], id=table, updates=[right], predicate="nothing = 1")
    lab.same(lab.query(table).sort_by("id").to_pylist(), people(1, 2).to_pylist(), "the rows")


@check("LN-ROWS-UPDATE-061",
       "UpdateTable returns how many rows matched and no properties but those of the request.",
       "rest.yaml, UpdateTableResponse", "UpdateTable", "DeleteFromTable", *_ROWS,
       capabilities=_TABLES)  # fmt: skip
def update_counts_matches(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("InsertIntoTable", stream(people(11, 12)), id=table)
    lab.given("DeleteFromTable", id=table, predicate="id IN (2, 3, 11)")
    lab.call("AlterTable", id=table, set_properties={"owner": "ana"})
    for predicate, sent, due in (
        ("id < 6", {}, 3), ("id < 6", {"why": "a"}, 3), (None, {}, 9), ("id > 9", {"who": "b"}, 2),
        ("id = 3", {}, 0),
    ):  # fmt: skip
        more = {k: v for k, v in (("predicate", predicate), ("properties", sent)) if v}
        answer = lab.ok("UpdateTable", id=table, updates=[["name", "'same'"]], **more)
        lab.same(answer.get("updated_rows"), due, f"updated_rows for {more}")
        told = answer.get("properties") or {}
        lab.that(not ({"owner", "why", "who"} - set(sent)) & set(told), f"properties {sent}", told)
        lab.has(told, sent if told else {}, "the properties")


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


@check("LN-ROWS-DELETE-007", "A blank predicate fails with code 13 and deletes nothing.",
       "rest.yaml, DeleteFromTableRequest: one that is empty or cannot be parsed", "DeleteFromTable",
       *_ROWS, capabilities=_TABLES)  # fmt: skip
def blank_predicate(lab: Lab) -> None:
    table = lab.new_table()
    for predicate in ("", " ", "\t\n"):
        lab.refused("DeleteFromTable", [13], id=table, predicate=predicate)
    lab.same(lab.ids(table), list(PEOPLE), "the ids")


@check("LN-ROWS-DELETE-060",
       "After all rows are deleted, the columns remain and rows can be inserted again.",
       "rest.yaml, DeleteFromTableRequest, predicate; DeleteFromTable; InsertIntoTable",
       "DeleteFromTable", "InsertIntoTable", *_ROWS, capabilities=_TABLES)  # fmt: skip
def emptied(lab: Lab) -> None:
    for predicate in ("true", "id > 0"):
        table = lab.new_table(1, 2, 3)
        whole = lab.query(table).schema
        lab.ok("DeleteFromTable", id=table, predicate=predicate)
        found = lab.query(table)
        lab.same((found.num_rows, found.schema), (0, whole), "the remaining rows and columns")
        lab.same(search(lab, table), [], "the rows that a search finds")
        answer = lab.ok("UpdateTable", id=table, updates=[["name", "'x'"]])
        lab.same(answer.get("updated_rows"), 0, "updated_rows")
        lab.given("InsertIntoTable", stream(people(4)), id=table)
        lab.same(lab.query(table).to_pylist(), people(4).to_pylist(), "the rows")
