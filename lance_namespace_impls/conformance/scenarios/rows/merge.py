"""MergeInsertIntoTable."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...lab import Failed, Lab, Skipped
from ...requirement import Level, check
from ...rows import PEOPLE, people, stream
from ...table_versions import newest_version
from .fixtures import ids_and_names, names_by_id

_MERGE = "rest.yaml, MergeInsertIntoTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]
ALL = list(PEOPLE)
_READ = ("QueryTable", "CreateTable")
_BOTH = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
_ALL = {**_BOTH, "when_not_matched_by_source_delete": True}


def _renamed(*ids: int) -> pa.Table:
    rows = people(*ids)
    return rows.set_column(1, "name", pa.array(["new"] * len(ids)))


@check("LN-ROWS-MERGE-001", "when_matched_update_all updates the rows whose keys match.", _MERGE,
       "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_update(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("MergeInsertIntoTable", stream(_renamed(9, 10, 11)), id=table, on="id",
           when_matched_update_all=True)  # fmt: skip
    expected = {i: "new" if i > 8 else f"n{i}" for i in ALL}
    lab.same(names_by_id(lab, table), expected, "the names")
    empty = people(1).set_column(2, "score", pa.array([None], pa.float64()))
    lab.ok("MergeInsertIntoTable", stream(empty), id=table, on="id", when_matched_update_all=True)
    lab.same([row["score"] for row in lab.query(table, filter="id = 1").to_pylist()], [None],
             "the score for which the stream contains null")  # fmt: skip


@check("LN-ROWS-MERGE-002", "when_not_matched_insert_all inserts the rows whose keys are new.",
       _MERGE, "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_insert(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("MergeInsertIntoTable", stream(_renamed(9, 10, 11)), id=table, on="id",
           when_not_matched_insert_all=True)  # fmt: skip
    lab.same(names_by_id(lab, table), {**{i: f"n{i}" for i in ALL}, 11: "new"}, "the names")


@check("LN-ROWS-MERGE-003",
       "when_matched_update_all and when_not_matched_insert_all can be combined, and the answer "
       "counts both.", _MERGE,
       "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_both(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("MergeInsertIntoTable", stream(_renamed(9, 10, 11)), id=table, on="id",
                    when_matched_update_all=True, when_not_matched_insert_all=True)  # fmt: skip
    expected = {i: "new" if i > 8 else f"n{i}" for i in [*ALL, 11]}
    lab.same(names_by_id(lab, table), expected, "the names")
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
    lab.same(names_by_id(lab, table), expected, "the names")


@check("LN-ROWS-MERGE-008", "MergeInsertIntoTable without a key column fails with code 13.", _MERGE,
       "MergeInsertIntoTable", "CountTableRows", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_no_key(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused(
        "MergeInsertIntoTable", [13], stream(people(11)), id=table, when_not_matched_insert_all=True
    )
    lab.same(lab.count(table), len(ALL), "the number of rows")


@check("LN-ROWS-MERGE-013",
       "MergeInsertIntoTable with incompatible columns fails with code 12, 13 or 20 and changes "
       "nothing.",
       "rest.yaml, MergeInsertIntoTable: columns that do not match the table; error code 20",
       "MergeInsertIntoTable", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def merge_misfit(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    rows = people(2, 3)
    more = rows.append_column("more", pa.array([1, 2]))
    other = rows.set_column(1, "name", pa.array([[1], [2]]))
    for misfit in (more, other):
        lab.refused("MergeInsertIntoTable", [12, 13, 20], stream(misfit), id=table, on="id",
                    when_matched_update_all=True, when_not_matched_insert_all=True)  # fmt: skip
    lab.same(names_by_id(lab, table), {1: "n1", 2: "n2"}, "the names")


@check("LN-ROWS-MERGE-009", "when_not_matched_by_source_delete_filt limits which rows are removed.",
       "rest.yaml, MergeInsertIntoTable", "MergeInsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def delete_filter(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("MergeInsertIntoTable", stream(people(1, 2)), id=table, on="id",
              when_matched_update_all=True, when_not_matched_by_source_delete=True,
              when_not_matched_by_source_delete_filt="id > 8 AND id < 99")  # fmt: skip
    lab.same(lab.ids(table), ALL[:8], "the ids")


@check("LN-ROWS-MERGE-010", "Without when_matched_update_all, matched rows stay unchanged.",
       "rest.yaml, MergeInsertIntoTable", "MergeInsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def merge_inserts_only(lab: Lab) -> None:
    table = lab.new_table()
    changed = people(1, 30).set_column(1, "name", pa.array(["changed", "new"]))
    lab.ok(
        "MergeInsertIntoTable", stream(changed), id=table, on="id", when_not_matched_insert_all=True
    )
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    lab.same((found.get(1), found.get(30)), ("n1", "new"), "the names")
    lab.same(len(found), len(ALL) + 1, "the number of rows")


@check("LN-ROWS-MERGE-011",
       "A merge with several key columns matches rows on all of them together.",
       "rest.yaml, MergeInsertIntoTableRequest: names of the key columns", "MergeInsertIntoTable",
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def several_keys(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    lab.given("UpdateTable", id=table, predicate="id = 1", updates=[["name", "'other'"]])
    request = {"when_matched_update_all": True, "when_not_matched_insert_all": True}
    source = people(1, 2, 4).set_column(1, "name", [["n1", "n2", "n3"]])
    reply = lab.call("MergeInsertIntoTable", stream(source), id=table, on=["id", "name"], **request)
    if reply.code in (12, 13):
        raise Skipped(f"MergeInsertIntoTable with several key columns: {reply.outcome()}")
    lab.must_succeed(reply)
    found = sorted((row["id"], row["name"]) for row in lab.query(table).to_pylist())
    due = [(1, "n1"), (1, "other"), (2, "n2"), (3, "n3"), (4, "n3")]
    lab.same(found, due, "the rows, matched by both id and name,")


@check("LN-ROWS-MERGE-012",
       "A merge condition without its flag has no effect or the same effect as with the flag.",
       "rest.yaml, MergeInsertIntoTableRequest: unused without the flag; the published "
       "descriptions of the two conditions: matching rows are updated or deleted", "MergeInsertIntoTable",
       "CreateTable", "QueryTable", level=Level.MAY, capabilities=_TABLES)  # fmt: skip
def conditions_alone(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    rows = people(1, 9).set_column(1, "name", [["new", "new"]])
    lab.ok("MergeInsertIntoTable", stream(rows), id=table, on="id", when_not_matched_insert_all=True,
           when_matched_update_all_filt="target.id > 0",
           when_not_matched_by_source_delete_filt="id < 3")  # fmt: skip
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    right = [
        {1: name, **rest, 3: "n3", 9: "new"} for name in ("n1", "new") for rest in ({}, {2: "n2"})
    ]
    lab.that(
        found in right, "the names by id, as without the conditions or as with their flags,", found
    )


def _named(name: str, *ids: int) -> pa.Table:
    return people(*ids).set_column(1, "name", pa.array([name] * len(ids), pa.string()))


@check("LN-ROWS-MERGE-060",
       "A merge that selects no action changes nothing, and an invalid merge fails with code 13.",
       "rest.yaml, MergeInsertIntoTableRequest: filters; timeout; a request that selects no "
       "action, for which LanceDB's clients expect the effect of the flags",
       "MergeInsertIntoTable", *_READ, capabilities=_TABLES)  # fmt: skip
def unreadable_merge(lab: Lab) -> None:
    table, rows = lab.new_table(1, 2), stream(_named("new", 2, 3))
    several, insert = {"on": ["id", "name"]}, {"when_not_matched_insert_all": True}
    if lab.call(
        "MergeInsertIntoTable", rows, id=lab.new_table(1, 2), **several, **insert
    ).succeeded:
        lost = {**_ALL, "on": ["id", "nothing"]}
        lab.refused("MergeInsertIntoTable", [12, 13], rows, id=table, **lost)
    matched, deleted = "when_matched_update_all_filt", "when_not_matched_by_source_delete_filt"
    none: dict[str, Any] = {k: False for k in _ALL if k != "on"}
    for more in ({}, none):
        reply = lab.call("MergeInsertIntoTable", rows, id=table, on="id", **more)
        if not reply.succeeded:
            lab.must_fail(reply, [13])
        elif (found := ids_and_names(lab, table)) != [(1, "n1"), (2, "n2")]:
            raise Failed(
                "a merge without an action to fail with code 13 or change nothing",
                f"rows {found}",
                reply,
            )
    for wrong, codes in (
        ({matched: "id > > 1"}, [13]), ({deleted: "id > > 1"}, [13]), ({deleted: "nothing = 1"}, [12, 13]),
        ({matched: "target.nothing = 1"}, [12, 13]), ({"on": "nothing"}, [12, 13]),
        ({"timeout": "soon"}, [13]), ({"timeout": "s"}, [13]), ({"timeout": "5 parsecs"}, [13]),
    ):  # fmt: skip
        lab.refused("MergeInsertIntoTable", codes, rows, id=table, **{**_ALL, **wrong})
    lab.same(ids_and_names(lab, table), [(1, "n1"), (2, "n2")], "the rows")
    for number, timeout in enumerate(("30s", "5m")):
        rows = stream(_named(timeout, 2, 3 + number))
        lab.ok("MergeInsertIntoTable", rows, id=table, **_BOTH, timeout=timeout)
        lab.that(
            (2, timeout) in ids_and_names(lab, table),
            f"a merge with a timeout of {timeout}",
            "none",
        )


@check("LN-ROWS-MERGE-062",
       "A merge of a stream of several record batches creates a single new version.",
       "rest.yaml, MergeInsertIntoTable: commits the result as one new version", "MergeInsertIntoTable",
       *_READ, capabilities=_TABLES)  # fmt: skip
def merged_as_a_whole(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    before = newest_version(lab, table)
    rows = stream(_named("new", 2, 9, 4, 8), batch_rows=1)
    answer = lab.ok("MergeInsertIntoTable", rows, id=table, **_ALL)
    lab.same(
        ids_and_names(lab, table), [(2, "new"), (4, "new"), (8, "new"), (9, "new")], "the rows"
    )
    for key, due in (("num_updated_rows", 2), ("num_inserted_rows", 2), ("num_deleted_rows", 2)):
        lab.that(answer.get(key) in (None, due), f"{key} {due}", answer)
    lab.same(newest_version(lab, table), before + 1, "the version")
    lab.that(answer.get("version") in (None, before + 1), f"version {before + 1}", answer)
    lab.same(lab.ids(table, version=before), [1, 2, 3, 4], "the ids in the previous version")


@check("LN-ROWS-MERGE-063",
       "A merge updates every row of the table whose key matches, and keys may be strings.",
       "rest.yaml, MergeInsertIntoTableRequest, on and when_matched_update_all", "MergeInsertIntoTable",
       *_READ, capabilities=_TABLES)  # fmt: skip
def every_match(lab: Lab) -> None:
    table = lab.table_id()
    kind = pa.schema([("Key", pa.string()), ("v", pa.int64())])
    held = pa.table({"Key": ["a", "b", "a", "A", ""], "v": [1, 2, 3, 4, 5]}, schema=kind)
    lab.given("CreateTable", stream(held), id=table)
    new = pa.table({"Key": ["a", "", "c"], "v": [10, 20, 30]}, schema=kind)
    answer = lab.ok("MergeInsertIntoTable", stream(new), id=table, **{**_BOTH, "on": "Key"})
    found = sorted((r["Key"], r["v"]) for r in lab.query(table).to_pylist())
    lab.same(found, [("", 20), ("A", 4), ("a", 10), ("a", 10), ("b", 2), ("c", 30)], "the rows")
    for key, due in (("num_updated_rows", 3), ("num_inserted_rows", 1)):
        lab.that(answer.get(key) in (None, due), f"{key} {due}", answer)


@check("LN-ROWS-MERGE-064",
       "use_index does not affect the result of a merge, whichever rows the index covers.",
       "rest.yaml, the parameter use_index, which does not affect the result",
       "MergeInsertIntoTable", *_READ,
       capabilities=_TABLES)  # fmt: skip
def merge_by_index(lab: Lab) -> None:
    for index in (True, False):
        table = lab.new_table(1, 2, 3, 4)
        if index:
            lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE")
        lab.given("InsertIntoTable", stream(people(5, 6)), id=table)
        lab.given("DeleteFromTable", id=table, predicate="id = 2")
        rows = stream(_named("new", 1, 2, 5, 7))
        answer = lab.ok("MergeInsertIntoTable", rows, id=table, **_BOTH, use_index=True)
        due = [(1, "new"), (2, "new"), (3, "n3"), (4, "n4"), (5, "new"), (6, "n6"), (7, "new")]
        lab.same(ids_and_names(lab, table), due, f"the rows with use_index={index}")
        lab.that(answer.get("num_updated_rows") in (None, 2), "num_updated_rows 2", answer)


@check("LN-ROWS-MERGE-065",
       "Properties and merge conditions sent along with rows may contain any characters.",
       "rest.yaml, CreateTableRequest, properties; MergeInsertIntoTableRequest, the conditions",
       "MergeInsertIntoTable", "UpdateTable", "DescribeTable", *_READ, capabilities=_TABLES)  # fmt: skip
def any_letters(lab: Lab) -> None:
    table, properties = lab.table_id(), {"owner": "Zoë", "place": "東京 + 50 % & more"}
    lab.maybe("CreateTable", stream(people(1, 2)), id=table, properties=properties)
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), properties, "the properties")
    lab.given("UpdateTable", id=table, predicate="id = 2", updates=[["name", "'née + 50 % 東'"]])
    condition = {"when_matched_update_all_filt": "target.name = 'née + 50 % 東'"}
    rows = stream(_named("new", 1, 2))
    lab.maybe("MergeInsertIntoTable", rows, id=table, **_BOTH, **condition)
    lab.same(ids_and_names(lab, table), [(1, "n1"), (2, "new")], "the rows")
