"""Every value that is not known to be harmless is treated as a secret wherever it is shown."""

from __future__ import annotations

from typing import Any

import pytest

from lance_namespace_client.models import (
    AlterTableRequest,
    CreateTableRequest,
    Identity,
    ListTablesRequest,
)
from lance_namespace_impls import connect, implementations
from lance_namespace_impls.core.config import Config
from lance_namespace_impls.core.requests import secrets_in_headers, secrets_in_request
from lance_namespace_impls.registry import load, secrets_among

HIDDEN = "do-not-show-me"
STORAGE = {
    "storage.azure_storage_master_key": HIDDEN,
    "storage.master_key": HIDDEN,
    "storage.proxy_url": f"http://me:{HIDDEN}@proxy.example:3128",
    "storage.webhook_url": f"https://store.example/?sig={HIDDEN}",
    "storage.an_option_of_tomorrow": HIDDEN,
}
HEADERS = {"headers.X-Custom": HIDDEN, "headers.region": HIDDEN, "header.Authorization": HIDDEN}
ADDRESS = {"proxy": f"http://me:{HIDDEN}@127.0.0.1:9"}


def shown(value: object) -> str:
    """Return a value as part of a test id; sets are sorted, so that the id is stable."""
    return repr(sorted(value) if isinstance(value, set) else value)


@pytest.mark.parametrize(
    ("impl", "given"),
    [
        ("dir", {"path": "/nowhere", **STORAGE}),
        ("rest", {"uri": "http://127.0.0.1:9", **HEADERS, **ADDRESS}),
    ],
)
def test_a_namespace_hides_its_secrets(impl: str, given: dict[str, str]) -> None:
    with connect(impl, given) as namespace:
        for text in (repr(namespace), str(namespace), namespace.namespace_id()):
            assert HIDDEN not in text
        assert set(namespace.properties.values()) >= set(given.values())


def test_harmless_values_are_shown() -> None:
    options = {"storage.aws_region": "eu-west-1", "storage.aws_endpoint": "https://s3.example"}
    with connect("dir", {"path": "/nowhere", **options}) as namespace:
        for text in ("eu-west-1", "https://s3.example", "/nowhere"):
            assert text in repr(namespace)
        assert not namespace.config.secrets()


@pytest.mark.parametrize("impl", [*implementations(), "no-such-impl"])
def test_unknown_properties_are_secret(impl: str) -> None:
    given = {**STORAGE, "no_such_property": "value-of-it", f"{impl}.token_of_mine": "another"}
    found = secrets_among(impl, given)
    assert {HIDDEN, "value-of-it", "another"} <= found
    assert "true" not in secrets_among(impl, {"no_such_property": "true"})


@pytest.mark.parametrize("impl", implementations())
def test_groups_of_headers_are_secret(impl: str) -> None:
    config: type[Config] = load(impl).config_type
    groups = [row for row in config.describe() if row["key"].endswith("*")]
    assert {row["key"] for row in groups if row["secret"]} == {
        row["key"] for row in groups if row["key"] != "storage.*"
    }


# --- requests


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ({"Authorization": "Bearer abcd"}, {"Bearer abcd", "abcd"}),
        ({"Cookie": "theme=dark; id=ana1"}, {"theme=dark; id=ana1", "id=ana1", "dark", "ana1"}),
        ({"x-api-key": "theme=dark; id=ana1"}, {"theme=dark; id=ana1", "id=ana1"}),
        ({"x-api-key": "abc", "x-auth": "true"}, set()),
        ({"x-tenant": "acme", "traceparent": "00-abcd-01", "content-type": "text/plain"}, set()),
        *(
            ({f"X-{name}-of": "abcd"}, {"abcd"})
            for name in ("Auth", "Token", "Secret", "Key", "Password", "Credential", "Session")
        ),
        ({"signature": "abcd", "cookie": "abcd"}, {"abcd"}),
    ],
    ids=shown,
)
def test_the_secrets_in_headers(headers: dict[str, str], secret: set[str]) -> None:
    assert secrets_in_headers(headers) == secret


@pytest.mark.parametrize(
    ("request_", "secret"),
    [
        (CreateTableRequest(), set()),
        (ListTablesRequest(identity=Identity(api_key="abcd", auth_token="efgh")), {"abcd", "efgh"}),
        (ListTablesRequest(identity=Identity(auth_token="efgh")), {"efgh"}),
        (
            ListTablesRequest(
                context={"header.x-token": "abcd", "x-token": "of a trace", "header.x-a": "efgh"}
            ),
            {"abcd"},
        ),
        (
            CreateTableRequest(
                storage_options={
                    "account_key": "abcd",
                    "aws_region": "eu-west-1",
                    "aws_endpoint": "https://host?sig=ijkl",
                }
            ),
            {"abcd", "sig=ijkl"},
        ),
        (
            CreateTableRequest(
                properties={"storage.account_key": "abcd", "storage.region": "here", "key": "mine"}
            ),
            {"abcd"},
        ),
        (AlterTableRequest(set_properties={"storage.sas_key": "abcd", "owner": "anna"}), {"abcd"}),
        (AlterTableRequest(set_properties={"storage.sas_key": "abc"}), set()),
    ],
    ids=shown,
)
def test_the_secrets_in_a_request(request_: Any, secret: set[str]) -> None:
    assert secrets_in_request(request_) == secret
