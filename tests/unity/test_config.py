from __future__ import annotations

import os
import time
from typing import Any

import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.core import http
from lance_namespace_impls.unity import UnityConfig
from tests.servers.web import Answer, Asked

from .conftest import Connect, Unity, answered

MINIMAL = {"endpoint": "http://localhost:8080", "catalog": "main"}


@pytest.mark.requirement("unity-config-endpoint")
def test_the_endpoint_is_required() -> None:
    with pytest.raises(InvalidInputError, match="'endpoint' is required"):
        connect("unity", {"catalog": "main"})


@pytest.mark.requirement("unity-config-catalog")
def test_without_a_catalog_the_first_level_lists_all_catalogs() -> None:
    """The settings of the official packages contain only the server."""
    catalogs = [
        {"catalogs": [{"name": "one"}], "next_page_token": "more"},
        {"catalogs": [{"name": "main"}]},
    ]

    def answer(asked: Asked) -> Answer:
        path = asked.path.removeprefix("/api/2.1/unity-catalog")
        if path == "/catalogs":
            return Answer(body=catalogs["page_token" in asked.query])
        if path == "/schemas":
            return Answer(body={"schemas": [{"name": f"of_{asked.query['catalog_name']}"}]})
        return Answer(status=404, body={"error_code": "CATALOG_NOT_FOUND", "message": "none"})

    with answered(answer, catalog=None) as (_, unity):
        assert list(unity.iter_namespaces()) == ["main", "one"]
        assert list(unity.iter_namespaces(["one"])) == ["of_one"]
        with pytest.raises(NamespaceNotFoundError):
            unity.describe_namespace({"id": ["two"]})


@pytest.mark.requirement(
    "unity-config-api-path-default",
    "unity-config-connect-timeout",
    "unity-config-read-timeout",
    "unity-config-max-retries",
    "unity-config-root",
)
def test_defaults() -> None:
    config = UnityConfig.from_properties(MINIMAL)
    assert config.api_path == "/api/2.1/unity-catalog"
    assert (config.connect_timeout, config.read_timeout, config.max_retries) == (10, 60, 3)
    assert config.auth_token is None
    assert config.root == os.getcwd()


@pytest.mark.parametrize("endpoint", ["localhost:8080", "ftp://localhost", "http://", ""])
def test_an_endpoint_is_an_http_url(endpoint: str) -> None:
    with pytest.raises(InvalidInputError, match="'endpoint'"):
        UnityConfig.from_properties({**MINIMAL, "endpoint": endpoint})


@pytest.mark.parametrize("catalog", ["", "a.b"])
def test_a_catalog_is_one_name(catalog: str) -> None:
    with pytest.raises(InvalidInputError, match="'catalog'"):
        UnityConfig.from_properties({**MINIMAL, "catalog": catalog})


@pytest.mark.requirement("unity-config-connect-timeout", "unity-config-read-timeout")
def test_timeouts_are_seconds() -> None:
    config = UnityConfig.from_properties({**MINIMAL, "connect_timeout": "2", "read_timeout": "3.5"})
    timeout = config.timeout()
    assert (timeout.connect, timeout.read) == (2, 3.5)
    units = {row["key"]: row["unit"] for row in UnityConfig.describe()}
    assert units["connect_timeout"] == units["read_timeout"] == "seconds"


@pytest.mark.requirement("unity-config-read-timeout")
def test_read_timeout_ends_the_wait() -> None:
    def answer_late(asked: Any) -> Answer:
        time.sleep(0.5)
        return Answer(body={})

    late = answered(answer_late, read_timeout="0.1", max_retries="0")
    with late as (_, namespace), pytest.raises(ServiceUnavailableError):
        namespace.describe_namespace({"id": ["main", "s"]})


@pytest.mark.requirement("unity-config-max-retries")
@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (2, 3)])
def test_max_retries(retries: int, requests: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BACKOFF_SECONDS", 0.001)
    down = answered(lambda asked: Answer(status=503, body={}), max_retries=retries)
    with down as (server, namespace), pytest.raises(ServiceUnavailableError):
        namespace.describe_namespace({"id": ["main", "s"]})
    assert len(server.asked) == requests


@pytest.mark.requirement("unity-config-api-path")
@pytest.mark.parametrize("api_path", ["/other/api", "other/api/"])
def test_api_path_comes_before_every_path(api_path: str) -> None:
    other = answered(lambda asked: Answer(body={"schemas": []}), api_path=api_path)
    with other as (server, namespace):
        namespace.list_namespaces({"id": ["main"]})
    assert server.asked[0].path == "/other/api/schemas"


@pytest.mark.requirement("unity-config-auth-token")
def test_auth_token_is_a_bearer_token_and_never_shown(unity: Unity, connected: Connect) -> None:
    namespace = connected(auth_token="very-secret")
    namespace.list_namespaces({"id": ["main"]})
    assert unity.asked[-1].headers["authorization"] == "Bearer very-secret"
    assert "very-secret" not in repr(namespace) + repr(namespace.config)


@pytest.mark.requirement("unity-config-storage")
def test_storage_properties_reach_every_table(connected: Connect) -> None:
    namespace = connected(**{"storage.region": "us-west-2"})
    namespace.create_namespace({"id": ["main", "s"]})
    declared = namespace.declare_table({"id": ["main", "s", "t"]})
    assert declared.storage_options == {"region": "us-west-2"}
    found = namespace.describe_table({"id": ["main", "s", "t"]})
    assert found.storage_options == {"region": "us-west-2"}
