"""Threads of which few work at once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

from lance_namespace_impls.server.execution.thread_pool import Turns

HANGS = 60


def run(scenario, at_once, threads=8):
    async def all_of_it():
        turns = Turns(ThreadPoolExecutor(threads), at_once)
        try:
            await asyncio.wait_for(scenario(turns), HANGS)
        finally:
            turns.close()

    asyncio.run(all_of_it())


def test_quick_calls_run_a_few_at_once():
    running, most = 0, 0
    lock = threading.Lock()

    def work(number):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1
        return number

    async def scenario(turns):
        jobs = [asyncio.wrap_future(turns.submit(work, number)) for number in range(500)]
        assert await asyncio.gather(*jobs) == list(range(500))

    run(scenario, 2)
    assert most <= 2


def test_one_that_takes_long_lets_others_in():
    end = threading.Event()

    async def scenario(turns):
        long = [asyncio.wrap_future(turns.submit(end.wait, HANGS)) for _ in range(5)]
        quick = [asyncio.wrap_future(turns.submit(int, "7")) for _ in range(20)]
        assert await asyncio.gather(*quick) == [7] * 20
        assert not any(job.done() for job in long)
        end.set()
        assert all(await asyncio.gather(*long))
        # Their turns are free again, and no more than there were.
        assert (
            await asyncio.gather(*(asyncio.wrap_future(turns.submit(int, "8")) for _ in range(20)))
            == [8] * 20
        )
        while turns._running:  # a turn ends a moment after its call
            await asyncio.sleep(0.01)

    run(scenario, 2)


def test_what_is_raised_comes_to_who_waits():
    async def scenario(turns):
        for _ in range(3):
            with pytest.raises(ValueError, match="invalid literal"):
                await asyncio.wrap_future(turns.submit(int, "x"))
        assert await asyncio.wrap_future(turns.submit(int, "7")) == 7

    run(scenario, 1)


def test_one_that_is_given_up_before_its_turn_is_not_begun():
    begun = []
    end = threading.Event()

    async def scenario(turns):
        first = asyncio.wrap_future(turns.submit(end.wait, HANGS))
        second = turns.submit(begun.append, 2)
        assert second.cancel()
        end.set()
        await first
        await asyncio.wrap_future(turns.submit(begun.append, 3))

    run(scenario, 1)
    assert begun == [3]


def test_nothing_starts_once_it_is_closed():
    begun = []
    end = threading.Event()

    async def scenario(turns):
        first = asyncio.wrap_future(turns.submit(end.wait, HANGS))
        second = turns.submit(begun.append, 2)
        turns.close()
        end.set()
        await first
        with pytest.raises(CancelledError):
            second.result(HANGS)

    run(scenario, 1)
    assert not begun
