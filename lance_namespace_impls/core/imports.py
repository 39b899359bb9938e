"""Imports of packages that are slow to load, at their first use."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

__all__ = ["load"]

_lock = threading.RLock()


def load(name: str) -> Any:
    """Return a module, imported by one thread at a time.

    Modules that import one another, as those of pylance and pyarrow do, are half-initialized for
    one of two threads that begin in different places: Python prefers that to a deadlock.

    Args:
        name: its full name, such as ``lance.file``.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    with _lock:
        return importlib.import_module(name)
