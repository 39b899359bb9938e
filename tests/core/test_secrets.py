"""What is not known to be harmless is a secret, wherever it would be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.models import (
    AlterTableRequest,
    CreateTableRequest,
    Identity,
    ListTablesRequest,
)
from lance_namespace_impls import connect, implementations
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.core.config import Config
from lance_namespace_impls.core.requests import secrets_in_headers, secrets_in_request
from lance_namespace_impls.core.storage import TableStorage
from lance_namespace_impls.registry import load, secrets_among

HIDDEN = "do-not-show-me"
STORAGE = {
    "storage.azure_storage_master_key": HIDDEN,
    "storage.master_key": HIDDEN,
    "storage.proxy_url": f"http://me:{HIDDEN}@proxy.example:3128",
    "storage.webhook_url": f"https://store.example/?sig={HIDDEN}",
    "storage.an_option_of_tomorrow": HIDDEN,
}
HEADERS = {
    "headers.X-Custom": HIDDEN,
    "headers.region": HIDDEN,
    "header.Authorization": HIDDEN,
}
ADDRESS = {"proxy": f"http://me:{HIDDEN}@127.0.0.1:9"}

WAYS: dict[str, Callable[[Namespace], Any]] = {
    "repr": repr,
    "str": str,
    "its name": lambda namespace: namespace.namespace_id(),
    "repr of its properties": lambda namespace: repr(namespace.config),
    "shown": lambda namespace: namespace.config.shown(),
}


def shown(value: object) -> str:
    """Return a value as part of a test's name: a set in order, or no two processes agree on it."""
    return repr(sorted(value) if isinstance(value, set) else value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", STORAGE)
def test_options_of_a_store(way: str, key: str) -> None:
    with connect("dir", {"path": "/nowhere", key: STORAGE[key]}) as namespace:
        assert HIDDEN not in str(WAYS[way](namespace))
        assert any(HIDDEN in each for each in namespace.config.secrets())
        assert namespace.properties[key] == STORAGE[key]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", [*HEADERS, *ADDRESS])
def test_headers_and_addresses(way: str, key: str) -> None:
    given = {"uri": "http://127.0.0.1:9", key: {**HEADERS, **ADDRESS}[key]}
    with connect("rest", given) as namespace:
        assert HIDDEN not in str(WAYS[way](namespace))


def test_what_is_harmless_is_shown() -> None:
    options = {"storage.aws_region": "eu-west-1", "storage.aws_endpoint": "https://s3.example"}
    with connect("dir", {"path": "/nowhere", **options}) as namespace:
        for text in ("eu-west-1", "https://s3.example", "/nowhere"):
            assert text in repr(namespace)
        assert not namespace.config.secrets()


def test_messages_are_rid_of_all_of_them() -> None:
    from lance_namespace_client.errors import InternalError

    with connect("dir", {"path": "/nowhere", **STORAGE}) as namespace:
        for value in STORAGE.values():
            error = namespace.translate(OSError(f"no answer from {value}"), "DescribeTable t")  # type: ignore[attr-defined]
            assert isinstance(error, InternalError)
            assert HIDDEN not in error.message


def test_a_tables_options_are_not_shown_either() -> None:
    options = {key.removeprefix("storage."): value for key, value in STORAGE.items()}
    assert HIDDEN not in repr(TableStorage(location="s3://b/t", options=options))


@pytest.mark.parametrize("impl", [*implementations(), "no-such-impl"])
def test_properties_that_may_be_wrong(impl: str) -> None:
    given = {**STORAGE, "no_such_property": "value-of-it", f"{impl}.token_of_mine": "another"}
    found = secrets_among(impl, given)
    assert {HIDDEN, "value-of-it", "another"} <= found
    assert "true" not in secrets_among(impl, {"no_such_property": "true"})


@pytest.mark.parametrize("impl", implementations())
def test_a_group_of_headers_is_secret_as_a_whole(impl: str) -> None:
    config: type[Config] = load(impl).config_type
    groups = [row for row in config.describe() if row["key"].endswith("*")]
    assert {row["key"] for row in groups if row["secret"]} == {
        row["key"] for row in groups if row["key"] != "storage.*"
    }


def test_a_wrong_value_is_shown_without_its_password() -> None:
    with pytest.raises(InvalidInputError) as caught:
        connect("dir", {"path": "/x", "cache_mib": f"http://me:{HIDDEN}@host"})
    assert HIDDEN not in str(caught.value)


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
def test_headers_of_a_call(headers: dict[str, str], secret: set[str]) -> None:
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
def test_what_is_secret_in_a_request(request_: Any, secret: set[str]) -> None:
    assert secrets_in_request(request_) == secret
