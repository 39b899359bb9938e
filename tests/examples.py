"""How many random examples the slow properties get."""

from __future__ import annotations

import os

__all__ = ["SHARE", "examples"]

SHARE = float(os.environ.get("LANCE_NS_EXAMPLES", "0.4"))
"""Part of the examples that a run takes: 1 in `nox -s full`, more to search for what no run has found."""
FEWEST = 12


def examples(whole: int) -> int:
    """Return how many of a number of examples this run takes."""
    return max(min(whole, FEWEST), round(whole * SHARE))
