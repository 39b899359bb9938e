"""Indices, columns and metadata of tables."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..exchange import Reply, Step
from ..lab import Lab
from ..requirement import check
from ..rows import PEOPLE, people, stream
from .due import NO_COLUMN

_INDEX = "rest.yaml, the index operations"
_COLUMNS = "rest.yaml, the column operations"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_COLUMN_CODES = f"{_CODES}; the published texts of the fields: InvalidInput or TableColumnNotFound"
_TABLES = ["tables"]
ALL = list(PEOPLE)


def indexed(lab: Lab, name: str = "by_id") -> list[str]:
    """Return a table with a scalar index on its ids."""
    table = lab.new_table()
    lab.ok("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name=name)
    return table


def index_names(lab: Lab, table: list[str]) -> list[str]:
    """Return the names of the indices of a table."""
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    return sorted(entry["index_name"] for entry in found)


@check("LN-INDEX-001", "A new index is listed with its column.", _INDEX,
       "CreateTableScalarIndex", "ListTableIndices", "CreateTable", capabilities=_TABLES)  # fmt: skip
def create(lab: Lab) -> None:
    table = indexed(lab)
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    shown = [(entry["index_name"], list(entry["columns"])) for entry in found]
    lab.same(shown, [("by_id", ["id"])], "the indices")


@check("LN-INDEX-002", "ListTableIndices is empty for a table without indices.",
       _INDEX, "ListTableIndices", "CreateTable", capabilities=_TABLES)  # fmt: skip
def none(lab: Lab) -> None:
    lab.same(index_names(lab, lab.shared_table()), [], "the indices")


@check("LN-INDEX-003", "CreateTableScalarIndex fails with code 7 if an index with the name exists.",
       _CODES, "CreateTableScalarIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def twice(lab: Lab) -> None:
    table = indexed(lab)
    lab.refused("CreateTableScalarIndex", [7], id=table, column="name", index_type="BTREE",
                name="by_id")  # fmt: skip


@check("LN-INDEX-004", "CreateTableScalarIndex on a missing column fails with code 12 or 13.",
       _COLUMN_CODES, "CreateTableScalarIndex", "CreateTable", "ListTableIndices",
       capabilities=_TABLES)  # fmt: skip
def missing_column(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("CreateTableScalarIndex", NO_COLUMN, id=table, column="nothing", index_type="BTREE")
    lab.same(index_names(lab, table), [], "the indices")


@check("LN-INDEX-005", "An unknown index type fails with code 13.",
       _INDEX, "CreateTableScalarIndex", "CreateTable", "ListTableIndices",
       capabilities=_TABLES)  # fmt: skip
def unknown_type(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("CreateTableScalarIndex", [13], id=table, column="id", index_type="CAROUSEL")
    lab.same(index_names(lab, table), [], "the indices")


@check("LN-INDEX-006", "DropTableIndex removes one index and keeps the others.", _INDEX,
       "DropTableIndex", "CreateTableScalarIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def drop(lab: Lab) -> None:
    table = indexed(lab)
    lab.ok("CreateTableScalarIndex", id=table, column="name", index_type="BTREE", name="by_name")
    lab.ok("DropTableIndex", id=table, index_name="by_id")
    lab.same(index_names(lab, table), ["by_name"], "the indices")


@check("LN-INDEX-007", "DropTableIndex of a missing index fails with code 6.",
       _CODES, "DropTableIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def missing(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("DropTableIndex", [6], id=table, index_name="none")


@check("LN-INDEX-012", "CreateTableIndex fails with code 7 if an index with the name exists.",
       _CODES, "CreateTableIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def any_twice(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("CreateTableIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.same(index_names(lab, table), ["by_id"], "the indices")
    lab.refused("CreateTableIndex", [7], id=table, column="name", index_type="BTREE", name="by_id")


@check("LN-INDEX-011", "DescribeTableIndexStats of a missing index fails with code 6.", _CODES,
       "DescribeTableIndexStats", "CreateTable", capabilities=_TABLES)  # fmt: skip
def missing_stats(lab: Lab) -> None:
    lab.refused("DescribeTableIndexStats", [6], id=lab.shared_table(), index_name="none")


@check("LN-INDEX-008", "DescribeTableIndexStats counts the indexed and the unindexed rows.", _INDEX,
       "DescribeTableIndexStats", "CreateTableScalarIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    answer = lab.ok("DescribeTableIndexStats", id=indexed(lab), index_name="by_id")
    lab.same(answer.get("num_indexed_rows"), len(ALL), "num_indexed_rows")
    lab.same(answer.get("num_unindexed_rows"), 0, "num_unindexed_rows")


@check("LN-INDEX-009", "ListTableIndices of a missing table fails with code 4.",
       _CODES, "ListTableIndices", capabilities=_TABLES)  # fmt: skip
def missing_table(lab: Lab) -> None:
    lab.refused("ListTableIndices", [4], id=lab.table_id())


@check("LN-INDEX-010", "A query with a filter on an indexed column returns the correct rows.",
       _INDEX, "QueryTable", "CreateTableScalarIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def query(lab: Lab) -> None:
    table = indexed(lab)
    lab.same(lab.ids(table, filter="id >= 9"), [9, 10], "the ids")


@check("LN-COLUMN-001", "AlterTableAddColumns adds a column computed by an expression.", _COLUMNS,
       "AlterTableAddColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def add(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("AlterTableAddColumns", id=table,
                    new_columns=[{"name": "twice", "expression": "id * 2"}])  # fmt: skip
    found = {row["id"]: row.get("twice") for row in lab.query(table).to_pylist()}
    lab.same(found, {i: i * 2 for i in ALL}, "the new column")
    lab.that((answer.get("version") or 0) > 1, "a version after the first", answer)


@check("LN-COLUMN-002", "AlterTableAddColumns fails with code 13 or 20 if the column exists.",
       _COLUMNS, "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def add_taken(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("AlterTableAddColumns", [13, 20], id=table,
                new_columns=[{"name": "name", "expression": "id * 2"}])  # fmt: skip
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    lab.same(found, {i: f"n{i}" for i in ALL}, "the names")


@check("LN-COLUMN-003", "AlterTableDropColumns removes columns and keeps the others.", _COLUMNS,
       "AlterTableDropColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def drop_columns(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableDropColumns", id=table, columns=["score", "vec"])
    found = lab.query(table)
    lab.same(found.column_names, ["id", "name"], "the columns")
    lab.same(sorted(found.column("id").to_pylist()), ALL, "the ids")


@check("LN-COLUMN-004",
       "AlterTableDropColumns with a missing column fails with code 12 or 13 and drops nothing.",
       _COLUMN_CODES, "AlterTableDropColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def drop_missing(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("AlterTableDropColumns", NO_COLUMN, id=table, columns=["name", "nothing"])
    lab.that("name" in lab.query(table).column_names, "no column to be dropped", "name is gone")


@check("LN-COLUMN-005", "AlterTableAlterColumns renames a column and keeps its values.", _COLUMNS,
       "AlterTableAlterColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def rename(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "name", "rename": "label"}])
    found = lab.query(table)
    lab.same(sorted(found.column_names), ["id", "label", "score", "vec"], "the columns")
    lab.same(sorted(found.column("label").to_pylist()), sorted(f"n{i}" for i in ALL), "the values")


@check("LN-COLUMN-006", "AlterTableAlterColumns of a missing column fails with code 12 or 13.",
       _COLUMN_CODES, "AlterTableAlterColumns", "CreateTable", capabilities=_TABLES)  # fmt: skip
def alter_missing(lab: Lab) -> None:
    lab.refused("AlterTableAlterColumns", NO_COLUMN, id=lab.new_table(),
                alterations=[{"path": "nothing", "rename": "label"}])  # fmt: skip


@check("LN-COLUMN-007", "AlterTableAddColumns on a missing table fails with code 4.", _CODES,
       "AlterTableAddColumns", capabilities=_TABLES)  # fmt: skip
def missing_table_columns(lab: Lab) -> None:
    lab.refused("AlterTableAddColumns", [4], id=lab.table_id(),
                new_columns=[{"name": "a", "expression": "1"}])  # fmt: skip


@check("LN-METADATA-001", "UpdateTableSchemaMetadata stores and returns the metadata.",
       "rest.yaml, UpdateTableSchemaMetadata", "UpdateTableSchemaMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def schema_metadata(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("UpdateTableSchemaMetadata", id=table, metadata={"a": "1", "ünï": "x y"})
    lab.has(answer.get("metadata"), {"a": "1", "ünï": "x y"}, "the answer's metadata")
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    lab.has((described.get("schema") or {}).get("metadata"), {"a": "1"}, "the schema's metadata")


@check("LN-METADATA-002", "UpdateFieldMetadata sets the metadata of one column and of no other.",
       "rest.yaml, UpdateFieldMetadata", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def field_metadata(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("UpdateFieldMetadata", id=table,
                    updates=[{"path": "name", "metadata": {"unit": "none"}}])  # fmt: skip
    if answer.get("fields"):
        lab.has(answer["fields"].get("name"), {"unit": "none"}, "the answer's metadata")
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    fields = {f["name"]: f for f in (described.get("schema") or {}).get("fields") or ()}
    lab.has(fields["name"].get("metadata"), {"unit": "none"}, "the column's metadata")
    lab.that(not fields["id"].get("metadata"), "no metadata of other columns", fields["id"])


@check("LN-METADATA-003", "UpdateFieldMetadata of a missing column fails with code 12 or 13.",
       _COLUMN_CODES, "UpdateFieldMetadata", "CreateTable", capabilities=_TABLES)  # fmt: skip
def field_missing(lab: Lab) -> None:
    lab.refused("UpdateFieldMetadata", NO_COLUMN, id=lab.new_table(),
                updates=[{"path": "nothing", "metadata": {"a": "b"}}])  # fmt: skip


def coverage(entry: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the numbers of indexed and unindexed rows of an index, None if not reported."""
    return entry.get("num_indexed_rows"), entry.get("num_unindexed_rows")


@check("LN-INDEX-017", "Rows inserted after an index was created are reported as unindexed.",
       "rest.yaml, IndexContent and DescribeTableIndexStatsResponse", "ListTableIndices",
       "CreateTableScalarIndex", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def covered(lab: Lab) -> None:
    table = indexed(lab)
    lab.given("InsertIntoTable", stream(people(11, 12)), id=table)
    found = lab.ok("ListTableIndices", id=table).get("indexes") or []
    lab.same(len(found), 1, "the number of indices")
    entry = found[0]
    lab.that(entry.get("num_indexed_rows") in (None, len(ALL)), "10 rows covered", entry)
    lab.that(entry.get("num_unindexed_rows") in (None, 2), "2 rows not covered", entry)
    reply = lab.call("DescribeTableIndexStats", id=table, index_name="by_id")
    if reply.succeeded and None not in (*coverage(entry), *coverage(reply.answer or {})):
        lab.same(coverage(reply.answer or {}), coverage(entry), "the coverage")


@check("LN-INDEX-018", "Dropping a column drops its index and keeps the others.",
       "rest.yaml, IndexContent: the columns the index is on; AlterTableDropColumns",
       "ListTableIndices", "CreateTableScalarIndex", "AlterTableDropColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def goes_with_column(lab: Lab) -> None:
    table = indexed(lab)
    lab.given("CreateTableScalarIndex", id=table, column="name", index_type="BTREE", name="by_name")
    lab.given("AlterTableDropColumns", id=table, columns=["name"])
    lab.same(index_names(lab, table), ["by_id"], "the indices")
    lab.same(lab.ids(table, filter="id = 3"), [3], "the ids")


@check("LN-FRESH-012", "Two identical reads without a change between them return the same answer.",
       "rest.yaml, the answers of the operations that read", "CreateTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def read_twice(lab: Lab) -> None:
    table = indexed(lab) if "CreateTableScalarIndex" in lab.worked else lab.new_table()
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


_READS = ("ListTableVersions", "DescribeTableVersion", "ListTableTags", "ListTableBranches",
          "ListTableIndices", "GetTableStats")  # fmt: skip


def _lasting(reply: Reply) -> object:
    """Return the stable parts of an answer, without credentials and contexts."""
    if reply.rows is not None:
        return sorted(reply.rows.to_pylist(), key=repr)
    answer = dict(reply.answer or {})
    return {k: v for k, v in answer.items() if k not in ("storage_options", "context")}


@check("LN-INDEX-019",
       "DescribeTableIndexStats reports the type of the index and at least one index.",
       "rest.yaml, DescribeTableIndexStatsResponse", "DescribeTableIndexStats",
       "CreateTableScalarIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def index_stats(lab: Lab) -> None:
    table = lab.new_table()
    for name, kind in (("by_id", "BTREE"), ("by_name", "BITMAP")):
        request = {"column": name[3:], "index_type": kind, "name": name}
        if not lab.call("CreateTableScalarIndex", id=table, **request).succeeded:
            continue
        found = lab.ok("DescribeTableIndexStats", id=table, index_name=name)
        lab.that(found.get("num_indices") is None or found["num_indices"] > 0, "an index", found)
        told = str(found.get("index_type") or kind).upper().replace("_", "")
        lab.same(told, kind, "index_type")


@check("LN-INDEX-020",
       "CreateTableScalarIndex with an unknown index type fails with code 13 and creates no index.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableScalarIndex", "ListTableIndices",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def unknown_kind(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("CreateTableScalarIndex", [13], id=table, column="id", index_type="SOMETIMES")
    lab.same(index_names(lab, table), [], "the indices")


@check("LN-COLUMN-016", "AlterTableAddColumns with one invalid column fails and adds no column.",
       f"{_COLUMNS}; {_CODES}", "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def bad_columns(lab: Lab) -> None:
    _all_or_none(
        lab, "AlterTableAddColumns", "new_columns", {"name": "twice", "expression": "id * 2"},
        {"name": "id", "expression": "1"}, {"name": "a", "expression": "no such thing"},
        {"name": "b", "expression": "nothing + 1"}, {"name": "", "expression": "1"},
    )  # fmt: skip


@check("LN-COLUMN-017",
       "AlterTableAlterColumns with one invalid alteration fails and changes no column.",
       f"{_COLUMNS}; {_CODES}", "AlterTableAlterColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def bad_alterations(lab: Lab) -> None:
    _all_or_none(
        lab, "AlterTableAlterColumns", "alterations", {"path": "name", "rename": "label"},
        {"path": "score", "rename": "id"}, {"path": "nothing", "rename": "a"},
        {"path": "score", "data_type": {"type": "sometimes"}}, {"path": "score", "rename": ""},
    )  # fmt: skip


def _all_or_none(
    lab: Lab, operation: str, key: str, good: Mapping[str, Any], *wrong: Mapping[str, Any]
) -> None:
    """Check that a valid change is not applied if the same request contains an invalid one."""
    table = lab.new_table()
    before = lab.query(table).column_names
    for each in wrong:
        lab.refused(operation, [12, 13, 20], id=table, **{key: [good, each]})
        lab.same(lab.query(table).column_names, before, f"the columns after {each}")


@check("LN-METADATA-006", "UpdateFieldMetadata changes every field that it names and no other.",
       "rest.yaml, UpdateFieldMetadataRequest and UpdateFieldMetadataResponse", "UpdateFieldMetadata",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def several_fields(lab: Lab) -> None:
    table = lab.new_table()
    due = {"id": {"a": "1"}, "name": {"b": "2", "c": "3"}}
    updates = [{"path": path, "metadata": metadata} for path, metadata in due.items()]
    answer = lab.ok("UpdateFieldMetadata", id=table, updates=updates)
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    fields = (described.get("schema") or {}).get("fields") or ()
    found = {field["name"]: field.get("metadata") or {} for field in fields}
    for path, metadata in due.items():
        lab.has(found.get(path), metadata, f"the metadata of {path}")
        if answer.get("fields"):
            lab.has(answer["fields"].get(path), metadata, f"the answer's metadata of {path}")
    lab.that(not found.get("score"), "no metadata of another field", found)


@check("LN-COLUMN-018",
       "AlterTableAlterColumns can rename a column and change its type in one call.",
       _COLUMNS, "AlterTableAlterColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def renamed_and_cast(lab: Lab) -> None:
    table = lab.new_table()
    other = {"path": "id", "rename": "number", "data_type": {"type": "int32"}}
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[other])
    found = lab.query(table)
    lab.that("number" in found.column_names, "the new name", found.column_names)
    lab.same(str(found.schema.field("number").type), "int32", "the type")
    lab.same(sorted(found.column("number").to_pylist()), ALL, "the values")


@check("LN-INDEX-021", "ListTableIndices reports the new name of an indexed column after a rename.",
       "rest.yaml, IndexContent: names of the columns the index is on; AlterTableAlterColumns",
       "ListTableIndices", "CreateTableScalarIndex", "AlterTableAlterColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index_of_renamed(lab: Lab) -> None:
    table = indexed(lab)
    lab.same(index_names(lab, table), ["by_id"], "the indices")
    lab.given("AlterTableAlterColumns", id=table, alterations=[{"path": "id", "rename": "number"}])
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([entry["columns"] for entry in found], [["number"]], "the columns of the indices")
