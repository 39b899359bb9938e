"""The minimum transfer rate counts only the time that the server waits for the client."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from lance_namespace_impls.server.execution import limits
from lance_namespace_impls.server.execution.limits import Meter, TooSlowError

RATE, SECONDS = 10, 100


class Client:
    """A meter for a client, with a clock that tests control."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.meter = Meter(RATE, SECONDS)
        monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: self.now))

    def wait(self, seconds: float) -> None:
        async def waited() -> None:
            async with self.meter.waiting():
                self.now += seconds

        asyncio.run(waited())


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    return Client(monkeypatch)


def test_a_client_that_sends_nothing_times_out() -> None:
    async def silent() -> None:
        async with Meter(RATE, 0.05).waiting():
            await asyncio.Event().wait()

    with pytest.raises(TooSlowError, match=f"fewer than {RATE} bytes per second"):
        asyncio.run(silent())


@pytest.mark.parametrize("steps", [[999], [400, 599], [0], [1] * 999])
@pytest.mark.parametrize("waits", [[100], [50, 50], [0, 250]])
def test_a_client_that_sends_too_little_in_a_period_times_out(
    client: Client, steps: list[int], waits: list[int]
) -> None:
    for count in steps[:-1]:
        client.meter.moved(count)
    for seconds in waits:
        client.wait(seconds)
    with pytest.raises(TooSlowError) as told:
        client.meter.moved(steps[-1])
    assert told.value.code == 13


@pytest.mark.parametrize("steps", [[1000], [400, 600], [100_000]])
def test_a_client_that_sends_enough_starts_a_new_period(client: Client, steps: list[int]) -> None:
    for _ in range(3):
        for count in steps[:-1]:
            client.meter.moved(count)
        client.wait(99)
        client.meter.moved(steps[-1])
    client.wait(99)
    client.meter.moved(999)  # surplus bytes do not count for the next period
    client.wait(1)
    with pytest.raises(TooSlowError):
        client.meter.moved(0)


def test_time_between_waits_does_not_count(client: Client) -> None:
    for _ in range(5):
        client.wait(10)
        client.now += SECONDS
        client.meter.moved(1)
