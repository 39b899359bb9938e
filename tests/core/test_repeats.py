"""Retries: the failures after which a request is sent again, by the kind of request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace

import httpx
import pytest
from httpx_retries import Retry, RetryTransport

from lance_namespace_impls.core import http
from lance_namespace_impls.core.http import METHODS, HttpConfig, Retries, send, send_async

NOT_SENT = [httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout]
UNCLEAR = [
    httpx.ReadError, httpx.WriteError, httpx.CloseError, httpx.ReadTimeout, httpx.WriteTimeout,
    httpx.RemoteProtocolError,
]  # fmt: skip
NEVER = [httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.ProxyError]
Fault = type[httpx.TransportError] | int
AGAIN: dict[str, set[Fault]] = {
    "repeatable": {*NOT_SENT, *UNCLEAR, 429, 502, 503, 504},
    "unprocessed": {*NOT_SENT, 429},
    "unsent": {*NOT_SENT},
}
FAULTS: list[Fault] = [*NOT_SENT, *UNCLEAR, *NEVER, 400, 408, 429, 500, 501, 502, 503, 504]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BACKOFF_SECONDS", 0.0)


class Failing(httpx.MockTransport):
    """A transport that always fails in the same way and counts the attempts."""

    def __init__(self, fault: Fault, headers: dict[str, str] | None = None) -> None:
        self.tries = 0

        def answer(request: httpx.Request) -> httpx.Response:
            self.tries += 1
            if isinstance(fault, int):
                return httpx.Response(fault, headers=headers)
            raise fault("it fails", request=request)

        super().__init__(answer)


def tries_of(failing: Failing, retry: Retry, method: str) -> int:
    request = httpx.Request(method, "http://server/x")
    transport = RetryTransport(failing, Retry(total=0))
    with httpx.Client(transport=transport) as client, suppress(httpx.TransportError):
        assert send(client, request, retry).request is request
    return failing.tries


def tries_of_async(failing: Failing, retry: Retry, method: str) -> int:
    async def main() -> None:
        request = httpx.Request(method, "http://server/x")
        async with httpx.AsyncClient(transport=RetryTransport(failing, Retry(total=0))) as client:
            with suppress(httpx.TransportError):
                assert (await send_async(client, request, retry)).request is request

    asyncio.run(main())
    return failing.tries


Tries = Callable[[Failing, Retry, str], int]


@pytest.mark.parametrize("tries", [tries_of, tries_of_async])
@pytest.mark.parametrize("kind", AGAIN)
def test_the_failures_that_are_retried(kind: str, tries: Tries) -> None:
    retry = getattr(Retries(HttpConfig(max_retries=2)), kind)
    found = {fault for fault in FAULTS if tries(Failing(fault), retry, "POST") == 3}
    once = {fault for fault in FAULTS if tries(Failing(fault), retry, "POST") == 1}
    assert found == AGAIN[kind]
    assert once == set(FAULTS) - AGAIN[kind]


@pytest.mark.parametrize("kind", AGAIN)
def test_every_method_is_retried_alike(kind: str) -> None:
    retry = getattr(Retries(HttpConfig(max_retries=1)), kind)
    assert {tries_of(Failing(httpx.ConnectError), retry, method) for method in METHODS} == {2}


@pytest.mark.parametrize("tries", [tries_of, tries_of_async])
@pytest.mark.parametrize(
    ("asked", "longest", "sent"), [("0", 0.01, 3), ("1", 0.5, 1), ("2", 1.5, 1), ("soon", 1, 3)]
)
def test_a_pause_longer_than_allowed_is_not_made(
    asked: str, longest: float, sent: int, tries: Tries
) -> None:
    retry = Retries(HttpConfig(max_retries=2, max_retry_wait=longest)).repeatable
    assert tries(Failing(503, {"Retry-After": asked}), retry, "GET") == sent


def test_a_pause_of_the_allowed_length_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    # Replace the module in httpx_retries only: other code in this process sleeps too.
    fake = SimpleNamespace(**vars(time) | {"sleep": pauses.append})
    monkeypatch.setattr("httpx_retries.retry.time", fake)
    retry = Retries(HttpConfig(max_retries=2, max_retry_wait=7)).repeatable
    assert tries_of(Failing(503, {"Retry-After": "7"}), retry, "GET") == 3
    assert [round(pause) for pause in pauses] == [7, 7]
