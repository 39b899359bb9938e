"""Asking about many things at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from typing import TypeVar

__all__ = ["on_python_thread", "ordered_map"]

T = TypeVar("T")
Found = TypeVar("Found")

_POOL = ThreadPoolExecutor(32, thread_name_prefix="lance-namespace-callback")


def on_python_thread(call: Callable[[], T]) -> T:
    """Return what a call of pylance gives, made on a thread that Python started.

    pylance asks a namespace on threads of its own runtime. A call that waits there for the same
    runtime can run another thread's request meanwhile, and loses the interpreter's lock.
    """
    if not isinstance(threading.current_thread(), threading._DummyThread):
        return call()
    return _POOL.submit(copy_context().run, call).result()


def ordered_map(
    items: Iterable[T],
    look_up: Callable[[T], Found | None],
    *,
    max_concurrency: int,
    wanted: int | None,
) -> Iterator[Found]:
    """Return what is found for several items, looked up concurrently, in the order of the items.

    Args:
        items: what to look up.
        look_up: gives None for an item that is to be left out; what it raises is raised here, when
            the item's turn comes.
        max_concurrency: most look-ups under way.
        wanted: most that will be taken, beyond which nothing is looked up; None for all.
    """
    waiting: deque[Future[Found | None]] = deque()
    source = iter(items)
    with ThreadPoolExecutor(max_concurrency) as pool:
        try:
            while wanted is None or wanted > 0:
                # A queue twice as long keeps everyone busy while the first answer is waited for.
                room = 2 * max_concurrency if wanted is None else min(2 * max_concurrency, wanted)
                for item in islice(source, room - len(waiting)):
                    waiting.append(pool.submit(copy_context().run, look_up, item))
                if not waiting:
                    return
                answer = waiting.popleft().result()
                if answer is not None:
                    yield answer
                    wanted = None if wanted is None else wanted - 1
        finally:
            for future in waiting:
                future.cancel()
