from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import pytest
from attrs import define, field

from lance_namespace_client.errors import (
    InternalError,
    LanceNamespaceError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core import oauth
from tests.servers.web import Answer, Asked, WebServer

pytestmark = pytest.mark.xdist_group("iceberg")

TOKENS = "/v1/oauth/tokens"


@define
class TokenServer:
    """A catalog that accepts only the newest token it has issued; tests can change its behavior."""

    life: float | None = 3600
    refuse_with: int = 401
    useless: bool = False
    """Whether the catalog issues tokens that it rejects."""
    token_failures: list[Answer] = field(factory=list)
    given: int = 0
    valid: set[str] = field(factory=set)
    lock: Any = field(factory=threading.Lock)

    def __call__(self, asked: Asked) -> Answer:
        if asked.path in (TOKENS, "/elsewhere"):
            return self.issue_token(asked)
        if asked.headers.get("authorization", "").removeprefix("Bearer ") not in self.valid:
            error = {"error": {"type": "NotAuthorizedException", "message": "no", "code": 401}}
            return Answer(status=self.refuse_with, body=error)
        return Answer(body={"namespaces": [["a"]], "defaults": {}})

    def issue_token(self, asked: Asked) -> Answer:
        if self.token_failures:
            return self.token_failures.pop(0)
        time.sleep(0.02)  # long enough for other threads to arrive
        with self.lock:
            self.given += 1
            token = f"token-{self.given}"
            self.valid = set() if self.useless else {token}
        more = {} if self.life is None else {"expires_in": self.life}
        return Answer(body={"access_token": token, "token_type": "bearer", **more})


@pytest.fixture
def tokens() -> TokenServer:
    return TokenServer()


@pytest.fixture
def catalog(tokens: TokenServer) -> Iterator[WebServer]:
    with WebServer(tokens) as running:
        yield running


@pytest.fixture
def namespace(catalog: WebServer) -> Iterator[Namespace]:
    properties = {"endpoint": catalog.uri, "credential": "me:my:secret", "max_retries": "0"}
    with connect("iceberg", properties) as connected:
        yield connected


def token_requests(catalog: WebServer) -> list[dict[str, list[str]]]:
    return [parse_qs(a.content.decode()) for a in catalog.asked if a.path in (TOKENS, "/elsewhere")]


@pytest.mark.requirement("iceberg-config-credential")
def test_the_client_credentials_flow(catalog: WebServer, namespace: Namespace) -> None:
    assert namespace.list_namespaces({"id": ["wh"]}).namespaces == ["a"]
    assert token_requests(catalog) == [
        {
            "grant_type": ["client_credentials"],
            "client_id": ["me"],
            "client_secret": ["my:secret"],
            "scope": ["catalog"],
        }
    ]
    (asked,) = [each for each in catalog.asked if each.path == TOKENS]
    assert asked.method == "POST"
    assert asked.headers["content-type"].startswith("application/x-www-form-urlencoded")
    assert "authorization" not in asked.headers
    authorized = {a.headers["authorization"] for a in catalog.asked if a.path != TOKENS}
    assert authorized == {"Bearer token-1"}


def test_scope_and_token_address(catalog: WebServer) -> None:
    properties = {
        "endpoint": catalog.uri,
        "credential": "me:secret",
        "scope": "PRINCIPAL_ROLE:ALL",
        "oauth2-server-uri": "/elsewhere",
    }
    with connect("iceberg", properties) as namespace:
        namespace.list_namespaces({"id": ["wh"]})
    assert catalog.asked[0].path == "/elsewhere"
    assert token_requests(catalog)[0]["scope"] == ["PRINCIPAL_ROLE:ALL"]


@pytest.mark.parametrize(("life", "renewed"), [(40, 20), (120, 60), (3600, 3540)])
def test_a_token_is_renewed_before_it_expires(
    tokens: TokenServer,
    catalog: WebServer,
    namespace: Namespace,
    monkeypatch: pytest.MonkeyPatch,
    life: float,
    renewed: float,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(oauth, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    tokens.life = life
    for given, clock[0] in ((1, 0.0), (1, renewed - 0.1), (2, renewed)):
        namespace.list_namespaces({"id": ["wh"]})
        assert tokens.given == given
    assert not [a for a in catalog.asked if a.headers.get("authorization") == "Bearer "]


def test_an_empty_scope_is_omitted(catalog: WebServer) -> None:
    properties = {"endpoint": catalog.uri, "credential": "me:secret", "scope": ""}
    with connect("iceberg", properties) as namespace:
        namespace.list_namespaces({"id": ["wh"]})
    assert "scope" not in token_requests(catalog)[0]


def test_closing_closes_the_connections_to_the_token_server(namespace: Namespace) -> None:
    namespace.list_namespaces({"id": ["wh"]})
    client = namespace.api._auth._client  # type: ignore[attr-defined]
    assert not client.is_closed
    namespace.close()
    assert client.is_closed


def test_a_token_without_expiry_is_reused(tokens: TokenServer, namespace: Namespace) -> None:
    tokens.life = None
    for _ in range(3):
        namespace.list_namespaces({"id": ["wh"]})
    assert tokens.given == 1


@pytest.mark.parametrize("status", [401, 419])
def test_a_rejected_token_is_renewed_once(
    tokens: TokenServer, namespace: Namespace, status: int
) -> None:
    tokens.refuse_with = status
    namespace.list_namespaces({"id": ["wh"]})
    tokens.valid.clear()
    assert namespace.list_namespaces({"id": ["wh"]}).namespaces == ["a"]
    assert tokens.given == 2


@pytest.mark.parametrize("status", [401, 419])
def test_a_token_that_is_rejected_again_is_code_16(
    tokens: TokenServer, catalog: WebServer, namespace: Namespace, status: int
) -> None:
    tokens.refuse_with = status
    namespace.list_namespaces({"id": ["wh"]})
    tokens.valid.clear()
    tokens.useless = True
    catalog.asked.clear()
    with pytest.raises(UnauthenticatedError):
        namespace.list_namespaces({"id": ["wh"]})
    assert len(catalog.asked) == 3  # rejected, a new token, rejected again


def test_a_change_is_retried_with_a_new_token(
    tokens: TokenServer, catalog: WebServer, namespace: Namespace
) -> None:
    namespace.list_namespaces({"id": ["wh"]})
    tokens.valid.clear()
    namespace.create_namespace({"id": ["wh", "b"]})
    posts = [a for a in catalog.asked if a.path == "/v1/wh/namespaces" and a.method == "POST"]
    assert [a.headers["authorization"] for a in posts] == ["Bearer token-1", "Bearer token-2"]
    assert posts[0].content == posts[1].content != b""


def test_many_threads_share_one_token(tokens: TokenServer, namespace: Namespace) -> None:
    with ThreadPoolExecutor(16) as pool:
        for _ in range(3):
            tokens.valid.clear()
            listed = pool.map(
                lambda _: namespace.list_namespaces({"id": ["wh"]}).namespaces, range(32)
            )
            assert list(listed) == [["a"]] * 32
    assert tokens.given == 3


def test_many_threads_renew_a_token_once_before_it_expires(
    tokens: TokenServer, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(oauth, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with ThreadPoolExecutor(16) as pool:
        for given, clock[0] in ((1, 0.0), (1, 3539.0), (2, 3541.0), (2, 7000.0), (3, 7082.0)):
            list(pool.map(lambda _: namespace.list_namespaces({"id": ["wh"]}), range(32)))
            assert tokens.given == given


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer(status=401, body={"error": "invalid_client"}), UnauthenticatedError),
        (Answer(status=400, body={"error": "invalid_scope"}), UnauthenticatedError),
        (Answer(status=200, body={"token_type": "bearer"}), UnauthenticatedError),
        (Answer(status=200, body=b"<html>"), UnauthenticatedError),
        (Answer(status=500, body={}), ServiceUnavailableError),
        (Answer(status=503, body={}), ServiceUnavailableError),
        (Answer(cut=True, body=b"{" * 100), ServiceUnavailableError),
    ],
)
def test_failures_of_a_token_server(
    tokens: TokenServer, namespace: Namespace, answer: Answer, error: type[LanceNamespaceError]
) -> None:
    tokens.token_failures.append(answer)
    with pytest.raises(error) as caught:
        namespace.list_namespaces({"id": ["wh"]})
    assert "my:secret" not in str(caught.value)
    assert TOKENS in caught.value.message
    if error is UnauthenticatedError and answer.status >= 400:
        assert "check 'credential' and 'scope' ('catalog'; Apache Polaris" in caught.value.message
    assert namespace.list_namespaces({"id": ["wh"]}).namespaces == ["a"]


def test_an_unreachable_token_server() -> None:
    properties = {"endpoint": "http://127.0.0.1:9", "credential": "a:b", "max_retries": "0"}
    namespace = connect("iceberg", properties)
    with namespace, pytest.raises(ServiceUnavailableError, match="no token from"):
        namespace.list_namespaces({"id": ["wh"]})


def test_a_credential_in_an_error_is_redacted(catalog: WebServer) -> None:
    error = {"error": {"type": "X", "message": "no luck, my-secret-half", "code": 500}}
    with WebServer(lambda asked: Answer(status=500, body=error)) as failing:
        properties = {
            "endpoint": failing.uri,
            "credential": "me:my-secret-half",
            "oauth2-server-uri": f"{catalog.uri}{TOKENS}",
        }
        with connect("iceberg", properties) as namespace, pytest.raises(InternalError) as caught:
            namespace.list_namespaces({"id": ["wh"]})
    assert "my-secret-half" not in str(caught.value)
