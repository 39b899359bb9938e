"""Slots in a pool, and each caller's share of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from lance_namespace_client.errors import ThrottlingError
from lance_namespace_impls.server.execution.context import network_of
from lance_namespace_impls.server.execution.limits import Limits, Pool, Slots


def taken(slots: Slots, owner: str) -> int:
    """Acquire slots until an owner gets no more, and return their number."""
    count = 0
    while slots.acquire(owner):
        count += 1
    return count


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 120))


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("size", "shares"), [(16, [12, 3, 1, 0]), (4, [3, 1, 0]), (3, [3, 0]), (2, [2, 0]), (1, [1, 0])]
)
def test_slots_are_reserved_for_other_callers(size: int, shares: list[int]) -> None:
    slots = Slots(size, 64)
    assert [taken(slots, f"caller {number}") for number in range(len(shares))] == shares


def test_a_free_slot_goes_to_the_caller_with_the_fewest() -> None:
    async def scenario() -> None:
        slots = Slots(4, 64)
        assert taken(slots, "a") == 3
        assert taken(slots, "b") == 1
        order: list[str] = []

        async def wait(owner: str) -> None:
            assert await slots.wait(owner)
            order.append(owner)

        waiting = [asyncio.ensure_future(wait(owner)) for owner in ("a", "a", "b", "c", "c")]
        await asyncio.sleep(0)
        for released, expected in (("a", "c"), ("a", "a"), ("b", "b"), ("a", "c"), ("a", "a")):
            slots.release(released)
            await settled()
            assert order[-1] == expected
        for each in waiting:
            each.cancel()

    run(scenario())


def test_the_caller_with_the_most_waiting_calls_loses_one() -> None:
    async def scenario() -> None:
        slots = Slots(1, 3)
        assert slots.acquire("a")
        many = [asyncio.ensure_future(slots.wait("a")) for _ in range(3)]
        await asyncio.sleep(0)
        assert await slots.wait("a") is False
        other = asyncio.ensure_future(slots.wait("b"))
        await settled()
        assert [each.done() for each in many] == [False, False, True]
        assert many[2].result() is False
        slots.release("a")
        assert await other is True
        slots.release("b")
        assert await many[0] is True

    run(scenario())


def test_calls_that_time_out_lose_no_slot() -> None:
    async def scenario() -> None:
        slots = Slots(8, 64)
        chance = random.Random(5)
        running = 0

        async def call(owner: str) -> None:
            nonlocal running
            if not slots.acquire(owner):
                async with asyncio.timeout(chance.choice([0, 0.001, 0.002, 1])):
                    assert await slots.wait(owner)
            running += 1
            assert running <= 8
            try:
                await asyncio.sleep(chance.choice([0, 0.001, 0.003]))
            finally:
                running -= 1
                slots.release(owner)

        calls = [call(f"caller {number % 5}") for number in range(60)]
        ended = await asyncio.gather(*calls, return_exceptions=True)
        failed = [each for each in ended if each is not None]
        assert all(isinstance(each, TimeoutError) for each in failed), failed
        assert any(each is None for each in ended)
        assert not slots._queue and not slots._last_acquired
        assert [taken(slots, owner) for owner in "abcde"] == [6, 2, 0, 0, 0]

    run(scenario())


def test_only_a_caller_that_uses_its_share_is_throttled() -> None:
    async def scenario() -> None:
        pool = Pool("queries", 4, Limits(queries=4, waiting_seconds=0.01))
        for _ in range(3):
            await pool.enter("a")
        with pytest.raises(ThrottlingError, match="or for this caller"):
            await pool.enter("a")
        await pool.enter("b")
        pool.leave("a")
        await pool.enter("a")
        pool.close()

    run(scenario())


def test_addresses_of_one_machine_are_one_caller() -> None:
    assert network_of("192.0.2.7") == "192.0.2.7"
    assert network_of("2001:db8:1:2:3:4:5:6") == network_of("2001:db8:1:2::9")
    assert network_of("2001:db8:1:2::9") != network_of("2001:db8:1:3::9")
    assert network_of("::ffff:192.0.2.7") == "192.0.2.7"
    assert network_of("fe80::1%eth0") == network_of("fe80::2%eth1")
    assert network_of("::1") == "::1"
    assert network_of("testclient") == "testclient"
