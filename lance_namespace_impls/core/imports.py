"""Imports slow packages on first use."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import Any

from .forks import check_lance

__all__ = ["STACK_BYTES", "load"]

STACK_BYTES = 64 << 20
"""Stack size of Lance's threads. This is address space; memory is allocated only for the used part.

Lance parses stored JSON recursively, with up to 700 bytes of stack per level. Every write checks
the depth, but other tools may store deeper values. With Rust's default of 2 MiB, reading such a
value would crash the process.
"""

# Rust reads the variable when it starts its first thread, which happens after this import.
os.environ.setdefault("RUST_MIN_STACK", str(STACK_BYTES))

_lock = threading.RLock()


def load(name: str) -> Any:
    """Import a module; only one thread can import at a time.

    pylance and pyarrow have circular imports. If two threads enter such a cycle at different
    modules, Python avoids a deadlock by returning a partially initialized module to one of them.

    Args:
        name: full name of the module, such as ``lance.file``.

    Raises:
        InvalidInputError: code 13, the module belongs to pylance and cannot be used because of a
            fork; see `check_lance`.
    """
    if name.partition(".")[0] == "lance":
        check_lance()
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    with _lock:
        return importlib.import_module(name)
