"""Concurrent lookups, walks and calls."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from itertools import chain, islice
from queue import SimpleQueue
from typing import ParamSpec, TypeGuard, TypeVar

__all__ = [
    "CALLS",
    "LATER",
    "LOOKUPS",
    "WALKS",
    "ahead",
    "later",
    "on_python_thread",
    "ordered_map",
    "start_call",
    "start_upload",
]

LOOKUPS = 32
"""Number of threads per process that listings use to look up objects."""
WALKS = 16
"""Number of threads, per process, on which listings walk namespaces."""

CALLS = 32
"""Number of threads, per process, on which asynchronous programs make calls, and that many again for
uploads of rows that the event loop provides."""

LATER = 8
"""Maximum number of background calls in the queue; they run one at a time."""

P = ParamSpec("P")
T = TypeVar("T")
Found = TypeVar("Found")


class _Pools:
    """The thread pools of the process; threads are started as needed."""

    def __init__(self) -> None:
        self.callbacks = ThreadPoolExecutor(32, thread_name_prefix="lance-namespace-callback")
        self.lookups = ThreadPoolExecutor(LOOKUPS, thread_name_prefix="lance-namespace-lookup")
        self.walks = ThreadPoolExecutor(WALKS, thread_name_prefix="lance-namespace-walk")
        # One permit per thread: a walk with a permit starts immediately instead of waiting for
        # other walks.
        self.free_walks = threading.BoundedSemaphore(WALKS)
        self.calls = ThreadPoolExecutor(CALLS, thread_name_prefix="lance-namespace-call")
        self.uploads = ThreadPoolExecutor(CALLS, thread_name_prefix="lance-namespace-upload")
        self.later = ThreadPoolExecutor(1, thread_name_prefix="lance-namespace-later")
        self.free_later = threading.BoundedSemaphore(LATER)


_pools = _Pools()


def _recreate_pools() -> None:
    """Create new pools after a fork: the child has the parent's pools, but not their threads."""
    global _pools
    _pools = _Pools()


os.register_at_fork(after_in_child=_recreate_pools)


def later(call: Callable[[], object]) -> None:
    """Run a call in the background, or immediately if too many are queued.

    Args:
        call: must not raise.
    """
    pools = _pools
    if not pools.free_later.acquire(blocking=False):
        call()
        return

    def make() -> None:
        try:
            call()
        finally:
            pools.free_later.release()

    pools.later.submit(make)


def start_call(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Start a call of an asynchronous program on a thread, with the caller's context variables."""
    context = copy_context()
    return _pools.calls.submit(lambda: context.run(call, *args, **kwargs))


def start_upload(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Start a call like `start_call`, which may wait for the event loop."""
    context = copy_context()
    return _pools.uploads.submit(lambda: context.run(call, *args, **kwargs))


def on_python_thread(call: Callable[[], T]) -> T:
    """Make a pylance call on a thread started by Python, and return its result.

    pylance calls namespaces on threads of its Rust runtime. If such a call in turn waits for that
    runtime, the runtime may run another request on the waiting thread, which then loses the GIL.
    """
    if not isinstance(threading.current_thread(), threading._DummyThread):
        return call()
    return _pools.callbacks.submit(copy_context().run, call).result()


def ordered_map(
    items: Iterable[T],
    look_up: Callable[[T], Found | None],
    *,
    max_concurrency: int,
    wanted: int | None,
) -> Iterator[Found]:
    """Yield the results of concurrent lookups, in the order of the items.

    All calls share a pool of `LOOKUPS` threads in the process.

    Args:
        items: the items to look up.
        look_up: looks up one item; returns None to omit the item. Its exceptions are raised when
            the item's result is due. It must not start concurrent lookups itself.
        max_concurrency: maximum number of concurrent lookups. With 1, or for a single item,
            lookups run on the caller's thread.
        wanted: maximum number of results that the caller reads; further items are not looked up.
            None means no limit.
    """
    source = iter(items)
    first = list(islice(source, 2 if wanted is None else min(2, wanted)))
    source = chain(first, source)
    if max_concurrency == 1 or len(first) < 2:
        yield from islice(filter(_is_present, map(look_up, source)), wanted)
        return
    waiting: deque[Future[Found | None]] = deque()

    def fill() -> None:
        # A queue of twice the size keeps all threads busy while the caller waits for the first
        # result.
        room = 2 * max_concurrency if wanted is None else min(2 * max_concurrency, wanted)
        free = max_concurrency - sum(not each.done() for each in waiting)
        for item in islice(source, max(0, min(room - len(waiting), free))):
            waiting.append(_pools.lookups.submit(copy_context().run, look_up, item))

    try:
        while wanted is None or wanted > 0:
            fill()
            if not waiting:
                return
            while not waiting[0].done():
                wait([each for each in waiting if not each.done()], return_when=FIRST_COMPLETED)
                fill()
            result = waiting.popleft().result()
            if result is not None:
                yield result
                wanted = None if wanted is None else wanted - 1
    finally:
        for future in waiting:
            future.cancel()


def _is_present(result: Found | None) -> TypeGuard[Found]:
    return result is not None


def ahead(items: Iterable[T], walk: Callable[[T], Iterable[Found]]) -> Iterator[Iterable[Found]]:
    """Yield a walk for each item, in order; later walks run while the caller reads an earlier one.

    Walks may start other walks. All walks in the process share `WALKS` threads. If no thread is
    free, or if there is only one item, the walk runs on the caller's thread when its result is due.

    Args:
        items: the items to walk.
        walk: starts a walk; its exceptions are raised when the item's result is due.
    """
    source = iter(items)
    left = deque(islice(source, 2))
    if len(left) == 1:
        yield walk(left[0])
        return
    waiting: deque[Future[list[Found]]] = deque()
    ended: SimpleQueue[Future[list[Found]]] = SimpleQueue()

    def fill() -> None:
        # A queue of twice the size keeps all threads busy while the caller waits for the first
        # result.
        while len(waiting) < 2 * WALKS:
            if not left:
                left.extend(islice(source, 1))
            if not left or (begun := _walk_soon(left[0], walk)) is None:
                return
            begun.add_done_callback(ended.put)
            waiting.append(begun)
            left.popleft()

    try:
        while True:
            fill()
            if waiting:
                while not waiting[0].done():
                    ended.get()
                    fill()
                yield waiting.popleft().result()
            elif left:
                yield walk(left.popleft())
            else:
                return
    finally:
        for each in waiting:
            each.cancel()


def _walk_soon(item: T, walk: Callable[[T], Iterable[Found]]) -> Future[list[Found]] | None:
    """Start a walk on a free thread, or return None if no thread is free."""
    pools = _pools
    if not pools.free_walks.acquire(blocking=False):
        return None
    context = copy_context()
    future = pools.walks.submit(lambda: context.run(lambda: list(walk(item))))
    future.add_done_callback(lambda _: pools.free_walks.release())
    return future
