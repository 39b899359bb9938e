"""Locks by name, for exclusive changes of an object.

Some catalogs do not prevent conflicts: if several clients create the same name concurrently, all
succeed, and if several change one object, the last one wins.
"""

from __future__ import annotations

import errno
import math
import os
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from weakref import WeakValueDictionary

from lance_namespace_client.errors import ConcurrentModificationError

from .identifiers import Identifier, format_identifier

__all__ = ["exclusive_lock", "machine_lock", "object_lock"]

# A lock exists as long as a thread holds it or waits for it.
_LOCKS: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
_FINDING = threading.Lock()


def _forget() -> None:
    """Remove all locks in a forked process: the threads that would release them do not exist there."""
    global _FINDING
    _FINDING = threading.Lock()
    _LOCKS.clear()


os.register_at_fork(after_in_child=_forget)

# Short, because the thread that released a lock may request it again immediately.
POLL_SECONDS = 0.005


@contextmanager
def exclusive_lock(key: Hashable, timeout: float | None = None) -> Iterator[None]:
    """Hold the lock of a key, which one thread of this process holds at a time.

    Args:
        key: key of the lock.
        timeout: seconds to wait for the lock; None is forever.

    Raises:
        TimeoutError: another thread still held the lock.
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
def machine_lock(key: Hashable, timeout: float | None = None) -> Iterator[None]:
    """Hold the lock of a key, which one thread among all of this user's processes holds at a time.

    It is released when its process ends. Processes with a different folder for temporary files do
    not share it. If that folder does not support locks, only the threads of this process exclude
    each other, and a `RuntimeWarning` is issued.

    Args:
        key: key of the lock; its `repr` is the same in each process.
        timeout: seconds to wait for the lock; None is forever.

    Raises:
        TimeoutError: another thread or process still held the lock.
    """
    from filelock import FileLock, Timeout  # slow to import, and most processes need no lock

    last = math.inf if timeout is None else time.monotonic() + timeout
    with exclusive_lock(key, timeout), ExitStack() as stack:
        folder = os.path.join(tempfile.gettempdir(), f"lance-namespace-locks-{os.getuid()}")
        name = blake2b(repr(key).encode(), digest_size=16).hexdigest()
        lock = FileLock(
            os.path.join(folder, name),
            mode=0o600,
            poll_interval=POLL_SECONDS,
            fallback_to_soft=False,
        )
        try:
            _make_folder(folder)
            stack.enter_context(lock.acquire(max(0.0, last - time.monotonic())))
        except Timeout:
            raise TimeoutError from None
        except OSError as error:
            warnings.warn(
                "other processes on this machine may change the same objects concurrently: "
                f"locks cannot be stored in {folder}: {error.strerror}; set TMPDIR to a "
                "writable folder, the same for all of them",
                RuntimeWarning,
                stacklevel=3,
            )
        else:
            # A process that waits for the file notices that it is deleted, and creates another.
            stack.callback(_delete, lock.lock_file)
        yield


def _make_folder(path: str) -> None:
    """Create the folder of the locks.

    Raises:
        OSError: it cannot be created, or another user controls it.
    """
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        raise PermissionError(errno.EPERM, "the folder does not belong to this user", path)


def _delete(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


@contextmanager
def object_lock(
    server: str, identifier: Identifier, timeout: float | None = None
) -> Iterator[None]:
    """Keep other connections from this machine to that server from changing the same object.

    Args:
        server: address of the server.
        identifier: the object.
        timeout: seconds to wait for the lock; None is forever.

    Raises:
        ConcurrentModificationError: code 14, the lock was not free within that time.
    """
    # Some servers compare names case-insensitively.
    key = (server, *(name.lower() for name in identifier))
    with ExitStack() as stack:
        try:
            stack.enter_context(machine_lock(key, timeout))
        except TimeoutError:
            raise ConcurrentModificationError(
                f"{format_identifier(identifier)}: other processes on this machine are still "
                f"changing it after {timeout:g} s; try again"
            ) from None
        yield
