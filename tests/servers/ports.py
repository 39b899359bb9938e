"""Free ports for servers that cannot choose a port themselves."""

from __future__ import annotations

import random
import socket

__all__ = ["free_port"]

# Below the system's range of ephemeral ports: otherwise a client could get a free port before the
# server listens on it.
LOWEST, HIGHEST = 15_000, 32_000


def free_port(*, following: int = 0) -> int:
    """Return a TCP port on which nothing listens, on any interface.

    Args:
        following: how many of the next ports must be free as well.
    """
    for port in random.sample(range(LOWEST, HIGHEST - following), 200):
        if all(map(_is_free, range(port, port + following + 1))):
            return port
    raise RuntimeError(f"no free port between {LOWEST} and {HIGHEST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False  # in use
        return True
