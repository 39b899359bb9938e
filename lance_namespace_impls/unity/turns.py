"""Turns: of several in this process that make or change one object, one at a time.

The open-source server keeps no two apart. Of several that make one name at once all succeed, and
the entries answer HTTP 500 to everything from then on; of several that change one schema the last
wins.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.identifiers import Identifier

__all__ = ["taking_turns"]

# Objects share locks, so that there is a fixed number of them.
_LOCKS = [threading.Lock() for _ in range(256)]


@contextmanager
def taking_turns(server: str, identifier: Identifier) -> Iterator[None]:
    """Keep every other connection of this process to that server from the same object."""
    # Servers do not tell upper from lower case in names, all of them.
    key = (server, *(name.lower() for name in identifier))
    with _LOCKS[hash(key) % len(_LOCKS)]:
        yield
