"""Named locks, for exclusive changes to an object.

Some catalogs do not prevent conflicts. If several clients create the same name concurrently, all of
them succeed; if several clients change the same object, the last change wins.
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

# A lock exists only as long as a thread holds it or waits for it.
_LOCKS: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
_FINDING = threading.Lock()


def _forget() -> None:
    """Remove all locks after a fork: the child lacks the threads that would release them."""
    global _FINDING
    _FINDING = threading.Lock()
    _LOCKS.clear()


os.register_at_fork(after_in_child=_forget)

# This interval is short, because the thread that released a lock may immediately acquire it again.
POLL_SECONDS = 0.005


@contextmanager
def exclusive_lock(key: Hashable, timeout: float | None = None) -> Iterator[None]:
    """Hold the lock for a key, which only one thread of this process can hold at a time.

    Args:
        key: identifies the lock.
        timeout: seconds to wait for the lock; None means no limit.

    Raises:
        TimeoutError: another thread still holds the lock at the end of that time.
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
    """Hold the lock for a key, which only one thread in all of this user's processes can hold.

    The lock is released when the process exits. Processes with different folders for temporary
    files do not share locks. If the folder does not support locks, the lock applies only to threads
    of this process, and a `RuntimeWarning` is issued.

    Args:
        key: identifies the lock; its `repr` must be the same in each process.
        timeout: seconds to wait for the lock; None means no limit.

    Raises:
        TimeoutError: another thread or process still holds the lock at the end of that time.
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
                f"locks cannot be stored in {folder}: {error.strerror}; other processes on this "
                f"machine may change the same objects concurrently. Set TMPDIR to the same "
                f"writable folder for all of them",
                RuntimeWarning,
                stacklevel=3,
            )
        else:
            # A process that waits for the file detects that the file was deleted, and creates
            # another one.
            stack.callback(_delete, lock.lock_file)
        yield


def _make_folder(path: str) -> None:
    """Create the folder for the locks.

    Raises:
        OSError: the folder cannot be created, or belongs to another user.
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
    """Lock an object against changes from this machine to the same server over other connections.

    Args:
        server: address of the server.
        identifier: the object.
        timeout: seconds to wait for the lock; None means no limit.

    Raises:
        ConcurrentModificationError: code 14, the lock was not free within that time.
    """
    # Some servers compare names case-insensitively, so names that differ only in case share a lock.
    key = (server, *(name.lower() for name in identifier))
    with ExitStack() as stack:
        try:
            stack.enter_context(machine_lock(key, timeout))
        except TimeoutError:
            raise ConcurrentModificationError(
                f"{format_identifier(identifier)} is still being changed by other processes on "
                f"this machine after {timeout:g} s; try again"
            ) from None
        yield
