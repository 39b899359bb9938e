"""Imports of packages that are slow to load, at their first use."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import Any

__all__ = ["STACK_BYTES", "load"]

STACK_BYTES = 64 << 20
"""Stack of each of Lance's threads: address space, of which only the used part becomes memory.

Lance reads stored JSON recursively, with up to 700 bytes for each level. Every write checks the
depth, but other tools store deeper values: in Rust's 2 MiB, reading one ends the process.
"""

# Rust reads the variable when it starts its first thread, which is later than this import.
os.environ.setdefault("RUST_MIN_STACK", str(STACK_BYTES))

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
