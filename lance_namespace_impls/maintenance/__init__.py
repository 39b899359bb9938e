"""Jobs over whole catalogs; each is a function, a command of ``lance-ns`` and a DataFrame.

>>> from lance_namespace_impls.maintenance import inventory
>>> inventory(connect("dir", {"path": "/data/lance"})).to_frame(spark)  # doctest: +SKIP

They need no Spark: tables are looked at by threads of this process, which hand the work of
`maintain` to a session where one is given.
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
