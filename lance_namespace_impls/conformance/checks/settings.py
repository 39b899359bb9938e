"""Optional request fields: each has the effect described in rest.yaml, and none is ignored."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..lab import Failed, Lab, Skipped
from ..requirement import check
from ..rows import PEOPLE, people, stream
from .listings import make_tables, place_for_tables

_PAGING = 'protocol semantics, "Paging"; rest.yaml, PageToken and PageLimit'
_QUERY = "rest.yaml, QueryTableRequest"
_UPDATE = "rest.yaml, UpdateTableRequest"
_COLUMNS = "rest.yaml, the column operations"
_TABLES = ["tables"]
ALL = list(PEOPLE)


# --- pages of every listing


@check("LN-PAGE-013", "ListNamespaces returns at most limit names per page.", _PAGING,
       "ListNamespaces", capabilities=["namespaces"])  # fmt: skip
def namespaces_limit(lab: Lab) -> None:
    made = [lab.new_namespace() for _ in range(3)]
    found = lab.ok("ListNamespaces", id=made[0][:-1], limit=2).get("namespaces") or []
    lab.that(len(found) <= 2, "at most 2 names", found)


@check("LN-PAGE-014", "ListAllTables returns at most limit identifiers per page.", _PAGING,
       "ListAllTables", capabilities=_TABLES)  # fmt: skip
def all_limit(lab: Lab) -> None:
    make_tables(lab, place_for_tables(lab), 3)
    found = lab.ok("ListAllTables", limit=2).get("tables") or []
    lab.that(len(found) <= 2, "at most 2 identifiers", found)


def _walk_map(lab: Lab, operation: str, key: str, table: list[str]) -> list[str]:
    found: list[str] = []
    token = None
    for _ in range(20):
        more: dict[str, Any] = {} if token is None else {"page_token": token}
        answer = lab.ok(operation, id=table, limit=1, **more)
        entries = answer.get(key) or {}
        lab.that(len(entries) <= 1, "at most one entry on a page", entries)
        found += [e["index_name"] if isinstance(e, dict) else e for e in entries]
        token = answer.get("page_token")
        if not token:
            return found
    raise Failed("the listing to end", "20 pages", lab.last)


@check("LN-PAGE-015", "ListTableTags returns at most limit tags per page, and each tag once.",
       _PAGING, "ListTableTags", "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tag_pages(lab: Lab) -> None:
    table = lab.new_table()
    for name in ("one", "three", "two"):
        lab.given("CreateTableTag", id=table, tag=name, version=1)
    lab.same(sorted(_walk_map(lab, "ListTableTags", "tags", table)), ["one", "three", "two"],
             "the tags")  # fmt: skip


@check("LN-PAGE-016",
       "ListTableBranches returns at most limit branches per page, and each branch once.",
       _PAGING, "ListTableBranches", "CreateTableBranch", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def branch_pages(lab: Lab) -> None:
    table = lab.new_table()
    for name in ("one", "three", "two"):
        lab.given("CreateTableBranch", id=table, name=name)
    found = [n for n in _walk_map(lab, "ListTableBranches", "branches", table) if n != "main"]
    lab.same(sorted(found), ["one", "three", "two"], "the branches")


@check("LN-PAGE-017",
       "ListTableIndices returns at most limit indices per page, and each index once.",
       _PAGING, "ListTableIndices", "CreateTableScalarIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index_pages(lab: Lab) -> None:
    table = lab.new_table()
    for name, column in (("one", "id"), ("two", "name")):
        lab.given("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
    lab.same(sorted(_walk_map(lab, "ListTableIndices", "indexes", table)), ["one", "two"],
             "the indices")  # fmt: skip


@check("LN-PAGE-018",
       "ListTableVersions with descending and limit returns each version once, newest first.",
       _PAGING, "ListTableVersions", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def versions_descending(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    found: list[int] = []
    token = None
    for _ in range(10):
        more: dict[str, Any] = {} if token is None else {"page_token": token}
        answer = lab.ok("ListTableVersions", id=table, limit=1, descending=True, **more)
        entries = answer.get("versions") or []
        lab.that(len(entries) <= 1, "at most one version on a page", entries)
        found += [entry["version"] for entry in entries]
        token = answer.get("page_token")
        if not token:
            break
    lab.same(found, [3, 2, 1], "the versions")


@check("LN-PAGE-019", "ListAllTables with include_declared false excludes declared tables.",
       "rest.yaml, ListAllTables", "ListAllTables", "DeclareTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def all_declared(lab: Lab) -> None:
    declared, held = lab.new_declared(), lab.new_table()
    found = lab.walk("ListAllTables", "tables", include_declared=False, limit=1000)
    lab.that("$".join(held) in found, "the table with data", found)
    lab.that("$".join(declared) not in found, "no declared table", found)


# --- queries


def _angles(lab: Lab) -> list[str]:
    """Return a table whose nearest row by distance is not the nearest row by angle."""
    table = lab.table_id()
    kind = pa.list_(pa.float32(), 2)
    rows = pa.table({
        "id": pa.array([1, 2, 3], pa.int64()),
        "vec": pa.array([[10.0, 0.0], [0.0, 1.0], [3.0, 3.0]], kind),
        "other": pa.array([[0.0, 9.0], [0.0, 9.0], [1.0, 0.0]], kind),
    })  # fmt: skip
    lab.given("CreateTable", stream(rows), id=table)
    return table


def _nearest(lab: Lab, table: list[str], **more: object) -> list[int]:
    vector = {"single_vector": [1.0, 0.0]}
    request = {"vector": vector, "vector_column": "vec", "k": 3, **more}
    reply = lab.call("QueryTable", id=table, **request)
    if reply.code == 13 and {"distance_type", "upper_bound", "lower_bound"} & set(more):
        raise Skipped(f"QueryTable: {reply.outcome()}")
    lab.must_succeed(reply)
    return list(reply.rows.column("id").to_pylist())


@check("LN-QUERY-018", "distance_type selects the distance metric: cosine compares angles.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def distance_type(lab: Lab) -> None:
    table = _angles(lab)

    def ask(when: str) -> None:
        for kind, due in (("cosine", [1]), ("l2", [2])):
            found = _nearest(lab, table, distance_type=kind, k=1)
            lab.same(found, due, f"the nearest by {kind} {when}")

    ask("")
    index = {"column": "vec", "index_type": "IVF_FLAT", "num_partitions": 1, "name": "near"}
    if lab.call("CreateTableIndex", id=table, distance_type="l2", **index).succeeded:
        ask("where there is an index by l2")


@check("LN-QUERY-019", "lower_bound and upper_bound limit the distance of the results.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def bounds(lab: Lab) -> None:
    table = _angles(lab)  # squared distances 81, 2 and 13
    lab.same(_nearest(lab, table, upper_bound=10.0), [2], "the ids nearer than 10")
    lab.same(_nearest(lab, table, upper_bound=2.5), [2], "the ids nearer than 2.5")
    lab.same(_nearest(lab, table, lower_bound=10.0), [3, 1], "the ids not nearer than 10")


@check("LN-QUERY-020", "vector_column selects the column to search.", _QUERY, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def vector_column(lab: Lab) -> None:
    table = _angles(lab)
    lab.same(_nearest(lab, table, k=1), [2], "the nearest by vec")
    lab.same(_nearest(lab, table, vector_column="other", k=1), [3], "the nearest by other")


@check("LN-QUERY-021", "column_aliases renames columns in the result.",
       "rest.yaml, QueryTableRequestColumns: the name a column gets in the answer", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def aliases(lab: Lab) -> None:
    request = {"id": lab.shared_table(), "vector": lab.no_vector(), "k": 100}
    reply = lab.call("QueryTable", **request, columns={"column_aliases": {"number": "id"}})
    lab.may_refuse(reply)
    lab.same(reply.rows.column_names, ["number"], "the columns")
    lab.same(sorted(reply.rows.column("number").to_pylist()), ALL, "the values")


@check("LN-QUERY-022", "k limits the number of rows after filtering.", _QUERY, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def filter_then_k(lab: Lab) -> None:
    lab.same(lab.ids(lab.shared_table(), filter="id > 7", k=3), [8, 9, 10], "the ids")


@check("LN-QUERY-023", "A query returns exactly the columns of the table, with their types.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def columns_and_types(lab: Lab) -> None:
    found = lab.query(lab.shared_table())
    shown = {f.name: str(f.type).replace("large_", "") for f in found.schema}
    due = {f.name: str(f.type) for f in people(1).schema}
    lab.same({n: k.split("<")[0] for n, k in shown.items()},
             {n: k.split("<")[0] for n, k in due.items()}, "the columns")  # fmt: skip


@check("LN-QUERY-024", "A query returns k rows, or all rows if the table has fewer.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def many(lab: Lab) -> None:
    table = lab.new_table(*range(1, 1501))
    lab.same(len(lab.ids(table, k=1200)), 1200, "the number of rows")
    lab.same(len(lab.ids(table, k=5000)), 1500, "the number of rows")


@check("LN-COUNT-007", "CountTableRows applies version and predicate together.",
       "rest.yaml, CountTableRowsRequest",
       "CountTableRows", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def count_both(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("InsertIntoTable", stream(people(11, 12)), id=table)
    lab.same(lab.count(table, version=1, predicate="id > 8"), 2, "the rows of version 1")
    lab.same(lab.count(table, predicate="id > 8"), 4, "the rows of the newest version")


# --- writes


@check("LN-ROWS-UPDATE-008", "UpdateTable applies each of several updates.", _UPDATE, "UpdateTable",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def several_updates(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("UpdateTable", id=table, predicate="id = 2",
           updates=[["name", "'new'"], ["score", "7.5"]])  # fmt: skip
    (row,) = lab.query(table, filter="id = 2").to_pylist()
    lab.same((row["name"], row["score"]), ("new", 7.5), "the row")


@check("LN-ROWS-UPDATE-009",
       "UpdateTable evaluates the value of an update as an expression over the row.", _UPDATE,
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
            lab.that(version > last, f"{operation} to answer a version after {last}", version)
            last = version


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
    lab.ok("MergeInsertIntoTable", stream(changed), id=table, on="id",
           when_not_matched_insert_all=True)  # fmt: skip
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    lab.same((found.get(1), found.get(30)), ("n1", "new"), "the names")
    lab.same(len(found), len(ALL) + 1, "the number of rows")


@check("LN-COLUMN-008", "AlterTableAddColumns adds each of several columns.",
       _COLUMNS, "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def several_columns(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableAddColumns", id=table, new_columns=[
        {"name": "twice", "expression": "id * 2"}, {"name": "thrice", "expression": "id * 3"},
    ])  # fmt: skip
    row = lab.query(table, filter="id = 4").to_pylist()[0]
    lab.same((row.get("twice"), row.get("thrice")), (8, 12), "the new columns")


@check("LN-COLUMN-009", "AlterTableAlterColumns changes the type of a column.", _COLUMNS,
       "AlterTableAlterColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def column_type(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("AlterTableAlterColumns", id=table,
              alterations=[{"path": "id", "data_type": {"type": "int32"}}])  # fmt: skip
    found = lab.query(table)
    lab.same(str(found.schema.field("id").type), "int32", "the type")
    lab.same(sorted(found.column("id").to_pylist()), ALL, "the values")


@check("LN-COLUMN-010", "Each change of columns returns a later version than the change before it.",
       _COLUMNS, "AlterTableAddColumns", "AlterTableDropColumns", "AlterTableAlterColumns",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def column_versions(lab: Lab) -> None:
    table = lab.new_table()
    calls = (
        ("AlterTableAddColumns", {"new_columns": [{"name": "twice", "expression": "id * 2"}]}),
        ("AlterTableAlterColumns", {"alterations": [{"path": "name", "rename": "label"}]}),
        ("AlterTableDropColumns", {"columns": ["score"]}),
    )
    last = 1
    for operation, request in calls:
        version = lab.ok(operation, id=table, **request).get("version") or 0
        lab.that(version > last, f"{operation} to answer a version after {last}", version)
        last = version


@check("LN-METADATA-004",
       "UpdateFieldMetadata keeps the keys that it does not name, and null removes a key.",
       "rest.yaml, UpdateFieldMetadataEntry", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def field_keys(lab: Lab) -> None:
    table = lab.new_table()
    for metadata in ({"a": "1", "b": "2"}, {"c": "3", "b": None}):
        lab.maybe("UpdateFieldMetadata", id=table, updates=[{"path": "name", "metadata": metadata}])
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    fields = {f["name"]: f for f in (described.get("schema") or {}).get("fields") or ()}
    found = dict(fields["name"].get("metadata") or {})
    lab.same({k: found.get(k) for k in "abc"}, {"a": "1", "b": None, "c": "3"}, "the metadata")
