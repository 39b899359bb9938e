"""Lance tables in the catalog you already run.

>>> from lance_namespace_impls import connect
>>> with connect("dir", {"path": "/data/lance"}) as namespace:
...     print(list(namespace.iter_tables()))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_namespace_namesake import refuse_namesake

if TYPE_CHECKING:
    from .objects.search import Search
    from .objects.table import Table
    from .registry import connect as connect
    from .registry import connect_config as connect_config
    from .registry import implementations as implementations
    from .registry import register as register
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

refuse_namesake()

# Imported on first use: the command line starts faster without them.
_LATER = {
    "AsyncRestNamespace": "rest",
    "Search": "objects.search",
    "Table": "objects.table",
    **dict.fromkeys(("connect", "connect_config", "implementations", "register"), "registry"),
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        globals()[name] = found = getattr(import_module(f".{_LATER[name]}", __name__), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
