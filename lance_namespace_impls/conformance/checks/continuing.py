"""Limits and page tokens of every listing, and fields that are only hints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..lab import Failed, Lab, Skipped
from ..requirement import Level, check
from ..rows import people, stream

_PAGING = "rest.yaml, PageToken and PageLimit"
_TABLES = ["tables"]
_OF_TABLES = (
    ("ListTableVersions", "versions"), ("ListTableTags", "tags"),
    ("ListTableBranches", "branches"), ("ListTableIndices", "indexes"),
)  # fmt: skip


def entries(answer: Any, key: str) -> list[Any]:
    """Return the identifying values of the entries of a page."""
    found = (answer or {}).get(key) or ()
    return [(e.get("version") or e.get("index_name")) if isinstance(e, dict) else e for e in found]


def crowded(lab: Lab) -> list[str]:
    """Return a table with several versions, tags, branches and indices, if the target has them."""
    table = lab.new_table(1)
    for number in range(2, 6):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    for name, column in (("a", "id"), ("b", "name"), ("c", "score"), ("d", "id"), ("e", "id")):
        lab.call("CreateTableTag", id=table, tag=name, version=1)
        lab.call("CreateTableBranch", id=table, name=name)
        lab.call("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
    return table


def paged(lab: Lab, table: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the listings of a table that have more than one entry."""
    for operation, key in _OF_TABLES:
        reply = lab.call(operation, id=table)
        if reply.succeeded and len(entries(reply.answer, key)) > 1:
            yield operation, key


@check("LN-PAGE-027", "A limit below 1 fails with code 13 in every listing.",
       f"{_PAGING}: 1 or more; wire facts and the published text of limit, which have no least",
       "CreateTable", level=Level.SHOULD, capabilities=_TABLES)  # fmt: skip
def limits(lab: Lab) -> None:
    table = crowded(lab)
    for operation, _ in paged(lab, table):
        for limit in (0, -1):
            lab.refused(operation, [13], id=table, limit=limit)
    if lab.shape.namespace_parent is not None:
        lab.refused("ListNamespaces", [13], id=list(lab.shape.namespace_parent), limit=0)


@check("LN-PAGE-028",
       "A page token of another listing fails with code 13 or resumes at its position; it never "
       "restarts.",
       f"{_PAGING}: code 13; rest.yaml, PageToken: no token may be taken for a name to start after",
       "CreateTable", level=Level.MAY, capabilities=_TABLES)  # fmt: skip
def of_another(lab: Lab) -> None:
    table, other = crowded(lab), crowded(lab)
    for operation, key in paged(lab, table):
        _no_new_start(lab, operation, key, table, other)
    if lab.shape.tables_in_new:
        parents = [lab.new_namespace(), lab.new_namespace()]
        for parent in parents:
            for name in "ab":
                lab.given("DeclareTable", id=[*parent, name])
        _no_new_start(lab, "ListTables", "tables", parents[0], parents[1])


def _no_new_start(lab: Lab, operation: str, key: str, one: list[str], other: list[str]) -> None:
    page = lab.ok(operation, id=one, limit=1)
    token, first = page.get("page_token"), entries(page, key)
    if not token:
        return
    reply = lab.call(operation, id=other, limit=1, page_token=token)
    if not reply.succeeded:
        lab.must_fail(reply, [13])
        return
    again = [entry for entry in entries(reply.answer, key) if entry in first]
    lab.same(again, [], f"what {operation} gives again for a token that stands behind it")


@check("LN-PAGE-029",
       "The last page of every listing has no token, and the pages together are the whole "
       "listing.", _PAGING, "CreateTable", capabilities=_TABLES)  # fmt: skip
def joined(lab: Lab) -> None:
    table = crowded(lab)
    for operation, key in paged(lab, table):
        whole = entries(lab.ok(operation, id=table), key)
        for limit in range(1, len(whole) + 2):
            found: list[Any] = []
            request: dict[str, Any] = {"id": table, "limit": limit}
            for _ in range(len(whole) + 2):
                page = lab.ok(operation, **request)
                given, token = entries(page, key), page.get("page_token")
                lab.that(len(given) <= limit, f"at most {limit} entries of {operation}", given)
                found += given
                if not token:
                    break
                request["page_token"] = token
            else:
                raise Failed(f"{operation} to end", "more pages than entries", lab.last)
            lab.same(sorted(found), sorted(whole), f"what the pages of {operation} give")


_HINTS: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("DescribeTable", None, {"vend_credentials": True}),
    ("DescribeTable", None, {"vend_credentials": False}),
    ("UpdateTable", None, {"updates": [["id", "id"]], "properties": {"why": "a test"}}),
    ("MergeInsertIntoTable", stream(people(1)),
     {"on": "id", "when_matched_update_all": True, "use_index": True}),
    ("ExplainTableQueryPlan", None,
     {"query": {"vector": {"single_vector": [1.0, 0.0]}, "vector_column": "vec", "k": 1}, "verbose": True}),
)  # fmt: skip


@check(
    "LN-FIELD-001",
    "Fields that only request more or less detail, or are hints, are accepted.",
    "rest.yaml, the fields of the requests",
    "DescribeTable",
    "CreateTable",
    capabilities=_TABLES,
)
def hints(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    for operation, data, request in _HINTS:
        reply = lab.call(operation, data, id=table, **request)
        if reply.code != 0:
            lab.must_succeed(reply)
    lab.same(lab.ids(table), [1, 2], "the ids")


@check("LN-QUERY-026", "The options of a vector search have no effect on a query without one.",
       "rest.yaml, QueryTableRequest", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def without_search(lab: Lab) -> None:
    table = lab.shared_table()
    for more in (
        {"upper_bound": 0.5}, {"lower_bound": 0.5}, {"distance_type": "cosine"}, {"nprobes": 1},
        {"refine_factor": 2}, {"ef": 1}, {"prefilter": True}, {"prefilter": False},
        {"bypass_vector_index": True}, {"fast_search": False},
    ):  # fmt: skip
        found = sorted(lab.query(table, filter="id > 6", **more).column("id").to_pylist())
        lab.same(found, [7, 8, 9, 10], f"the ids with {more}")


@check("LN-COLUMN-019",
       "A new column with no source of values, or with two, fails with code 13 and is not added.",
       "rest.yaml, AddColumnsEntry", "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def one_source(lab: Lab) -> None:
    table = lab.new_table(1)
    for entry in ({"expression": "id", "computed": "id"}, {}):
        lab.refused("AlterTableAddColumns", [13], id=table, new_columns=[{"name": "more", **entry}])
    lab.that("more" not in lab.query(table).column_names, "no new column", "one")


@check("LN-INDEX-023",
       "An index setting below its minimum fails with code 13 and creates no index.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def least(lab: Lab) -> None:
    table = lab.new_table()
    for key in ("num_partitions", "sample_rate", "max_iterations"):
        lab.refused(
            "CreateTableIndex", [13], id=table, column="vec", index_type="IVF_FLAT", **{key: 0}
        )
    for key in ("num_sub_vectors", "num_bits"):
        lab.refused(
            "CreateTableIndex", [13], id=table, column="vec", index_type="IVF_PQ", **{key: 0}
        )
    lab.same(list(lab.ok("ListTableIndices", id=table).get("indexes") or ()), [], "the indices")


@check("LN-SEARCH-012", "Vector index settings have no effect on a search that needs no index.",
       "rest.yaml, QueryTableRequest: ef, nprobes, refine_factor", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def settings(lab: Lab) -> None:
    table = lab.shared_table()
    near = {"vector": {"single_vector": [7.2, 0.0]}, "k": 3, "vector_column": "vec"}
    for more in (
        {}, {"nprobes": 1}, {"nprobes": 50}, {"refine_factor": 1}, {"ef": 10},
        {"minimum_nprobes": 1, "maximum_nprobes": 4}, {"fast_search": False},
    ):  # fmt: skip
        reply = lab.call("QueryTable", id=table, **near, **more)
        if reply.code == 0:
            raise Skipped(f"QueryTable: {reply.outcome()}")
        lab.must_succeed(reply)
        lab.same(reply.rows.column("id").to_pylist(), [7, 8, 6], f"the nearest with {more}")


@check("LN-SEARCH-013",
       "A field with alternative forms must have exactly one of them; otherwise the call fails "
       "with code 13.",
       "rest.yaml, QueryTableRequestColumns, QueryTableRequestVector, AddColumnsEntry",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def exactly_one(lab: Lab) -> None:
    table = lab.shared_table()
    vector = {"single_vector": [1.0, 0.0]}
    both = {"column_names": ["id"], "column_aliases": {"number": "id"}}
    text = {
        "string_query": {"query": "n1"},
        "structured_query": {"query": {"match": {"terms": "n1"}}},
    }
    for request in (
        {"vector": lab.no_vector(), "columns": both}, {"vector": lab.no_vector(), "full_text_query": text},
        {"vector": {**vector, "multi_vector": [[1.0, 0.0]]}},
        {"vector": vector, "minimum_nprobes": 5, "maximum_nprobes": 2},
        {"vector": {"single_vector": [1.0, 0.0, 0.0]}},
    ):  # fmt: skip
        lab.refused("QueryTable", [13], id=table, k=1, **request)


@check("LN-SEARCH-014", "A query with several vectors searches for each of them.",
       "rest.yaml, QueryTableRequestVector", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def several_vectors(lab: Lab) -> None:
    vectors = {"multi_vector": [[2.1, 0.0], [9.1, 0.0]]}
    reply = lab.call("QueryTable", id=lab.shared_table(), vector=vectors, k=1, vector_column="vec")
    if reply.code in (0, 13):
        raise Skipped(f"QueryTable of several vectors: {reply.outcome()}")
    lab.must_succeed(reply)
    lab.same(sorted(set(reply.rows.column("id").to_pylist())), [2, 9], "the nearest of each")
