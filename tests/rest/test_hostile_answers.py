"""Responses that expand too much or are nested too deep are errors of the server, code 18."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import httpx
import pytest

from lance_namespace_client import _async_transport, _transport, decoding
from lance_namespace_client.async_rest import AsyncRestNamespace as GeneratedAsync
from lance_namespace_client.decoding import MAX_ANSWER_BYTES
from lance_namespace_client.errors import InternalError, LanceNamespaceError
from lance_namespace_client.rest import RestNamespace as Generated
from lance_namespace_impls import AsyncRestNamespace, connect
from tests.servers.web import Answer, Asked, WebServer

DEEP = b"[" * 100_000 + b"]" * 100_000
SMALL = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    packed = zlib.compressobj(wbits=-15)
    return packed.compress(data) + packed.flush()


@cache
def packed_zeros() -> bytes:
    """Return 65 kB of gzip data that expand to more than the maximum size of a response."""
    packed = zlib.compressobj(9, wbits=31)
    parts = [packed.compress(b'{"tables": [], "padding": "')]
    parts += [packed.compress(bytes(1 << 20)) for _ in range((MAX_ANSWER_BYTES >> 20) + 1)]
    return b"".join([*parts, packed.flush()])


def bomb(status: int = 200) -> Answer:
    assert len(packed_zeros()) < 100_000
    return Answer(status=status, body=packed_zeros(), headers={"Content-Encoding": "gzip"})


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[WebServer, list[Answer]]]:
    script: list[Answer] = []

    def respond(asked: Asked) -> Answer:
        return script[0]

    with WebServer(respond) as server:
        yield server, script


@pytest.fixture
def web(running: tuple[WebServer, list[Answer]]) -> tuple[WebServer, list[Answer]]:
    """A server, and the list for its only response."""
    server, script = running
    server.asked.clear()
    script.clear()
    return server, script


@pytest.fixture
def small_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all clients read at most 1 MiB, which takes less time than the real maximum."""
    for module in (_transport, _async_transport):
        monkeypatch.setattr(module, "MAX_ANSWER_BYTES", SMALL)
    monkeypatch.setattr(decoding.bound, "__defaults__", (SMALL,))
    monkeypatch.setattr(decoding, "DECODED_ANYWAY", SMALL)


async def awaited(namespace: Any, method: str, request: Any) -> Any:
    async with namespace:
        return await getattr(namespace, method)(request)


def generated(uri: str, method: str, request: Any) -> Any:
    with httpx.Client() as client:
        return getattr(Generated(client, uri), method)(request)


def generated_async(uri: str, method: str, request: Any) -> Any:
    async def call() -> Any:
        async with httpx.AsyncClient() as client:
            return await getattr(GeneratedAsync(client, uri), method)(request)

    return asyncio.run(call())


def ours(uri: str, method: str, request: Any) -> Any:
    with connect("rest", {"uri": uri}) as namespace:
        return getattr(namespace, method)(request)


def ours_async(uri: str, method: str, request: Any) -> Any:
    namespace = AsyncRestNamespace.from_properties({"uri": uri})
    return asyncio.run(awaited(namespace, method, request))


Call = Callable[[str, str, Any], Any]
CLIENTS: list[Call] = [generated, generated_async, ours, ours_async]


@pytest.mark.usefixtures("small_maximum")
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("method", ["list_tables", "query_table"])
@pytest.mark.parametrize("call", CLIENTS)
def test_a_response_that_expands_too_much(
    web: tuple[WebServer, list[Answer]], call: Call, method: str, status: int
) -> None:
    server, script = web
    script.append(bomb(status))
    request = {"id": ["t"], **({"k": 1} if method == "query_table" else {})}
    with pytest.raises(InternalError, match=r"larger than|become more than|Arrow IPC") as caught:
        call(server.uri, method, request)
    assert caught.value.code == 18


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("call", CLIENTS)
def test_json_that_is_nested_too_deep(
    web: tuple[WebServer, list[Answer]], call: Call, status: int
) -> None:
    server, script = web
    script.append(Answer(status=status, body=DEEP))
    with pytest.raises(LanceNamespaceError) as caught:
        call(server.uri, "list_tables", {"id": ["t"]})
    assert caught.value.code == (18 if status == 200 else 0)


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
        ("gzip, deflate", lambda data: zlib.compress(gzip.compress(data))),
    ],
)
@pytest.mark.parametrize("call", CLIENTS)
def test_an_encoded_response_is_read(
    web: tuple[WebServer, list[Answer]], call: Call, encoding: str, encode: Any
) -> None:
    server, script = web
    body = json.dumps({"tables": [f"t{n}" for n in range(50_000)]}).encode()
    script.append(Answer(body=encode(body), headers={"Content-Encoding": encoding}))
    assert len(call(server.uri, "list_tables", {"id": ["n"]}).tables) == 50_000
    assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"{}"), ("gzip", b"no gzip"), ("gzip, gzip, gzip", b"")]
)
@pytest.mark.parametrize("call", CLIENTS)
def test_an_encoding_that_cannot_be_read(
    web: tuple[WebServer, list[Answer]], call: Call, encoding: str, body: bytes
) -> None:
    server, script = web
    script.append(Answer(body=body or b"x", headers={"Content-Encoding": encoding}))
    with pytest.raises(InternalError):
        call(server.uri, "list_tables", {"id": ["n"]})


@pytest.mark.usefixtures("small_maximum")
@pytest.mark.parametrize("call", CLIENTS)
def test_a_response_that_is_too_large_without_compression(
    web: tuple[WebServer, list[Answer]], call: Call
) -> None:
    server, script = web
    script.append(Answer(body=b" " * (SMALL + 1)))
    with pytest.raises(InternalError, match=f"larger than {SMALL} bytes"):
        call(server.uri, "list_tables", {"id": ["n"]})


@pytest.mark.parametrize("call", [generated, ours])
def test_the_real_maximum_applies_to_a_response(
    web: tuple[WebServer, list[Answer]], call: Call
) -> None:
    server, script = web
    script.append(Answer(body=b" " * (MAX_ANSWER_BYTES + 1)))
    with pytest.raises(InternalError, match=f"larger than {MAX_ANSWER_BYTES} bytes"):
        call(server.uri, "list_tables", {"id": ["n"]})


BACKENDS: dict[str, dict[str, str]] = {
    "unity": {"catalog": "main"},
    "iceberg": {"warehouses": "wh"},
    "polaris": {},
}


@pytest.mark.usefixtures("small_maximum")
@pytest.mark.parametrize("impl", BACKENDS)
@pytest.mark.parametrize("kind", ["bomb", "deep"])
def test_every_backend_over_http(web: tuple[WebServer, list[Answer]], impl: str, kind: str) -> None:
    server, script = web
    script.append(bomb() if kind == "bomb" else Answer(body=DEEP))
    properties = {"endpoint": server.uri, **BACKENDS[impl]}
    with pytest.raises(InternalError) as caught, connect(impl, properties) as namespace:
        namespace.list_tables({"id": ["wh", "n"] if impl != "unity" else ["main", "n"]})
    assert caught.value.code == 18
    assert "cannot be decoded" in str(caught.value) or "nested too deep" in str(caught.value)
