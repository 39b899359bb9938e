"""Lance tables in the catalog you already run.

>>> from lance_namespace_impls import connect
>>> with connect("dir", {"path": "/data/lance"}) as namespace:
...     print(list(namespace.iter_tables()))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_namesake import refuse_namesake

if TYPE_CHECKING:
    from .objects.async_namespace import AsyncNamespace
    from .objects.async_search import AsyncSearch
    from .objects.async_table import AsyncTable
    from .objects.search import Search
    from .objects.table import Table
    from .registry import connect as connect
    from .registry import connect_async as connect_async
    from .registry import connect_config as connect_config
    from .registry import implementations as implementations
    from .registry import register as register
    from .rest import AsyncRestNamespace as AsyncRestNamespace

__all__ = [
    "AsyncNamespace",
    "AsyncRestNamespace",
    "AsyncSearch",
    "AsyncTable",
    "Search",
    "Table",
    "connect",
    "connect_async",
    "connect_config",
    "implementations",
    "register",
]

refuse_namesake()

# Imported on first use: the command line starts faster without them.
_LATER = {
    "AsyncNamespace": "objects.async_namespace",
    "AsyncRestNamespace": "rest",
    "AsyncSearch": "objects.async_search",
    "AsyncTable": "objects.async_table",
    "Search": "objects.search",
    "Table": "objects.table",
    **dict.fromkeys(
        ("connect", "connect_async", "connect_config", "implementations", "register"), "registry"
    ),
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        globals()[name] = found = getattr(import_module(f".{_LATER[name]}", __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
