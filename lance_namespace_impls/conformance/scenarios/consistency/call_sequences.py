"""Sequences of calls that run on different kinds of tables and namespaces."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from ...comparison import _NUMBERS, COURSE_PROPERTIES, Place
from ...exchange import Reply
from ...rows import people, plain, stream

STARTED = (1, 2, 3, 4)
"""Ids of the rows that each course starts with, in one version."""
_NEAR = {"vector": {"single_vector": [2.2, 0.0]}, "vector_column": "vec"}
ON_A_BRANCH = ("rows", "versions and tags", "branches", "columns", "indices")


Call = tuple[str, bytes | None, dict[str, Any]]

Course = Generator[Call, Reply, None]


def _call(operation: str, data: bytes | None = None, /, **request: Any) -> Call:
    return operation, data, request


def _query(**request: Any) -> Call:
    return _call("QueryTable", vector=None, **{"k": 100, **request})


def _described(**request: Any) -> Call:
    return _call("DescribeTable", load_detailed_metadata=True, **request)


def rows(place: Place) -> Course:
    """Yield calls that write and read rows."""
    yield _described(check_declared=True, with_table_uri=True)
    yield _call("InsertIntoTable", stream(people(5, 6)))
    yield _query()
    yield _call("UpdateTable", updates=[["name", "'u'"]], predicate="id = 2")
    yield _call("UpdateTable", updates=[["score", "score + 1"]])
    both = {"when_matched_update_all": True, "when_not_matched_insert_all": True}
    yield _call("MergeInsertIntoTable", stream(people(1, 9)), on="id", **both)
    yield _call("DeleteFromTable", predicate="id = 3")
    yield _query()
    yield _query(filter="id > 4", columns={"column_names": ["name", "id"]})
    yield _query(version=1)
    yield _query(version=2, filter="score > 1")
    yield _call("QueryTable", **_NEAR, k=2, filter="id <> 2", prefilter=True)
    yield _call("QueryTable", **_NEAR, k=2, version=1)
    for request in (
        {},
        {"predicate": "id > 3"},
        {"version": 2, "predicate": "id > 3"},
    ):
        yield _call("CountTableRows", **request)
    yield _described()
    yield _described(version=1)
    yield _call("ExplainTableQueryPlan", query={"vector": None, "k": 1, "filter": "id > 1"})
    yield _call("InsertIntoTable", stream(people(7, 8)), mode="overwrite")
    yield _query()
    yield _query(version=2)
    yield _call("GetTableStats")
    refused: tuple[Call, ...] = (
        ("InsertIntoTable", stream(people(9)), {"mode": "sometimes"}),
        ("InsertIntoTable", plain(1, column="other"), {}),
        ("CountTableRows", None, {"predicate": "id > > 1"}),
        ("UpdateTable", None, {"updates": [["nothing", "1"]]}),
        ("MergeInsertIntoTable", stream(people(9)), {"on": "nothing", **both}),
        ("DeleteFromTable", None, {"predicate": ""}),
    )
    for operation, data, request in refused:
        yield operation, data, request
    yield _query(version=99)
    yield _query(columns={"column_names": ["nothing"]})
    yield _query()


def history(place: Place) -> Course:
    """Yield calls that tag, restore and delete versions."""
    yield _call("InsertIntoTable", stream(people(5)))
    for tag, version in (("t", 1), ("u", 2), ("t", 2), ("w", 99)):
        yield _call("CreateTableTag", tag=tag, version=version)
    yield _call("ListTableTags")
    yield _described(tag="t")
    yield _call("UpdateTableTag", tag="t", version=2)
    yield _call("UpdateTableTag", tag="t", version=99)
    yield _call("GetTableTagVersion", tag="t")
    yield _described(tag="t")
    yield _call("ListTableVersions", descending=True, limit=1)
    for version in (1, 2, 99):
        yield _call("DescribeTableVersion", version=version)
    yield _call("DescribeTableVersion")
    yield _call("RestoreTable", version=1)
    yield _query()
    yield _call("DescribeTableVersion")
    yield _call("RestoreTable", version=99)
    yield _call("TableExists", version=99)
    yield _call("DeleteTableTag", tag="u")
    yield _call("ListTableTags")
    yield _call("GetTableTagVersion", tag="u")
    yield _call("DeleteTableTag", tag="u")
    yield _call("DeleteTableTag", tag="t")
    yield _call("BatchDeleteTableVersions", ranges=[{"start_version": 2, "end_version": 3}])
    yield _call("ListTableVersions", descending=True)
    yield _query(version=2)
    yield _query(version=1)
    yield _query()


def branches(place: Place) -> Course:
    """Yield calls that create branches, write to them and delete them."""
    yield _call("InsertIntoTable", stream(people(5)))
    yield _call("CreateTableBranch", name="one")
    yield _call("CreateTableBranch", name="two", from_version=1)
    yield _call("CreateTableBranch", name="one")
    yield _call("ListTableBranches")
    yield _call("InsertIntoTable", stream(people(6)), branch="one")
    yield _call("UpdateTable", updates=[["name", "'u'"]], predicate="id = 2", branch="two")
    yield _call("DeleteFromTable", predicate="id = 1", branch="two")
    for branch in ("one", "two", None):
        of = {"branch": branch} if branch else {}
        yield _query(**of)
        yield _call("CountTableRows", predicate="id > 1", **of)
        yield _described(**of)
    yield _call(
        "CreateTableScalarIndex", branch="one", column="id", index_type="BTREE", name="by_id"
    )
    yield _call("ListTableIndices", branch="one")
    yield _call("ListTableIndices")
    yield _call("AlterTableDropColumns", columns=["score"], branch="two")
    yield _query(branch="two")
    yield _query()
    yield _call("CreateTableTag", tag="aside", version=2, branch="one")
    yield _call("GetTableTagVersion", tag="aside")
    yield _call("DeleteTableTag", tag="aside")
    yield _call("DeleteTableBranch", name="one")
    yield _call("ListTableBranches")
    yield _query(branch="one")
    yield _call("DeleteTableBranch", name="one")
    yield _call("InsertIntoTable", stream(people(7)), branch="one")
    yield _query()


def columns(place: Place) -> Course:
    """Yield calls that add, change and drop columns and their metadata."""
    yield _call("AlterTableAddColumns", new_columns=[{"name": "twice", "expression": "id * 2"}])
    yield _described()
    yield _query()
    yield _call("AlterTableAlterColumns", alterations=[{"path": "name", "rename": "label"}])
    yield _call(
        "AlterTableAlterColumns", alterations=[{"path": "id", "data_type": {"type": "int32"}}]
    )
    for metadata, replace in (
        ({"unit": "m", "by": "a"}, False),
        ({"unit": None}, False),
        ({"more": "1"}, True),
    ):
        yield _call(
            "UpdateFieldMetadata",
            updates=[{"path": "id", "metadata": metadata, "replace": replace}],
        )
        yield _described()
    for metadata in ({"origin": "kit"}, {"by": "b"}):
        yield "UpdateTableSchemaMetadata", None, {"metadata": metadata}
    yield _described()
    yield _call("AlterTableDropColumns", columns=["score"])
    yield _described()
    yield _query(filter="label = 'n2'")
    yield _described(version=1)
    yield _query(version=1)
    for operation, request in (
        ("AlterTableDropColumns", {"columns": ["id", "nothing"]}),
        ("AlterTableAlterColumns", {"alterations": [{"path": "nothing", "rename": "other"}]}),
        ("AlterTableAddColumns", {"new_columns": [{"name": "id", "expression": "1"}]}),
        ("UpdateFieldMetadata", {"updates": [{"path": "nothing", "metadata": {"by": "1"}}]}),
    ):
        yield operation, None, request
    yield _query()


def indices(place: Place) -> Course:
    """Yield calls that create, use and drop indices."""
    yield _call("ListTableIndices")
    yield _call("CreateTableScalarIndex", column="id", index_type="BTREE", name="by_id")
    yield _call("ListTableIndices")
    yield _call("InsertIntoTable", stream(people(5)))
    yield _call("DescribeTableIndexStats", index_name="by_id")
    yield _call("CreateTableIndex", column="name", index_type="FTS", name="words")
    yield _call("QueryTable", vector=None, k=5, columns={"column_names": ["id"]},
                full_text_query={"string_query": {"query": "n2", "columns": ["name"]}})  # fmt: skip
    yield _call("CreateTableIndex", column="vec", index_type="IVF_FLAT", name="near",
                num_partitions=1, distance_type="cosine")  # fmt: skip
    yield _call("ListTableIndices")
    yield _call("DescribeTableIndexStats", index_name="near")
    yield _call("ListTableIndices", version=2)
    yield _call("CreateTableScalarIndex", column="name", index_type="BTREE", name="by_id")
    yield _call("CreateTableScalarIndex", column="nothing", index_type="BTREE")
    yield _query(filter="id = 5")
    yield _call("DropTableIndex", index_name="by_id")
    yield _call("ListTableIndices")
    yield _call("DropTableIndex", index_name="by_id")
    yield _call("DescribeTableIndexStats", index_name="by_id")
    yield _call("GetTableStats")
    yield _query()


def _dropped(kind: str, parent: list[str]) -> Course:
    """Yield calls that drop an object and then try to find it."""
    yield _call(f"Drop{kind}")
    yield _call(f"{kind}Exists")
    yield _call(f"Describe{kind}")
    yield _call(f"List{kind}s", id=parent)


def entry(place: Place) -> Course:
    """Yield calls that read, change, remove and restore a table's catalog entry."""
    parent, name = place.table[:-1], place.table[-1]
    yield _call("TableExists")
    yield _call("DescribeTable")
    yield _call("ListTables", id=parent)
    yield _call(
        "AlterTable", set_properties={"more": "1", "owner": "bob"}, unset_properties=["note"]
    )
    described = yield _call("DescribeTable")
    yield _call("AlterTable", set_properties={"more": "2"}, unset_properties=["more"])
    yield _call("CreateTable", stream(people(9)))
    yield _call("CreateTable", stream(people(9)), mode="ExistOk", properties={"by": "x"})
    yield _call("DeclareTable")
    yield _call("CreateTable", stream(people(9)), mode="sometimes")
    yield _query()
    where = (described.answer or {}).get("location")
    yield _call("RegisterTable", location=where)
    yield _call("RenameTable", new_table_name=name)
    yield _call("DeregisterTable")
    yield _call("TableExists")
    yield _call("ListTables", id=parent)
    if where:
        yield _call("RegisterTable", location=where, properties={"by": "again"})
        yield _call("DescribeTable")
        yield _query()
    yield _call("CreateTable", stream(people(11)), mode="Overwrite", properties={"more": "3"})
    yield _query()
    yield _call("DescribeTable")
    yield from _dropped("Table", parent)
    yield _call("DropTable")
    yield _call("DeclareTable", properties={"more": "4"})
    yield _call("DescribeTable", check_declared=True)
    yield _call("ListTables", id=parent, include_declared=False)
    yield _call("InsertIntoTable", stream(people(12)))
    yield _query()
    yield _call("DescribeTable", check_declared=True)
    yield _call("DropTable")


def namespace_calls(place: Place) -> Course:
    """Yield calls that create, read, fill and drop a namespace repeatedly."""
    parent = place.table[:-1]
    yield _call("NamespaceExists")
    yield _call("CreateNamespace", properties=COURSE_PROPERTIES)
    yield _call("DescribeNamespace")
    yield _call("NamespaceExists")
    yield _call("ListNamespaces", id=parent)
    yield _call("CreateNamespace", properties={"more": "1"})
    yield _call("CreateNamespace", properties={"more": "1"}, mode="ExistOk")
    yield _call("CreateNamespace", mode="sometimes")
    yield _call("DescribeNamespace")
    yield _call(
        "AlterNamespace", set_properties={"more": "2", "owner": "bob"}, unset_properties=["note"]
    )
    yield _call("AlterNamespace", set_properties={"more": "3"}, unset_properties=["more"])
    yield _call("DescribeNamespace")
    yield _call("ListNamespaces")
    yield _call("ListTables")
    yield _call("DropNamespace", mode="sometimes")
    for name in ("b", "a"):
        yield _call("CreateNamespace", id=[*place.table, name], properties={"by": name})
    yield _call("DescribeNamespace", id=[*place.table, "a"])
    yield _call("ListNamespaces")
    yield _call("ListNamespaces", limit=1)
    for name in ("t", "s"):
        yield _call("CreateTable", plain(1), id=[*place.table, name])
    yield _call("ListTables")
    yield _call("ListTables", limit=1)
    yield _call("DropNamespace")
    yield _call("DropNamespace", mode="Skip")
    yield _call("CreateNamespace", mode="Overwrite", properties={"more": "4"})
    yield _call("DescribeNamespace")
    yield _call("ListTables")
    for name in ("t", "s"):
        yield _call("DropTable", id=[*place.table, name])
    for name in ("a", "b"):
        yield _call("DropNamespace", id=[*place.table, name])
    yield _call("ListNamespaces")
    yield _call("CreateNamespace", mode="Overwrite", properties={"more": "5"})
    yield _call("DescribeNamespace")
    yield from _dropped("Namespace", parent)
    yield _call("ListNamespaces")
    yield _call("ListTables")
    yield _call("AlterNamespace", set_properties={"more": "6"})
    yield _call("DropNamespace", mode="Skip")
    yield _call("CreateNamespace", mode="Overwrite")
    yield _call("DescribeNamespace")
    yield _call("CreateTable", plain(1), id=[*place.table, "t"])
    yield _call("DropNamespace", behavior="Cascade")
    yield _call("NamespaceExists")
    yield _call("TableExists", id=[*place.table, "t"])
    yield _call("DropTable", id=[*place.table, "t"])
    yield _call("DropNamespace", mode="Skip")
    yield _call("NamespaceExists")


COURSES = {"rows": rows, "versions and tags": history, "branches": branches, "columns": columns,
           "indices": indices, "the entry": entry}  # fmt: skip


def shifted(request: Mapping[str, Any], shift: int | None) -> dict[str, Any]:
    """Return a request with ``shift`` added to its version numbers."""
    if not shift:
        return dict(request)
    found: dict[str, Any] = {}
    for key, value in request.items():
        if key in _NUMBERS and isinstance(value, int):
            found[key] = value + shift
        elif key == "ranges":
            found[key] = [shifted(each, shift) for each in value]
        else:
            found[key] = value
    return found
