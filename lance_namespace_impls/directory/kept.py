"""Caches the open datasets of a directory's tables."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.file_stamps import Stamp

__all__ = ["KeptDatasets"]

# Maximum number of cached datasets; each of them keeps its manifest in memory.
MAX_KEPT = 32


class KeptDatasets:
    """Caches open datasets by table; a dataset is valid until a path on which it depends changes.

    Args:
        stamp: returns the current state of all paths on which a table and its newest version
            depend, or None if the state cannot be determined.
    """

    def __init__(self, stamp: Callable[[str], Stamp | None]) -> None:
        self._stamp = stamp
        self._kept: dict[str, tuple[Stamp, Any]] = {}
        self._lock = threading.Lock()

    def get(self, name: str, opened: Callable[[], Any]) -> Any:
        """Return a table's dataset at its latest version.

        Args:
            name: the table.
            opened: opens the table's dataset; called if no valid dataset is cached.
        """
        kept = self._kept.get(name)
        if kept is not None and kept[0].is_current():
            return kept[1]
        stamp = self._stamp(name)  # before opening the dataset, to detect concurrent changes
        dataset = opened()
        with self._lock:
            self._kept.pop(name, None)
            if stamp is not None:
                self._kept[name] = stamp, dataset
            if len(self._kept) > MAX_KEPT:
                del self._kept[next(iter(self._kept))]
        return dataset
