"""The application is embedded in another one, with custom options, middleware and access checks."""

from __future__ import annotations

import asyncio
import contextlib

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from lance_namespace_client.errors import PermissionDeniedError
from lance_namespace_impls.server import (
    CALLER,
    Caller,
    Limits,
    ReadOnly,
    ServerOptions,
    create_app,
    serving,
)
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client


def ask(app, *paths, headers=None):
    """Return the responses of an ASGI application to POST requests, without a server."""

    async def run():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.post(path, json={}, headers=headers) for path in paths]

    return asyncio.run(run())


class SessionMiddleware:
    """Middleware that authenticates callers by a session cookie."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            cookies = dict(scope["headers"]).get(b"cookie", b"").decode()
            if cookies.startswith("user="):
                scope[CALLER] = Caller(cookies.removeprefix("user="))
        await self.app(scope, receive, send)


class OnlyAna:
    """A policy that allows everything to the caller ana."""

    def allows(self, caller, action, identifier):
        return caller is not None and caller.name == "ana"

    allows_some = allows_all = allows


def test_middleware_authenticates_and_the_policy_authorizes():
    options = ServerOptions(middleware=[Middleware(SessionMiddleware)], policy=OnlyAna())
    app = create_app(EchoNamespace(), options)
    path = "/v1/table/t/describe"
    assert [a.status_code for a in ask(app, path, headers={"cookie": "user=ana"})] == [200]
    assert [a.status_code for a in ask(app, path, headers={"cookie": "user=bob"})] == [403]
    assert [a.status_code for a in ask(app, path)] == [403]


def test_a_client_cannot_set_the_caller_of_middleware():
    app = create_app(EchoNamespace(), ServerOptions(policy=OnlyAna()))
    answer = ask(app, "/v1/table/t/describe", headers={CALLER: "ana"})[0]
    assert (answer.status_code, answer.json()["code"]) == (403, 15)


def test_a_custom_access_check():
    class Network:
        def check(self, headers):
            if headers.get("x-zone") != "inside":
                raise PermissionDeniedError("only from inside")

    options = ServerOptions(access=Network())
    with serving(EchoNamespace(), options) as uri, http_client(uri, timeout=300) as client:
        refused = client.post("/v1/table/t/describe", json={})
        assert (refused.status_code, refused.json()["error"]) == (403, "only from inside")
        inside = {"x-zone": "inside"}
        assert client.post("/v1/table/t/describe", json={}, headers=inside).status_code == 200
        assert client.get("/metrics").status_code == 403
        assert client.get("/healthz").status_code == 200


def test_a_mounted_application_has_the_same_protections():
    options = ServerOptions(policy=ReadOnly())
    app = Starlette(routes=[Mount("/lance", create_app(EchoNamespace(), options))])
    found = ask(app, "/lance/v1/table/a%2Fb/describe", "/lance/v1/table/t/drop", "/v1/table/t/drop")
    assert [a.status_code for a in found] == [200, 403, 404]
    foreign = ask(app, "/lance/v1/table/t/describe", headers={"origin": "https://evil.example"})
    assert foreign[0].status_code == 403


def test_requests_without_a_raw_path():
    """In the ASGI specification, ``raw_path`` is optional."""
    app = create_app(EchoNamespace())

    async def without(scope, receive, send):
        await app({key: scope[key] for key in scope if key != "raw_path"}, receive, send)

    mounted = Starlette(routes=[Mount("/lance", without)])
    path = "/v1/table/a%20%2541/describe"
    for found in (*ask(without, path), *ask(mounted, f"/lance{path}")):
        assert (found.status_code, found.json()["table"]) == (200, "a %41")
    assert ask(without, "/v1/nowhere")[0].status_code == 404


def test_limits_apply_with_other_servers():
    namespace = EchoNamespace()
    options = ServerOptions(limits=Limits(header_bytes=2000, connections=2, json_seconds=0.2))
    app = create_app(namespace, options)
    large = ask(app, "/v1/table/t/describe", headers={"x-large": "x" * 3000})[0]
    assert (large.status_code, large.json()["code"]) == (431, 13)

    async def send_three():
        """Send three concurrent requests whose bodies never arrive."""
        sent = [[] for _ in range(3)]

        async def one(number):
            async def receive():
                await asyncio.sleep(3600)

            async def send(message):
                sent[number].append(message)

            scope = {
                "type": "http", "method": "POST", "path": "/v1/table/t/describe",
                "raw_path": b"/v1/table/t/describe", "query_string": b"",
                "headers": [(b"content-type", b"application/json"), (b"content-length", b"9")],
            }  # fmt: skip
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(20):
                    await app(scope, receive, send)

        await asyncio.gather(*(one(number) for number in range(3)))
        return [messages[0]["status"] for messages in sent]

    assert sorted(asyncio.run(send_three())) == [408, 408, 429]


@pytest.mark.parametrize("path", ["/v1/table", "/DescribeTable", "/healthz", "/ui", "/nowhere"])
def test_a_web_socket_is_closed(path):
    app = create_app(EchoNamespace())
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message["type"])

    scope = {
        "type": "websocket", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [], "subprotocols": [],
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    assert sent == ["websocket.close"]


def test_the_threads_end_with_the_application():
    app = create_app(EchoNamespace())

    async def run():
        async with app.router.lifespan_context(app):
            [before] = await asking()
        [after] = await asking()
        return before.status_code, after.status_code

    async def asking():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.post("/v1/table/t/describe", json={})]

    before, after = asyncio.run(run())
    assert before == 200 and after >= 500
