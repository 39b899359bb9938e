"""The exact request that each table method and each query step sends to the namespace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.models import TableVersion
from lance_namespace_impls.objects.search import Search
from lance_namespace_impls.objects.table import Table
from lance_namespace_impls.objects.values import literal

ROWS = pa.table({"id": [1]})


def V(number: int) -> TableVersion:
    """Return a version with this number."""
    return TableVersion(version=number, manifest_path="m")


T = {"id": ["n", "t"]}
B = {**T, "branch": "b"}
Call = Callable[[Table], Any]

CALLS: list[tuple[str, dict[str, Any], Call]] = [
    ("table_exists", T, lambda t: t.exists()),
    ("describe_table", T | {"load_detailed_metadata": False}, lambda t: t.describe()),
    ("describe_table", B | {"load_detailed_metadata": True}, lambda t: t.describe(details=True)),
    ("query_table", B | {"filter": "false", "k": 1}, lambda t: t.schema),
    ("get_table_stats", B, lambda t: t.stats()),
    ("count_table_rows", B, lambda t: t.count_rows()),
    ("count_table_rows", B | {"predicate": "x"}, lambda t: t.count_rows("x")),
    ("query_table", B | {"vector": None, "k": 5}, lambda t: t.head()),
    ("query_table", B | {"filter": "false", "k": 1}, lambda t: t.head(0)),
    ("query_table", B | {"vector": None, "k": 0}, lambda t: t.to_batches()),
    ("query_table", B | {"vector": None, "k": 0}, lambda t: t.to_arrow()),
    ("query_table", B | {"vector": None, "k": 0}, lambda t: t.to_pandas()),
    ("create_table", B | {"mode": "create"}, lambda t: t.create(ROWS)),
    ("create_table", B | {"mode": "exist_ok", "properties": {"a": "b"}},
     lambda t: t.create(ROWS, mode="exist_ok", properties={"a": "b"})),
    ("insert_into_table", B | {"mode": "append"}, lambda t: t.add(ROWS)),
    ("insert_into_table", B | {"mode": "overwrite"}, lambda t: t.add(ROWS, mode="overwrite")),
    ("merge_insert_into_table",
     B | {"on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True},
     lambda t: t.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
     .execute(ROWS)),
    ("merge_insert_into_table",
     B | {"on": ["id", "k"], "when_matched_update_all": True, "when_matched_update_all_filt": "m",
          "when_not_matched_by_source_delete": True, "use_index": True, "timeout": "1500ms",
          "when_not_matched_by_source_delete_filt": "d"},
     lambda t: t.merge_insert(("id", "k")).when_matched_update_all(where="m")
     .when_not_matched_by_source_delete("d").use_index(True)
     .execute(ROWS, timeout=timedelta(milliseconds=1500))),
    ("update_table", B | {"updates": [["a", "1"], ["b", "a * 2"]], "predicate": "w"},
     lambda t: t.update("w", {"a": 1}, values_sql={"b": "a * 2"})),
    ("update_table", B | {"updates": [["b", "0"]]}, lambda t: t.update(values_sql={"b": "0"})),
    ("delete_from_table", B | {"predicate": "w"}, lambda t: t.delete("w")),
    ("list_table_versions", B, lambda t: t.list_versions()),
    ("get_table_tag_version", T | {"tag": "v"}, lambda t: t.checkout("v")),
    ("restore_table", B | {"version": 3}, lambda t: t.restore(3)),
    ("restore_table", B | {"version": 7}, lambda t: t.branches.checkout("b", 7).restore()),
    ("list_table_tags", T, lambda t: t.tags.list()),
    ("create_table_tag", B | {"tag": "v", "version": 3}, lambda t: t.tags.create("v", 3)),
    ("get_table_tag_version", T | {"tag": "v"}, lambda t: t.tags.get_version("v")),
    ("describe_table_version", B, lambda t: t.version),
    ("list_table_branches", T, lambda t: t.branches.list()),
    ("create_table_branch", T | {"name": "n"}, lambda t: t.branches.create("n")),
    ("create_table_branch", T | {"name": "n", "from_branch": "m", "from_version": 2},
     lambda t: t.branches.create("n", "m", 2)),
    ("delete_table_branch", T | {"name": "n"}, lambda t: t.branches.delete("n")),
    ("alter_table_add_columns",
     B | {"new_columns": [{"name": "c", "expression": "a * 2"}, {"name": "d", "computed": "a"}]},
     lambda t: t.add_columns({"c": "a * 2"}, computed={"d": "a"})),
    ("alter_table_alter_columns",
     B | {"alterations": [{"path": "a", "rename": "b", "data_type": {"type": "int32"}}]},
     lambda t: t.alter_columns({"path": "a", "rename": "b", "data_type": pa.int32()})),
    ("alter_table_drop_columns", B | {"columns": ["a"]}, lambda t: t.drop_columns(["a"])),
    ("describe_table_index_stats", B | {"index_name": "i"}, lambda t: t.index_stats("i")),
    ("update_table_tag", B | {"tag": "there", "version": 3}, lambda t: t.tags.update("there", 3)),
    ("delete_table_tag", T | {"tag": "v"}, lambda t: t.tags.delete("v")),
    ("create_table_index", B | {"column": "c", "index_type": "IVF_PQ", "num_partitions": 2},
     lambda t: t.create_index("c", num_partitions=2)),
    *(("create_table_scalar_index", B | {"column": "c", "index_type": kind},
       lambda t, kind=kind: t.create_index("c", index_type=kind))
      for kind in ("btree", "BITMAP", "LABEL_LIST", "FTS", "INVERTED")),
    ("list_table_indices", B, lambda t: t.list_indices()),
    ("drop_table_index", B | {"index_name": "i"}, lambda t: t.drop_index("i")),
    ("rename_table", T | {"new_table_name": "u"}, lambda t: t.rename("u")),
    ("rename_table", T | {"new_table_name": "u", "new_namespace_id": ["m"]},
     lambda t: t.rename("u", namespace=["m"])),
    ("drop_table", T, lambda t: t.drop()),
]  # fmt: skip


@pytest.fixture
def namespace() -> MagicMock:
    """A namespace that records its requests and returns a single page for every listing."""
    asked = MagicMock()
    page = SimpleNamespace(
        versions=[], indexes=["i"], tags={"there": "x"}, branches={}, page_token=None
    )
    for kind in ("versions", "tags", "indices", "branches"):
        name = f"list_table_{kind}"
        getattr(asked, name).return_value = page
    asked.describe_table_version.return_value.version.version = 9
    asked.count_table_rows.return_value.count = 4
    return asked


@pytest.mark.parametrize(("operation", "request_", "call"), CALLS)
def test_a_method_sends_exactly_this_request(
    namespace: MagicMock, operation: str, request_: dict[str, Any], call: Call
) -> None:
    call(Table(namespace, ("n", "t"), branch="b"))
    assert getattr(namespace, operation).call_args.args[0] == request_


WRITES: list[Call] = [
    lambda t: t.create(ROWS),
    lambda t: t.add(ROWS),
    lambda t: t.merge_insert("id").execute(ROWS),
    lambda t: t.update(values={"a": 1}),
    lambda t: t.delete("true"),
    lambda t: t.create_index("c"),
    lambda t: t.drop_index("i"),
]


def test_an_older_version_is_read_only(
    namespace: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Table(namespace, ("n", "t"), version=7, branch="b")
    assert old.count_rows() == 4
    assert namespace.count_table_rows.call_args.args[0] == {**B, "version": 7}
    opened = MagicMock()
    monkeypatch.setattr("lance_namespace_impls.tables.dataset.open_through", opened)
    old.to_lance()
    assert opened.call_args.args == (namespace, ("n", "t"), 7, "b")
    old.describe(details=True)
    wanted = {**B, "version": 7, "load_detailed_metadata": True}
    assert namespace.describe_table.call_args.args[0] == wanted
    namespace.reset_mock()
    for write in WRITES:
        with pytest.raises(InvalidInputError, match=r"n\.t is checked out at version 7"):
            write(old)
    assert not namespace.method_calls
    with pytest.raises(InvalidInputError, match="specify a version"):
        Table(namespace, ("n", "t")).restore()


def test_all_pages_are_requested(namespace: MagicMock) -> None:
    pages = [
        SimpleNamespace(versions=[V(1), V(2)], tags={"a": 1}, indexes=["i"], page_token="more"),
        SimpleNamespace(versions=[], tags={}, indexes=[], page_token="last"),
        SimpleNamespace(versions=[V(3)], tags={"b": 2}, indexes=["j"], page_token=None),
    ]
    table = Table(namespace, ("n", "t"))
    for listing, asked, expected in (
        (table.list_versions, namespace.list_table_versions, [V(1), V(2), V(3)]),
        (table.tags.list, namespace.list_table_tags, {"a": 1, "b": 2}),
        (table.list_indices, namespace.list_table_indices, ["i", "j"]),
    ):
        asked.side_effect = pages
        assert listing() == expected
        tokens = [call.args[0].get("page_token") for call in asked.call_args_list]
        assert tokens == [None, "more", "last"]


def test_the_identity_of_a_table(namespace: MagicMock) -> None:
    namespace.namespace_id.return_value = "here"
    table = Table(namespace, ("n", "t"), version=7, branch="b")
    same = Table(namespace, "n.t", branch="b")
    assert same != table
    same.checkout(7)
    assert same == table
    assert hash(same) == hash(table)
    assert repr(table) == "Table('n.t', version=7, branch='b')"
    assert (str(table), table.name, bool(table)) == ("n.t", "t", True)
    others = [Table(namespace, "n.t", version=8, branch="b"), Table(namespace, "n.t", version=7)]
    assert all(other != table for other in [*others, table.rename("u")])
    assert table != "n.t"
    renamed = table.rename("u", namespace="m")
    assert (renamed.id, renamed.current_branch()) == (("m", "u"), "b")
    assert repr(table.rename("u")) == "Table('n.u', branch='b')"
    namespace.get_table_tag_version.return_value = SimpleNamespace(version=2, branch="of tag")
    table.checkout("v")
    assert (table.version, table.current_branch()) == (2, "of tag")
    table.checkout_latest()
    assert table.current_branch() == "b"
    with pytest.raises(InvalidInputError, match="needs a name"):
        Table(namespace, ())


# --- queries

VECTOR = {"single_vector": [1.0, 2.0]}
NO_VECTOR = {"vector": None, "k": 10}
STEPS: list[tuple[dict[str, Any], Callable[[Table], Search]]] = [
    ({"vector": None, "k": 0}, lambda t: t.search()),
    ({"vector": VECTOR, "k": 10}, lambda t: t.search([1, 2])),
    ({"vector": {"multi_vector": [[1.0], [2.0]]}, "k": 10}, lambda t: t.search([[1], np.array([2])])),
    ({"vector": VECTOR, "vector_column": "v", "k": 10}, lambda t: t.search((1, 2), "v")),
    (NO_VECTOR | {"full_text_query": {"string_query": {"query": "w"}}}, lambda t: t.search("w")),
    (NO_VECTOR | {"full_text_query": {"string_query": {"query": "w"}}},
     lambda t: t.search().text("w")),
    (NO_VECTOR | {"full_text_query": {"string_query": {"query": "w", "columns": ["c"]}}},
     lambda t: t.search("w", fts_columns="c")),
    ({"vector": VECTOR, "k": 10, "vector_column": "v",
      "full_text_query": {"string_query": {"query": "w"}}},
     lambda t: t.search(np.array([1, 2]), "v").text("w")),
    ({"vector": None, "k": 0, "filter": "(a) AND (b)"}, lambda t: t.search().where("a").where("b")),
    ({"vector": VECTOR, "k": 10, "filter": "a", "prefilter": True},
     lambda t: t.search([1, 2]).where("a")),
    ({"vector": VECTOR, "k": 10, "filter": "a", "prefilter": False},
     lambda t: t.search([1, 2]).where("a", prefilter=False)),
    (NO_VECTOR | {"full_text_query": {"string_query": {"query": "w"}}, "filter": "a",
                  "prefilter": True}, lambda t: t.search("w").where("a")),
    ({"vector": None, "k": 0, "columns": {"column_names": ["a"]}}, lambda t: t.search().select("a")),
    ({"vector": None, "k": 0, "columns": {"column_names": ["a", "b"]}},
     lambda t: t.search().select(("a", "b"))),
    ({"vector": None, "k": 0, "columns": {"column_aliases": {"a": "b"}}},
     lambda t: t.search().select({"a": "b"})),
    ({"vector": VECTOR, "k": 1, "offset": 2, "distance_type": "dot", "nprobes": 3,
      "refine_factor": 4, "bypass_vector_index": True, "with_row_id": True},
     lambda t: t.search([1, 2]).limit(1).offset(2).distance_type("dot").nprobes(3)
     .refine_factor(4).bypass_vector_index()
     .with_row_id()),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "search"), STEPS)
def test_a_query_sends_exactly_this_request(
    namespace: MagicMock, request_: dict[str, Any], search: Callable[[Table], Search]
) -> None:
    query = search(Table(namespace, ("n", "t"), branch="b"))
    query.to_arrow()
    assert namespace.query_table.call_args.args[0] == {**B, **request_}
    query.explain_plan(verbose=True)
    explained = {"id": ["n", "t"], "query": {"branch": "b", **request_}, "verbose": True}
    assert namespace.explain_table_query_plan.call_args.args[0] == explained


def test_invalid_queries_and_representations(namespace: MagicMock) -> None:
    table = Table(namespace, ("n", "t"))
    for wrong in (
        lambda: table.search("w", query_type="vector"),
        lambda: table.search([1.0], query_type="fts"),
        lambda: table.search([1.0], query_type="hybrid").to_arrow(),
        lambda: table.search(query_type="other"),
        lambda: table.search().limit(0),
    ):
        with pytest.raises(InvalidInputError):
            wrong()
    assert table.search().explain_plan()
    assert namespace.explain_table_query_plan.call_args.args[0]["verbose"] is False
    assert repr(table.search([1, 2])) == "Search('n.t', {'k': 10, 'vector': '...'})"
    assert repr(table.search()) == "Search('n.t', {'k': 0})"
    rows = namespace.query_table.return_value.__enter__.return_value.read_all.return_value
    rows.to_pylist.return_value = []
    for query, shown in ((table.search(), 10), (table.search([1]).limit(3), 3)):
        query._repr_html_()
        assert namespace.query_table.call_args.args[0]["k"] == shown


@pytest.mark.parametrize(
    ("value", "sql"),
    [(None, "NULL"), (True, "true"), (False, "false"), (2, "2"), (0.5, "0.5"), ("it's", "'it''s'")],
)
def test_a_value_as_sql(value: Any, sql: str) -> None:
    assert literal(value) == sql


def test_a_value_without_a_literal() -> None:
    with pytest.raises(InvalidInputError, match="bytes have no SQL literal"):
        literal(b"")
