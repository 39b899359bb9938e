"""Whether directories and files of a local disk are still what they were."""

from __future__ import annotations

import os
import stat
import time
from typing import TypeAlias

from attrs import frozen

__all__ = ["Stamp"]

# File systems keep the time of a change in steps of up to two seconds (FAT): of two changes within
# one step, the second does not show.
RECENT_NANOSECONDS = 3_000_000_000

_Mark: TypeAlias = tuple[int, int, int, int]


@frozen
class Stamp:
    """How some directories and files are at a moment.

    A directory changes when something is created, removed or renamed right in it, and when who may
    read it changes; not when a file in it is written in its place, or something further down.
    """

    _paths: tuple[str, ...]
    _marks: tuple[_Mark, ...]

    @classmethod
    def take(cls, *paths: str) -> Stamp | None:
        """Return how paths are now.

        Returns:
            None where one of them is missing or a symbolic link, or has changed so recently that
            another change might not show.
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
        """Return whether nothing has changed since."""
        try:
            for path, mark in zip(self._paths, self._marks, strict=True):
                if _mark(path) != mark:
                    return False
        except OSError:
            return False
        return True


def _mark(path: str) -> _Mark:
    # The time of the last change of status, which no program can set back as it can that of writing.
    found = os.lstat(path)
    return found.st_mode, found.st_ino, found.st_dev, found.st_ctime_ns
