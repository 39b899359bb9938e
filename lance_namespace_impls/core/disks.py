"""Detects paths on local disks."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["on_local_disk"]

# File systems that never wait for another machine or program, and that make every change visible
# immediately. On others, changes may be invisible: the directories of a mounted bucket always look
# the same.
_LOCAL = frozenset(
    (
        *("apfs", "bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs"),
        *("nilfs2", "ntfs3", "overlay", "ramfs", "reiserfs", "squashfs", "tmpfs", "ufs", "vfat"),
        *("xfs", "zfs"),
    )
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def on_local_disk(path: str) -> bool:
    """Return whether a path and everything below it are certain to be on local disks."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False  # only Linux provides this list
    real = os.path.realpath(path)
    found, kind = "", ""
    for line in mounts.splitlines():
        _, place, name, *_ = line.split(" ")
        place = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), place).rstrip("/")
        if len(place) >= len(found) and (real == place or real.startswith(f"{place}/")):
            found, kind = place, name
        elif place.startswith(f"{real.rstrip('/')}/") and name not in _LOCAL:
            return False
    return kind in _LOCAL
