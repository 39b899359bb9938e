"""Divides the fragments of a table among tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["group_by_size", "size_of"]


def size_of(fragment: Any) -> int:
    """Return the size of a fragment's files in bytes, or an estimate if no size is recorded."""
    known = [file.file_size_bytes for file in fragment.data_files()]
    return sum(known) if all(known) else fragment.metadata.physical_rows * 64


def group_by_size(sizes: Sequence[int], groups: int) -> list[list[int]]:
    """Divide a sequence into at most `groups` runs of similar size; return the indices of each.

    >>> group_by_size([5, 5, 5, 5], 2)
    [[0, 1], [2, 3]]
    """
    parts: list[list[int]] = [[] for _ in range(min(groups, len(sizes)))]
    total, before = sum(sizes) or 1, 0
    for index, size in enumerate(sizes):
        middle = before + size / 2
        parts[min(len(parts) - 1, int(middle * len(parts) / total))].append(index)
        before += size
    return [part for part in parts if part]
