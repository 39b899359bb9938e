"""Datasets of a directory's tables that are kept open between reads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.file_stamps import Stamp

__all__ = ["KeptDatasets"]

# Each has its manifest in memory, for as long as it is among those that were opened last.
MAX_KEPT = 32


class KeptDatasets:
    """Opened datasets by table, each as long as nothing has changed that it was found and opened by.

    Args:
        stamp: returns what a table and its newest version depend on, as it is now; None where that
            cannot be told.
    """

    def __init__(self, stamp: Callable[[str], Stamp | None]) -> None:
        self._stamp = stamp
        self._kept: dict[str, tuple[Stamp, Any]] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> Any:
        """Return a table's dataset at its latest version; None where none is kept that is still good."""
        found = self._kept.get(name)
        return found[1] if found is not None and found[0].is_current() else None

    def get(self, name: str, opened: Callable[[], Any]) -> Any:
        """Return a table's dataset at its latest version.

        Args:
            name: the table.
            opened: opens its dataset, where none is kept that is still good.
        """
        if (found := self.find(name)) is not None:
            return found
        stamp = self._stamp(name)  # before it is opened: what changes meanwhile must show
        dataset = opened()
        with self._lock:
            self._kept.pop(name, None)
            if stamp is not None:
                self._kept[name] = stamp, dataset
            if len(self._kept) > MAX_KEPT:
                del self._kept[next(iter(self._kept))]
        return dataset
