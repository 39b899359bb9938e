"""Lance tables in the catalog you already run.

>>> from lance_namespace_impls import connect
>>> with connect("dir", {"path": "/data/lance"}) as namespace:
...     print(list(namespace.iter_tables()))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .registry import connect, connect_config, implementations, register

if TYPE_CHECKING:
    from .catalog.search import Search as Search
    from .catalog.table import Table as Table
    from .rest import AsyncRestNamespace as AsyncRestNamespace

__all__ = [
    "AsyncRestNamespace",
    "Search",
    "Table",
    "connect",
    "connect_config",
    "implementations",
    "register",
]

_LATER = {"AsyncRestNamespace": "rest", "Search": "catalog.search", "Table": "catalog.table"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
