"""Lance tables in the catalog you already run.

>>> from lance_namespace_impls import connect
>>> with connect("dir", {"path": "/data/lance"}) as namespace:
...     print(list(namespace.iter_tables()))
"""

from __future__ import annotations

from ._conflict import refuse_namesake

refuse_namesake()

from .registry import connect, connect_config, implementations, register  # noqa: E402

__all__ = ["connect", "connect_config", "implementations", "register"]
