"""Detects changes of directories and files on a local disk."""

from __future__ import annotations

import os
import stat
import time
from typing import TypeAlias

from attrs import frozen

__all__ = ["Stamp"]

# File systems store modification times in steps of up to two seconds (FAT). Of two changes within
# one step, the second is invisible.
RECENT_NANOSECONDS = 3_000_000_000

_Mark: TypeAlias = tuple[int, int, int, int]


@frozen
class Stamp:
    """A snapshot of the state of directories and files.

    The state of a directory changes when one of its direct entries is created, removed or renamed,
    or when its permissions change. It does not change when a file in the directory is modified in
    place, or when something changes at a deeper level.
    """

    _paths: tuple[str, ...]
    _marks: tuple[_Mark, ...]

    @classmethod
    def take(cls, *paths: str) -> Stamp | None:
        """Return a snapshot of the current state of the specified paths.

        Returns:
            None if one of the paths is missing, is a symbolic link, or has changed so recently that
            another change might be invisible.
        """
        try:
            marks = tuple(_mark(path) for path in paths)
        except OSError:
            return None
        if any(stat.S_ISLNK(mark[0]) for mark in marks):
            return None
        newest = max(changed for *_, changed in marks)
        return cls(paths, marks) if time.time_ns() - newest >= RECENT_NANOSECONDS else None

    def is_current(self) -> bool:
        """Return whether nothing has changed since the snapshot."""
        try:
            for path, mark in zip(self._paths, self._marks, strict=True):
                if _mark(path) != mark:
                    return False
        except OSError:
            return False
        return True


def _mark(path: str) -> _Mark:
    # The time of the last status change: unlike the modification time, it cannot be set by
    # programs.
    found = os.lstat(path)
    return found.st_mode, found.st_ino, found.st_dev, found.st_ctime_ns
