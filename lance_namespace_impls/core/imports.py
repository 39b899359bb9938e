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

    If two threads start importing modules with circular imports at different places, as in pylance
    and pyarrow, one thread gets a partially initialized module: Python prefers that to a deadlock.

    Args:
        name: its full name, such as ``lance.file``.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    with _lock:
        return importlib.import_module(name)
