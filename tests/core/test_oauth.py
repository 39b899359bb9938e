"""Tokens of the OAuth2 client-credentials flow: renewal, sharing, retries, failures, secrets."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote_plus

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lance_namespace_impls import AsyncRestNamespace, connect
from lance_namespace_impls.core import oauth
from tests.servers.tokens import CLIENT, SECRET, TOKENS, Issuer, protected
from tests.servers.web import Answer, Asked, WebServer

LISTING: dict[str, Any] = {"namespaces": ["a"], "tables": ["t"], "schemas": [], "defaults": {}}
ROWS = pa.table({"id": [1, 2]})


def respond(asked: Asked) -> Answer:
    if "/namespaces" in asked.path and "/v1/namespace/" not in asked.path:
        return Answer(body={"namespaces": [["a"]]})
    return Answer(body=LISTING)


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Issuer:
    issuer = Issuer()
    monkeypatch.setattr(oauth, "time", issuer.clock)
    return issuer


@pytest.fixture
def server(issuer: Issuer) -> Iterator[WebServer]:
    with protected(issuer, respond) as running:
        yield running


def login(server: WebServer, **more: Any) -> dict[str, Any]:
    return {
        "uri": server.uri,
        "credential": f"{CLIENT}:{SECRET}",
        "oauth2-server-uri": TOKENS,
        "max_retries": "0",
        **more,
    }


def opened(impl: str, server: WebServer, **more: Any) -> Any:
    properties = login(server, **more)
    if impl != "rest":
        properties["endpoint"] = properties.pop("uri")
        # Polaris resolves relative URLs against its API.
        properties["oauth2-server-uri"] = f"{server.uri}{TOKENS}"
    return connect(impl, properties)


def call(impl: str, namespace: Any) -> None:
    if impl == "rest":
        namespace.list_tables({"id": ["n"]})
    else:
        namespace.list_namespaces({"id": ["c"]})


def forms(issuer: Issuer) -> list[dict[str, str]]:
    return [form for form, _ in issuer.requests]


# --- renewal


@pytest.mark.parametrize("impl", ["rest", "unity", "iceberg", "polaris"])
def test_tokens_are_renewed_before_they_expire(
    issuer: Issuer, server: WebServer, impl: str
) -> None:
    with opened(impl, server) as namespace:
        assert issuer.requests == []  # fetched on first use
        for _ in range(20):
            call(impl, namespace)
            issuer.clock.now += 0.5
    assert issuer.expired == 0
    assert issuer.issued == 10  # each is used for half of its two seconds


def test_asynchronous_tokens_are_renewed_before_they_expire(
    issuer: Issuer, server: WebServer
) -> None:
    async def run() -> None:
        async with AsyncRestNamespace.from_properties(login(server)) as namespace:
            for _ in range(20):
                await namespace.list_tables({"id": ["n"]})
                issuer.clock.now += 0.5

    asyncio.run(run())
    assert (issuer.expired, issuer.issued) == (0, 10)


# --- sharing


def test_concurrent_threads_share_a_token(issuer: Issuer, server: WebServer) -> None:
    issuer.delay = 0.05
    barrier = threading.Barrier(16)

    def list_tables(_: int) -> None:
        barrier.wait(30)
        namespace.list_tables({"id": ["n"]})

    with opened("rest", server) as namespace, ThreadPoolExecutor(16) as pool:
        for issued in (1, 2):
            list(pool.map(list_tables, range(16)))
            assert issuer.issued == issued
            issuer.clock.now += 1.5


def test_concurrent_tasks_share_a_token(issuer: Issuer, server: WebServer) -> None:
    issuer.delay = 0.05

    async def run() -> None:
        async with AsyncRestNamespace.from_properties(login(server)) as namespace:
            for issued in (1, 2):
                await asyncio.gather(*(namespace.list_tables({"id": ["n"]}) for _ in range(50)))
                assert issuer.issued == issued
                issuer.clock.now += 1.5

    asyncio.run(run())


def test_a_token_request_does_not_block_the_event_loop(issuer: Issuer, server: WebServer) -> None:
    from_the_loop = threading.Event()
    waited: list[bool] = []

    def wait(asked: Asked) -> Answer:
        waited.append(from_the_loop.wait(10))
        return Answer(body={"access_token": "issued-token-1"})

    issuer.instead, issuer.ends = wait, {"issued-token-1": 9.0}

    async def run() -> None:
        async with AsyncRestNamespace.from_properties(login(server)) as namespace:
            call = asyncio.create_task(namespace.list_tables({"id": ["n"]}))
            while not issuer.requests:
                await asyncio.sleep(0.001)
            from_the_loop.set()
            assert (await call).tables == ["t"]

    asyncio.run(run())
    assert waited == [True]


def test_a_canceled_task_leaves_the_token_to_the_others(issuer: Issuer, server: WebServer) -> None:
    proceed = threading.Event()

    def wait(asked: Asked) -> Answer:
        proceed.wait(30)
        return Answer(body={"access_token": "issued-token-1"})

    issuer.instead, issuer.ends = wait, {"issued-token-1": 9.0}

    async def run() -> None:
        async with AsyncRestNamespace.from_properties(login(server)) as namespace:
            first = asyncio.create_task(namespace.list_tables({"id": ["n"]}))
            while not issuer.requests:
                await asyncio.sleep(0.001)
            second = asyncio.create_task(namespace.list_tables({"id": ["n"]}))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.sleep(0)
            proceed.set()
            assert (await second).tables == ["t"]
            assert first.cancelled()

    asyncio.run(run())
    assert len(issuer.requests) == 1


def test_concurrent_threads_share_a_failure(issuer: Issuer, server: WebServer) -> None:
    arrived = threading.Semaphore(0)

    def fail(asked: Asked) -> Answer:
        for _ in range(8):
            assert arrived.acquire(timeout=30)
        time.sleep(0.05)
        return Answer(status=400, body={"error": "invalid_scope"})

    issuer.instead = fail
    errors: list[UnauthenticatedError] = []

    def list_tables(_: int) -> None:
        arrived.release()
        with pytest.raises(UnauthenticatedError) as caught:
            namespace.list_tables({"id": ["n"]})
        errors.append(caught.value)

    with opened("rest", server) as namespace, ThreadPoolExecutor(8) as pool:
        list(pool.map(list_tables, range(8)))
    assert len(issuer.requests) == 1
    assert len({id(error) for error in errors}) == 8
    assert all("invalid_scope" in error.text for error in errors)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_process_fetches_its_own_token(issuer: Issuer, server: WebServer) -> None:
    """The parent forks while one of its threads fetches a token, and holds an open connection."""
    proceed = threading.Event()
    namespace = opened("rest", server)
    namespace.list_tables({"id": ["n"]})
    issuer.clock.now += 1.5

    def wait_once(asked: Asked) -> Answer:
        issuer.instead = None
        proceed.wait(30)
        return issuer.issue(asked)

    issuer.instead = wait_once
    parent = threading.Thread(target=namespace.list_tables, args=({"id": ["n"]},))
    parent.start()
    while len(issuer.requests) < 2:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if namespace.list_tables({"id": ["n"]}).tables == ["t"] else 2
        finally:
            os._exit(status)
    try:
        status = exit_status(child)
    finally:
        proceed.set()
        parent.join(30)
    assert status == 0
    namespace.list_tables({"id": ["n"]})
    namespace.close()


def exit_status(child: int) -> int | None:
    """Return the exit status of a process; after 30 s, end it and return None."""
    for _ in range(3000):
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.mark.parametrize("impl", ["rest", "unity", "iceberg"])
def test_closing_closes_the_connections_to_the_token_server(
    issuer: Issuer, server: WebServer, impl: str
) -> None:
    namespace = opened(impl, server)
    call(impl, namespace)
    api = {"rest": "_credentials", "unity": "_api", "iceberg": "api"}[impl]
    found = getattr(namespace, api)
    client = (found if impl == "rest" else found._auth)._client
    assert not client.is_closed
    namespace.close()
    assert client.is_closed


# --- rejected tokens


@pytest.mark.parametrize("impl", ["rest", "unity", "iceberg"])
def test_a_revoked_token_is_replaced_once(issuer: Issuer, server: WebServer, impl: str) -> None:
    with opened(impl, server) as namespace:
        call(impl, namespace)
        issuer.ends.clear()
        call(impl, namespace)
        assert issuer.issued == 2
        issuer.ends.clear()
        server.asked.clear()
        issuer.instead = lambda asked: Answer(body={"access_token": "useless"})
        with pytest.raises(UnauthenticatedError):
            call(impl, namespace)
    assert [each.path == TOKENS for each in server.asked] == [False, True, False]


def test_an_asynchronous_call_replaces_a_revoked_token(issuer: Issuer, server: WebServer) -> None:
    async def run() -> None:
        async with AsyncRestNamespace.from_properties(login(server)) as namespace:
            await namespace.list_tables({"id": ["n"]})
            issuer.ends.clear()
            assert (await namespace.list_tables({"id": ["n"]})).tables == ["t"]

    asyncio.run(run())
    assert issuer.issued == 2


def test_rows_in_memory_are_sent_again_with_a_new_token(issuer: Issuer, server: WebServer) -> None:
    with opened("rest", server) as namespace:
        namespace.insert_into_table({"id": ["t"]}, ROWS)
        issuer.ends.clear()
        namespace.insert_into_table({"id": ["t"]}, ROWS)
    uploads = [each for each in server.asked if each.path != TOKENS]
    assert [each.headers["authorization"][-1] for each in uploads] == ["1", "1", "2"]
    assert uploads[0].content == uploads[1].content == uploads[2].content != b""


def test_asynchronous_rows_are_sent_again_with_a_new_token(
    issuer: Issuer, server: WebServer
) -> None:
    async def run() -> None:
        async with AsyncRestNamespace.from_properties(login(server)) as namespace:
            await namespace.insert_into_table({"id": ["t"]}, ROWS)
            issuer.ends.clear()
            await namespace.insert_into_table({"id": ["t"]}, ROWS)

    asyncio.run(run())
    assert issuer.issued == 2


def test_rows_that_can_be_read_once_are_not_sent_again(issuer: Issuer, server: WebServer) -> None:
    with opened("rest", server) as namespace:
        namespace.list_tables({"id": ["n"]})
        issuer.ends.clear()
        with pytest.raises(UnauthenticatedError):
            namespace.insert_into_table({"id": ["t"]}, ROWS.to_reader())
        namespace.insert_into_table({"id": ["t"]}, ROWS.to_reader())  # has a new token
    assert issuer.issued == 2


# --- requests for tokens


@pytest.mark.parametrize(
    ("impl", "scope", "is_basic"),
    [
        ("rest", None, True),
        ("unity", "all-apis", True),
        ("iceberg", "catalog", False),
        ("polaris", "PRINCIPAL_ROLE:ALL", False),
    ],
)
def test_the_request_for_a_token(
    issuer: Issuer, server: WebServer, impl: str, scope: str | None, is_basic: bool
) -> None:
    with opened(impl, server, audience="a b", resource="urn:r") as namespace:
        call(impl, namespace)
    form, asked = issuer.requests[0]
    expected = {"grant_type": "client_credentials", "audience": "a b", "resource": "urn:r"}
    if scope:
        expected["scope"] = scope
    if not is_basic:
        expected |= {"client_id": CLIENT, "client_secret": SECRET}
    assert form == expected
    assert ("authorization" in asked.headers) is is_basic
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("impl", "method"), [("rest", "client_secret_post"), ("iceberg", "client_secret_basic")]
)
def test_the_client_is_sent_as_configured(
    issuer: Issuer, server: WebServer, impl: str, method: str
) -> None:
    with opened(impl, server, **{"oauth2-client-auth": method}) as namespace:
        call(impl, namespace)
    form, asked = issuer.requests[0]
    assert ("client_secret" in form) is (method == "client_secret_post")
    assert ("authorization" in asked.headers) is (method == "client_secret_basic")


def test_settings_of_databricks_and_of_unity_catalogs_clients(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Databricks issues tokens at /oidc/v1/token; the keys auth.* are those of Unity's Spark client."""
    paths: list[str] = []

    def answer(asked: Asked) -> Answer:
        if asked.path.startswith(("/oidc", "/other")):
            paths.append(asked.path)
            return issuer.issue(asked)
        return issuer.refusal(asked) or respond(asked)

    with WebServer(answer) as server:
        short = {"client_id": CLIENT, "client_secret": SECRET}
        long = {
            "auth.type": "oauth",
            "auth.oauth.uri": f"{server.uri}/other",
            "auth.oauth.clientId": CLIENT,
            "auth.oauth.clientSecret": SECRET,
            "auth.oauth.scope": "mine",
        }
        for given in (short, long):
            with connect("unity", {"endpoint": server.uri, **given}) as namespace:
                call("unity", namespace)
    assert paths == ["/oidc/v1/token", "/other"]
    assert [form["scope"] for form in forms(issuer)] == ["all-apis", "mine"]


def test_headers_of_the_api_are_not_sent_to_another_server(
    issuer: Issuer, server: WebServer
) -> None:
    headers = {"headers.Realm": "r"}
    with opened("rest", server, **headers) as namespace:
        call("rest", namespace)
    with WebServer(issuer.issue) as other:
        more = {**headers, "oauth2-server-uri": f"{other.uri}/token"}
        with opened("rest", server, **more) as namespace:
            call("rest", namespace)
    assert [asked.headers.get("realm") for _, asked in issuer.requests] == ["r", None]
    calls = [each for each in server.asked if each.path != TOKENS]
    assert [each.headers["realm"] for each in calls] == ["r", "r"]


# --- failures


def deep(asked: Asked) -> Answer:
    return Answer(body=b'{"a":' * 100_000 + b"1" + b"}" * 100_000)


HOSTILE: list[tuple[Answer | Callable[[Asked], Answer], str]] = [
    (Answer(body=b" " * (2 << 20)), "the body is larger than 1048576 bytes"),
    (deep, "a body that is not a JSON object"),
    (Answer(body=b"<html>"), "HTTP 200 with a body that is not a JSON object"),
    (Answer(body=[]), "a body that is not a JSON object"),
    (Answer(body=b""), "a body that is not a JSON object"),
    (Answer(body={}), "without an access_token"),
    (Answer(body={"access_token": 7}), "without an access_token"),
    (Answer(body={"access_token": "a\nb"}), "an access_token that no header can contain"),
    *(
        (
            Answer(body={"access_token": "t", "expires_in": life}),
            "an expires_in that is not a number of seconds",
        )
        for life in ("soon", -1, True, [], float("inf"), float("nan"), 10**400)
    ),
    (
        Answer(status=307, headers={"Location": "http://127.0.0.1:9/t"}),
        "HTTP 307, a redirect to http://127.0.0.1:9/t, which is not followed",
    ),
    (Answer(status=404, body=b"nothing"), "HTTP 404 with a body that is not a JSON object"),
    (Answer(body={"error": {"type": "T", "message": "m"}}), r"HTTP 200 \(T: m\)"),
    (
        Answer(status=400, body={"error": "invalid_scope", "error_description": "x" * 10_000}),
        r"HTTP 400 \(invalid_scope: x+\.\.\.",
    ),
]


@pytest.mark.parametrize(("answer", "message"), HOSTILE)
def test_an_unusable_response_is_code_16(
    issuer: Issuer, server: WebServer, answer: Any, message: str
) -> None:
    issuer.instead = answer if callable(answer) else lambda asked: answer
    with (
        opened("rest", server) as namespace,
        pytest.raises(UnauthenticatedError, match=message) as caught,
    ):
        namespace.list_tables({"id": ["n"]})
    assert f"{server.uri}{TOKENS} issued no token" in caught.value.text
    assert "; check '" in caught.value.text
    assert len(caught.value.text) < 600
    assert [each.path for each in server.asked] == [TOKENS]
    issuer.instead = None  # the failure is not stored
    with opened("rest", server) as namespace:
        namespace.list_tables({"id": ["n"]})


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_unavailable_token_server_is_code_17(
    issuer: Issuer, server: WebServer, status: int
) -> None:
    issuer.instead = lambda asked: Answer(status=status, body={}, headers={"Retry-After": "7"})
    message = f"no token from {server.uri}{TOKENS}: it returned HTTP {status}"
    with (
        opened("rest", server) as namespace,
        pytest.raises(ServiceUnavailableError, match=message) as caught,
    ):
        namespace.list_tables({"id": ["n"]})
    assert caught.value.retry_after == 7


def test_an_unreachable_token_server_is_code_17(issuer: Issuer, server: WebServer) -> None:
    more = {"oauth2-server-uri": "http://127.0.0.1:9/token"}

    async def run() -> None:
        async with AsyncRestNamespace.from_properties(login(server, **more)) as namespace:
            await namespace.list_tables({"id": ["n"]})

    for failing in (
        lambda: opened("rest", server, **more).list_tables({"id": ["n"]}),
        lambda: asyncio.run(run()),
    ):
        with pytest.raises(
            ServiceUnavailableError, match=r"no token from http://127\.0\.0\.1:9/token"
        ):
            failing()


# --- secrets


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_wrong_secret_is_code_16_and_not_shown(
    issuer: Issuer, server: WebServer, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "wrong:s+cret/"
    pair = base64.b64encode(f"{CLIENT}:{secret}".encode()).decode()
    forms = (secret, quote_plus(secret), pair)

    def repeat(asked: Asked) -> Answer:
        text = f"{secret} {asked.content.decode()} {asked.headers.get('authorization')}"
        return Answer(status=401, body={"error": "invalid_client", "error_description": text})

    issuer.instead = repeat
    caplog.set_level(logging.DEBUG)
    more = {"credential": f"{CLIENT}:{secret}", "oauth2-client-auth": method}
    with (
        opened("rest", server, **more) as namespace,
        pytest.raises(UnauthenticatedError, match="check 'credential' and 'scope'") as caught,
    ):
        namespace.list_tables({"id": ["n"]})
    assert "invalid_client" in caught.value.text
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    shown += repr(namespace) + repr(namespace.config) + repr(namespace._credentials)
    for form in forms:
        assert form not in shown
    assert caplog.text


def test_tokens_are_not_logged(
    issuer: Issuer, server: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with opened("rest", server) as namespace:
        namespace.list_tables({"id": ["n"]})
    assert caplog.text
    assert "issued-token" not in caplog.text + repr(namespace.__dict__)


# --- properties


@pytest.mark.parametrize(
    ("impl", "given", "message"),
    [
        ("rest", {"credential": "a:b"}, "'oauth2-server-uri' is required with 'credential'"),
        ("rest", {"client_id": "a"}, "set both 'client_id' and 'client_secret'"),
        ("unity", {"client_secret": "b"}, "set both 'client_id' and 'client_secret'"),
        ("unity", {"client_id": "a", "client_secret": ""}, "set both 'client_id'"),
        ("unity", {"credential": "a"}, "must have the form client_id:client_secret"),
        ("unity", {"credential": "a:b", "client_id": "a", "client_secret": "b"}, "not both"),
        ("unity", {"credential": "a:b", "auth_token": "t"}, "not both"),
        ("unity", {"credential": "a:b", "headers.authorization": "x"}, "not both"),
        ("unity", {"credential": "a:b", "sigv4": "true"}, "not several"),
        ("unity", {"credential": "a:bé"}, "may contain only ASCII characters"),
        ("unity", {"credential": "a:b", "oauth2-client-auth": "x"}, "must be client_secret_basic"),
        ("unity", {"auth.type": "other"}, "set 'client_id' and 'client_secret', or 'auth_token'"),
        ("rest", {"credential": "a:b", "oauth2-server-uri": "ftp://h/t"}, "'oauth2-server-uri'"),
    ],
)
def test_contradictory_properties_are_rejected(
    impl: str, given: dict[str, str], message: str
) -> None:
    address = {"uri" if impl == "rest" else "endpoint": "http://localhost:1"}
    with pytest.raises(InvalidInputError, match=message):
        connect(impl, {**address, **given})
