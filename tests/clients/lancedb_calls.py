"""The whole API of lancedb, call by call, with what each call has to give.

Every call starts from a table of its own, so that one that fails leaves the others alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
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

__all__ = ["CALLS", "DIMENSION", "ROWS", "Call", "Lance", "call_all", "rows"]

ROWS, DIMENSION = 512, 8
WORDS = ("apple pie", "banana bread", "cherry cake", "apple juice from the apple tree")
LONG = timedelta(minutes=5)

Call = Callable[["Lance"], None]
CALLS: dict[str, Call] = {}


def call(function: Call) -> Call:
    """Make a function one of the calls, under its name."""
    CALLS[function.__name__] = function
    return function


class Lance:
    """A connection, and the table that one call works on."""

    def __init__(self, db: Any, name: str) -> None:
        self.db = db
        self.name = name
        self._table: Any = None

    @property
    def table(self) -> Any:
        """The table, made where it is first asked for."""
        if self._table is None:
            self._table = self.db.create_table(self.name, rows())
        return self._table

    def close(self) -> None:
        """Remove what the call has left."""
        for name in self.db.table_names(limit=1000):
            self.db.drop_table(name)


def call_all(db: Any) -> dict[str, str | None]:
    """Return each call with its failure on a connection, or None."""
    found: dict[str, str | None] = {}
    for name, function in CALLS.items():
        it = Lance(db, "t")
        try:
            function(it)
            found[name] = None
        except Exception as error:  # noqa: BLE001 - an outcome to compare
            found[name] = f"{type(error).__name__}: {error}"[:300]
        finally:
            it.close()
    return found


def rows(start: int = 0, count: int = ROWS) -> pa.Table:
    """Return rows with a key, a vector that tells its key, two texts, a label list and a number."""
    keys = np.arange(start, start + count)
    spread = np.random.default_rng(7).normal(0, 0.01, (start + count, DIMENSION))[start:]
    vectors = (keys[:, None] + spread).astype(np.float32)
    return pa.table(
        {
            "id": pa.array(keys, pa.int64()),
            "vector": pa.FixedSizeListArray.from_arrays(vectors.ravel(), DIMENSION),
            "text": [WORDS[key % len(WORDS)] for key in keys],
            "title": [f"title {key}" for key in keys],
            "labels": pa.array([[f"l{key % 3}"] for key in keys], pa.list_(pa.string())),
            "price": pa.array(keys / 2, pa.float64()),
        }
    )


def near(key: float) -> list[float]:
    """Return a vector to search the row of a key with."""
    return [float(key)] * DIMENSION


def ids(found: Any) -> list[int]:
    """Return the keys of found rows."""
    return [row["id"] for row in found.to_list()]


def failing(action: Callable[[], Any], *texts: str, kind: type[Exception] = Exception) -> None:
    """Check that something fails, with a message that has one of these texts in it."""
    try:
        action()
    except kind as error:
        assert not texts or any(text in str(error) for text in texts), f"{error!r}"
        return
    raise AssertionError("it did not fail")


# --- tables of a database


@call
def create_table(it: Lance) -> None:
    table = it.db.create_table(it.name, rows())
    assert table.count_rows() == ROWS


@call
def create_table_of_dicts(it: Lance) -> None:
    it.db.create_table(it.name, [{"id": 1, "vector": [1.0, 2.0]}, {"id": 2, "vector": [3.0, 4.0]}])
    assert it.db.open_table(it.name).count_rows() == 2


@call
def create_table_empty(it: Lance) -> None:
    table = it.db.create_table(it.name, schema=rows().schema)
    assert table.count_rows() == 0
    assert table.schema == rows().schema


@call
def create_table_from_batches(it: Lance) -> None:
    schema = rows().schema
    batches = (rows(at, 10).to_batches()[0] for at in (0, 10, 20))
    assert it.db.create_table(it.name, batches, schema=schema).count_rows() == 30


@call
def create_table_of_all_types(it: Lance) -> None:
    typed = {
        "boolean": pa.array([True]),
        "int8": pa.array([1], pa.int8()),
        "uint64": pa.array([1], pa.uint64()),
        "half": pa.array([np.float16(1)], pa.float16()),
        "double": pa.array([1.5]),
        "large_text": pa.array(["x"], pa.large_string()),
        "bytes": pa.array([b"x"]),
        "fixed": pa.array([b"1234"], pa.binary(4)),
        "day": pa.array([date(2026, 1, 2)]),
        "seconds": pa.array([1], pa.time32("s")),
        "moment": pa.array([datetime(2026, 1, 2)], pa.timestamp("us")),
        "moment_utc": pa.array([datetime(2026, 1, 2)], pa.timestamp("ms", "UTC")),
        "span": pa.array([timedelta(seconds=1)], pa.duration("us")),
        "money": pa.array([Decimal("1.20")], pa.decimal128(10, 2)),
        "more_money": pa.array([Decimal("1.20")], pa.decimal256(50, 2)),
        "point": pa.array([{"x": 1.0, "y": [1]}]),
        "large_list": pa.array([[1]], pa.large_list(pa.int32())),
        "label": pa.array(["x"]).dictionary_encode(),
    }
    wanted = pa.table(typed)
    table = it.db.create_table(it.name, wanted)
    assert table.schema == wanted.schema
    assert table.search().to_arrow().equals(wanted)


@call
def create_table_that_is_there(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    failing(
        lambda: it.db.create_table(it.name, rows(0, 3)), "already exists", "exists", kind=ValueError
    )
    assert it.db.open_table(it.name).count_rows() == ROWS


@call
def create_table_overwrite(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    assert it.db.create_table(it.name, rows(0, 3), mode="overwrite").count_rows() == 3


@call
def create_table_exist_ok(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    assert it.db.create_table(it.name, rows(), exist_ok=True).count_rows() == ROWS


@call
def table_names(it: Lance) -> None:
    it.db.create_table("another", rows(0, 1))
    assert it.table.name == it.name
    assert sorted(it.db.table_names()) == sorted(("another", it.name))


@call
def table_names_by_page(it: Lance) -> None:
    for name in ("a", "b", "c", "d", "e"):
        it.db.create_table(name, rows(0, 1))
    assert list(it.db.table_names(limit=2)) == ["a", "b"]
    assert list(it.db.table_names(page_token="b", limit=2)) == ["c", "d"]


@call
def list_tables(it: Lance) -> None:
    it.db.create_table("a", rows(0, 1))
    it.db.create_table("b", rows(0, 1))
    found = it.db.list_tables(limit=1)
    assert found.tables == ["a"]
    assert it.db.list_tables(page_token=found.page_token).tables == ["b"]


@call
def open_table(it: Lance) -> None:
    assert it.table.name == it.name
    table = it.db.open_table(it.name)
    assert (table.name, table.count_rows()) == (it.name, ROWS)


@call
def open_table_that_is_missing(it: Lance) -> None:
    failing(lambda: it.db.open_table("nowhere"), "was not found", "not found", kind=ValueError)


@call
def drop_table(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    it.db.drop_table(it.name)
    assert list(it.db.table_names()) == []


@call
def drop_table_that_is_missing(it: Lance) -> None:
    failing(lambda: it.db.drop_table("nowhere"), "not found", "does not exist")


@call
def drop_table_and_make_it_again(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    it.db.drop_table(it.name)
    assert it.db.create_table(it.name, rows(0, 3)).count_rows() == 3


@call
def rename_table(it: Lance) -> None:
    assert it.table.count_rows() == ROWS
    it.db.rename_table(it.name, "renamed")
    assert list(it.db.table_names()) == ["renamed"]
    assert it.db.open_table("renamed").count_rows() == ROWS


@call
def clone_table(it: Lance) -> None:
    source = it.table.uri if isinstance(it.table.uri, str) else it.table.uri()
    copy = it.db.clone_table("copied", source)
    copy.delete("id < 500")
    assert (copy.count_rows(), it.table.count_rows()) == (12, ROWS)


@call
def create_namespace(it: Lance) -> None:
    it.db.create_namespace(["inner"])
    try:
        assert "inner" in it.db.list_namespaces().namespaces
    finally:
        it.db.drop_namespace(["inner"])


@call
def tables_in_a_namespace(it: Lance) -> None:
    it.db.create_namespace(["inner"])
    try:
        it.db.create_table("t", rows(0, 3), namespace_path=["inner"])
        assert list(it.db.table_names(namespace_path=["inner"])) == ["t"]
        assert it.db.open_table("t", namespace_path=["inner"]).count_rows() == 3
        it.db.drop_table("t", namespace_path=["inner"])
    finally:
        it.db.drop_namespace(["inner"])


# --- what a table is


@call
def schema(it: Lance) -> None:
    assert it.table.schema == rows().schema


@call
def version(it: Lance) -> None:
    before = it.table.version
    it.table.add(rows(ROWS, 1))
    assert it.table.version == before + 1


@call
def stats(it: Lance) -> None:
    assert it.table.stats()["num_rows"] == ROWS


@call
def uri(it: Lance) -> None:
    found = it.table.uri if isinstance(it.table.uri, str) else it.table.uri()
    assert it.name in found


@call
def table_pickles(it: Lance) -> None:
    assert pickle.loads(pickle.dumps(it.table)).count_rows() == ROWS


@call
def embedding_functions(it: Lance) -> None:
    assert it.table.embedding_functions == {}


@call
def to_arrow(it: Lance) -> None:
    assert it.table.to_arrow().equals(rows())


@call
def to_pandas(it: Lance) -> None:
    assert len(it.table.to_pandas()) == ROWS


@call
def head(it: Lance) -> None:
    assert it.table.head(3).column("id").to_pylist() == [0, 1, 2]


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


# --- changing rows


@call
def add(it: Lance) -> None:
    assert it.table.add(rows(ROWS, 8)).version > 0
    assert it.table.count_rows() == ROWS + 8


@call
def add_overwrite(it: Lance) -> None:
    it.table.add(rows(0, 8), mode="overwrite")
    assert it.table.count_rows() == 8


@call
def add_other_columns(it: Lance) -> None:
    failing(lambda: it.table.add(pa.table({"nowhere": [1]})))
    assert it.table.count_rows() == ROWS


@call
def update(it: Lance) -> None:
    found = it.table.update(where="id < 3", values={"title": "new"})
    assert (found.rows_updated, it.table.count_rows("title = 'new'")) == (3, 3)


@call
def update_by_expression(it: Lance) -> None:
    it.table.update(where="id < 3", values_sql={"price": "price + 1000"})
    assert it.table.count_rows("price >= 1000") == 3


@call
def delete(it: Lance) -> None:
    found = it.table.delete("id < 10")
    assert (found.num_deleted_rows, it.table.count_rows()) == (10, ROWS - 10)


@call
def merge_insert(it: Lance) -> None:
    merge = it.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    found = merge.execute(rows(ROWS - 4, 8))
    assert (found.num_updated_rows, found.num_inserted_rows) == (4, 4)
    assert it.table.count_rows() == ROWS + 4


@call
def merge_insert_new_only(it: Lance) -> None:
    it.table.merge_insert("id").when_not_matched_insert_all().execute(rows(ROWS - 4, 8))
    assert it.table.count_rows() == ROWS + 4


@call
def merge_update_on_condition(it: Lance) -> None:
    changed = rows(0, 8).set_column(3, "title", pa.array(["new"] * 8))
    merge = it.table.merge_insert("id").when_matched_update_all(where="target.id < 3")
    merge.execute(changed)
    assert it.table.count_rows("title = 'new'") == 3


@call
def merge_delete_the_rest(it: Lance) -> None:
    merge = it.table.merge_insert("id").when_not_matched_by_source_delete("id < 100")
    found = merge.when_matched_update_all().execute(rows(50, 8))
    assert (found.num_deleted_rows, it.table.count_rows()) == (92, ROWS - 92)


# --- columns


@call
def add_columns(it: Lance) -> None:
    assert it.table.add_columns({"twice": "id * 2"}).version > 1
    assert it.table.count_rows("twice = id * 2") == ROWS


@call
def add_columns_of_nulls(it: Lance) -> None:
    point = pa.struct([("it's", pa.list_(pa.float32(), 2)), ("day", pa.date32())])
    fields = [pa.field("note", pa.string()), pa.field("at", pa.timestamp("ms", "UTC"))]
    it.table.add_columns([*fields, pa.field("point", point), pa.field("n", pa.uint8())])
    assert it.table.count_rows("note IS NULL AND at IS NULL") == ROWS
    assert it.table.schema.field("at").type == pa.timestamp("ms", "UTC")
    assert it.table.schema.field("point").type == point


@call
def alter_columns_rename(it: Lance) -> None:
    it.table.alter_columns({"path": "title", "rename": "name"})
    assert "name" in it.table.schema.names


@call
def alter_columns_type(it: Lance) -> None:
    it.table.alter_columns({"path": "price", "data_type": pa.float32()})
    assert it.table.schema.field("price").type == pa.float32()


@call
def alter_columns_nullable(it: Lance) -> None:
    it.table.alter_columns({"path": "id", "nullable": True})
    assert it.table.schema.field("id").nullable


@call
def drop_columns(it: Lance) -> None:
    it.table.drop_columns(["title", "price"])
    assert not {"title", "price"} & set(it.table.schema.names)


@call
def update_field_metadata(it: Lance) -> None:
    it.table.update_field_metadata({"path": "id", "metadata": {"unit": "one"}})
    assert it.table.schema.field("id").metadata == {b"unit": b"one"}


# --- indices


def _indexed(it: Lance, column: str, config: Any, kind: str) -> None:
    it.table.create_index(column, config=config)
    it.table.wait_for_index([f"{column}_idx"], LONG)
    found = {each.name: each for each in it.table.list_indices()}[f"{column}_idx"]
    assert (found.index_type, list(found.columns)) == (kind, [column])


@call
def index_ivf_pq(it: Lance) -> None:
    _indexed(it, "vector", index.IvfPq(num_partitions=2, num_sub_vectors=2), "IvfPq")


@call
def index_ivf_pq_by_default(it: Lance) -> None:
    _indexed(it, "vector", index.IvfPq(num_bits=8), "IvfPq")


@call
def index_hnsw_sq(it: Lance) -> None:
    _indexed(it, "vector", index.HnswSq(distance_type="cosine", num_partitions=1), "IvfHnswSq")


@call
def index_btree(it: Lance) -> None:
    _indexed(it, "id", index.BTree(), "BTree")
    assert ids(it.table.search().where("id = 300")) == [300]


@call
def index_bitmap(it: Lance) -> None:
    _indexed(it, "text", index.Bitmap(), "Bitmap")


@call
def index_label_list(it: Lance) -> None:
    _indexed(it, "labels", index.LabelList(), "LabelList")
    assert it.table.count_rows("array_has_any(labels, ['l1'])") == 171


@call
def index_text(it: Lance) -> None:
    _indexed(it, "text", index.FTS(ngram_min_length=2, stem=False), "FTS")


@call
def index_replaced(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree())
    it.table.add(rows(ROWS, 8))
    it.table.create_index("id", config=index.BTree())
    assert it.table.index_stats("id_idx").num_unindexed_rows == 0


@call
def index_not_replaced(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree(), name="by_id")
    failing(lambda: it.table.create_scalar_index("id", replace=False, name="by_id"), "exists")


@call
def index_stats(it: Lance) -> None:
    it.table.create_index("vector", config=index.IvfFlat(num_partitions=2, distance_type="dot"))
    it.table.add(rows(ROWS, 8))
    found = it.table.index_stats("vector_idx")
    assert (found.num_indexed_rows, found.num_unindexed_rows) == (ROWS, 8)
    assert (found.index_type, found.distance_type) == ("IVF_FLAT", "dot")


@call
def index_stats_that_are_missing(it: Lance) -> None:
    assert it.table.index_stats("nowhere") is None


@call
def drop_index(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree())
    it.table.drop_index("id_idx")
    assert list(it.table.list_indices()) == []


@call
def prewarm_index(it: Lance) -> None:
    it.table.create_index("id", config=index.BTree())
    it.table.prewarm_index("id_idx")
    failing(lambda: it.table.prewarm_index("nowhere"))


# --- versions, tags and branches


@call
def list_versions(it: Lance) -> None:
    it.table.add(rows(ROWS, 1))
    assert [each["version"] for each in it.table.list_versions()] == [1, 2]


@call
def checkout(it: Lance) -> None:
    it.table.add(rows(ROWS, 1))
    it.table.checkout(1)
    assert (it.table.version, it.table.count_rows()) == (1, ROWS)
    assert len(it.table.search().to_list()) == ROWS
    failing(lambda: it.table.delete("true"))
    it.table.checkout_latest()
    assert it.table.count_rows() == ROWS + 1


@call
def checkout_that_is_missing(it: Lance) -> None:
    assert it.table.version == 1
    failing(lambda: it.table.checkout(77))


@call
def restore(it: Lance) -> None:
    it.table.add(rows(ROWS, 1))
    it.table.restore(1)
    assert (it.table.version, it.table.count_rows()) == (3, ROWS)


@call
def tags(it: Lance) -> None:
    it.table.tags.create("v1", 1)
    it.table.add(rows(ROWS, 1))
    it.table.tags.create("v2", 2)
    assert {name: tag["version"] for name, tag in it.table.tags.list().items()} == {
        "v1": 1,
        "v2": 2,
    }
    it.table.tags.update("v1", 2)
    assert it.table.tags.get_version("v1") == 2
    it.table.tags.delete("v2")
    assert set(it.table.tags.list()) == {"v1"}


@call
def checkout_tag(it: Lance) -> None:
    it.table.tags.create("first", 1)
    it.table.add(rows(ROWS, 1))
    it.table.checkout("first")
    assert it.table.count_rows() == ROWS


@call
def branches(it: Lance) -> None:
    branch = it.table.branches.create("dev")
    branch.add(rows(ROWS, 8))
    assert (branch.count_rows(), it.table.count_rows()) == (ROWS + 8, ROWS)
    assert "dev" in it.table.branches.list()
    assert it.table.branches.checkout("dev").count_rows("id >= 512") == 8
    it.table.branches.delete("dev")
    assert "dev" not in it.table.branches.list()


# --- upkeep


@call
def optimize(it: Lance) -> None:
    it.table.add(rows(ROWS, 8))
    it.table.optimize()
    assert it.table.count_rows() == ROWS + 8


@call
def uses_v2_manifest_paths(it: Lance) -> None:
    assert it.table.uses_v2_manifest_paths()
