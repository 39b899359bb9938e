"""Calls of lancedb that read and search."""

from __future__ import annotations

from lancedb import index
from lancedb.query import (
    BooleanQuery,
    BoostQuery,
    ColumnOrdering,
    MatchQuery,
    MultiMatchQuery,
    Occur,
    PhraseQuery,
)
from lancedb.rerankers import RRFReranker

from .lancedb_call import DIMENSION, ROWS, WORDS, Lance, call, failing, ids, near, rows

# --- reading


@call
def count_rows(it: Lance) -> None:
    assert it.table.count_rows() == ROWS


@call
def count_rows_with_filter(it: Lance) -> None:
    assert it.table.count_rows("id < 10") == 10


@call
def scan(it: Lance) -> None:
    assert it.table.search().to_arrow().equals(rows())


@call
def scan_where_and_limit(it: Lance) -> None:
    assert ids(it.table.search().where("id >= 10 AND id < 20").limit(5)) == [10, 11, 12, 13, 14]


@call
def scan_with_offset(it: Lance) -> None:
    assert ids(it.table.search().limit(3).offset(7)) == [7, 8, 9]


@call
def select_columns(it: Lance) -> None:
    assert it.table.search().select(["title", "id"]).limit(1).to_arrow().column_names == [
        "title",
        "id",
    ]


@call
def select_expressions(it: Lance) -> None:
    found = it.table.search().select({"twice": "id * 2", "name": "title"}).limit(2).to_list()
    assert found == [{"twice": 0, "name": "title 0"}, {"twice": 2, "name": "title 1"}]


@call
def select_row_ids(it: Lance) -> None:
    assert "_rowid" in it.table.search().with_row_id(True).limit(1).to_arrow().column_names


@call
def order_rows(it: Lance) -> None:
    ordering = [ColumnOrdering(column_name="id", ascending=False, nulls_first=False)]
    assert ids(it.table.search().order_by(ordering).limit(2)) == [511, 510]


@call
def take_offsets(it: Lance) -> None:
    assert sorted(ids(it.table.take_offsets([5, 3]))) == [3, 5]


@call
def take_row_ids(it: Lance) -> None:
    found = it.table.search().with_row_id(True).where("id IN (3, 5)").to_arrow()
    assert sorted(ids(it.table.take_row_ids(found.column("_rowid").to_pylist()))) == [3, 5]


@call
def search_vector(it: Lance) -> None:
    found = it.table.search(near(7)).limit(3).to_list()
    assert found[0]["id"] == 7
    assert {row["id"] for row in found} == {6, 7, 8}
    assert found[0]["_distance"] < 0.1


@call
def search_vector_with_offset(it: Lance) -> None:
    all_of_them = ids(it.table.search(near(7.2)).limit(5))
    assert ids(it.table.search(near(7.2)).limit(3).offset(2)) == all_of_them[2:]


@call
def search_vector_with_filter(it: Lance) -> None:
    assert ids(it.table.search(near(7)).where("id > 100").limit(2)) == [101, 102]


@call
def search_vector_filtered_after(it: Lance) -> None:
    assert ids(it.table.search(near(7)).where("id > 100", prefilter=False).limit(2)) == []


@call
def search_vector_by_cosine(it: Lance) -> None:
    found = it.table.search([1.0] * DIMENSION).distance_type("cosine").limit(1).to_list()
    assert abs(found[0]["_distance"]) < 1e-3


@call
def search_vector_in_range(it: Lance) -> None:
    found = it.table.search(near(7)).distance_range(1, 50).limit(10)
    assert set(ids(found)) == {5, 6, 8, 9}


@call
def search_vector_selecting(it: Lance) -> None:
    found = it.table.search(near(7)).select(["id", "_distance"]).limit(1).to_arrow()
    assert set(found.column_names) == {"id", "_distance"}


@call
def search_several_vectors(it: Lance) -> None:
    found = it.table.search([near(7), near(300)]).limit(1).to_list()
    assert [(row["query_index"], row["id"]) for row in found] == [(0, 7), (1, 300)]


@call
def search_vector_without_index(it: Lance) -> None:
    it.table.create_index("vector", config=index.IvfFlat(num_partitions=2))
    assert ids(it.table.search(near(7)).bypass_vector_index().limit(1)) == [7]


@call
def search_vector_with_index(it: Lance) -> None:
    it.table.create_index("vector", config=index.IvfFlat(num_partitions=2))
    assert ids(it.table.search(near(7)).nprobes(2).refine_factor(2).limit(1)) == [7]


@call
def search_vector_of_other_column(it: Lance) -> None:
    failing(lambda: it.table.search(near(7), vector_column_name="nowhere").limit(1).to_list())


@call
def search_text(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    found = it.table.search("banana", query_type="fts").limit(5).to_list()
    assert {row["text"] for row in found} == {"banana bread"}
    assert all(row["_score"] > 0 for row in found)


@call
def search_text_in_columns(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    it.table.create_index("title", config=index.FTS())
    assert ids(it.table.search("17", query_type="fts", fts_columns="title").limit(2)) == [17]


@call
def search_phrase(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS(with_position=True, remove_stop_words=False))
    found = it.table.search(PhraseQuery("apple tree", "text"), query_type="fts").limit(999)
    assert {row["text"] for row in found.to_list()} == {WORDS[3]}


@call
def search_text_by_structure(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    query = BooleanQuery(
        [(Occur.MUST, MatchQuery("apple", "text")), (Occur.MUST_NOT, MatchQuery("pie", "text"))]
    )
    found = it.table.search(query, query_type="fts").limit(999).to_list()
    assert {row["text"] for row in found} == {WORDS[3]}


@call
def search_text_boosted(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    query = BoostQuery(MatchQuery("apple", "text"), MatchQuery("juice", "text"), negative_boost=0.1)
    assert it.table.search(query, query_type="fts").limit(1).to_list()[0]["text"] == WORDS[0]


@call
def search_text_in_several_columns(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    it.table.create_index("title", config=index.FTS())
    query = MultiMatchQuery("17", ["text", "title"])
    assert ids(it.table.search(query, query_type="fts").limit(1)) == [17]


@call
def search_text_with_filter(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    found = it.table.search("banana", query_type="fts").where("id < 6").limit(9)
    assert sorted(ids(found)) == [1, 5]


@call
def search_hybrid(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    found = it.table.search(query_type="hybrid").vector(near(17)).text("banana").limit(4).to_list()
    assert found[0]["id"] == 17
    assert all("_relevance_score" in row for row in found)


@call
def search_hybrid_reranked(it: Lance) -> None:
    it.table.create_index("text", config=index.FTS())
    query = it.table.search(query_type="hybrid").vector(near(17)).text("banana")
    assert ids(query.where("id > 10").rerank(RRFReranker(K=30)).limit(1)) == [17]


@call
def explain_plan(it: Lance) -> None:
    assert "KNN" in it.table.search(near(7)).limit(1).explain_plan(True)


@call
def analyze_plan(it: Lance) -> None:
    assert "metrics" in it.table.search(near(7)).limit(1).analyze_plan()


@call
def output_schema(it: Lance) -> None:
    assert "_distance" in it.table.search(near(7)).limit(1).output_schema().names
