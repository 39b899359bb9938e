"""Counts this process's sockets."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["open_sockets"]

_ASIDE = "0200007F"  # 127.0.0.2, the source address of the tests' own connections


def open_sockets(port: int) -> set[str]:
    """Return this process's sockets to a port, in any state, without the tests' own sockets.

    The system's list is read in pieces while it changes, so it may contain a socket twice. The
    inode number identifies a socket.
    """
    own = _own_sockets()
    held = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            local, remote, number = fields[1], fields[2], fields[9]
            there = int(remote.rpartition(":")[2], 16) == port
            if there and number in own and not local.startswith(_ASIDE):
                held.add(number)
    return held


def _own_sockets() -> set[str]:
    numbers = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            continue  # closed concurrently
        if target.startswith("socket:["):
            numbers.add(target[len("socket:[") : -1])
    return numbers
