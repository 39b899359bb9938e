"""Counts this machine's sockets."""

from __future__ import annotations

from pathlib import Path

__all__ = ["open_sockets"]

# ESTABLISHED and CLOSE_WAIT: those that a client still holds.
_HELD = {"01", "08"}

_ASIDE = "0200007F"  # 127.0.0.2, which the tests' own connections come from


def open_sockets(port: int) -> int:
    """Count the sockets that clients hold to a port of this machine, the tests' own left out."""
    held = 0
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, remote, state, *_ = line.split()
            theirs = local.startswith(_ASIDE)
            held += not theirs and state in _HELD and int(remote.rpartition(":")[2], 16) == port
    return held
