"""Searches of QueryTable by vector and text, with and without an index, and query plans."""

from __future__ import annotations

from time import monotonic, sleep
from typing import Any

import pyarrow as pa

from ..lab import Lab, Skipped
from ..requirement import Level, check
from ..rows import people, stream
from .due import NO_COLUMN

_QUERY = "rest.yaml, QueryTableRequest"
_INDEX = "rest.yaml, CreateTableIndexRequest"
_TABLES = ["tables"]
_MANY = tuple(range(1, 41))
_LIMIT = "731.0625"
"""A number that does not occur in an analysis by chance."""
_BUILDING = 5.0
"""Seconds that an index build may take after the response to its creation."""


def built(lab: Lab, table: list[str], **of: Any) -> None:
    """Wait until each index of a table covers all rows, if statistics show that one does not.

    A server may respond before it has built an index. Indices without statistics are not waited
    for. If no index is listed in time, the check continues and reports that itself.

    Args:
        of: the branch; empty for the main branch.

    Raises:
        Skipped: an index does not cover all rows in time.
    """
    until = monotonic() + _BUILDING
    while not (covered := _covers(lab, table, of)):
        if monotonic() > until:
            if covered is None:
                return
            raise Skipped("an index that is not built in time")
        sleep(0.2)


def _covers(lab: Lab, table: list[str], of: dict[str, Any]) -> bool | None:
    """Return whether the statistics show that indices cover all rows; None if none is listed."""
    listed = lab.call("ListTableIndices", id=table, **of)
    if not listed.succeeded:
        return True
    entries = (listed.answer or {}).get("indexes") or ()
    for entry in entries:
        told = entry
        if entry.get("num_unindexed_rows") is None and entry.get("num_indexed_rows") is None:
            name = entry.get("index_name")
            told = lab.call("DescribeTableIndexStats", id=table, index_name=name, **of).answer or {}
        if told.get("num_unindexed_rows") or told.get("num_indexed_rows") == 0:
            return False
    return True if entries else None


def search(lab: Lab, table: list[str], *, at: float = 7.2, **more: Any) -> list[int]:
    """Return the ids found by a search near a point, in result order."""
    return list(search_rows(lab, table, at=at, **more).column("id").to_pylist())


def search_rows(lab: Lab, table: list[str], *, at: float = 7.2, **more: Any) -> Any:
    """Return the rows found by a search near a point."""
    request = {"vector": {"single_vector": [at, 0.0]}, "k": 3, "vector_column": "vec", **more}
    reply = lab.call("QueryTable", id=table, **request)
    if reply.code == 0:
        raise Skipped(f"QueryTable: {reply.outcome()}")
    lab.must_succeed(reply)
    return reply.rows


@check("LN-SEARCH-001", "A search skips offset rows and returns at most k rows, nearest first.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def k_and_offset(lab: Lab) -> None:
    table = lab.shared_table()
    lab.same(search(lab, table, k=1), [7], "the nearest")
    lab.same(search(lab, table, k=5), [7, 8, 6, 9, 5], "the five nearest")
    lab.same(search(lab, table, k=100), [7, 8, 6, 9, 5, 10, 4, 3, 2, 1], "all, nearest first")
    lab.same(search(lab, table, k=2, offset=2), [6, 9], "two after two")


@check("LN-SEARCH-002", "Without prefilter, the filter applies to the rows that the search found.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def postfilter(lab: Lab) -> None:
    table = lab.shared_table()
    lab.same(search(lab, table, k=3, prefilter=False, filter="id <> 7"), [8, 6], "the ids")
    lab.same(search(lab, table, k=3, prefilter=True, filter="id <> 7"), [8, 6, 9], "the ids")


@check("LN-SEARCH-003", "A search reads the requested version and returns the requested columns.",
       _QUERY, "QueryTable", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def version_and_columns(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    lab.given("InsertIntoTable", stream(people(7)), id=table)
    lab.same(search(lab, table, k=1), [7], "the nearest")
    lab.same(search(lab, table, k=1, version=1), [3], "the nearest in version 1")
    found = search_rows(lab, table, columns={"column_names": ["name"]}).column_names
    lab.that("name" in found and "score" not in found, "the column name alone", found)


@check("LN-SEARCH-004", "The distance types dot and cosine order rows by their own measure.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def distances(lab: Lab) -> None:
    table = lab.table_id()
    vectors = pa.array([[10.0, 0.0], [0.9, 0.0], [5.0, 5.0]], pa.list_(pa.float32(), 2))
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "vec": vectors})
    lab.given("CreateTable", stream(rows), id=table)
    for kind, due in (("l2", [2, 3, 1]), ("dot", [1, 3, 2])):
        lab.same(search(lab, table, at=1.0, distance_type=kind), due, f"the ids by {kind}")
    found = search_rows(lab, table, at=1.0, distance_type="cosine")
    lab.same(found.column("id").to_pylist()[-1], 3, "the farthest by cosine")
    last = found.column("_distance").to_pylist()[-1]
    lab.that(abs(last - (1 - 0.5**0.5)) < 1e-3, "a cosine distance of 0.293", last)


@check("LN-SEARCH-005", "lower_bound is inclusive, and upper_bound is exclusive.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def bounds(lab: Lab) -> None:
    table = lab.shared_table()  # distances from 7: 0, 1, 1, 4, 4, 9, 9, 16, ...
    found = search(lab, table, at=7.0, k=100, lower_bound=1.0, upper_bound=9.0)
    lab.same(sorted(found), [5, 6, 8, 9], "the ids from 1 to below 9")


@check("LN-SEARCH-006",
       "A search on a missing column fails with code 12 or 13, an unknown distance type with "
       "code 13.", _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def wrong(lab: Lab) -> None:
    table = lab.shared_table()
    vector = {"single_vector": [1.0, 0.0]}
    search(lab, table)
    lab.refused("QueryTable", NO_COLUMN, id=table, vector=vector, k=1, vector_column="nothing")
    lab.refused("QueryTable", [13], id=table, vector=vector, k=1, vector_column="vec",
                distance_type="by feeling")  # fmt: skip


@check("LN-SEARCH-022", "A nearest-neighbor search with k = 0 fails with code 13.",
       f"{_QUERY}: code 13 in a search; wire facts, where k is 0 or more", "QueryTable",
       "CreateTable", level=Level.SHOULD, capabilities=_TABLES)  # fmt: skip
def nearest_none(lab: Lab) -> None:
    table = lab.shared_table()
    search(lab, table)
    vector = {"single_vector": [1.0, 0.0]}
    lab.refused("QueryTable", [13], id=table, vector=vector, k=0, vector_column="vec")


@check("LN-SEARCH-007", "k = 0 means no limit in a query without a search.", _QUERY, "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def no_limit(lab: Lab) -> None:
    table = lab.shared_table()
    for more, due in (({}, 10), ({"offset": 4}, 6), ({"filter": "id > 3"}, 7),
                      ({"filter": "id > 3", "offset": 2}, 5)):  # fmt: skip
        lab.same(lab.query(table, k=0, **more).num_rows, due, f"the number of rows with {more}")


@check("LN-SEARCH-008", "_rowid is returned only on request, and is the same in every query.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def row_ids(lab: Lab) -> None:
    table = lab.shared_table()
    whole = lab.query(table, with_row_id=True)
    pairs = dict(
        zip(whole.column("id").to_pylist(), whole.column("_rowid").to_pylist(), strict=True)
    )
    some = lab.query(table, with_row_id=True, filter="id > 8", columns={"column_names": ["id"]})
    lab.same(sorted(some.column_names), ["_rowid", "id"], "the columns")
    for row in some.to_pylist():
        lab.same(row["_rowid"], pairs[row["id"]], f"the row id of {row['id']}")
    lab.that("_rowid" not in lab.query(table).column_names, "no _rowid unless asked for", "one")


@check("LN-SEARCH-009",
       "A search that uses a vector index finds the same nearest rows as one that does not.",
       f"{_INDEX}; {_QUERY}", "CreateTableIndex", "ListTableIndices", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def with_index(lab: Lab) -> None:
    table = lab.new_table(*_MANY)
    lab.maybe("CreateTableIndex", id=table, column="vec", index_type="IVF_FLAT", num_partitions=1,
              distance_type="l2", name="near")  # fmt: skip
    (entry,) = lab.ok("ListTableIndices", id=table)["indexes"]
    lab.same((entry["index_name"], list(entry["columns"])), ("near", ["vec"]), "the index")
    stats = lab.call("DescribeTableIndexStats", id=table, index_name="near")
    if stats.succeeded and (stats.answer or {}).get("distance_type") is not None:
        lab.same(stats.answer["distance_type"].lower(), "l2", "distance_type")  # type: ignore[index]
    lab.same(search(lab, table, k=3), [7, 8, 6], "the nearest")
    lab.same(search(lab, table, k=3, bypass_vector_index=True), [7, 8, 6], "without the index")
    lab.given("InsertIntoTable", stream(people(41)), id=table)
    lab.same(search(lab, table, at=41.0, k=1), [41], "a row that came after the index")
    lab.same(search(lab, table, at=41.0, k=1, fast_search=True), [40], "with fast_search")


TEXTS = {1: "red fox", 2: "green fox", 3: "red hen", 4: "blue whale", 5: None}


def table_of_texts(lab: Lab) -> list[str]:
    """Return a table of texts with a full-text index."""
    table = lab.table_id()
    rows = pa.table({"id": pa.array(list(TEXTS), pa.int64()), "text": list(TEXTS.values()),
                     "other": ["whale"] * len(TEXTS)})  # fmt: skip
    lab.given("CreateTable", stream(rows), id=table)
    reply = lab.call("CreateTableScalarIndex", id=table, column="text", index_type="FTS")
    if reply.code in (0, 13):
        raise Skipped(f"CreateTableScalarIndex: {reply.outcome()}")
    lab.must_succeed(reply)
    built(lab, table)
    return table


def words(lab: Lab, table: list[str], query: dict[str, Any], **more: Any) -> list[int]:
    """Return the sorted ids found by a full-text search."""
    request: dict[str, Any] = {"vector": lab.no_vector(), "k": 10, "full_text_query": query, **more}
    reply = lab.call("QueryTable", id=table, **request)
    if reply.code == 0:
        raise Skipped(f"QueryTable: {reply.outcome()}")
    lab.must_succeed(reply)
    return sorted(reply.rows.column("id").to_pylist())


def text(query: str, **more: Any) -> dict[str, Any]:
    """Return a full-text query of plain words."""
    return {"string_query": {"query": query, **more}}


def match(terms: str, **more: Any) -> dict[str, Any]:
    """Return a structured full-text query for words in one column."""
    return {"structured_query": {"query": {"match": {"terms": terms, "column": "text", **more}}}}


@check("LN-SEARCH-010", "A full-text query returns the rows that contain its words.",
       "rest.yaml, StringFtsQuery and StructuredFtsQuery", "CreateTableScalarIndex", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def full_text(lab: Lab) -> None:
    table = table_of_texts(lab)
    for query, due in (
        (text("fox"), [1, 2]), (text("whale"), [4]), (text("red fox"), [1, 2, 3]),
        (text("nothing"), []), (match("red"), [1, 3]),
        (match("red fox", operator="And"), [1]), (match("red fox", operator="Or"), [1, 2, 3]),
    ):  # fmt: skip
        lab.same(words(lab, table, query), due, f"the ids for {query}")
    lab.same(len(words(lab, table, text("red fox"), k=1)), 1, "the number of rows for k of 1")
    lab.same(
        words(lab, table, text("fox"), filter="id > 1", prefilter=True), [2], "the filtered ids"
    )


@check("LN-SEARCH-011", "Structured full-text queries combine their parts as specified.",
       "rest.yaml, FtsQuery", "CreateTableScalarIndex", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def structured(lab: Lab) -> None:
    table = table_of_texts(lab)
    red, fox = ({"match": {"terms": word, "column": "text"}} for word in ("red", "fox"))
    boolean = {"must": [red], "must_not": [fox], "should": []}
    for query, due in (
        ({"boolean": boolean}, [3]),
        ({"boolean": {"must": [red, fox], "must_not": [], "should": []}}, [1]),
        ({"boost": {"positive": red, "negative": fox}}, [1, 3]),
    ):
        found = words(lab, table, {"structured_query": {"query": query}})
        lab.same(found, due, f"the ids for {query}")


@check("LN-PLAN-004",
       "ExplainTableQueryPlan plans the requested query on the requested table and branch.",
       "rest.yaml, ExplainTableQueryPlanRequest", "ExplainTableQueryPlan", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def plans(lab: Lab) -> None:
    table = lab.new_table()
    query = {"vector": lab.no_vector(), "k": 3}

    def plan(**more: Any) -> str:
        answer = lab.ok("ExplainTableQueryPlan", id=table, query={**query, **more})
        return str(answer.get("plan"))

    lab.that(plan() != plan(filter="score > 1.25"), "another plan with a filter", "the same")
    lab.that("score" in plan(filter="score > 1.25"), "the filter in the plan", plan())
    lab.refused("ExplainTableQueryPlan", [13, 12], id=table, query={**query, "filter": "no = 1"})
    branch = lab.call("CreateTableBranch", id=table, name="side")
    added = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}
    if (
        branch.succeeded
        and lab.call("AlterTableAddColumns", id=table, branch="side", **added).succeeded
    ):
        lab.ok(
            "ExplainTableQueryPlan", id=table, branch="side", query={**query, "filter": "twice > 2"}
        )
        lab.refused(
            "ExplainTableQueryPlan", [12, 13], id=table, query={**query, "filter": "twice > 2"}
        )


@check("LN-PLAN-005", "AnalyzeTableQueryPlan runs the requested query.",
       "rest.yaml, AnalyzeTableQueryPlanRequest", "AnalyzeTableQueryPlan", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def analysis(lab: Lab) -> None:
    table = lab.new_table()
    request = {"id": table, "vector": lab.no_vector(), "k": 3}
    plain = str(lab.ok("AnalyzeTableQueryPlan", **request).get("analysis"))
    other = str(
        lab.ok("AnalyzeTableQueryPlan", **request, filter=f"score > {_LIMIT}").get("analysis")
    )
    lab.that("score" in other and _LIMIT in other, "the filter in the analysis", other[:300])
    lab.that(_LIMIT not in plain, "no filter in the analysis of none", plain[:300])
    lab.refused("AnalyzeTableQueryPlan", [12, 13], **request, filter="nothing = 1")
    lab.refused("AnalyzeTableQueryPlan", [12, 13], **request, columns={"column_names": ["nothing"]})
    query = {**request, "columns": {"column_names": ["nothing"]}}
    lab.refused("ExplainTableQueryPlan", [12, 13], id=query.pop("id"), query=query)
