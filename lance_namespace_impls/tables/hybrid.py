"""Hybrid search: merges the results of a vector search and a full-text search.

Both searches use the same conditions. A row's score is computed from its rank in each search by
reciprocal rank fusion, which is also LanceDB's default for hybrid queries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from ..core.imports import load

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.models import AnalyzeTableQueryPlanRequest, QueryTableRequest

    Query: TypeAlias = QueryTableRequest | AnalyzeTableQueryPlanRequest

__all__ = ["RELEVANCE", "fused", "is_hybrid"]

RELEVANCE = "_relevance_score"
"""Column with the fused score; rows are sorted by descending score."""
# The constant k of reciprocal rank fusion; the larger it is, the lower the weight of the first
# ranks.
SMOOTHING = 60
ROW_ID = "_rowid"


def is_hybrid(request: Query, vector: list[Any] | None) -> bool:
    """Return whether a query has both a vector and a full-text part."""
    return vector is not None and request.full_text_query is not None


def fused(request: Query, search: Callable[[Query], pa.Table]) -> pa.Table:
    """Run both searches of a query and return their rows in a single ranking.

    The result has the requested columns, `RELEVANCE`, and the row id if requested.

    Args:
        request: a query with a vector and a full-text query.
        search: runs a query with one of the two searches.
    """
    import pyarrow as pa

    pc = load("pyarrow.compute")

    offset = request.offset or 0
    # Each search must return all rows that can appear in the combined ranking.
    whole = attrs.evolve(request, k=request.k + offset, offset=None, with_row_id=True)
    nearest = search(attrs.evolve(whole, full_text_query=None))
    worded = search(attrs.evolve(whole, vector=None))
    scores: dict[int, float] = {}
    for found in (nearest, worded):
        for place, row in enumerate(found[ROW_ID].to_pylist(), 1):
            scores[row] = scores.get(row, 0.0) + 1 / (place + SMOOTHING)
    shared = [name for name in nearest.column_names if name in worded.column_names]
    rows = pa.concat_tables([nearest.select(shared), worded.select(shared)])
    places: dict[int, int] = {}
    for place, row in enumerate(rows[ROW_ID].to_pylist()):
        places.setdefault(row, place)
    rows = rows.take(pa.array(list(places.values()), pa.int64()))
    relevance = pa.array([scores[row] for row in places], pa.float32())
    rows = rows.append_column(RELEVANCE, relevance)
    order = pc.sort_indices(rows, [(RELEVANCE, "descending")])
    rows = rows.take(order).slice(offset, request.k)
    return rows if request.with_row_id else rows.drop_columns([ROW_ID])
