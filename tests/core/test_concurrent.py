"""Concurrent lookups and walks: their order, their failures, and the threads that they share."""

from __future__ import annotations

import _thread
import multiprocessing
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

import pytest

from lance_namespace_impls.core import concurrent
from lance_namespace_impls.core.concurrent import (
    LATER,
    LOOKUPS,
    WALKS,
    ahead,
    later,
    on_python_thread,
    ordered_map,
)


def test_results_are_ordered_and_skip_none() -> None:
    found = ordered_map(range(100), lambda n: n if n % 3 else None, max_concurrency=7, wanted=None)
    assert list(found) == [n for n in range(100) if n % 3]


def test_only_the_wanted_number_is_looked_up() -> None:
    asked: list[int] = []

    def look_up(n: int) -> int:
        asked.append(n)
        return n

    assert list(ordered_map(range(100), look_up, max_concurrency=4, wanted=3)) == [0, 1, 2]
    assert sorted(asked) == [0, 1, 2]


def test_a_concurrency_of_one_looks_up_lazily_on_the_calling_thread() -> None:
    asked: list[tuple[int, int]] = []

    def look_up(n: int) -> int | None:
        asked.append((n, threading.get_ident()))
        return n if n % 2 else None

    found = ordered_map(range(100), look_up, max_concurrency=1, wanted=2)
    assert next(found) == 1
    assert asked == [(n, threading.get_ident()) for n in (0, 1)]
    assert list(found) == [3]
    assert len(asked) == 4


def test_the_concurrency_reaches_its_limit_and_does_not_exceed_it() -> None:
    lock, reached = threading.Lock(), threading.Event()
    under_way = most = 0

    def look_up(n: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
            if under_way == 5:
                reached.set()
        assert reached.wait(300), "five are never under way"
        with lock:
            under_way -= 1
        return n

    assert list(ordered_map(range(50), look_up, max_concurrency=5, wanted=None)) == list(range(50))
    assert most == 5


def test_a_lookup_failure_is_raised_in_order() -> None:
    def look_up(n: int) -> int:
        if n == 3:
            raise KeyError(n)
        return n

    found = ordered_map(range(10), look_up, max_concurrency=4, wanted=None)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError):
        next(found)


def test_many_listings_share_their_threads() -> None:
    before = threading.active_count()
    most = 0

    def look_up(n: int) -> int:
        nonlocal most
        most = max(most, threading.active_count())
        return n

    def whole(_: int) -> list[int]:
        return list(ordered_map(range(20), look_up, max_concurrency=16, wanted=None))

    with ThreadPoolExecutor(200) as callers:
        assert set(map(tuple, callers.map(whole, range(200)))) == {tuple(range(20))}
    assert most - before - 200 <= LOOKUPS


def tree(depth: int, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Walk a tree with five branches on each level; the branches are walked concurrently."""
    if depth == 0:
        yield path
        return
    for inside in ahead(range(5), lambda n: tree(depth - 1, (*path, n))):
        yield from inside


def test_nested_walks_are_ordered() -> None:
    leaves = list(tree(4))
    assert leaves == sorted(leaves)
    assert len(leaves) == 5**4


def test_walks_run_concurrently() -> None:
    together = threading.Barrier(WALKS)

    def walk(n: int) -> list[int]:
        together.wait(300)
        return [n]

    assert [list(found) for found in ahead(range(WALKS), walk)] == [[n] for n in range(WALKS)]


def test_later_walks_start_before_the_first_ends() -> None:
    others_began = threading.Barrier(2)

    def walk(n: int) -> list[int]:
        if n in (0, WALKS + 3):  # more than start concurrently
            others_began.wait(300)
        return [n]

    assert [list(found) for found in ahead(range(99), walk)] == [[n] for n in range(99)]


def test_a_single_item_is_walked_on_the_calling_thread() -> None:
    together = threading.Barrier(WALKS)

    def walk(n: int) -> list[int]:
        together.wait(300)
        return [n]

    def above(_: int) -> Iterator[int]:
        assert threading.get_ident() == caller
        for found in ahead(range(WALKS), walk):
            yield from found

    caller = threading.get_ident()
    assert [list(found) for found in ahead([0], above)] == [list(range(WALKS))]


def test_a_single_item_is_looked_up_on_the_calling_thread() -> None:
    found = ordered_map([0], lambda _: threading.get_ident(), max_concurrency=4, wanted=None)
    assert list(found) == [threading.get_ident()]


def test_a_walk_failure_is_raised_in_order() -> None:
    def walk(n: int) -> Iterator[int]:
        if n == 1:
            raise KeyError(n)
        yield n

    walks = ahead(range(3), walk)
    assert list(next(walks)) == [0]
    with pytest.raises(KeyError):
        list(next(walks))


def test_later_lookups_start_before_the_first_ends() -> None:
    last_began = threading.Event()

    def look_up(n: int) -> bool:
        if n == 3:
            last_began.set()
        return n > 0 or last_began.wait(300)

    assert all(ordered_map(range(4), look_up, max_concurrency=2, wanted=None))


def test_a_call_stays_on_a_thread_that_python_started() -> None:
    assert on_python_thread(threading.get_ident) == threading.get_ident()


CALLER: ContextVar[str] = ContextVar("CALLER", default="nobody")


def test_a_call_from_a_foreign_thread_runs_on_a_python_thread_in_the_same_context() -> None:
    found: SimpleQueue[tuple[bool, str, bool]] = SimpleQueue()

    def called() -> tuple[bool, str]:
        here = threading.current_thread()
        return isinstance(here, threading._DummyThread), CALLER.get()

    def foreign() -> None:
        CALLER.set("ana")
        ident = threading.get_ident()
        found.put((*on_python_thread(called), on_python_thread(threading.get_ident) == ident))

    _thread.start_new_thread(foreign, ())
    assert found.get(timeout=60) == (False, "ana", False)


def test_lookups_and_walks_run_in_the_context_of_the_caller() -> None:
    def look_up(_: int) -> str:
        return CALLER.get()

    before = CALLER.set("ana")
    try:
        looked_up = list(ordered_map(range(5), look_up, max_concurrency=3, wanted=None))
        walked = [name for found in ahead(range(5), lambda n: [look_up(n)]) for name in found]
    finally:
        CALLER.reset(before)
    assert looked_up == walked == ["ana"] * 5


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limit lookups and walks to one thread each."""
    pools = concurrent._Pools()
    pools.lookups, pools.walks = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    monkeypatch.setattr(concurrent, "_pools", pools)
    yield
    for each in (pools.lookups, pools.walks, pools.later):
        each.shutdown()


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", ["looked up", "walked"])
def test_closing_the_iterator_starts_no_more_work(kind: str) -> None:
    begun: list[int] = []
    others, over = threading.Event(), threading.Event()

    def begin(n: int) -> list[int]:
        begun.append(n)
        if n:
            others.set()
            assert over.wait(300)
        return [n]

    found: Any = (
        ordered_map(range(4), begin, max_concurrency=4, wanted=None)
        if kind == "looked up"
        else ahead(range(4), begin)
    )
    assert next(found) == [0]
    assert others.wait(300)
    found.close()
    over.set()
    pools = concurrent._pools
    (pools.lookups if kind == "looked up" else pools.walks).shutdown()
    assert begun == [0, 1]


@pytest.mark.usefixtures("one_thread")
def test_failed_background_calls_free_their_slots() -> None:
    made_by: list[int] = []

    def fail() -> None:
        raise KeyError

    def over() -> None:
        concurrent._pools.later.submit(int).result(60)

    for _ in range(LATER):
        later(fail)
    over()
    later(lambda: made_by.append(threading.get_ident()))
    over()
    assert len(made_by) == 1
    assert made_by != [threading.get_ident()]


@pytest.mark.filterwarnings("ignore:lance is not fork-safe")
def test_a_forked_process_has_its_own_threads() -> None:
    """The child inherits the parent's pools, but not their threads."""

    def look_up_all() -> list[int]:
        return list(ordered_map(range(4), lambda n: n, max_concurrency=2, wanted=None))

    assert look_up_all() == [0, 1, 2, 3]
    time.sleep(0.05)  # the threads are idle now
    child = multiprocessing.get_context("fork").Process(target=look_up_all)
    child.start()
    child.join(300)
    ended = child.exitcode
    child.kill()
    assert ended == 0


def test_a_background_call_runs_on_the_calling_thread_if_the_queue_is_full() -> None:
    done: list[int] = []
    go_on, begun = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        assert go_on.wait(300)

    later(hold)
    assert begun.wait(300)
    for _ in range(LATER):
        later(lambda: done.append(threading.get_ident()))
    assert done == [threading.get_ident()], "there is no room for the last"
    go_on.set()
    while len(done) < LATER:
        time.sleep(0.01)
    assert done.count(threading.get_ident()) == 1
