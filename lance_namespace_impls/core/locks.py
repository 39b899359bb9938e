"""Locks by name: of several threads of this process that change one thing, one at a time.

Some catalogs keep no two apart. Of several that create one name at the same moment all succeed, and
of several that change one object the last wins.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from weakref import WeakValueDictionary

from lance_namespace_client.errors import ConcurrentModificationError

from .identifiers import Identifier, format_identifier

__all__ = ["exclusive_lock", "object_lock"]

# A lock lives as long as somebody holds it or waits for it.
_LOCKS: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
_FINDING = threading.Lock()


@contextmanager
def exclusive_lock(key: Hashable, timeout: float | None = None) -> Iterator[None]:
    """Hold the lock of a key, which one thread of this process has at a time.

    Args:
        key: what the lock is for.
        timeout: seconds to wait for the lock; None is forever.

    Raises:
        TimeoutError: another thread still had the lock then.
    """
    with _FINDING:
        lock = _LOCKS.setdefault(key, threading.Lock())
    if not lock.acquire(timeout=-1 if timeout is None else timeout):
        raise TimeoutError
    try:
        yield
    finally:
        lock.release()


@contextmanager
def object_lock(
    server: str, identifier: Identifier, timeout: float | None = None
) -> Iterator[None]:
    """Keep every other connection of this process to that server from the same object.

    Args:
        server: address of the server.
        identifier: the object.
        timeout: seconds to wait for the lock; None is forever.

    Raises:
        ConcurrentModificationError: code 14, the lock was not free within that time.
    """
    # Not all servers tell upper from lower case in names.
    key = (server, *(name.lower() for name in identifier))
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(key, timeout))
        except TimeoutError:
            raise ConcurrentModificationError(
                f"{format_identifier(identifier)}: others in this process are still changing it "
                f"after {timeout:g} s; try again"
            ) from None
        yield
