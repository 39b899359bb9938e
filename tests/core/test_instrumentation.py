"""An observer of upstream calls sees each call of both clients, and can add headers to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import AsyncRestNamespace, connect
from lance_namespace_impls.core.instrumentation import UPSTREAM_OBSERVER, UpstreamCall
from tests.servers.web import Answer, Asked, WebServer

NO_TABLE = {"error": "there is no t", "code": 4}


def answer(asked: Asked) -> Answer:
    missing = asked.path.endswith("/describe")
    return Answer(status=404, body=NO_TABLE) if missing else Answer(body={"tables": ["t"]})


def use(kind: str, uri: str) -> None:
    """List the tables, and describe a missing table."""
    properties = {"uri": uri, "max_retries": "0"}
    if kind == "sync":
        with connect("rest", properties) as namespace:
            namespace.list_tables({})
            namespace.describe_table({"id": ["t"]})

    async def main() -> None:
        async with AsyncRestNamespace.from_properties(properties) as namespace:
            await namespace.list_tables({})
            await namespace.describe_table({"id": ["t"]})

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_every_call_is_observed(kind: str) -> None:
    seen: list[tuple[str, str, UpstreamCall]] = []

    @contextmanager
    def observer(system: str, name: str) -> Iterator[UpstreamCall]:
        call = UpstreamCall()
        call.headers["x-number"] = str(len(seen))
        seen.append((system, name, call))
        yield call

    token = UPSTREAM_OBSERVER.set(observer)
    try:
        with WebServer(answer) as server:
            with pytest.raises(LanceNamespaceError):
                use(kind, server.uri)
            uri = server.uri
        with pytest.raises(LanceNamespaceError):
            use(kind, uri)  # the server is stopped
    finally:
        UPSTREAM_OBSERVER.reset(token)
    assert [(system, name) for system, name, _ in seen] == [
        ("rest", "GET"), ("rest", "POST"), ("rest", "GET"),
    ]  # fmt: skip
    assert [call.result for *_, call in seen] == ["200", "404", "ConnectError"]
    assert [asked.headers["x-number"] for asked in server.asked] == ["0", "1"]
