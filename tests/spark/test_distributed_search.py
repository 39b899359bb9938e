"""`nearest` and `knn_join` on workers return the results of the in-process search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from lance_namespace_impls.spark import knn_join, nearest, protocol_error_in
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")

ROWS, DIMENSION, QUERIES = 3000, 8, 20
WORDS = ("storm", "letter", "harbor", "winter", "bread", "candle", "river", "stone")


def vectors(rows: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=(rows, DIMENSION)).astype("float32")


def as_lists(values: Any) -> pa.FixedSizeListArray:
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), DIMENSION)


@pytest.fixture(scope="module")
def searched(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a table with a vector index and a full-text index, which the tests only read."""
    lake = Lake(tmp_path_factory.mktemp("searched") / "lake", spark)
    text = [f"{WORDS[n % 8]} {WORDS[n * n % 7]} {WORDS[n % 5]}" for n in range(ROWS)]
    table = {
        "id": pa.array(range(ROWS), pa.int64()),
        "kind": [f"k{n % 3}" for n in range(ROWS)],
        "text": text,
        "v": as_lists(vectors(ROWS, 1)),
    }
    lake.put("t", pa.table(table), max_rows_per_file=1000)
    own = lake.namespace.table("t")
    own.create_index("v", num_partitions=8, num_sub_vectors=4)
    own.create_index("text", index_type="FTS")
    return lake


@pytest.fixture(scope="module")
def queries(spark: Any) -> Any:
    values = vectors(QUERIES, 2)
    rows = [
        (n, [float(x) for x in values[n]], f"{WORDS[n % 8]} {WORDS[(n + 3) % 8]}")
        for n in range(QUERIES)
    ]
    return spark.createDataFrame(rows, "q long, query array<float>, words string").repartition(3)


def by_query(frame: Any, score: str) -> dict[int, list[tuple[Any, ...]]]:
    """Return the results of each query in rank order; ranks start at 1."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in sorted(frame.collect(), key=lambda row: (row.q, row["_rank"])):
        found.setdefault(row.q, []).append((row.id, round(row[score], 4)))
        assert row["_rank"] == len(found[row.q])
    return found


def expected(lake: Lake, queries: Any, score: str, make: Any) -> dict[int, list[tuple[Any, ...]]]:
    """Return the results of the in-process search."""
    found = {}
    for row in queries.collect():
        rows = make(lake.namespace.table("t"), row).to_list()
        if rows:
            found[row.q] = [(each["id"], round(each[score], 4)) for each in rows]
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nprobes": 1},
        {"nprobes": 8, "refine_factor": 4},
        {"bypass_vector_index": True},
        {"bypass_vector_index": True, "distance_type": "cosine"},
        {"upper_bound": 5.0, "lower_bound": 1.0, "bypass_vector_index": True},
        {"minimum_nprobes": 2, "maximum_nprobes": 3},
    ],
)
def test_results_equal_those_of_the_in_process_search(
    searched: Lake, spark: Any, queries: Any, options: dict[str, Any]
) -> None:
    def search(table: Any, row: Any) -> Any:
        made = table.search(row.query).limit(7).select(["id"])
        steps = dict(options)
        if steps.pop("bypass_vector_index", False):
            made = made.bypass_vector_index()
        bounds = {key: steps.pop(key) for key in ("lower_bound", "upper_bound") if key in steps}
        if bounds:
            made = made.distance_range(**bounds)
        for name, value in steps.items():
            made = getattr(made, name)(value)
        return made

    frame = nearest(
        spark, searched.namespace, "t", queries, k=7, vectors="query", columns=["id"], **options
    )
    assert frame.columns == ["q", "words", "id", "_distance", "_rank"]
    found = by_query(frame, "_distance")
    assert found == expected(searched, queries, "_distance", search)
    assert found


@pytest.mark.parametrize("prefilter", [True, False])
def test_a_filter_before_and_after_the_search(
    searched: Lake, spark: Any, queries: Any, prefilter: bool
) -> None:
    frame = nearest(
        spark,
        searched.namespace,
        "t",
        queries.drop("words"),
        k=6,
        columns={"id": "id", "twice": "id * 2"},
        filter="kind = 'k1' AND id < 2000",
        prefilter=prefilter,
        nprobes=8,
    )
    assert frame.columns == ["q", "id", "twice", "_distance", "_rank"]
    assert all(row.twice == 2 * row.id for row in frame.collect())
    found = by_query(frame, "_distance")
    assert found == expected(
        searched,
        queries,
        "_distance",
        lambda table, row: (
            table.search(row.query)
            .where("kind = 'k1' AND id < 2000", prefilter=prefilter)
            .limit(6)
            .nprobes(8)
        ),
    )
    counts = [len(rows) for rows in found.values()]
    assert (min(counts) == 6) == prefilter


def test_full_text_and_hybrid_searches_on_workers(searched: Lake, spark: Any, queries: Any) -> None:
    options: dict[str, Any] = {"k": 5, "columns": ["id"], "keep": ["q"]}
    frame = nearest(spark, searched.namespace, "t", queries, texts="words", **options)
    assert frame.columns == ["q", "id", "_score", "_rank"]
    scores = {q: [score for _, score in rows] for q, rows in by_query(frame, "_score").items()}
    words = expected(
        searched, queries, "_score", lambda table, row: table.search(row.words).limit(5)
    )
    assert scores == {q: [score for _, score in rows] for q, rows in words.items()}
    frame = nearest(
        spark, searched.namespace, "t", queries, vectors="query", texts="words", **options
    )
    assert frame.columns == ["q", "id", "_relevance_score", "_rank"]
    both = by_query(frame, "_relevance_score")
    assert {len(rows) for rows in both.values()} == {5}
    near = nearest(spark, searched.namespace, "t", queries, vectors="query", nprobes=8, **options)
    first = {q: rows[0][0] for q, rows in by_query(near, "_distance").items()}
    hits = sum(first[q] in {number for number, _ in rows} for q, rows in both.items())
    assert hits >= QUERIES // 2


def test_all_columns_types_and_row_ids(searched: Lake, spark: Any, queries: Any) -> None:
    frame = nearest(
        spark, searched.namespace, "t", queries, k=2, vectors="query", keep=["q"], with_row_id=True
    )
    assert frame.columns == ["q", "id", "kind", "text", "v", "_distance", "_rowid", "_rank"]
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert (kinds["v"], kinds["_rowid"], kinds["_rank"]) == ("array<float>", "bigint", "int")
    rows = {row["id"]: row for row in searched.dataset("t").to_table().to_pylist()}
    for row in frame.collect():
        assert row.asDict() == row.asDict() | rows[row.id]


def test_queries_without_a_value_have_no_result(searched: Lake, spark: Any) -> None:
    zeros = [0.0] * DIMENSION
    rows = [(1, None, "storm"), (2, zeros, None), (3, [float("nan")] * DIMENSION, "")]
    rows += [(4, [None] * DIMENSION, " "), (5, zeros, "storm"), (6, [], "unknownword")]
    frame = spark.createDataFrame(rows, "q long, query array<double>, words string")

    def answered(**columns: str) -> list[int]:
        found = nearest(
            spark, searched.namespace, "t", frame, keep=["q"], columns=["id"], **columns
        )
        return sorted({row.q for row in found.collect()})

    assert answered(vectors="query") == [2, 5]
    assert answered(texts="words") == [1, 5]
    assert answered(vectors="query", texts="words") == [5]
    assert nearest(spark, searched.namespace, "t", frame.limit(0), vectors="query").collect() == []


def test_a_search_is_pinned_to_a_version(lake: Lake, spark: Any) -> None:
    lake.put("t", pa.table({"id": range(100), "v": as_lists(vectors(100, 3))}))
    query = spark.createDataFrame([([0.0] * DIMENSION,)], "query array<float>")
    first = nearest(spark, lake.namespace, "t", query, k=200)
    lake.put("t", pa.table({"id": [100], "v": as_lists(vectors(1, 4))}), mode="append")
    assert first.count() == 100
    assert nearest(spark, lake.namespace, "t", query, k=200).count() == 101
    assert nearest(spark, lake.namespace, "t", query, k=200, version=1).count() == 100
    with pytest.raises(TableVersionNotFoundError):
        nearest(spark, lake.namespace, "t", query, version=9)


def test_several_vectors_in_a_row(lake: Lake, spark: Any) -> None:
    kind = pa.list_(pa.list_(pa.float32(), DIMENSION))
    values = vectors(200, 5).tolist()
    several = pa.array([values[n : n + 2] for n in range(0, 200, 2)], kind)
    lake.put("t", pa.table({"id": range(100), "v": several}))
    frame = spark.createDataFrame([(values[10:12],)], "query array<array<float>>")
    found = nearest(
        spark,
        lake.namespace,
        "t",
        frame,
        k=3,
        vector_column_name="v",
        columns=["id"],
        distance_type="cosine",
    )
    own = lake.namespace.table("t").search(values[10:12], vector_column_name="v")
    rows = own.distance_type("cosine").limit(3).select(["id"]).to_list()
    assert [row.id for row in found.orderBy("_rank").collect()] == [row["id"] for row in rows]
    assert rows[0]["id"] == 5


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, InvalidInputError, "k"),
        ({"vectors": "nope"}, TableColumnNotFoundError, "queries have no column nope"),
        ({"keep": ["nope"]}, TableColumnNotFoundError, "queries have no column nope"),
        ({"columns": ["nope"]}, TableColumnNotFoundError, "nope"),
        ({"filter": "nope > 1"}, TableColumnNotFoundError, "nope"),
        ({"vector_column_name": "id"}, InvalidInputError, "id"),
        ({"distance_type": "far"}, InvalidInputError, "far"),
        ({"probes": 3}, InvalidInputError, "probes is not known; the options are distance_type"),
        ({"columns": {"q": "id"}}, InvalidInputError, "both have a column q; omit it"),
        (
            {"vectors": None, "texts": "words", "nprobes": 3},
            InvalidInputError,
            "applies only to vector searches",
        ),
        ({"version": 1, "tag": "x"}, InvalidInputError, "only one of"),
        ({"vectors": "words"}, InvalidInputError, "words of the queries is string, not an array"),
        (
            {"vectors": None, "texts": "q"},
            InvalidInputError,
            "q of the queries is bigint, not text",
        ),
    ],
)
def test_invalid_arguments_are_reported_before_a_task_runs(
    searched: Lake, spark: Any, queries: Any, options: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        nearest(spark, searched.namespace, "t", queries, **{"vectors": "query", **options})


def test_integers_and_decimals_are_valid_vectors(searched: Lake, spark: Any) -> None:
    whole = spark.createDataFrame([(1, [1] * DIMENSION)], "q long, query array<int>")
    for kind in ("array<int>", "array<decimal(5,2)>", "array<double>"):
        frame = whole.selectExpr("q", f"cast(query AS {kind}) AS query")
        found = by_query(nearest(spark, searched.namespace, "t", frame, k=3), "_distance")
        search = searched.namespace.table("t").search([1.0] * DIMENSION).limit(3)
        assert [number for number, _ in found[1]] == [row["id"] for row in search.to_list()]


def test_invalid_queries_are_rejected(searched: Lake, spark: Any, queries: Any) -> None:
    with pytest.raises(TableNotFoundError):
        nearest(spark, searched.namespace, "none", queries)
    with pytest.raises(InvalidInputError, match="have 0 array columns"):
        nearest(spark, searched.namespace, "t", queries.select("q"))
    short = spark.createDataFrame([([1.0, 2.0],)], "query array<float>")
    with pytest.raises(Exception) as caught:
        nearest(spark, searched.namespace, "t", short).collect()
    found = protocol_error_in(caught.value)
    assert isinstance(found, InvalidInputError), caught.value
    assert "does not match" in found.message


def test_a_join_of_two_tables(searched: Lake, spark: Any, tmp_path: Path) -> None:
    searched.put(
        "left",
        pa.table(
            {"key": [f"l{n}" for n in range(90)], "size": range(90), "w": as_lists(vectors(90, 6))}
        ),
        max_rows_per_file=40,
        mode="overwrite",
    )
    frame = knn_join(
        spark,
        searched.namespace,
        "left",
        "t",
        k=3,
        keep=["key"],
        left_filter="size < 50",
        columns=["id"],
        filter="kind = 'k2'",
        nprobes=8,
        refine_factor=2,
    )
    assert frame.columns == ["key", "id", "_distance", "_rank"]
    rows = frame.collect()
    assert len(rows) == 150
    own = searched.namespace.table("t")
    values = vectors(90, 6)
    for number in (0, 7, 49):
        search = own.search(values[number].tolist()).where("kind = 'k2'").limit(3).nprobes(8)
        wanted = [row["id"] for row in search.refine_factor(2).to_list()]
        found = sorted((row["_rank"], row.id) for row in rows if row.key == f"l{number}")
        assert found == list(enumerate(wanted, 1))
    with pytest.raises(InvalidInputError, match="both have a column id"):
        knn_join(spark, searched.namespace, "t", "t")
