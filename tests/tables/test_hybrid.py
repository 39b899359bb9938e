"""The order of a hybrid search: each row is scored by its ranks in the vector and text searches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.models import QueryTableRequest
from lance_namespace_impls.tables.hybrid import RELEVANCE, fused

NEAREST, WORDED = [7, 3, 5, 9], [5, 8, 7]
VECTOR = {"single_vector": [1.0]}
WORDS = {"string_query": {"query": "w"}}


def share(*places: int) -> float:
    """Return the score of a row with these ranks, counted from 1."""
    return sum(1 / (60 + place) for place in places)


SCORES = {7: share(1, 3), 5: share(3, 1), 8: share(2), 3: share(2), 9: share(4)}
ORDER = [7, 5, 3, 8, 9]


def run(**fields: Any) -> tuple[pa.Table, list[Any]]:
    """Return the fused rows, and the request of each search."""
    asked: list[Any] = []

    def search(part: Any) -> pa.Table:
        asked.append(part)
        rows = NEAREST if part.full_text_query is None else WORDED
        score = "_distance" if part.full_text_query is None else "_score"
        found = pa.table({"a": [f"r{row}" for row in rows], "_rowid": pa.array(rows, pa.uint64())})
        return found.append_column(score, pa.array([0.5] * len(rows)))

    request = QueryTableRequest.coerce(
        {"id": ["t"], "vector": VECTOR, "full_text_query": WORDS, **fields}
    )
    return fused(request, search), asked


@pytest.mark.parametrize(("k", "offset"), [(10, None), (3, None), (2, 1), (10, 4), (2, 9)])
def test_rows_are_ordered_by_the_sum_of_their_scores(k: int, offset: int | None) -> None:
    found, asked = run(k=k, offset=offset, with_row_id=True)
    expected = ORDER[offset or 0 :][:k]
    assert found.column_names == ["a", "_rowid", RELEVANCE]
    assert found["_rowid"].to_pylist() == expected
    assert found["a"].to_pylist() == [f"r{row}" for row in expected]
    assert found[RELEVANCE].to_pylist() == pytest.approx([SCORES[row] for row in expected])
    nearest, worded = asked
    assert (nearest.vector is not None, nearest.full_text_query) == (True, None)
    assert (worded.vector, worded.full_text_query is not None) == (None, True)
    for part in asked:
        assert (part.k, part.offset, part.with_row_id) == (k + (offset or 0), None, True)


def test_row_ids_are_returned_only_if_requested() -> None:
    assert run(k=1)[0].column_names == ["a", RELEVANCE]
