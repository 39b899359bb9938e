"""Jobs over whole catalogs; each is a function, a command of ``lance-ns`` and a DataFrame.

>>> from lance_namespace_impls.spark.jobs import inventory
>>> inventory(connect("dir", {"path": "/data/lance"})).to_frame(spark)  # doctest: +SKIP

They look at tables in threads of this process and need no Spark, other than for a DataFrame.
"""

from __future__ import annotations

from .inventory import IndexRow, TableRow, inventory
from .results import Rows
from .selection import Selection
from .sync import Mirror, SyncRow, sync

__all__ = [
    "IndexRow",
    "Mirror",
    "Rows",
    "Selection",
    "SyncRow",
    "TableRow",
    "inventory",
    "sync",
]
