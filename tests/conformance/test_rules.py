"""The model of expected answers: it accepts right answers and rejects wrong ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.conformance.oracle.calls import Call, Granted, Mismatch, Refused, Rows
from lance_namespace_impls.conformance.oracle.known import Known
from lance_namespace_impls.conformance.oracle.tree import Tree

ROWS = Rows({"id": (1, 2, 3), "name": ("a", "b", "c"), "score": (None, 1.0, 1.5)})
ROOT = "memory://"
KNOWN: dict[str, Any] = {
    "location": lambda identifier, properties: f"{ROOT}{'/'.join(identifier)}",
    "capabilities": Capabilities(namespace_depth=None, cascade=True, rename_across=True),
}


def answer(**fields: Any) -> Any:
    """Return an answer with the given fields; all others are None."""
    absent = dict.fromkeys(
        ("properties", "page_token", "storage_options", "managed_versioning", "table_uri", "schema",
         "stats", "is_only_declared", "version", "table", "namespace", "location", "id",
         "num_inserted_rows", "timestamp_millis", "branch", "metadata", "fields")
    )  # fmt: skip
    return SimpleNamespace(**{**absent, **fields})


def do(
    tree: Tree, operation: str, given: Any = None, rows: Rows | None = None, **request: Any
) -> None:
    """Apply a successful call to the model."""
    outcome = tree.expect(Call(operation, request, rows))
    assert isinstance(outcome, Granted), f"{operation} {request}: {outcome}"
    outcome.settle(answer() if given is None else given)


def table(*names: str, **fields: Any) -> Any:
    properties = fields.pop("properties", {})
    return answer(
        location=ROOT + "/".join(names), properties=properties, storage_options={}, **fields
    )


@pytest.fixture
def tree() -> Tree:
    """Namespaces n and n.m, a declared table d, and in n the table t with its versions."""
    made = Tree(Known(**KNOWN), {})
    do(made, "CreateNamespace", answer(properties={"a": "1"}), id=["n"], properties={"a": "1"})
    do(made, "CreateNamespace", answer(properties={}), id=["n", "m"])
    do(made, "DeclareTable", table("d"), id=["d"])
    do(made, "CreateTable", table("n", "t", version=1), ROWS, id=["n", "t"])
    more = Rows({"id": (4,), "name": ("d",), "score": (2.0,)})
    inserted = answer(version=2, num_inserted_rows=1)
    do(made, "InsertIntoTable", inserted, more, id=["n", "t"])
    do(made, "CreateTableTag", id=["n", "t"], tag="old", version=1)
    do(made, "CreateTableBranch", id=["n", "t"], name="b")
    indexed = {"id": ["n", "t"], "column": "id", "name": "by_id", "index_type": "BTREE"}
    do(made, "CreateTableScalarIndex", **indexed)
    listed = answer(versions=[answer(version=n) for n in (1, 2, 3)])
    do(made, "ListTableVersions", listed, id=["n", "t"])
    return made


T = {"id": ["n", "t"]}
FOUR = [(1, "a", None), (2, "b", 1.0), (3, "c", 1.5), (4, "d", 2.0)]


def found(*rows: tuple[Any, ...], columns: tuple[str, ...] = ("id", "name", "score")) -> pa.Table:
    return pa.table({name: [row[n] for row in rows] for n, name in enumerate(columns)})


def stats(rows: int, fragments: int, least: int, most: int) -> Any:
    lengths = answer(min=least, max=most)
    of_fragments = answer(num_fragments=fragments, lengths=lengths)
    return answer(num_rows=rows, num_indices=1, total_bytes=9, fragment_stats=of_fragments)


def index(**more: Any) -> Any:
    return answer(indexes=[answer(**{"index_name": "by_id", "columns": ["id"], **more})])


def columns(**types: str) -> list[Any]:
    return [
        answer(name=name, nullable=True, type=answer(type=type)) for name, type in types.items()
    ]


DESCRIBED = {"table": "t", "namespace": ["n"], "managed_versioning": False}
DETAILS = {
    "version": 3, "stats": answer(num_fragments=2, num_deleted_rows=0), "is_only_declared": False,
    "schema": answer(fields=columns(id="int64", name="string", score="float64")),
}  # fmt: skip

OLD = {**DETAILS, "version": 1, "stats": answer(num_fragments=1, num_deleted_rows=0)}

# operation, request, right answer, wrong answers
GRANTED: list[tuple[str, dict[str, Any], Any, list[Any]]] = [
    ("DescribeNamespace", {"id": ["n"]}, answer(properties={"a": "1"}),
     [answer(properties={"a": "2"}), answer(properties={}), answer(),
      answer(properties={"a": "1", "b": "2"})]),
    ("CreateNamespace", {"id": ["x"], "properties": {"c": "3"}}, answer(properties={"c": "3"}),
     [answer(properties={}), answer()]),
    ("CreateNamespace", {"id": ["n"], "mode": "exist_ok", "properties": {"c": "3"}},
     answer(properties={"a": "1"}), [answer(properties={"c": "3"})]),
    ("CreateNamespace", {"id": ["n", "m"], "mode": "Overwrite", "properties": {"c": "3"}},
     answer(properties={"c": "3"}), [answer(properties={})]),
    ("DropNamespace", {"id": ["n", "m"]}, answer(properties={}), [answer(properties={"a": "1"})]),
    ("DropNamespace", {"id": ["n"], "behavior": "Cascade"}, answer(properties={"a": "1"}),
     [answer(properties={}), answer()]),
    ("AlterNamespace", {"id": ["n"], "set_properties": {"b": "2"}, "unset_properties": ["a", "z"]},
     answer(properties={"b": "2"}), [answer(properties={"a": "1", "b": "2"}), answer(properties={})]),
    ("ListNamespaces", {"id": ["n"]}, answer(namespaces=["m"]),
     [answer(namespaces=[]), answer(namespaces=["m"], page_token="m"),
      answer(namespaces=["m"], page_token="")]),
    ("ListTables", {"id": []}, answer(tables=["d"]), [answer(tables=[]), answer(tables=["d", "t"])]),
    ("ListTables", {"id": [], "include_declared": False}, answer(tables=[]), [answer(tables=["d"])]),
    ("ListTables", {"id": ["n"], "include_declared": False}, answer(tables=["t"]), [answer(tables=[])]),
    ("ListTables", {"id": ["n"], "page_token": "s"}, answer(tables=["t"]), [answer(tables=[])]),
    ("ListTables", {"id": ["n"], "page_token": "t"}, answer(tables=[]), [answer(tables=["t"])]),
    ("ListAllTables", {}, answer(tables=["d", "n$t"]), [answer(tables=["d"]), answer(tables=["n$t", "d"])]),
    ("ListAllTables", {"limit": 1}, answer(tables=["d"], page_token="x"),
     [answer(tables=["d"]), answer(tables=["d", "n$t"]), answer(tables=["d"], page_token="")]),
    ("ListAllTables", {"include_declared": False, "context": {"delimiter": "::"}},
     answer(tables=["n::t"]), [answer(tables=["n$t"]), answer(tables=["d", "n::t"])]),
    ("DescribeTable", T, table("n", "t", **DESCRIBED),
     [table("n", "u", **DESCRIBED), table("n", "t", **{**DESCRIBED, "managed_versioning": True}),
      table("n", "t", **DESCRIBED, properties={"a": "1"}),
      table("n", "t", **DESCRIBED, table_uri="memory://t"),
      table("n", "t", **DESCRIBED, is_only_declared=False)]),
    ("DescribeTable", {**T, "load_detailed_metadata": True, "with_table_uri": True},
     table("n", "t", **DESCRIBED, **DETAILS, table_uri="memory://t"),
     [table("n", "t", **DESCRIBED, **DETAILS)]
     + [table("n", "t", **DESCRIBED, **{**DETAILS, key: wrong}, table_uri="memory://t")
        for key, wrong in (("version", 2), ("stats", None), ("schema", None),
                           ("schema", answer(fields=columns(id="int64"))),
                           ("schema", answer(fields=columns(id="int32", name="string", score="float64"))),
                           ("stats", answer(num_fragments=1, num_deleted_rows=0)),
                           ("is_only_declared", True))]),
    ("DescribeTable", {**T, "load_detailed_metadata": True, "tag": "old"},
     table("n", "t", **DESCRIBED, **OLD),
     [table("n", "t", **DESCRIBED, **{**OLD, "version": 3}),
      table("n", "t", **DESCRIBED, **{**OLD, "stats": DETAILS["stats"]})]),
    ("DescribeTable", {"id": ["d"], "check_declared": True},
     table("d", table="d", namespace=[], managed_versioning=False, is_only_declared=True),
     [table("d", table="d", namespace=[], managed_versioning=False, is_only_declared=False),
      table("d", table="d", namespace=[], managed_versioning=False)]),
    ("DeclareTable", {"id": ["n", "x"], "properties": {"a": "1"}}, table("n", "x", properties={"a": "1"}),
     [table("n", "x"), table("x", properties={"a": "1"})]),
    ("CreateTable", {"id": ["x"]}, table("x", version=1),
     [table("y", version=1), table("x"), table("x", version="1"),
      table("x", version=1, properties={"a": "1"})]),
    ("CreateTable", {**T, "mode": "Overwrite"}, table("n", "t", version=4),
     [table("n", "t", version=3), table("n", "t", version=1)]),
    ("CreateTable", {**T, "mode": "ExistOk"}, table("n", "t", version=3), [table("n", "t", version=4)]),
    ("InsertIntoTable", T, answer(version=4, num_inserted_rows=3),
     [answer(version=3, num_inserted_rows=3), answer(version=4, num_inserted_rows=2), answer(version=4)]),
    ("UpdateTable", {**T, "updates": [["name", "'z'"]], "predicate": "id > 2"},
     answer(version=4, updated_rows=2),
     [answer(version=4, updated_rows=4), answer(version=3, updated_rows=2)]),
    ("DeleteFromTable", {**T, "predicate": "id <= 3"}, answer(version=4), [answer(version=3)]),
    ("MergeInsertIntoTable", {**T, "on": "id", "when_matched_update_all": True},
     answer(version=4, num_updated_rows=3, num_inserted_rows=0, num_deleted_rows=0),
     [answer(version=4, num_updated_rows=u, num_inserted_rows=i, num_deleted_rows=d)
      for u, i, d in ((0, 0, 0), (3, 3, 0), (3, 0, 1))]),
    ("MergeInsertIntoTable",
     {**T, "on": "id", "when_not_matched_insert_all": True, "when_not_matched_by_source_delete": True},
     answer(version=4, num_updated_rows=0, num_inserted_rows=0, num_deleted_rows=1),
     [answer(version=4, num_updated_rows=u, num_inserted_rows=i, num_deleted_rows=d)
      for u, i, d in ((3, 0, 1), (0, 3, 1), (0, 0, 0))]),
    ("CountTableRows", T, answer(count=4), [answer(count=3)]),
    ("CountTableRows", {**T, "version": 1}, answer(count=3), [answer(count=4)]),
    ("CountTableRows", {**T, "predicate": "score > 1"}, answer(count=2), [answer(count=3), answer(count=4)]),
    ("CountTableRows", {**T, "branch": "b"}, answer(count=4), [answer(count=3)]),
    ("QueryTable", T, found(*FOUR),
     [found(*FOUR[:3]), found(*reversed(FOUR)), found(*FOUR, FOUR[0]), found(*FOUR[:3], (4, "x", 2.0)),
      found(*FOUR).drop_columns(["score"])]),
    ("QueryTable", {**T, "version": 1}, found(*FOUR[:3]), [found(*FOUR)]),
    ("QueryTable", {**T, "filter": "id = 2", "columns": {"column_names": ["name"]}},
     found(("b",), columns=("name",)), [found(("a",), columns=("name",)), found(FOUR[1])]),
    ("QueryTable", {**T, "k": 2, "offset": 1}, found(*FOUR[1:3]), [found(*FOUR[:2]), found(*FOUR[1:])]),
    ("QueryTable", {**T, "filter": "name IN ('a', 'c') OR score IS NULL"}, found(FOUR[0], FOUR[2]),
     [found(*FOUR), found(FOUR[0])]),
    ("QueryTable", {**T, "columns": {"column_aliases": {"x": "id"}}},
     found(*[(row[0],) for row in FOUR], columns=("x",)), [found(*FOUR), found((1,), columns=("x",))]),
    ("GetTableStats", T, stats(4, 2, 1, 3), [stats(3, 2, 1, 3), stats(4, 1, 1, 3), stats(4, 2, 2, 2)]),
    ("DescribeTableIndexStats", {**T, "index_name": "by_id"},
     answer(num_indexed_rows=4, num_unindexed_rows=0, index_type="BTree"),
     [answer(num_indexed_rows=3, num_unindexed_rows=0, index_type="BTREE"),
      answer(num_indexed_rows=4, num_unindexed_rows=0, index_type="BITMAP")]),
    ("ExplainTableQueryPlan", {**T, "query": {"vector": None, "k": 1}}, answer(plan="scan"),
     [answer(plan=" ")]),
    ("BatchDeleteTableVersions", {**T, "ranges": [{"start_version": 1, "end_version": 2}]},
     answer(deleted_count=1), [answer(deleted_count=0), answer(deleted_count=2)]),
    ("UpdateTableSchemaMetadata", {**T, "metadata": {"kit.a": "1"}},
     answer(metadata={"kit.a": "1", "b": "2"}),
     [answer(metadata={}), answer(metadata={"kit.a": "2"}), answer(metadata={"kit.a": "1", "kit.b": "2"})]),
    ("UpdateFieldMetadata", {**T, "updates": [{"path": "id", "metadata": {"kit.a": "1"}}]},
     answer(version=4, fields={"id": {"kit.a": "1"}}),
     [answer(version=4, fields={"id": {}}), answer(version=2, fields={"id": {"kit.a": "1"}})]),
    ("ListTableVersions", T, answer(versions=[answer(version=n) for n in (3, 2, 1)]),
     [answer(versions=[answer(version=n) for n in wrong]) for wrong in ((1, 2), (1, 2, 3, 4), (1, 2, 3, 3))]),
    ("DescribeTableVersion", T, answer(version=answer(version=3)), [answer(version=answer(version=2))]),
    ("DescribeTableVersion", {**T, "version": 1}, answer(version=answer(version=1)),
     [answer(version=answer(version=3))]),
    ("GetTableTagVersion", {**T, "tag": "old"}, answer(version=1), [answer(version=2)]),
    ("ListTableTags", T, answer(tags={"old": answer(version=1)}),
     [answer(tags={}), answer(tags={"old": answer(version=2)})]),
    ("ListTableBranches", T,
     answer(branches={"b": answer(parent_version=2, parent_branch=None), "main": None}),
     [answer(branches={"main": None}), answer(branches={"b": None, "c": None}),
      answer(branches={"b": answer(parent_version=1, parent_branch=None)})]),
    ("ListTableIndices", T, index(), [index(index_name="x"), index(columns=["name"]), answer(indexes=[])]),
    ("DropTable", T, table("n", "t", id=["n", "t"]), [table("n", "t", id=["t"]), table("x", id=["n", "t"])]),
    ("DeregisterTable", T, table("n", "t", id=["n", "t"]), [table("n", "t", id=["t"])]),
]  # fmt: skip
WITH_ROWS = ("CreateTable", "InsertIntoTable", "MergeInsertIntoTable")
CASES = {f"{row[0]} {number}": row for number, row in enumerate(GRANTED)}


@pytest.mark.parametrize("name", CASES)
def test_a_right_answer_is_accepted_and_a_wrong_one_is_not(name: str, tree: Tree) -> None:
    operation, request, right, wrong = CASES[name]
    rows = ROWS if operation in WITH_ROWS else None
    for each in wrong:
        outcome = tree.copy().expect(Call(operation, request, rows))
        assert isinstance(outcome, Granted), outcome
        with pytest.raises(Mismatch):
            outcome.settle(each)
    do(tree, operation, right, rows, **request)


REFUSED: list[tuple[str, dict[str, Any], set[int]]] = [
    ("DescribeNamespace", {"id": ["x"]}, {1}),
    ("NamespaceExists", {"id": ["n", "x"]}, {1}),
    ("CreateNamespace", {"id": ["n"]}, {2}),
    ("CreateNamespace", {"id": ["n", "t"]}, {2}),
    ("CreateNamespace", {"id": ["x", "y"]}, {1}),
    ("CreateNamespace", {"id": ["x"], "mode": "Merge"}, {13}),
    ("CreateNamespace", {"id": ["n"], "mode": "Overwrite"}, {3}),
    ("DropNamespace", {"id": ["n"]}, {3}),
    ("DropNamespace", {"id": ["x"]}, {1}),
    ("AlterNamespace", {"id": ["x"]}, {1}),
    ("AlterNamespace", {"id": ["n"], "set_properties": {"a": "1"}, "unset_properties": ["a"]}, {13}),
    ("ListTables", {"id": ["x"]}, {1}),
    ("ListTables", {"id": ["n"], "limit": 0}, {13}),
    ("ListAllTables", {"context": {"delimiter": "t"}}, {13}),
    ("DescribeTable", {"id": ["n", "x"]}, {4}),
    ("DescribeTable", {**T, "version": 9}, {11}),
    ("DescribeTable", {**T, "version": 1, "tag": "old"}, {13}),
    ("DescribeTable", {"id": ["d"], "load_detailed_metadata": True}, {19}),
    ("DescribeTable", {"id": ["d"], "version": 1}, {19, 11}),
    ("TableExists", {"id": ["d"], "version": 1}, {4}),
    ("DeclareTable", {"id": ["d"]}, {5}),
    ("DeclareTable", {"id": ["n", "m"]}, {5}),
    ("DeclareTable", {"id": ["x", "y"]}, {1}),
    ("DeclareTable", {"id": ["x"], "location": ""}, {13}),
    ("CreateTable", T, {5}),
    ("InsertIntoTable", {"id": ["x"]}, {4}),
    ("InsertIntoTable", {**T, "mode": "merge"}, {13}),
    ("InsertIntoTable", {**T, "branch": "x"}, {22}),
    ("UpdateTable", {**T, "updates": [["x", "1"]]}, {12}),
    ("UpdateTable", {"id": ["d"], "updates": [["id", "1"]]}, {19}),
    ("MergeInsertIntoTable", {**T, "on": "x"}, {12, 13}),
    ("CountTableRows", {**T, "version": 9}, {11}),
    ("CountTableRows", {"id": ["d"]}, {19}),
    ("CountTableRows", {"id": ["d"], "version": 1}, {19, 11}),
    ("QueryTable", {**T, "columns": {"column_names": ["x"]}}, {12}),
    ("QueryTable", {**T, "branch": "x"}, {22}),
    ("QueryTable", {**T, "filter": "id >>> (("}, {13}),
    ("QueryTable", {**T, "filter": "nothing = 1"}, {12, 13}),
    ("DeleteFromTable", {**T, "predicate": ""}, {13}),
    ("MergeInsertIntoTable", T, {13}),
    ("DescribeTable", {**T, "tag": "new"}, {4, 8, 11}),
    ("GetTableStats", {"id": ["x"]}, {4}),
    ("ExplainTableQueryPlan", {**T, "query": {"vector": None, "k": 1, "version": 9}}, {4, 11}),
    ("DescribeTableIndexStats", {**T, "index_name": "x"}, {6}),
    ("UpdateFieldMetadata", {**T, "updates": [{"path": "x", "metadata": {}}]}, {12}),
    ("RestoreTable", {**T, "version": 0}, {11, 13}),
    ("DescribeTableVersion", {**T, "version": 9}, {11}),
    ("RestoreTable", {**T, "version": 9}, {11}),
    ("CreateTableTag", {**T, "tag": "old", "version": 1}, {9}),
    ("CreateTableTag", {**T, "tag": "new", "version": 9}, {11}),
    ("UpdateTableTag", {**T, "tag": "new", "version": 1}, {8}),
    ("GetTableTagVersion", {**T, "tag": "new"}, {8}),
    ("DeleteTableTag", {**T, "tag": "new"}, {8}),
    ("CreateTableBranch", {**T, "name": "b"}, {23}),
    ("DeleteTableBranch", {**T, "name": "x"}, {22}),
    ("CreateTableScalarIndex", {**T, "name": "by_id", "column": "id"}, {7}),
    ("CreateTableScalarIndex", {**T, "name": "x", "column": "x"}, {12}),
    ("DropTableIndex", {**T, "index_name": "x"}, {6}),
    ("AlterTableDropColumns", {**T, "columns": ["x"]}, {12}),
    ("AlterTableDropColumns", {**T, "columns": ["id", "name", "score"]}, {13, 20}),
    ("DropTable", {"id": ["x"]}, {4}),
    ("DeregisterTable", {"id": ["n", "x"]}, {4}),
    ("RenameTable", {**T, "new_table_name": "m"}, {5}),
    ("RenameTable", {**T, "new_table_name": "x", "new_namespace_id": ["y"]}, {1}),
    ("DropTable", {"id": []}, {13}),
    ("DropTable", {"id": ["n", ""]}, {13}),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "request_", "codes"), REFUSED)
def test_an_impossible_call_has_its_codes(
    operation: str, request_: dict[str, Any], codes: set[int], tree: Tree
) -> None:
    rows = ROWS if operation in WITH_ROWS else None
    outcome = tree.expect(Call(operation, request_, rows))
    assert isinstance(outcome, Refused)
    assert outcome.codes == codes


# operation, request, answer, and the reads whose answers are right only afterwards
EFFECTS: list[tuple[str, dict[str, Any], Any, list[tuple[str, dict[str, Any], Any]]]] = [
    ("RestoreTable", {**T, "version": 1}, answer(),
     [("CountTableRows", T, answer(count=3)), ("QueryTable", T, found(*FOUR[:3]))]),
    ("UpdateTable", {**T, "updates": [["name", "'z'"]], "predicate": "id > 3"},
     answer(version=4, updated_rows=1), [("QueryTable", T, found(*FOUR[:3], (4, "z", 2.0)))]),
    ("DeleteFromTable", {**T, "predicate": "id = 1"}, answer(version=4),
     [("QueryTable", T, found(*FOUR[1:])),
      ("ListTableVersions", T, answer(versions=[answer(version=n) for n in (1, 2, 3, 4)]))]),
    ("UpdateFieldMetadata", {**T, "updates": [{"path": "id", "metadata": {"kit.a": "1"}}]}, answer(version=4),
     [("UpdateFieldMetadata", {**T, "updates": [{"path": "id", "metadata": {"kit.b": "2"}}]},
       answer(version=5, fields={"id": {"kit.a": "1", "kit.b": "2"}}))]),
    ("BatchDeleteTableVersions", {**T, "ranges": [{"start_version": 1, "end_version": 2}]},
     answer(deleted_count=1),
     [("ListTableVersions", T, answer(versions=[answer(version=n) for n in (2, 3)]))]),
    ("UpdateTableTag", {**T, "tag": "old", "version": 2}, answer(),
     [("GetTableTagVersion", {**T, "tag": "old"}, answer(version=2))]),
    ("DeleteTableTag", {**T, "tag": "old"}, answer(), [("ListTableTags", T, answer(tags={}))]),
    ("CreateTableTag", {**T, "tag": "new", "version": 3}, answer(),
     [("ListTableTags", T, answer(tags={"old": answer(version=1), "new": answer(version=3)}))]),
    ("DeleteTableBranch", {**T, "name": "b"}, answer(), [("ListTableBranches", T, answer(branches={}))]),
    ("DropTableIndex", {**T, "index_name": "by_id"}, answer(), [("ListTableIndices", T, answer(indexes=[]))]),
    ("AlterTableDropColumns", {**T, "columns": ["score"]}, answer(version=4),
     [("QueryTable", T, found(*[row[:2] for row in FOUR], columns=("id", "name")))]),
    ("AlterTableAlterColumns", {**T, "alterations": [{"path": "name", "rename": "name1"}]}, answer(version=4),
     [("QueryTable", T, found(*FOUR, columns=("id", "name1", "score")))]),
    ("RenameTable", {**T, "new_table_name": "u", "new_namespace_id": []}, answer(),
     [("ListTables", {"id": ["n"]}, answer(tables=[])),
      ("ListTables", {"id": []}, answer(tables=["d", "u"]))]),
    ("DropTable", T, table("n", "t", id=["n", "t"]), [("ListTables", {"id": ["n"]}, answer(tables=[]))]),
    ("DropNamespace", {"id": ["n"], "behavior": "Cascade"}, answer(properties={"a": "1"}),
     [("ListNamespaces", {"id": []}, answer(namespaces=[])), ("ListAllTables", {}, answer(tables=["d"]))]),
]  # fmt: skip
DONE = {f"{row[0]} {number}": row for number, row in enumerate(EFFECTS)}


@pytest.mark.parametrize("name", DONE)
def test_reads_show_the_effect_of_a_call(name: str, tree: Tree) -> None:
    operation, request, given, reads = DONE[name]
    for read, asked, shown in reads:
        with pytest.raises(AssertionError):
            do(tree.copy(), read, shown, **asked)
    do(tree, operation, given, **request)
    for read, asked, shown in reads:
        do(tree, read, shown, **asked)


def test_a_page_token_continues_only_its_own_listing(tree: Tree) -> None:
    do(tree, "ListAllTables", answer(tables=["d"], page_token="x"), limit=1)
    do(tree, "ListAllTables", answer(tables=["n$t"]), page_token="x")
    outcome = tree.expect(Call("ListNamespaces", {"id": [], "page_token": "x"}))
    assert isinstance(outcome, Refused)
    assert outcome.codes == {13}
