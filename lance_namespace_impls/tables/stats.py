"""Computes the size of a table and the distribution of its rows over fragments."""

from __future__ import annotations

from typing import Any

from lance_namespace_client.models import FragmentStats, FragmentSummary, GetTableStatsResponse

__all__ = ["table_stats"]

# pylance considers fragments with fewer rows small.
SMALL_FRAGMENT_ROWS = 1_048_576


def table_stats(dataset: Any) -> GetTableStatsResponse:
    """Count rows, bytes of data files, indices and fragments."""
    lengths = sorted(fragment.count_rows() for fragment in dataset.get_fragments())
    fields = dataset.stats.data_stats().fields
    return GetTableStatsResponse(
        total_bytes=sum(field.bytes_on_disk for field in fields),
        num_rows=sum(lengths),
        num_indices=len(dataset.describe_indices()),
        fragment_stats=FragmentStats(
            num_fragments=len(lengths),
            num_small_fragments=sum(1 for rows in lengths if rows < SMALL_FRAGMENT_ROWS),
            lengths=_summary(lengths),
        ),
    )


def _summary(lengths: list[int]) -> FragmentSummary:
    """Summarize sorted row counts; each percentile is the row count at that position."""
    if not lengths:
        return FragmentSummary(min=0, max=0, mean=0, p25=0, p50=0, p75=0, p99=0)

    def at(share: float) -> int:
        return lengths[min(int(len(lengths) * share), len(lengths) - 1)]

    return FragmentSummary(
        min=lengths[0],
        max=lengths[-1],
        mean=sum(lengths) // len(lengths),
        p25=at(0.25),
        p50=at(0.5),
        p75=at(0.75),
        p99=at(0.99),
    )
