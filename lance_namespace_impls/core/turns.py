"""Turns: of several in this process that make or change one object, one at a time.

Some catalogs keep no two apart. Of several that make one name at once all succeed, and of several
that change one object the last wins.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lance_namespace_client.errors import ConcurrentModificationError

from .identifiers import Identifier, format_identifier

__all__ = ["taking_turns"]

# Objects share locks, so that there is a fixed number of them.
_LOCKS = [threading.Lock() for _ in range(256)]


@contextmanager
def taking_turns(
    server: str, identifier: Identifier, seconds: float | None = None
) -> Iterator[None]:
    """Keep every other connection of this process to that server from the same object.

    Args:
        server: address of the server.
        identifier: the object.
        seconds: how long to wait for one's turn; None is for ever.

    Raises:
        ConcurrentModificationError: code 14, one's turn did not come within that time.
    """
    # Servers do not tell upper from lower case in names, all of them.
    key = (server, *(name.lower() for name in identifier))
    lock = _LOCKS[hash(key) % len(_LOCKS)]
    if not lock.acquire(timeout=-1 if seconds is None else seconds):
        raise ConcurrentModificationError(
            f"{format_identifier(identifier)}: others in this process are still changing it after "
            f"{seconds:g} s; try again"
        )
    try:
        yield
    finally:
        lock.release()
