"""Changes of columns, indices and versions: their effects, and what must stay unchanged."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa

from ..lab import Lab
from ..requirement import check
from ..rows import PEOPLE, people, stream
from .due import NO_COLUMN, NO_NEW_COLUMN
from .history import version_numbers

_COLUMNS = "rest.yaml, the column operations"
_INDEX = "rest.yaml, the index operations; DropTable: indexes, tags and branches included"
_VERSIONS = "rest.yaml, TableVersion and the version operations"
_TABLES = ["tables"]
ALL = list(PEOPLE)


def fields(lab: Lab, table: list[str]) -> dict[str, dict[str, Any]]:
    """Return the columns of a table by name, in table order."""
    answer = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    return {f["name"]: f for f in (answer.get("schema") or {}).get("fields") or ()}


@check("LN-COLUMN-011",
       "nullable sets whether a column accepts nulls, and false is rejected if the column "
       "contains any.",
       "rest.yaml, AlterColumnsEntry", "AlterTableAlterColumns", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def nullable(lab: Lab) -> None:
    table = lab.table_id()
    strict = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    lab.ok("CreateTable", stream(pa.table({"x": [1]}, schema=strict)), id=table)
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "x", "nullable": True}])
    lab.same(fields(lab, table)["x"]["nullable"], True, "whether x may hold nulls")
    lab.ok("InsertIntoTable", stream(pa.table({"x": pa.array([None], pa.int64())})), id=table)
    lab.same(lab.count(table), 2, "the number of rows")
    lab.refused("AlterTableAlterColumns", [13, 20], id=table,
                alterations=[{"path": "x", "nullable": False}])  # fmt: skip


@check("LN-COLUMN-012", "Changing one column keeps the other columns and the rows.",
       _COLUMNS, "AlterTableAlterColumns", "AlterTableAddColumns", "AlterTableDropColumns",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def others_stay(lab: Lab) -> None:
    table = lab.new_table()
    before = people(*PEOPLE)
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "name", "rename": "label"}])
    found = lab.query(table)
    lab.same(found.column_names, ["id", "label", "score", "vec"], "the columns")
    lab.same(found.column("label").to_pylist(), before.column("name").to_pylist(), "the values")
    lab.ok("AlterTableAddColumns", id=table,
           new_columns=[{"name": "sum", "expression": "score + id"},
                        {"name": "one", "expression": "1"}])  # fmt: skip
    found = lab.query(table)
    lab.same(found.column_names, ["id", "label", "score", "vec", "sum", "one"], "the columns")
    sums = [
        None if s is None else s + i for i, s in zip(ALL, before["score"].to_pylist(), strict=True)
    ]
    lab.same(found.column("sum").to_pylist(), sums, "the sums, null where score is null")
    lab.same(set(found.column("one").to_pylist()), {1}, "the constant")
    lab.ok("AlterTableDropColumns", id=table, columns=["sum", "score"])
    found = lab.query(table)
    lab.same(found.column_names, ["id", "label", "vec", "one"], "the columns")
    lab.same(found.column("vec").to_pylist(), before.column("vec").to_pylist(), "the vectors")
    lab.same(lab.query(table, version=1).column_names, before.column_names, "those of version 1")


@check("LN-COLUMN-013",
       "A request that changes several columns changes none of them if one change is invalid.",
       _COLUMNS, "AlterTableAlterColumns", "AlterTableAddColumns", "AlterTableDropColumns",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def all_or_none(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("AlterTableAddColumns", NO_NEW_COLUMN, id=table, new_columns=[
        {"name": "fine", "expression": "id"}, {"name": "bad", "expression": "nothing + 1"}])  # fmt: skip
    lab.refused("AlterTableAlterColumns", NO_COLUMN, id=table, alterations=[
        {"path": "name", "rename": "label"}, {"path": "nothing", "rename": "else"}])  # fmt: skip
    lab.refused("AlterTableAlterColumns", [13, 20], id=table,
                alterations=[{"path": "name", "rename": "id"}])  # fmt: skip
    lab.refused("AlterTableDropColumns", NO_COLUMN, id=table, columns=["name", "nothing"])
    lab.same(lab.query(table).column_names, people(1).column_names, "the columns")


@check("LN-COLUMN-014",
       "One request can alter several columns, and a path can name a field of a struct.",
       "rest.yaml, AlterColumnsEntry", "AlterTableAlterColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def several(lab: Lab) -> None:
    table = lab.table_id()
    rows = pa.table({"a": [1, 2], "b": ["x", "y"], "s": [{"u": 1, "v": 2}, {"u": 3, "v": 4}]})
    lab.given("CreateTable", stream(rows), id=table)
    lab.ok("AlterTableAlterColumns", id=table,
           alterations=[{"path": "a", "rename": "one"}, {"path": "b", "rename": "two"}])  # fmt: skip
    lab.same(lab.query(table).column_names, ["one", "two", "s"], "the columns")
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[{"path": "s.u", "rename": "w"}])
    found = lab.query(table)
    lab.same(found.column("s").to_pylist(), [{"w": 1, "v": 2}, {"w": 3, "v": 4}], "the structs")
    lab.same(found.column("two").to_pylist(), ["x", "y"], "the values of two")


@check("LN-COLUMN-015",
       "After a schema change, rows can be inserted with the new columns and filtered by the new "
       "name.",
       _COLUMNS, "AlterTableAlterColumns", "AlterTableDropColumns", "InsertIntoTable",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def new_shape(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "name", "rename": "label"}])
    lab.ok("AlterTableDropColumns", id=table, columns=["score", "vec"])
    lab.ok("InsertIntoTable", stream(pa.table({"id": [11], "label": ["new"]})), id=table)
    lab.same(lab.ids(table, filter="label = 'new' OR label = 'n2'"), [2, 11], "the ids")
    lab.refused("QueryTable", [12, 13], id=table, vector=lab.no_vector(), k=1, filter="name = 'n2'")


@check("LN-METADATA-005",
       "Metadata is updated key by key, and replace removes the keys that are not named.",
       "rest.yaml, UpdateTableSchemaMetadataRequest and UpdateFieldMetadataEntry",
       "UpdateTableSchemaMetadata", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def metadata(lab: Lab) -> None:
    table = lab.new_table()
    for given in ({"a": "1", "b": "2"}, {"b": "3"}):
        answer = lab.maybe("UpdateTableSchemaMetadata", id=table, metadata=given)
    answers = [answer]
    nothing = lab.call("UpdateTableSchemaMetadata", id=table, metadata={})
    if nothing.succeeded:
        answers.append(nothing.answer or {})
    for answer in answers:
        found = answer.get("metadata", answer)
        lab.same(
            {k: found.get(k) for k in "ab"}, {"a": "1", "b": "3"}, "the metadata of the schema"
        )
    for given, more in (({"a": "1", "b": "2"}, {}), ({"c": "3"}, {"replace": True})):
        lab.maybe(
            "UpdateFieldMetadata", id=table, updates=[{"path": "id", "metadata": given, **more}]
        )
    held = fields(lab, table)
    lab.same({k: (held["id"].get("metadata") or {}).get(k) for k in "abc"},
             {"a": None, "b": None, "c": "3"}, "the metadata of the column")  # fmt: skip
    lab.that(not {"a", "b", "c"} & set(held["name"].get("metadata") or ()), "none on another", held)


# --- indices


@check("LN-INDEX-013", "An index reports its type, its column, a UUID and its row counts.",
       "rest.yaml, IndexContent and DescribeTableIndexStatsResponse", "CreateTableScalarIndex",
       "ListTableIndices", "DescribeTableIndexStats", "CreateTable", capabilities=_TABLES)  # fmt: skip
def contents(lab: Lab) -> None:
    table = lab.new_table()
    for name, column, kind in (("one", "id", "BTREE"), ("two", "name", "BITMAP")):
        lab.maybe("CreateTableScalarIndex", id=table, column=column, index_type=kind, name=name)
    found = {e["index_name"]: e for e in lab.ok("ListTableIndices", id=table).get("indexes") or ()}
    lab.same(sorted(found), ["one", "two"], "the indices")
    for name, kind, column in (("one", "BTREE", "id"), ("two", "BITMAP", "name")):
        entry, stats = found[name], lab.maybe("DescribeTableIndexStats", id=table, index_name=name)
        lab.same(list(entry["columns"]), [column], f"the columns of {name}")
        lab.that(len(entry["index_uuid"]) >= 32, "a UUID", entry)
        for answer in (entry, stats):
            if answer.get("index_type") is not None:
                lab.same(answer["index_type"].upper().replace("_", ""), kind, f"the type of {name}")
            if answer.get("num_indexed_rows") is not None:
                lab.same(answer["num_indexed_rows"], 10, f"the indexed rows of {name}")
            if answer.get("num_unindexed_rows") is not None:
                lab.same(answer["num_unindexed_rows"], 0, f"the other rows of {name}")


@check("LN-INDEX-014",
       "An index follows writes, belongs to one table, and can be dropped without changing rows.",
       _INDEX, "CreateTableScalarIndex", "DropTableIndex", "ListTableIndices", "QueryTable",
       "DeleteFromTable", "UpdateTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def indexed_rows(lab: Lab) -> None:
    table = lab.new_table()
    other = lab.new_table()
    lab.ok("CreateTableScalarIndex", id=table, column="name", index_type="BTREE", name="by_name")
    lab.same(lab.ids(table, filter="name = 'n3'"), [3], "the ids")
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    lab.same(lab.ids(table, filter="name = 'n11'"), [11], "a row that came after the index")
    lab.given("UpdateTable", id=table, predicate="id = 3", updates=[["name", "'new'"]])
    lab.same(lab.ids(table, filter="name = 'n3'"), [], "the ids of a name that is gone")
    lab.same(lab.ids(table, filter="name = 'new'"), [3], "the ids of the new name")
    lab.given("DeleteFromTable", id=table, predicate="id = 4")
    lab.same(lab.ids(table, filter="name = 'n4'"), [], "the ids of a deleted row")
    lab.same(
        list(lab.ok("ListTableIndices", id=other).get("indexes") or ()), [], "another's indices"
    )
    lab.ok("DropTableIndex", id=table, index_name="by_name")
    lab.same(lab.count(table), 10, "the number of rows")
    lab.same(lab.query(table).column_names, people(1).column_names, "the columns")
    lab.ok("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_name")
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([list(entry["columns"]) for entry in found], [["id"]], "the columns of the new index")


@check("LN-INDEX-015",
       "Creating an index fails with code 12 or 13 for a missing column and code 13 for an "
       "unknown or incompatible type.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableIndex", "CreateTableScalarIndex",
       "ListTableIndices", "CreateTable", capabilities=_TABLES)  # fmt: skip
def wrong_index(lab: Lab) -> None:
    table = lab.new_table()
    for operation, kind in (("CreateTableIndex", "IVF_FLAT"), ("CreateTableScalarIndex", "BTREE")):
        lab.refused(operation, NO_COLUMN, id=table, column="nothing", index_type=kind)
        lab.refused(operation, [13], id=table, column="id", index_type="BY_FEELING")
    lab.refused("CreateTableIndex", [13], id=table, column="name", index_type="IVF_FLAT")
    lab.same(list(lab.ok("ListTableIndices", id=table).get("indexes") or ()), [], "the indices")


@check("LN-INDEX-016", "An index created without a name gets a unique name.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableScalarIndex", "ListTableIndices",
       "DropTableIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def unnamed(lab: Lab) -> None:
    table = lab.new_table()
    for column in ("id", "name"):
        lab.maybe("CreateTableScalarIndex", id=table, column=column, index_type="BTREE")
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    shown = {tuple(entry["columns"]): entry["index_name"] for entry in found}
    lab.same(sorted(shown), [("id",), ("name",)], "the columns with an index")
    lab.same(len(set(shown.values())), 2, "the number of names")
    lab.ok("DropTableIndex", id=table, index_name=shown["id",])
    left = [list(e["columns"]) for e in lab.ok("ListTableIndices", id=table).get("indexes") or ()]
    lab.same(left, [["name"]], "what is left")


# --- versions


@check("LN-VERSION-011",
       "Each version has its own manifest and a timestamp that does not decrease.",
       _VERSIONS, "ListTableVersions", "DescribeTableVersion", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def entries(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    listed = lab.ok("ListTableVersions", id=table).get("versions") or ()
    found = {entry["version"]: entry for entry in listed}
    lab.same(sorted(found), [1, 2, 3], "the versions")
    paths = [entry["manifest_path"] for entry in found.values()]
    lab.same(len(set(paths)), 3, "the number of different manifests")
    times = [found[n].get("timestamp_millis") for n in (1, 2, 3)]
    if None not in times:
        lab.same(times, sorted(times), "the times, in order of the versions")
        now = time.time() * 1000
        lab.that(
            all(abs(now - t) < 86_400_000 for t in times), "times of today, in milliseconds", times
        )
    for number, entry in found.items():
        one = lab.ok("DescribeTableVersion", id=table, version=number).get("version") or {}
        for key in ("version", "manifest_path", "manifest_size"):
            lab.same(one.get(key), entry.get(key), f"{key} of version {number}")


@check("LN-VERSION-012", "Each version keeps its rows after later writes.",
       "rest.yaml, UpdateTable: earlier versions keep the old values; RestoreTable",
       "CountTableRows", "QueryTable", "UpdateTable", "DeleteFromTable",
       "AlterTableAddColumns", "RestoreTable", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def kept(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    lab.given("InsertIntoTable", stream(people(3)), id=table)
    lab.given("UpdateTable", id=table, predicate="id = 1", updates=[["name", "'new'"]])
    lab.given("DeleteFromTable", id=table, predicate="id = 2")
    lab.given("InsertIntoTable", stream(people(9)), id=table, mode="overwrite")
    due = [{1: "n1", 2: "n2"}, {1: "n1", 2: "n2", 3: "n3"}, {1: "new", 2: "n2", 3: "n3"},
           {1: "new", 3: "n3"}, {9: "n9"}]  # fmt: skip
    for number, names in enumerate(due, start=1):
        found = {row["id"]: row["name"] for row in lab.query(table, version=number).to_pylist()}
        lab.same(found, names, f"the names of version {number}")
        lab.same(lab.count(table, version=number), len(names), f"the rows of version {number}")
    lab.ok("RestoreTable", id=table, version=2)
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    lab.same(found, due[1], "the names after version 2 was restored")
    lab.given("InsertIntoTable", stream(people(20)), id=table)
    lab.same(lab.ids(table), [1, 2, 3, 20], "the ids after rows were added to it")
    lab.same(lab.ids(table, version=5), [9], "the ids of version 5")


@check("LN-VERSION-013", "A range of versions includes its start and excludes its end.",
       "rest.yaml, VersionRange and BatchDeleteTableVersionsRequest", "BatchDeleteTableVersions",
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def ranges(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12, 13, 14, 15):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    wanted = [{"start_version": 1, "end_version": 2}, {"start_version": 3, "end_version": 5}]
    answer = lab.maybe("BatchDeleteTableVersions", id=table, ranges=wanted)
    lab.same(sorted(version_numbers(lab, table)), [2, 5, 6], "the versions")
    if answer.get("deleted_count") is not None:
        lab.same(answer["deleted_count"], 3, "deleted_count")
    lab.same(lab.count(table, version=2), 11, "the rows of version 2")
    lab.same(lab.count(table), 15, "the rows of the newest version")


@check("LN-VERSION-014", "Writes return the version that they created.",
       "rest.yaml, the responses of the write operations", "InsertIntoTable", "UpdateTable",
       "DeleteFromTable", "MergeInsertIntoTable", "DescribeTableVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def answered(lab: Lab) -> None:
    table = lab.new_table()
    for operation, data, request in (
        ("InsertIntoTable", stream(people(11)), {}),
        ("UpdateTable", None, {"predicate": "id = 1", "updates": [["name", "'x'"]]}),
        ("DeleteFromTable", None, {"predicate": "id = 2"}),
        ("MergeInsertIntoTable", stream(people(3, 12)), {
            "on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}),
        ("AlterTableAddColumns", None, {"new_columns": [{"name": "twice", "expression": "id * 2"}]}),
    ):  # fmt: skip
        version = lab.ok(operation, data, id=table, **request).get("version")
        newest = lab.ok("DescribeTableVersion", id=table).get("version") or {}
        if version is not None:
            lab.same(version, newest.get("version"), f"the version that {operation} answers")


@check("LN-STATS-003", "GetTableStats counts rows, bytes, fragments and fragment lengths.",
       "rest.yaml, GetTableStatsResponse, FragmentStats and FragmentSummary", "GetTableStats",
       "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    table = lab.new_table()
    small = lab.ok("GetTableStats", id=table).get("total_bytes") or 0
    lab.given("InsertIntoTable", stream(people(*range(11, 41))), id=table)
    found = lab.ok("GetTableStats", id=table)
    lab.same(found.get("num_rows"), 40, "num_rows")
    lab.that((found.get("total_bytes") or 0) > small, f"more than {small} bytes", found)
    fragments = found.get("fragment_stats") or {}
    if fragments.get("num_fragments") == 2:
        lengths = fragments.get("lengths") or {}
        shown = [lengths.get(key) for key in ("min", "max", "mean")]
        lab.same(shown, [10, 30, 20], "min, max and mean of the fragments")
        lab.same(fragments.get("num_small_fragments"), 2, "num_small_fragments")
        spread = [lengths.get(key) or 0 for key in ("min", "p25", "p50", "p75", "p99", "max")]
        lab.same(spread, sorted(spread), "the percentiles, in order")
