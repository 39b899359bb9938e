"""Number of random examples that slow property tests generate."""

from __future__ import annotations

import os

__all__ = ["SHARE", "examples"]

SHARE = float(os.environ.get("LANCE_NS_EXAMPLES", "0.4"))
"""Fraction of the examples that a run generates: 1 in `nox -s full`, more to find new bugs."""
FEWEST = 12


def examples(whole: int) -> int:
    """Return how many examples this run generates of the number in a full run."""
    return max(min(whole, FEWEST), round(whole * SHARE))
