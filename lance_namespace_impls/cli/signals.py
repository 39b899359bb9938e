"""Handles SIGINT and SIGTERM: raises an exception on the main thread, and limits the time until
exit.

The first signal raises `Stopped`, and the command rolls back its changes. Later signals are
ignored, because they would interrupt the rollback. If the rollback does not finish in time, for
example because native code on the main thread does not check for signals, a thread ends the
process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

__all__ = [
    "Stopped",
    "bound_exit",
    "deferred",
    "handle",
    "handled",
    "leave",
    "on_stop",
    "stopped_by",
]

STOP_SECONDS = 90.0
"""Number of seconds after a signal until the process is ended, even if rollback is incomplete."""
EXIT_SECONDS = 5.0
"""Number of seconds after the end of a stopped command until running threads are abandoned."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ENDED = 0
"""Pseudo signal number that represents the end of the command."""


class Stopped(KeyboardInterrupt):
    """Raised when a signal stops the command."""


class _State:
    def __init__(self) -> None:
        self.number: int | None = None
        """Number of the first signal."""
        self.status: int | None = None
        """Exit status of the command."""
        self.is_bounded = False
        self.is_deferred = False
        self.on_stop: Callable[[], None] | None = None
        self.writer: int | None = None


_state = _State()


def handle() -> None:
    """Start handling the signals of this process; must be called on the main thread."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    _state.writer = writer
    # Python's signal handlers run only between bytecode instructions, but this descriptor is
    # written to immediately.
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in _SIGNALS:
        if (
            signal.getsignal(number) is not signal.SIG_IGN
        ):  # it is ignored, for example because of nohup or `&` in a script
            signal.signal(number, _stop)
    threading.Thread(target=_watch, args=(reader,), name="lance-ns-signals", daemon=True).start()
    atexit.register(_end)  # functions that are registered later run earlier


@contextlib.contextmanager
def handled() -> Iterator[None]:
    """Handle signals within a block unless they are already handled; used by programs that call
    commands.
    """
    if _state.writer is not None:
        yield
        return
    before = {number: signal.signal(number, _stop) for number in _SIGNALS}
    try:
        yield
    finally:
        _state.number = None
        for number, handler in before.items():
            signal.signal(number, handler)


def stopped_by() -> int | None:
    """Return the number of the signal that has stopped the command, or None."""
    return _state.number


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Raise `Stopped` at the end of the block instead of within it."""
    _state.is_deferred = True
    try:
        yield
    finally:
        _state.is_deferred = False
    if _state.number is not None:
        raise Stopped


@contextlib.contextmanager
def on_stop(call: Callable[[], None]) -> Iterator[None]:
    """Call a function if a signal arrives within the block, before `Stopped` is raised."""
    _state.on_stop = call
    try:
        yield
    finally:
        _state.on_stop = None


def bound_exit() -> None:
    """Limit the time from the end of the command to the end of the process, despite threads."""
    _state.is_bounded = True


def leave(status: int) -> NoReturn:
    """Exit with a status; from here on, signals end the process immediately."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_DFL)
    if _state.is_bounded or _state.number is not None:
        _state.status = status
        _notify(_ENDED)
    sys.exit(status)


def _end() -> None:
    """Exit after a stopped command, without finalizing the interpreter.

    Native threads, such as those of an interrupted write, may call Python during finalization,
    which would abort the process with SIGABRT.
    """
    if _state.status is None:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # there is no reader, or it is closed
            stream.flush()
    os._exit(_state.status)


def _stop(number: int, frame: FrameType | None) -> None:
    # This is also necessary here, because an event loop may have replaced the wakeup descriptor.
    _notify(number)
    if _state.number is not None:
        return
    _state.number = number
    if not _state.is_deferred:
        if _state.on_stop is not None:
            _state.on_stop()
        raise Stopped


def _notify(number: int) -> None:
    if _state.writer is not None:
        with contextlib.suppress(BlockingIOError):  # the thread already has data to read
            os.write(_state.writer, bytes([number]))


def _watch(reader: int) -> None:
    """End the process at the deadline after the first signal or after the end of the command."""
    first: int | None = None
    deadline: float | None = None
    while deadline is None or (left := deadline - time.monotonic()) > 0:
        if not select.select([reader], [], [], None if deadline is None else left)[0]:
            break
        for number in os.read(reader, 64):
            if number == _ENDED:
                deadline = time.monotonic() + EXIT_SECONDS
            elif number in _SIGNALS and first is None:
                first = number
                deadline = deadline or time.monotonic() + STOP_SECONDS
    os._exit(_state.status if _state.status is not None else 128 + (first or 0))
