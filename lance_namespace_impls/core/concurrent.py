"""Asking about many things at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from typing import TypeVar

__all__ = ["kept"]

T = TypeVar("T")


def kept(
    items: Iterable[T], keep: Callable[[T], bool], *, at_once: int, wanted: int | None
) -> Iterator[T]:
    """Give the items that `keep` says yes to, in their order, asking about several at once.

    Args:
        items: what to ask about.
        keep: the question; what it raises is raised here, when the item's turn comes.
        at_once: most questions under way.
        wanted: most items that will be taken, beyond which nothing is asked; None for all.
    """
    waiting: deque[tuple[T, Future[bool]]] = deque()
    source = iter(items)
    with ThreadPoolExecutor(at_once) as pool:
        try:
            while wanted is None or wanted > 0:
                # A queue twice as long keeps everyone busy while the first answer is waited for.
                room = 2 * at_once if wanted is None else min(2 * at_once, wanted)
                for item in islice(source, room - len(waiting)):
                    waiting.append((item, pool.submit(copy_context().run, keep, item)))
                if not waiting:
                    return
                item, answer = waiting.popleft()
                if answer.result():
                    yield item
                    wanted = None if wanted is None else wanted - 1
        finally:
            for _, answer in waiting:
                answer.cancel()
