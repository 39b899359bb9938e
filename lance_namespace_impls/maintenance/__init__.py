"""Runs jobs over whole catalogs; each is a function, and also a command of ``lance-ns``.

>>> from lance_namespace_impls.maintenance import inventory
>>> inventory(connect("dir", {"path": "/data/lance"})).to_frame(spark)  # doctest: +SKIP

The results convert to DataFrames, but the jobs do not need Spark: they run in threads of this
process. If `maintain` receives a session, the session runs its tasks.
"""

from __future__ import annotations

from .inventory import IndexRow, TableRow, inventory
from .maintain import IndexWish, Upkeep, UpkeepRow, maintain, maintain_table
from .results import Rows
from .selection import Selection
from .sync import Mirror, SyncRow, sync

__all__ = [
    "IndexRow",
    "IndexWish",
    "Mirror",
    "Rows",
    "Selection",
    "SyncRow",
    "TableRow",
    "Upkeep",
    "UpkeepRow",
    "inventory",
    "maintain",
    "maintain_table",
    "sync",
]
