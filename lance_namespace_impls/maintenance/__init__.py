"""Runs jobs over whole catalogs; each job is a function and a command of ``lance-ns``.

>>> from lance_namespace_impls.maintenance import inventory
>>> inventory(connect("dir", {"path": "/data/lance"})).to_frame(spark)  # doctest: +SKIP

The results can be converted to DataFrames, but the jobs do not need Spark, because they run in
threads of this process. If a session is passed to `maintain`, the session runs the tasks.
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
