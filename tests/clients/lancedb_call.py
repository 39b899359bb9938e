"""The argument of each lancedb call, and the rows of its table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["CALLS", "DIMENSION", "ROWS", "Call", "Lance", "call_all", "rows"]

ROWS, DIMENSION = 512, 8
WORDS = ("apple pie", "banana bread", "cherry cake", "apple juice from the apple tree")
LONG = timedelta(minutes=5)

Call = Callable[["Lance"], None]
CALLS: dict[str, Call] = {}


def call(function: Call) -> Call:
    CALLS[function.__name__] = function
    return function


class Lance:
    """A connection, and the table of one call."""

    def __init__(self, db: Any, name: str) -> None:
        self.db = db
        self.name = name
        self._table: Any = None

    @property
    def table(self) -> Any:
        """The table, which is created at the first access."""
        if self._table is None:
            self._table = self.db.create_table(self.name, rows())
        return self._table

    def close(self) -> None:
        """Drop the tables that the call created."""
        for name in self.db.table_names(limit=1000):
            self.db.drop_table(name)


def call_all(db: Any) -> dict[str, str | None]:
    """Make all calls on a connection; return the failure of each call, or None."""
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
    """Return rows with a key, a vector near the key, two texts, a label list and a number."""
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
    """Return a vector whose nearest row has this key."""
    return [float(key)] * DIMENSION


def ids(found: Any) -> list[int]:
    return [row["id"] for row in found.to_list()]


def failing(action: Callable[[], Any], *texts: str, kind: type[Exception] = Exception) -> None:
    """Check that an action fails, and that the message contains one of the texts."""
    try:
        action()
    except kind as error:
        assert not texts or any(text in str(error) for text in texts), f"{error!r}"
        return
    raise AssertionError("it did not fail")
