"""Detects forks, after which neither Lance's threads nor open connections can be used.

A forked process inherits the memory of its parent, but only the thread that forked. Some of Lance's
calls then wait forever for a thread that does not exist, so such a process must not call Lance.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from lance_namespace_client.errors import InvalidInputError

__all__ = ["check_lance", "forks"]

THREADS = ("lance", "tokio")
"""Prefixes of the names of Lance's threads."""


class _State:
    """The forks between the start of the program and this process."""

    forks = 0
    lance_has_threads = False
    """Whether Lance had threads in the parent just before the fork."""
    lance_is_lost = False


def forks() -> int:
    """Return the number of forks that led to this process; connections from before are shared."""
    return _State.forks


def check_lance(subject: Callable[[], str] | None = None) -> None:
    """Raise an error if Lance cannot be used because of a fork.

    Args:
        subject: returns the subject of the message, such as the operation and its object.

    Raises:
        InvalidInputError: code 13, Lance's threads had started before this process was forked.
    """
    if _State.lance_is_lost:
        raise InvalidInputError(
            "this process was forked while Lance was in use, and Lance's threads do not survive a "
            "fork; start worker processes with 'spawn': multiprocessing.get_context('spawn'), or "
            "multiprocessing_context='spawn' for a DataLoader",
            subject=subject() if subject else None,
        )


def _lance_has_threads() -> bool:
    if "lance" not in sys.modules:
        return False
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return True  # threads are listed on Linux only, so assume the worst
    return any(_thread_name(each).startswith(THREADS) for each in threads)


def _thread_name(thread: str) -> str:
    try:
        with open(f"/proc/self/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # the thread has ended


def _before() -> None:
    _State.lance_has_threads = _lance_has_threads()


def _in_child() -> None:
    _State.forks += 1
    _State.lance_is_lost |= _State.lance_has_threads


os.register_at_fork(before=_before, after_in_child=_in_child)
