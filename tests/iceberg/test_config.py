from __future__ import annotations

import os
import sys
import time
from typing import Any

import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.core import http
from lance_namespace_impls.iceberg import IcebergConfig
from tests.servers.web import Answer, Asked, WebServer

from .conftest import Connect

pytestmark = pytest.mark.xdist_group("iceberg")

MINIMAL = {"endpoint": "http://localhost:8181"}


@pytest.mark.requirement("iceberg-config-endpoint")
def test_endpoint_is_required() -> None:
    with pytest.raises(InvalidInputError, match="'endpoint' is required"):
        connect("iceberg", {})


@pytest.mark.requirement("iceberg-config-endpoint-scheme")
@pytest.mark.parametrize("endpoint", ["localhost:8181", "ftp://localhost:8181", "//localhost", ""])
def test_endpoint_starts_with_http(endpoint: str) -> None:
    with pytest.raises(InvalidInputError, match="'endpoint'"):
        connect("iceberg", {"endpoint": endpoint})


@pytest.mark.requirement("iceberg-config-root")
def test_the_default_root_is_the_working_directory() -> None:
    assert IcebergConfig.from_properties(MINIMAL).root == os.getcwd()


@pytest.mark.requirement(
    "iceberg-config-connect-timeout", "iceberg-config-read-timeout", "iceberg-config-max-retries"
)
def test_defaults_of_requests() -> None:
    config = IcebergConfig.from_properties(MINIMAL)
    assert (config.connect_timeout, config.read_timeout) == (10_000, 30_000)
    assert config.max_retries == 3


@pytest.mark.requirement("iceberg-config-connect-timeout", "iceberg-config-read-timeout")
def test_timeouts_are_milliseconds() -> None:
    given = {**MINIMAL, "connect_timeout": "2500", "read_timeout": "400"}
    timeout = IcebergConfig.from_properties(given).timeout()
    assert (timeout.connect, timeout.read) == (2.5, 0.4)
    assert (timeout.pool, timeout.write) == (2.5, 0.4)
    units = {row["key"]: row["unit"] for row in IcebergConfig.describe()}
    assert units["connect_timeout"] == units["read_timeout"] == "milliseconds"


@pytest.mark.requirement("iceberg-config-read-timeout")
def test_read_timeout_ends_the_wait() -> None:
    def answer_late(asked: Asked) -> Answer:
        time.sleep(0.5)
        return Answer(body={})

    with WebServer(answer_late) as late:
        properties = {"endpoint": late.uri, "read_timeout": "100", "max_retries": "0"}
        with connect("iceberg", properties) as namespace, pytest.raises(ServiceUnavailableError):
            namespace.describe_namespace({"id": ["wh"]})


@pytest.mark.requirement("iceberg-config-max-retries")
@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (2, 3)])
def test_max_retries(retries: int, requests: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BACKOFF_SECONDS", 0.001)
    with WebServer(lambda asked: Answer(status=503, body={})) as down:
        namespace = connect("iceberg", {"endpoint": down.uri, "max_retries": retries})
        with namespace, pytest.raises(ServiceUnavailableError):
            namespace.describe_namespace({"id": ["wh"]})
    assert len(down.asked) == requests


@pytest.mark.requirement("iceberg-config-credential-form")
@pytest.mark.parametrize("credential", ["", "id", "id:", ":secret"])
def test_a_credential_has_an_id_and_a_secret(credential: str) -> None:
    with pytest.raises(InvalidInputError, match="client_id:client_secret"):
        connect("iceberg", {**MINIMAL, "credential": credential})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_concurrency": "0"}, "iceberg: property 'max_concurrency' must be 1 or more"),
        ({"max_retries": "-1"}, "'max_retries'"),
        ({"connect_timeout": "0"}, "'connect_timeout'"),
        ({"read_timeout": "-1"}, "'read_timeout'"),
        ({"credential": "a:b", "oauth2-server-uri": "ftp://host/t"}, "'oauth2-server-uri'"),
        ({"credential": "a:b", "oauth2-server-uri": "http://"}, "'oauth2-server-uri'"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        IcebergConfig.from_properties({**MINIMAL, **given})


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
@pytest.mark.parametrize(
    ("uri", "found"),
    [
        (None, "http://h:1/v1/oauth/tokens"),
        ("/elsewhere", "http://h:1/elsewhere"),
        ("elsewhere", "http://h:1/elsewhere"),
        ("https://other/t", "https://other/t"),
    ],
)
def test_token_uris(end: str, uri: str | None, found: str) -> None:
    more = {} if uri is None else {"oauth2-server-uri": uri}
    config = IcebergConfig.from_properties(
        {"endpoint": f"http://h:1{end}", "credential": "a:b", **more}
    )
    assert config.endpoint == "http://h:1"
    assert config.token_uri() == found


@pytest.mark.parametrize(("secret", "is_hidden"), [("abc", True), ("ab", False), ("a:bc", True)])
def test_a_secret_is_redacted_unless_it_is_too_short(secret: str, is_hidden: bool) -> None:
    config = IcebergConfig.from_properties({**MINIMAL, "credential": f"me:{secret}"})
    assert (secret in config.secrets()) is is_hidden
    assert f"me:{secret}" in config.secrets()
    assert f"me:{secret}" not in repr(connect("iceberg", config.to_properties())) + repr(config)


def test_token_or_credential() -> None:
    with pytest.raises(InvalidInputError, match="not both"):
        connect("iceberg", {**MINIMAL, "credential": "id:secret", "auth_token": "t"})


def config_server(config: Any) -> WebServer:
    """Return a server that responds with this configuration, and with empty namespaces."""

    def respond(asked: Asked) -> Answer:
        if asked.path == "/v1/config":
            return Answer(body=config)
        return Answer(body={"namespaces": []})

    return WebServer(respond)


BOTH = {"defaults": {"prefix": "second"}, "overrides": {"prefix": "first"}}


@pytest.mark.requirement("iceberg-namespace-prefix", "iceberg-namespace-prefix-default")
@pytest.mark.parametrize(
    ("config", "properties", "path"),
    [
        ({"defaults": {"prefix": "of defaults"}}, {}, "/v1/of%20defaults/namespaces"),
        (BOTH, {}, "/v1/first/namespaces"),
        ({"defaults": {}, "overrides": {}}, {}, "/v1/my%20wh%2F1/namespaces"),
        ({}, {}, "/v1/my%20wh%2F1/namespaces"),
        ({"defaults": None, "overrides": None}, {}, "/v1/my%20wh%2F1/namespaces"),
        (BOTH, {"prefix": "mine"}, "/v1/mine/namespaces"),
        (BOTH, {"prefix": ""}, "/v1/namespaces"),
        # Servers return prefixes with several segments, and encoded ones.
        ({"defaults": {"prefix": "catalogs/12"}}, {}, "/v1/catalogs/12/namespaces"),
        ({"defaults": {"prefix": "main%7Cwh"}}, {}, "/v1/main%7Cwh/namespaces"),
        ({"defaults": {"prefix": "main|wh"}}, {}, "/v1/main%7Cwh/namespaces"),
        ({"defaults": {"prefix": "50%?#ü"}}, {}, "/v1/50%25%3F%23%C3%BC/namespaces"),
    ],
)
def test_the_prefix(config: Any, properties: dict[str, str], path: str) -> None:
    server = config_server(config)
    with server, connect("iceberg", {"endpoint": server.uri, **properties}) as namespace:
        namespace.list_namespaces({"id": ["my wh/1"]})
    assert server.asked[0].query == {"warehouse": "my wh/1"}
    assert server.asked[1].path == path


@pytest.mark.requirement("iceberg-namespace-warehouse")
def test_the_configuration_is_requested_once() -> None:
    with config_server({}) as server, connect("iceberg", {"endpoint": server.uri}) as namespace:
        for _ in range(3):
            namespace.list_namespaces({"id": ["wh"]})
            namespace.list_namespaces({"id": ["other"]})
    asked = [asked.query["warehouse"] for asked in server.asked if asked.path == "/v1/config"]
    assert asked == ["wh", "other"]


@pytest.mark.requirement("iceberg-namespace-warehouse-failed")
def test_a_failed_configuration_is_requested_again() -> None:
    """A failed first request must not store a wrong prefix."""
    answers = [Answer(status=500, body={}), Answer(body={"overrides": {"prefix": "right"}})]

    def respond(asked: Asked) -> Answer:
        return answers.pop(0) if asked.path == "/v1/config" else Answer(body={"namespaces": []})

    with WebServer(respond) as server, connect("iceberg", {"endpoint": server.uri}) as namespace:
        with pytest.raises(Exception, match="500"):
            namespace.list_namespaces({"id": ["wh"]})
        namespace.list_namespaces({"id": ["wh"]})
    assert [asked.path for asked in server.asked][-1] == "/v1/right/namespaces"


def test_an_unknown_warehouse_is_not_found() -> None:
    error = {"error": {"type": "NotFoundException", "message": "no such warehouse", "code": 404}}
    with WebServer(lambda asked: Answer(status=404, body=error)) as server:
        namespace = connect("iceberg", {"endpoint": server.uri})
        with namespace, pytest.raises(NamespaceNotFoundError):
            namespace.describe_namespace({"id": ["wh"]})


def test_the_separator_is_configured_by_the_server() -> None:
    server = config_server({"overrides": {"namespace-separator": "%2E"}})
    with server, connect("iceberg", {"endpoint": server.uri, "prefix": ""}) as namespace:
        namespace.describe_namespace({"id": ["wh", "a", "b"]})
    assert server.asked[1].path == "/v1/namespaces/a%2Eb"


@pytest.mark.requirement("iceberg-namespace-separator", "iceberg-list-namespaces")
def test_levels_are_joined_by_the_unit_separator_and_encoded_once() -> None:
    with config_server({}) as server, connect("iceberg", {"endpoint": server.uri}) as namespace:
        namespace.describe_namespace({"id": ["wh", "a b", "c%"]})
        namespace.list_namespaces({"id": ["wh", "a b", "c%"]})
    assert server.asked[1].path == "/v1/wh/namespaces/a%20b%1Fc%25"
    assert server.asked[2].query["parent"] == "a b\x1fc%"


@pytest.mark.requirement("iceberg-namespace-root")
def test_the_root_lists_the_warehouses(connected: Connect) -> None:
    namespace = connected(warehouses="wh,b, a")
    assert namespace.list_namespaces({}).namespaces == ["a", "b", "wh"]
    with pytest.raises(NamespaceNotFoundError):
        namespace.describe_namespace({"id": ["c"]})


def test_without_warehouses_the_root_has_no_listing(connected: Connect) -> None:
    namespace = connected(warehouses=None)
    for method in (namespace.list_namespaces, namespace.list_all_tables):
        with pytest.raises(UnsupportedError, match="'warehouses'"):
            method({})
    namespace.describe_namespace({"id": ["any"]})


@pytest.mark.requirement("iceberg-config-auth-token")
def test_auth_token_is_a_bearer_token() -> None:
    server = config_server({})
    with server, connect("iceberg", {"endpoint": server.uri, "auth_token": "abc"}) as namespace:
        namespace.list_namespaces({"id": ["wh"]})
    assert {asked.headers["authorization"] for asked in server.asked} == {"Bearer abc"}


def test_a_credential_requires_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "authlib.oauth2.auth", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'lance-namespace-kit\[oauth\]'"):
        connect("iceberg", {**MINIMAL, "credential": "me:secret"})
    connect("iceberg", {**MINIMAL, "auth_token": "t"}).close()
