"""Vector and full-text search."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ...indexed_tables import (
    built,
    ids_in_order,
    rows_of_query,
    search,
    search_rows,
    table_of,
    text,
    text_table,
    words,
)
from ...lab import Lab, Skipped
from ...missing_codes import NO_COLUMN
from ...requirement import Level, check
from ...rows import people, stream
from ...table_versions import newest_version

_QUERY = "rest.yaml, QueryTableRequest"
_INDEX = "rest.yaml, CreateTableIndexRequest"
_TABLES = ["tables"]
_MANY = tuple(range(1, 41))
TEXTS = {1: "red fox", 2: "green fox", 3: "red hen", 4: "blue whale", 5: None}
_QUERIES = "rest.yaml, MatchQuery, PhraseQuery, BoostQuery, MultiMatchQuery and BooleanQuery"
_NEEDED = ("CreateTableScalarIndex", "QueryTable", "CreateTable")
_READ = ("QueryTable", "CreateTable")
_BOTH = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
_FTS_QUERIES = "rest.yaml, StringFtsQuery, FtsQuery and its kinds of queries"
_FOXES = ["red fox", "red hen", "blue fox", "blue whale fox"]


@check("LN-SEARCH-001", "A search skips offset rows and returns at most k rows, nearest first.",
       _QUERY, "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def k_and_offset(lab: Lab) -> None:
    table = lab.shared_table()
    lab.same(search(lab, table, k=1), [7], "the nearest")
    lab.same(search(lab, table, k=5), [7, 8, 6, 9, 5], "the five nearest rows")
    lab.same(search(lab, table, k=100), [7, 8, 6, 9, 5, 10, 4, 3, 2, 1], "all rows, nearest first")
    lab.same(search(lab, table, k=2, offset=2), [6, 9], "two rows after the first two")


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
    lab.same(search(lab, table, k=1, version=1), [3], "the nearest rows in version 1")
    found = search_rows(lab, table, columns={"column_names": ["name"]}).column_names
    lab.that("name" in found and "score" not in found, "only the column name", found)


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
    lab.same(found.column("id").to_pylist()[-1], 3, "the farthest row by cosine distance")
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
       f"{_QUERY}: code 13 in a search; wire facts, which allow k = 0", "QueryTable",
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
    lab.that(
        "_rowid" not in lab.query(table).column_names, "no _rowid column unless requested", "one"
    )


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
    lab.same(
        search(lab, table, k=3, bypass_vector_index=True),
        [7, 8, 6],
        "the nearest rows without the index",
    )
    lab.given("InsertIntoTable", stream(people(41)), id=table)
    lab.same(search(lab, table, at=41.0, k=1), [41], "a row added after the index was created")
    lab.same(search(lab, table, at=41.0, k=1, fast_search=True), [40], "with fast_search")


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
    lab.same(len(words(lab, table, text("red fox"), k=1)), 1, "the number of rows for k=1")
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
        lab.same(reply.rows.column("id").to_pylist(), [7, 8, 6], f"the nearest rows with {more}")


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
        {"vector": lab.no_vector(), "columns": both},
        {"vector": lab.no_vector(), "full_text_query": text},
        {"vector": {**vector, "multi_vector": [[1.0, 0.0]]}},
        {"vector": vector, "minimum_nprobes": 5, "maximum_nprobes": 2},
        {"vector": {"single_vector": [1.0, 0.0, 0.0]}},
    ):
        lab.refused("QueryTable", [13], id=table, k=1, **request)


@check("LN-SEARCH-014", "A query with several vectors searches for each of them.",
       "rest.yaml, QueryTableRequestVector", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def several_vectors(lab: Lab) -> None:
    vectors = {"multi_vector": [[2.1, 0.0], [9.1, 0.0]]}
    reply = lab.call("QueryTable", id=lab.shared_table(), vector=vectors, k=1, vector_column="vec")
    if reply.code in (0, 13):
        raise Skipped(f"QueryTable with several vectors: {reply.outcome()}")
    lab.must_succeed(reply)
    lab.same(
        sorted(set(reply.rows.column("id").to_pylist())), [2, 9], "the row nearest to each vector"
    )


def tree(**query: Any) -> dict[str, Any]:
    """Return a structured query."""
    return {"structured_query": {"query": query}}


@check("LN-SEARCH-015",
       "A phrase query matches its words in order, with at most slop words between them.", _QUERIES,
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def phrases(lab: Lab) -> None:
    table = text_table(lab, ["red fox", "red swift fox", "fox red"], with_position=True)
    for slop, due in ((0, [1]), (1, [1, 2])):
        phrase = {"terms": "red fox", "column": "text", "slop": slop}
        found = words(lab, table, tree(phrase=phrase))
        # Some engines count reordered words as slop, so id 3 is optional with a slop above 0.
        lab.same([i for i in found if i != 3 or slop == 0], due, f"the ids with slop={slop}")


@check("LN-SEARCH-016",
       "fuzziness finds words with other spellings; their first prefix_length letters must match.",
       _QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def fuzzy(lab: Lab) -> None:
    table = text_table(lab, ["quartz", "quarks", "square"], stem=False)
    for more, due in (
        ({}, []), ({"fuzziness": 1}, [1]), ({"fuzziness": 0}, []),
        ({"fuzziness": 1, "prefix_length": 5}, [1]), ({"fuzziness": 1, "prefix_length": 6}, []),
    ):  # fmt: skip
        lab.same(words(lab, table, match("quarty", **more)), due, f"the ids with {more}")


def term(word: str) -> dict[str, Any]:
    """Return the part of a structured query that matches a word."""
    return {"match": {"terms": word, "column": "text"}}


@check("LN-SEARCH-017",
       "In a boolean query, must and must_not filter and should ranks; should alone requires one "
       "match.", _QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def boolean(lab: Lab) -> None:
    table = text_table(lab, ["red fox", "green fox", "red hen", "blue whale"])
    red, fox, whale = (term(word) for word in ("red", "fox", "whale"))
    for more, due in (({}, [1, 2, 3]), ({"operator": "Or"}, [1, 2, 3]), ({"operator": "And"}, [1])):
        lab.same(
            words(lab, table, match("red fox", **more)),
            due,
            f"the ids for any or all words with {more}",
        )
    for must, must_not, should, due in (
        ([red], [], [fox], [1, 3]), ([red, fox], [], [], [1]), ([fox], [red], [], [2]),
        ([], [], [red, whale], [1, 3, 4]), ([], [red], [fox, whale], [2, 4]),
        ([fox], [red, whale], [], [2]), ([fox], [whale, red], [], [2]),
    ):  # fmt: skip
        query = {"must": must, "must_not": must_not, "should": should}
        lab.same(words(lab, table, tree(boolean=query)), due, f"the ids for {query}")
    for word, due in (("fox", [1, 3]), ("hen", [3, 1])):
        ranked = tree(boolean={"must": [red], "must_not": [], "should": [term(word)]})
        request = {"vector": lab.no_vector(), "k": 10, "full_text_query": ranked}
        reply = lab.call("QueryTable", id=table, **request)
        lab.must_succeed(reply)
        lab.same(
            reply.rows.column("id").to_pylist(),
            due,
            f"the ids, starting with those that contain {word}",
        )


@check("LN-SEARCH-018",
       "A boost query ranks rows that match the negative query lower, and still returns them.",
       _QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def boosted(lab: Lab) -> None:
    table = text_table(lab, ["red fox", "red hen", "blue whale"])
    for low, due in (("fox", [2, 1]), ("hen", [1, 2])):
        query = tree(boost={"positive": term("red"), "negative": term(low), "negative_boost": 0.9})
        request = {"vector": lab.no_vector(), "k": 10, "full_text_query": query}
        reply = lab.call("QueryTable", id=table, **request)
        if reply.code in (0, 13):
            raise Skipped(f"QueryTable with a boost: {reply.outcome()}")
        lab.must_succeed(reply)
        lab.same(reply.rows.column("id").to_pylist(), due, f"the ids, with {low} ranked lower")


@check("LN-SEARCH-019",
       "columns selects the columns to search; without it, all indexed columns are searched.",
       "rest.yaml, StringFtsQuery and MultiMatchQuery", *_NEEDED, capabilities=_TABLES)  # fmt: skip
def columns(lab: Lab) -> None:
    table = lab.table_id()
    rows = {"id": pa.array([1, 2], pa.int64()), "text": ["fox", "hen"], "title": ["hen", "owl"]}
    lab.given("CreateTable", stream(pa.table(rows)), id=table)
    for column in ("text", "title"):
        reply = lab.call(
            "CreateTableScalarIndex", id=table, column=column, index_type="FTS", name=f"on_{column}"
        )
        if not reply.succeeded:
            raise Skipped(f"CreateTableScalarIndex: {reply.outcome()}")
    built(lab, table)
    hen = [{"match": {"terms": "hen", "column": c}}["match"] for c in ("text", "title")]
    for query, due in (
        (text("hen", columns=["text"]), [2]),
        (text("hen", columns=["title"]), [1]),
        (text("hen"), [1, 2]),
        (text("hen", columns=["text", "title"]), [1, 2]),
        (tree(multi_match={"match_queries": hen}), [1, 2]),
        (tree(multi_match={"match_queries": hen[:1]}), [2]),
    ):
        lab.same(words(lab, table, query), due, f"the ids for {query}")


@check("LN-SEARCH-020", "multi_match gives each row its best score.", "rest.yaml, MultiMatchQuery",
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def best_score(lab: Lab) -> None:
    table = lab.table_id()
    texts = {"text": ["hen", "hen hen owl", "fox"], "title": ["a long hen of titles", "owl", "hen"]}
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), **texts})
    lab.given("CreateTable", stream(rows), id=table)
    for column in texts:
        lab.maybe(
            "CreateTableScalarIndex", id=table, column=column, index_type="FTS", name=f"on_{column}"
        )
    built(lab, table)
    parts = [{"terms": "hen", "column": column} for column in texts]

    def scores(query: dict[str, Any]) -> dict[int, float]:
        request = {"vector": lab.no_vector(), "k": 10, "full_text_query": query}
        reply = lab.call("QueryTable", id=table, **request)
        lab.may_refuse(reply)
        if "_score" not in reply.rows.column_names:
            raise Skipped("QueryTable returns no scores")
        return {row["id"]: round(row["_score"], 4) for row in reply.rows.to_pylist()}

    each = [scores(tree(match=part)) for part in parts]
    best = {
        i: max(found.get(i, 0.0) for found in each) for i in sorted({i for f in each for i in f})
    }
    found = scores(tree(multi_match={"match_queries": parts}))
    lab.same(dict(sorted(found.items())), best, "the scores by id")


@check("LN-SEARCH-021", "A combined vector and full-text search respects filter, columns and k.",
       "rest.yaml, QueryTableRequest: a mixture of these", *_NEEDED,
       capabilities=_TABLES)  # fmt: skip
def mixture(lab: Lab) -> None:
    table = lab.table_id()
    rows = people(*range(1, 9)).append_column("text", [["red fox", "red hen"] * 4])
    lab.given("CreateTable", stream(rows), id=table)
    lab.maybe("CreateTableScalarIndex", id=table, column="text", index_type="FTS")
    built(lab, table)
    near = {"single_vector": [1.0, 0.0]}

    def found(**more: Any) -> Any:
        request = {"vector": near, "vector_column": "vec", "full_text_query": text("fox"), **more}
        reply = lab.call("QueryTable", id=table, **{"k": 10, **request})
        lab.may_refuse(reply)
        return reply.rows

    everything = found()
    lab.that(
        {1, 3, 5, 7} <= set(everything["id"].to_pylist()),
        "all ids whose text contains the word",
        everything,
    )
    kept = found(filter="id > 4", prefilter=True)["id"].to_pylist()
    lab.that(bool(kept) and min(kept) > 4, "only ids above 4", kept)
    kept = found(filter="id > 4")["id"].to_pylist()
    lab.that(all(i > 4 for i in kept), "only ids above 4", kept)
    lab.that(found(k=2).num_rows <= 2, "at most two rows for k=2", found(k=2).num_rows)
    named = found(columns={"column_names": ["name"]}).column_names
    lab.that("name" in named and not {"id", "text", "vec"} & set(named), "the column name", named)


@check("LN-SEARCH-060", "vector_column may be omitted for a table's only vector column, whatever "
       "its position and type.",
       f"{_QUERY}, vector_column", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def only_column(lab: Lab) -> None:
    for kind in (pa.float32(), pa.float64(), pa.float16()):
        table, vectors = lab.table_id(), [[0.0, 9.0, 0.0], [1.0, 0.0, 4.0], [0.0, 0.0, 4.0]]
        lists = pa.array([[1], [2, 3], []], pa.list_(pa.int64()))
        rows = {"lists": lists, "Where": pa.array(vectors, pa.list_(kind, 3)), "id": [1, 2, 3]}
        if not lab.call("CreateTable", stream(pa.table(rows)), id=table).succeeded:
            continue
        near = {"vector": {"single_vector": [0.0, 0.0, 4.0]}, "k": 2}
        for more in ({}, {"vector_column": "Where"}):
            reply = lab.call("QueryTable", id=table, **near, **more)
            if kind != pa.float32() and reply.code in (0, 13):
                continue
            lab.must_succeed(reply)
            found = [(r["id"], r["_distance"]) for r in reply.rows.to_pylist()]
            lab.same(
                found, [(3, 0.0), (2, 1.0)], f"the nearest rows for vectors of {kind} with {more}"
            )


@check("LN-SEARCH-061",
       "A search returns the requested columns, aliases and row ids of the rows that it finds.",
       f"{_QUERY}, columns and with_row_id", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def search_columns(lab: Lab) -> None:
    table = lab.shared_table()
    row_ids = {r["id"]: r["_rowid"] for r in lab.query(table, with_row_id=True).to_pylist()}
    near = search_rows(lab, table, with_row_id=True, columns={"column_names": ["name", "id"]})
    lab.same(set(near.column_names), {"name", "id", "_rowid", "_distance"}, "the columns")
    due = [(i, f"n{i}", row_ids[i]) for i in (7, 8, 6)]
    lab.same([(r["id"], r["name"], r["_rowid"]) for r in near.to_pylist()], due, "the rows")
    whole = search_rows(lab, table).drop_columns(["_distance"]).to_pylist()
    lab.same(whole, people(7, 8, 6).to_pylist(), "exactly the columns of the rows")
    near = search_rows(lab, table, columns={"column_aliases": {"called": "name"}})
    lab.same(near.column("called").to_pylist(), ["n7", "n8", "n6"], "the column with a new name")


@check("LN-SEARCH-062",
       "An indexed search reflects deletions and updates, and honors the settings of the query.",
       f"{_QUERY}; rest.yaml, DeleteFromTable, UpdateTable and MergeInsertIntoTable",
       "CreateTableIndex", "DeleteFromTable", "UpdateTable", *_READ, capabilities=_TABLES)  # fmt: skip
def indexed_search(lab: Lab) -> None:
    table = lab.new_table(*range(1, 41))
    lab.maybe("CreateTableIndex", id=table, column="vec", index_type="IVF_FLAT", num_partitions=2,
              distance_type="l2", name="near")  # fmt: skip
    built(lab, table)
    version = newest_version(lab, table)
    every = {"nprobes": 2}
    for more, due in (
        ({"k": 4, "offset": 1}, [8, 6, 9, 5]), ({"filter": "id > 30", "prefilter": True, "k": 2}, [31, 32]),
        ({"upper_bound": 1.0, "k": 9}, [7, 8]), ({"lower_bound": 0.5, "k": 2}, [8, 6]),
        ({"filter": "id <> 8", "prefilter": False}, [7, 6]), ({"refine_factor": 1}, [7, 8, 6]),
        ({"distance_type": "l2", "k": 2}, [7, 8]), ({"bypass_vector_index": True, "k": 2}, [7, 8]),
    ):  # fmt: skip
        lab.same(search(lab, table, **every, **more), due, f"the nearest rows with {more}")
    both = {"minimum_nprobes": 2, "maximum_nprobes": 2}
    for probes in (every, {"minimum_nprobes": 2}, {**both, "nprobes": 1}):
        found = sorted(search(lab, table, k=40, **probes))
        lab.same(found, list(range(1, 41)), f"the ids in all partitions with {probes}")
    lab.given("DeleteFromTable", id=table, predicate="id = 7")
    lab.same(search(lab, table, **every), [8, 6, 9], "the nearest rows after a deletion")
    lab.given("UpdateTable", id=table, predicate="id = 8", updates=[["name", "'moved'"]])
    found = search_rows(lab, table, **every).column("name").to_pylist()
    lab.same(found, ["moved", "n6", "n9"], "the nearest rows after an update")
    far = people(6).set_column(3, "vec", pa.array([[500.0, 0.0]], pa.list_(pa.float32(), 2)))
    lab.ok("MergeInsertIntoTable", stream(far), id=table, **_BOTH)
    lab.same(
        search(lab, table, **every, k=2), [8, 9], "the nearest rows after a row's vector changed"
    )
    lab.same(search(lab, table, at=499.0, k=1), [6], "the row nearest to the new vector")
    lab.same(
        search(lab, table, version=version, **every),
        [7, 8, 6],
        "the nearest rows in the version before the changes",
    )


@check("LN-SEARCH-063",
       "A search without distance_type uses that of the index, and hamming counts differing bits.",
       f"{_QUERY}, distance_type", "CreateTableIndex", *_READ, capabilities=_TABLES)  # fmt: skip
def own_distance(lab: Lab) -> None:
    table, other = lab.table_id(), lab.table_id()
    vectors = pa.array([[10.0, 0.0], [0.0, 1.0], [3.0, 3.0]], pa.list_(pa.float32(), 2))
    bits = pa.array([[0, 255], [3, 1], [1, 0]], pa.list_(pa.uint8(), 2))
    lab.given("CreateTable", stream(pa.table({"id": [1, 2, 3], "vec": vectors})), id=table)
    if lab.call(
        "CreateTable", stream(pa.table({"id": [1, 2, 3], "vec": bits})), id=other
    ).succeeded:
        near = {"vector": {"single_vector": [0, 0]}, "k": 3, "vector_column": "vec"}
        reply = lab.call("QueryTable", id=other, distance_type="hamming", **near)
        if reply.code not in (0, 13):
            lab.must_succeed(reply)
            found = [(r["id"], r["_distance"]) for r in reply.rows.to_pylist()]
            lab.same(found, [(3, 1.0), (2, 3.0), (1, 8.0)], "the nearest rows by Hamming distance")
    lab.same(search(lab, table, at=1.0), [2, 3, 1], "the nearest rows without an index, by l2")
    for kind, due in (("cosine", [1, 3, 2]), ("l2", [2, 3, 1])):
        index = {"column": "vec", "index_type": "IVF_FLAT", "num_partitions": 1, "name": "near"}
        lab.maybe("CreateTableIndex", id=table, distance_type=kind, **index)
        built(lab, table)
        lab.same(search(lab, table, at=1.0), due, f"the nearest rows with an index for {kind}")
        lab.maybe("DropTableIndex", id=table, index_name="near")


_RED = term("red")

_FOX = term("fox")


def joined(must: Any = (), must_not: Any = (), should: Any = ()) -> dict[str, Any]:
    return {"boolean": {"must": [*must], "must_not": [*must_not], "should": [*should]}}


def lowered(positive: Any, negative: Any, **more: float) -> dict[str, Any]:
    return {"boost": {"positive": positive, "negative": negative, **more}}


@check("LN-SEARCH-080",
       "Search scores follow boost and negative_boost, and the scores of must and should are "
       "added.", _FTS_QUERIES,
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def scored(lab: Lab) -> None:
    table = text_table(lab, _FOXES)
    built(lab, table)

    def scores(node: dict[str, Any]) -> dict[int, float]:
        rows = rows_of_query(lab, table, full_text_query=tree(**node)).to_pylist()
        return {row["id"]: row.get("_score", 0.0) for row in rows}

    strong = {"match": {**_RED["match"], "boost": 3.0}}
    red, fox, half = scores(_RED), scores(_FOX), scores(lowered(_FOX, _RED, negative_boost=0.5))
    if not any(red.values()):
        raise Skipped("QueryTable returns no scores")
    for node, due in (
        (strong, {i: 3 * score for i, score in red.items()}), (joined([_RED, _FOX]), {1: red[1] + fox[1]}),
        (joined([strong], (), [_FOX]), {1: 3 * red[1] + fox[1], 2: 3 * red[2]}),
        (joined([_FOX], [_RED]), {3: fox[3], 4: fox[4]}),
        (joined((), (), [_RED, _FOX]), {**red, **fox, 1: red[1] + fox[1]}), (lowered(_FOX, _RED), half),
        (lowered(_FOX, _RED, negative_boost=0.0), fox), (lowered(_FOX, _RED), fox | {1: half[1]}),
    ):  # fmt: skip
        told = scores(node)
        lab.same(sorted(told), sorted(due), f"the ids for {node}")
        lab.that(
            all(abs(told[i] - due[i]) < 2e-3 for i in due), f"the scores {due} for {node}", told
        )
    lab.that(half[1] < fox[1], "a lower score for row 1, which the negative query matches", half)


@check("LN-SEARCH-081",
       "At any depth, an invalid query node fails with code 13 and a missing column with code 12 "
       "or 13.",
       _FTS_QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def wrong_nodes(lab: Lab) -> None:
    table = text_table(lab, _FOXES)
    lost, parts = {"match": {"terms": "red", "column": "nothing"}}, [_RED["match"]]
    request = {"id": table, "vector": lab.no_vector(), "k": 5}
    two = text("red", columns=["text", "no"])
    lab.refused("QueryTable", [0, *NO_COLUMN], **request, full_text_query=two)
    for code, bad in (
        (13, {}),
        (13, {**_RED, "multi_match": {"match_queries": parts}}),
        (12, lost),
        (13, {"match": {**_RED["match"], "operator": "Xor"}}),
        (12, {"phrase": {"terms": "red fox", "column": "nothing"}}),
        (12, {"multi_match": {"match_queries": [*parts, lost["match"]]}}),
    ):
        nodes = (bad, joined([_RED], [bad]), joined((), (), [_FOX, bad]), lowered(_RED, bad))
        for node in nodes:
            lab.refused("QueryTable", [0, code, 13], **request, full_text_query=tree(**node))


@check("LN-SEARCH-082",
       "Full-text queries can be nested, and search every indexed column if they name none.",
       _FTS_QUERIES, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def anywhere(lab: Lab) -> None:
    table = table_of(lab, {"id": pa.array([1, 2, 3], pa.int64()), "text": ["red fox", "hen", "fox owl red"],
                        "title": ["hen", "red fox", "owl"], "other": ["hen", "hen", "red fox"]})  # fmt: skip
    for column in ("text", "title"):
        index = {"column": column, "index_type": "FTS", "with_position": True}
        lab.maybe("CreateTableScalarIndex", id=table, **index)
    built(lab, table)
    hen, owl = {"match": {"terms": "hen"}}, {"match": {"terms": "owl"}}
    phrase, in_title = ({"phrase": {"terms": "red fox", **c}} for c in ({}, {"column": "title"}))
    for query, due in (
        (text("hen", columns=[]), [1, 2]), (tree(**hen), [1, 2]), (tree(**phrase), [1, 2]),
        (tree(**in_title), [2]), (tree(match={"terms": "hen", "column": "title"}), [1]),
        (tree(phrase={"terms": "fox owl red"}), [3]), (tree(**joined([hen], [in_title])), [1]),
        (tree(**joined([hen], [owl])), [1, 2]), (tree(**joined((), (), [in_title, owl])), [2, 3]),
        (tree(**joined([_RED], [phrase])), [3]), (tree(**lowered(_RED, phrase)), [1, 3]),
        (tree(**joined([lowered(_RED, owl)], [hen])), [3]),
        (tree(**lowered(joined([_RED], [owl]), hen)), [1]),
        (tree(**joined([joined((), (), [hen, owl]), _FOX])), [1, 3]),
        (tree(**joined([{"multi_match": {"match_queries": [_FOX["match"]]}}], [joined([owl])])), [1]),
    ):  # fmt: skip
        lab.same(words(lab, table, query), due, f"the ids for {query}")


@check("LN-SEARCH-083",
       "A full-text search returns the best rows first, and applies k, offset, filter, fuzziness "
       "and fast_search.",
       "rest.yaml, QueryTableRequest and MatchQuery", *_NEEDED, "InsertIntoTable", "ListTableIndices",
       capabilities=_TABLES)  # fmt: skip
def best_first(lab: Lab) -> None:
    table = text_table(lab, [*_FOXES, "quarta", "quartb", "quartc"])
    built(lab, table)
    foxes = {"full_text_query": text("red fox")}
    every = ids_in_order(lab, table, **foxes)
    lab.same(every[0], 1, "the best")
    for k, offset in ((1, 0), (1, 1), (2, 1), (10, 3), (10, 9)):
        some = ids_in_order(lab, table, **foxes, k=k, offset=offset)
        lab.same(some, every[offset : offset + k], f"the ids for k {k} and offset {offset}")
    for before, due in ((True, every[1:2]), (False, [])):
        some = ids_in_order(lab, table, **foxes, k=1, filter="id <> 1", prefilter=before)
        lab.same(some, due, f"the best rows with a filter and prefilter={before}")
    for terms, more, least, most in (
        ("quartx", {"fuzziness": 1}, 3, 3),
        ("quartx", {"fuzziness": 1, "max_expansions": 2}, 1, 2),
        ("quarxx", {"fuzziness": 1}, 0, 0),
        ("quarxx", {"fuzziness": 2}, 3, 3),
    ):
        asked = tree(match={"terms": terms, "column": "text", **more})
        some = ids_in_order(lab, table, full_text_query=asked)
        lab.that(least <= len(some) <= most, f"at most {most} ids with {more}", some)
    lab.given("InsertIntoTable", stream(pa.table({"id": [9], "text": ["red owl"]})), id=table)
    for fast, due in ((False, [1, 2, 9]), (True, [1, 2])):
        some = ids_in_order(lab, table, full_text_query=text("red"), fast_search=fast)
        (entry,) = lab.ok("ListTableIndices", id=table)["indexes"]
        if entry.get("num_unindexed_rows") == 1 or not fast:
            lab.same(sorted(some), due, f"the ids with fast_search={fast}")
