"""`near_duplicate_vectors` and `near_duplicate_texts`, compared with all pairs of rows."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
)
from lance_namespace_impls.spark import (
    DuplicateReport,
    duplicates,
    near_duplicate_texts,
    near_duplicate_vectors,
)
from tests.spark.conftest import Lake

pytestmark = pytest.mark.xdist_group("spark two")

DIMENSION = 8


def pairs_of(frame: Any, score: str) -> dict[tuple[int, int], float]:
    rows = frame.collect()
    found = {tuple(sorted((row.left_id, row.right_id))): round(row[score], 3) for row in rows}
    assert len(found) == len(rows)
    assert all(row.left_rowid < row.right_rowid for row in rows)
    return found  # type: ignore[return-value]


def shingles(text: str, size: int = 5) -> set[str]:
    return {text[n : n + size] for n in range(max(1, len(text) - size + 1))}


def similarity(one: str, other: str) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


@pytest.fixture
def vectors(lake: Lake) -> Any:
    """Write a table in which every tenth row is close to the previous one; return its vectors."""
    values = np.random.default_rng(1).normal(size=(900, DIMENSION)).astype("float32") * 3
    values[10::10] = values[9:-1:10] + 0.01
    values[500] = values[0] = values[250]
    flat = pa.array(values.reshape(-1))
    table = {"id": range(900), "v": pa.FixedSizeListArray.from_arrays(flat, DIMENSION)}
    lake.put("t", pa.table(table), max_rows_per_file=300)
    lake.dataset("t").delete("id = 20")
    return values


@pytest.mark.parametrize("indexed", [False, True])
def test_vectors(lake: Lake, spark: Any, vectors: Any, indexed: bool) -> None:
    if indexed:
        lake.namespace.table("t").create_index("v", num_partitions=4, num_sub_vectors=4)
    found = near_duplicate_vectors(
        spark, lake.namespace, "t", max_distance=0.1, columns=["id"], k=4, nprobes=4
    )
    assert found.pairs.columns == ["left_rowid", "right_rowid", "left_id", "right_id", "_distance"]
    kept = [n for n in range(900) if n != 20]
    distances = ((vectors[:, None, :] - vectors[None, :, :]) ** 2).sum(-1)
    exact = {
        (a, b): round(float(distances[a, b]), 3)
        for a, b in combinations(kept, 2)
        if distances[a, b] <= 0.1
    }
    assert pairs_of(found.pairs, "_distance") == exact
    assert len(exact) > 85
    names = {number for pair in exact for number in pair}
    report = DuplicateReport(rows=899, pairs=len(exact), duplicates=len(names), truncated=0)
    assert found.report == report


def test_vectors_with_more_neighbors_than_k(lake: Lake, spark: Any) -> None:
    values = pa.FixedSizeListArray.from_arrays(pa.array([1.0] * 20 * 2, pa.float32()), 2)
    lake.put("t", pa.table({"id": range(20), "v": values}))
    found = near_duplicate_vectors(
        spark, lake.namespace, "t", "v", max_distance=0, k=3, columns=["id"], filter="id < 10"
    )
    assert (found.report.rows, found.report.truncated) == (10, 10)
    assert 0 < found.report.pairs < 45


def text_rows() -> list[str]:
    chance = random.Random(7)
    words = [f"w{chance.randrange(400)}" for _ in range(400)]
    texts = [" ".join(chance.choices(words, k=40)) for _ in range(300)]
    for place in range(0, 300, 6):
        parts = texts[place].split()
        for _ in range(place % 4):
            parts[chance.randrange(40)] = "changed"
        texts[place + 1] = " ".join(parts)
    return [*texts, "", "short", "short", "é𝄞"]


def test_texts(lake: Lake, spark: Any) -> None:
    texts = text_rows()
    rows = {"id": [*range(len(texts)), 999], "text": [*texts, None], "kind": ["a"] * 305}
    lake.put("t", pa.table(rows), max_rows_per_file=100)
    lake.dataset("t").delete("id = 6")
    found = near_duplicate_texts(
        spark, lake.namespace, "t", "text", min_similarity=0.7, columns=["id"]
    )
    names = ["left_rowid", "right_rowid", "left_id", "right_id", "_similarity"]
    assert found.pairs.columns == names
    kept = [(n, text) for n, text in enumerate(texts) if text and n != 6]
    exact = {
        (a, b): round(score, 3)
        for (a, one), (b, other) in combinations(kept, 2)
        if (score := similarity(one, other)) >= 0.7
    }
    assert pairs_of(found.pairs, "_similarity") == exact
    assert len(exact) > 40
    members = {number for pair in exact for number in pair}
    assert found.report == DuplicateReport(
        rows=302, pairs=len(exact), duplicates=len(members), truncated=0
    )


def test_many_equal_texts_are_compared_with_the_first(lake: Lake, spark: Any) -> None:
    lake.put("t", pa.table({"id": range(300), "text": ["the same words again"] * 300}))
    found = near_duplicate_texts(spark, lake.namespace, "t", "text", columns=["id"])
    assert pairs_of(found.pairs, "_similarity") == {(0, n): 1.0 for n in range(1, 300)}
    assert found.report == DuplicateReport(rows=300, pairs=299, duplicates=300, truncated=299)
    few = near_duplicate_texts(
        spark, lake.namespace, "t", "text", filter="id < 3", columns=["text"]
    )
    names = ["left_rowid", "right_rowid", "left_text", "right_text", "_similarity"]
    assert few.pairs.columns == names
    assert few.report == DuplicateReport(rows=3, pairs=3, duplicates=3, truncated=0)


def test_bands_find_enough_candidate_pairs() -> None:
    for least in (0.5, 0.7, 0.8, 0.9, 1.0):
        rows = duplicates.band_rows(128, least)
        assert 1 - (1 - least**rows) ** (128 // rows) >= 0.99
        assert rows == 128 or 1 - (1 - least ** (2 * rows)) ** (64 // rows) < 0.99


def test_shingles_are_runs_of_characters() -> None:
    one, other = "the quick brown fox", "the quick brawn fox"
    for size in (1, 3, 5, 40):
        a, b = duplicates.shingles_of(one, size), duplicates.shingles_of(other, size)
        assert len(a) == len(shingles(one, size))
        assert len(np.intersect1d(a, b)) == len(shingles(one, size) & shingles(other, size))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"column": "nope"}, TableColumnNotFoundError),
        ({"column": "v"}, TableSchemaValidationError),
        ({"column": "text", "min_similarity": 0}, InvalidInputError),
        ({"column": "text", "num_hashes": 100}, InvalidInputError),
        ({"column": "text", "filter": "1 +"}, InvalidInputError),
        ({"column": "text", "columns": ["nope"]}, TableColumnNotFoundError),
    ],
)
def test_mistakes(lake: Lake, spark: Any, options: dict[str, Any], error: Any) -> None:
    lake.put("t", pa.table({"text": ["a"], "v": pa.array([[1.0]], pa.list_(pa.float32(), 1))}))
    with pytest.raises(error):
        near_duplicate_texts(spark, lake.namespace, "t", **options)
