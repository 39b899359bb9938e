"""Lance tables in the catalog you already run.

>>> from lance_namespace_impls import connect
>>> with connect("dir", {"path": "/data/lance"}) as namespace:
...     print(list(namespace.iter_tables()))
"""

from __future__ import annotations

from .registry import connect, connect_config, implementations, register

__all__ = ["connect", "connect_config", "implementations", "register"]
