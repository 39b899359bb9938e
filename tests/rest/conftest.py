"""One interface to both clients, so that one test covers both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from lance_namespace_impls import AsyncRestNamespace, connect
from tests.servers.scripted import Script, scripted_server

OpenClient = Callable[..., Any]


class Awaited:
    """A synchronous proxy of an asynchronous client or its rows.

    Calls are awaited, and asynchronous generators are read into lists.
    """

    def __init__(self, inner: Any, runner: asyncio.Runner) -> None:
        self._inner, self._runner = inner, runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not inspect.isroutine(found):
            return found

        def call(*given: Any, **more: Any) -> Any:
            answer = found(*given, **more)
            if inspect.isasyncgen(answer) or inspect.isawaitable(answer):
                answer = self._runner.run(finished(answer))
            return Awaited(answer, self._runner) if hasattr(answer, "read_all") else answer

        return call

    def close(self) -> None:
        self._runner.run(self._inner.aclose())

    def __repr__(self) -> str:
        return repr(self._inner)


async def finished(answer: AsyncIterator[Any] | Awaitable[Any]) -> Any:
    if isinstance(answer, AsyncIterator):
        return [each async for each in answer]
    return await answer


@pytest.fixture(scope="module")
def server() -> Iterator[Script]:
    """A server that sends scripted responses."""
    with scripted_server() as script:
        yield script


@pytest.fixture(params=["sync", "async"])
def open_client(request: pytest.FixtureRequest) -> Iterator[OpenClient]:
    """A function that connects with the synchronous or the asynchronous client."""
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())

        def open_client(uri: str, **properties: Any) -> Any:
            given = {"uri": uri, **properties}
            if request.param == "sync":
                return stack.enter_context(connect("rest", given))
            client = Awaited(AsyncRestNamespace.from_properties(given), runner)
            stack.callback(client.close)
            return client

        yield open_client
