"""A secret that is not a valid header value is rejected when connecting, and never shown."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect

SECRET = "hunter2secret"
KEYS = ("auth_token", "headers.x-secret", "headers.Authorization")
ENDS = [f" {SECRET}", f"{SECRET} ", f"{SECRET}\t", f"{SECRET}\n", f"\t{SECRET}", " "]
PLACES: list[dict[str, str]] = [
    {"impl": "rest", "uri": "http://127.0.0.1:1"},
    {"impl": "unity", "endpoint": "http://127.0.0.1:1", "catalog": "c"},
    {"impl": "polaris", "endpoint": "http://127.0.0.1:1", "warehouse": "w"},
    {"impl": "iceberg", "endpoint": "http://127.0.0.1:1", "warehouse": "w"},
]


def shown(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    return "".join(traceback.format_exception(error)) + caplog.text


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        *((PLACES[0], KEYS[0], value) for value in ENDS),
        *((place, key, f"{SECRET} ") for place in PLACES for key in KEYS),
    ],
    ids=lambda each: each["impl"] if isinstance(each, dict) else repr(each),
)
def test_a_leading_or_trailing_space_is_rejected_when_connecting(
    place: dict[str, str], key: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    properties = {k: v for k, v in place.items() if k != "impl"}
    with pytest.raises(InvalidInputError, match="starts or ends with a space") as caught:
        connect(place["impl"], {**properties, key: value})
    assert SECRET not in shown(caught.value, caplog)


def test_an_api_key_with_a_space_and_an_empty_token_are_rejected() -> None:
    uri = {"uri": "http://127.0.0.1:1"}
    with pytest.raises(InvalidInputError, match="starts or ends with a space"):
        connect("rest", {**uri, "api_key": f"{SECRET} "})
    with pytest.raises(InvalidInputError, match="auth_token"):
        connect("rest", {**uri, "auth_token": ""})


@pytest.mark.parametrize(
    "request_",
    [
        {"identity": {"auth_token": f" {SECRET}"}},
        {"identity": {"auth_token": f"{SECRET} "}},
        {"identity": {"api_key": f"{SECRET}\n"}},
        {"context": {"header.x-secret": f"{SECRET} "}},
    ],
    ids=["token before", "token behind", "key", "context"],
)
def test_a_secret_of_a_request_is_rejected_before_it_is_sent(
    request_: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with connect("rest", {"uri": "http://127.0.0.1:1"}) as namespace:
        with pytest.raises(InvalidInputError, match="starts or ends with a space") as caught:
            namespace.list_tables(request_)
        assert SECRET not in shown(caught.value, caplog)


def test_an_inner_space_is_accepted() -> None:
    with connect("rest", {"uri": "http://127.0.0.1:1", "headers.x-note": "a b"}) as namespace:
        assert namespace.properties["headers.x-note"] == "a b"
