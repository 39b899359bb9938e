"""Locks by name, for exclusive changes of an object.

Some catalogs do not prevent conflicts: if several clients create the same name concurrently, all
succeed, and if several change one object, the last one wins.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
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
    last = math.inf if timeout is None else time.monotonic() + timeout
    with exclusive_lock(key, timeout):
        at = int.from_bytes(blake2b(repr(key).encode(), digest_size=7).digest(), "big")
        path = os.path.join(tempfile.gettempdir(), f"lance-ns-locks-{os.getuid()}")
        # Polled, because the system would detect a false deadlock between two multi-threaded
        # processes.
        while (file := _lock_file_or_warning(path)) is not None and not _try_to_hold(
            file, path, at
        ):
            if time.monotonic() >= last:
                raise TimeoutError
            time.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            if file is not None:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, at)


def _try_to_hold(file: int, path: str, at: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
    except (BlockingIOError, PermissionError):
        return False
    with suppress(FileNotFoundError):
        os.utime(file)  # protects it from clean-up by age
        if os.path.samestat(os.fstat(file), os.stat(path, follow_symlinks=False)):
            return True
    _lock_file.cache_clear()  # other processes now use another file
    fcntl.lockf(file, fcntl.LOCK_UN, 1, at)
    return False


def _lock_file_or_warning(path: str) -> int | None:
    """Return the file whose bytes are the locks; None, with a warning, if there can be none."""
    try:
        return _lock_file(path, os.getpid())
    except OSError as error:
        warnings.warn(
            "other processes on this machine may change the same objects concurrently: "
            f"locks cannot be stored in {path}: {error.strerror}; set TMPDIR to a "
            "writable folder, the same for all of them",
            RuntimeWarning,
            stacklevel=4,
        )
        return None


@cache
def _lock_file(path: str, process: int) -> int:
    """Open the file whose bytes are the locks.

    It stays open, because closing it would release all locks of the process. A failure is not
    cached: the next lock retries.

    Raises:
        OSError: the user cannot have such a file.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(file)
    if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode):
        os.close(file)
        raise PermissionError(errno.EPERM, "the file does not belong to this user", path)
    return file


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
