"""Thread pool that runs a few calls at a time, so that quick calls do not delay each other."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["Turns"]

T = TypeVar("T")

LONG_SECONDS = 0.05


class _Job(Future[Any]):
    """A call for a thread; it holds a turn from its start."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        super().__init__()
        self._function = function
        self._arguments = arguments
        self.started = 0.0

    def run(self) -> None:
        self.started = time.monotonic()
        if not self.set_running_or_notify_cancel():
            return
        try:
            result = self._function(*self._arguments)
        except BaseException as error:  # noqa: BLE001 - raised again by the future of the call
            self.set_exception(error)
        else:
            self.set_result(result)


class Turns:
    """Runs calls in threads, a few at a time; a long call passes its turn to a waiting one.

    For calls that only compute, more threads than cores bring no gain, and they wait for each
    other.

    Args:
        threads: executor with one thread for each submitted call.
        at_once: number of calls that run concurrently while they are quick.
    """

    def __init__(self, threads: ThreadPoolExecutor, at_once: int) -> None:
        self._threads = threads
        self._at_once = at_once
        self._timer: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()
        self._running: set[_Job] = set()
        """Calls that hold a turn."""
        self._waiting: deque[_Job] = deque()

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Run a function once it has a turn; must be called on the event loop."""
        job = _Job(function, arguments)
        with self._lock:
            waits = len(self._running) >= self._at_once
            if waits:
                self._waiting.append(job)
            else:
                self._running.add(job)
        if waits:
            self._watch()
        else:
            self._threads.submit(self._work, job)
        return job

    def close(self) -> None:
        """Start no further calls."""
        with self._lock:
            waiting, self._waiting = self._waiting, deque()
        for job in waiting:
            job.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _work(self, job: _Job) -> None:
        """Run a call in its thread, then run waiting calls."""
        while True:
            job.run()
            with self._lock:
                if job not in self._running:
                    return  # its turn has already been passed on
                self._running.remove(job)
                if not self._waiting:
                    return
                job = self._waiting.popleft()
                self._running.add(job)

    def _watch(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(LONG_SECONDS, self._let_in)

    def _let_in(self) -> None:
        """Pass the turns of long calls to waiting calls."""
        self._timer = None
        since = time.monotonic() - LONG_SECONDS
        with self._lock:
            long = [job for job in self._running if 0 < job.started <= since and not job.done()]
            let_in = [self._waiting.popleft() for _ in long[: len(self._waiting)]]
            self._running.difference_update(long[: len(let_in)])
            self._running.update(let_in)
            still = bool(self._waiting)
        for job in let_in:
            self._threads.submit(self._work, job)
        if still:
            self._watch()
