"""Caches the open datasets of a directory's tables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.file_stamps import Stamp

__all__ = ["DatasetCache"]

# Maximum number of cached datasets; each of them keeps its manifest in memory.
MAX_DATASETS = 32


class DatasetCache:
    """Caches open datasets by table; a dataset is valid until a path on which it depends changes.

    Args:
        stamp: returns the current state of all paths on which a table and its newest version
            depend, or None if the state cannot be determined.
    """

    def __init__(self, stamp: Callable[[str], Stamp | None]) -> None:
        self._stamp = stamp
        self._entries: dict[str, tuple[Stamp, Any]] = {}
        self._lock = threading.Lock()

    def get(self, name: str, opened: Callable[[], Any]) -> Any:
        """Return a table's dataset at its latest version.

        Args:
            name: the table.
            opened: opens the table's dataset; called if no valid dataset is cached.
        """
        entry = self._entries.get(name)
        if entry is not None and entry[0].is_current():
            return entry[1]
        stamp = self._stamp(name)  # before opening the dataset, to detect concurrent changes
        dataset = opened()
        with self._lock:
            self._entries.pop(name, None)
            if stamp is not None:
                self._entries[name] = stamp, dataset
            if len(self._entries) > MAX_DATASETS:
                del self._entries[next(iter(self._entries))]
        return dataset
