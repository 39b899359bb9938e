"""Requests to a catalog with JSON over HTTP, and the handling of its responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    ServiceUnavailableError,
    TableNotFoundError,
)
from lance_namespace_impls.catalog.errors import table_not_found
from lance_namespace_impls.core.http import HttpConfig
from lance_namespace_impls.core.json_api import HttpFailure, JsonApi, Paging, raising
from tests.servers.web import Answer, WebServer


def api_of(server: WebServer, base: str = "", **more: Any) -> JsonApi:
    config = HttpConfig(max_retries=0)
    return JsonApi(
        config, server.uri + base, lambda body: (body.get("kind", ""), body.get("said", "")), **more
    )


CALLS: dict[str, Callable[[JsonApi], Any]] = {
    "GET": lambda api: api.get("/t"),
    "POST": lambda api: api.post("/t", {}),
    "PATCH": lambda api: api.patch("/t", {}),
    "DELETE": lambda api: api.delete("/t"),
}


def test_requests_are_sent_correctly(web: tuple[WebServer, list[Answer]]) -> None:
    server, script = web
    script += [Answer(body={"made": 1}), Answer(body={"changed": 1}), Answer(body={"found": 1})]
    api = api_of(server, "/v1/", headers={"X-A": "1", "Accept": "application/x"})
    assert api.post("/t", {"name": "größe", "n": [1, None]}) == {"made": 1}
    assert api.patch("/t%2Fu", {"a": {}}) == {"changed": 1}
    assert api.get("/t", {"a b": "c&d/e", "f": "ü"}) == {"found": 1}
    api.delete("/t", {"purge": "true"})
    api.submit("/t", {"b": 1})
    asked = server.asked
    assert [(each.method, each.path) for each in asked] == [
        ("POST", "/v1/t"), ("PATCH", "/v1/t%2Fu"), ("GET", "/v1/t"), ("DELETE", "/v1/t"),
        ("POST", "/v1/t"),
    ]  # fmt: skip
    assert [each.content for each in asked] == [
        '{"name":"größe","n":[1,null]}'.encode(), b'{"a":{}}', b"", b"", b'{"b":1}',
    ]  # fmt: skip
    assert [each.headers.get("content-type") for each in asked] == [
        "application/json", "application/json", None, None, "application/json",
    ]  # fmt: skip
    assert [dict(each.query) for each in asked] == [
        {}, {}, {"a b": "c&d/e", "f": "ü"}, {"purge": "true"}, {},
    ]  # fmt: skip
    assert {(each.headers["x-a"], each.headers["accept"]) for each in asked} == {
        ("1", "application/x")
    }


def test_the_credentials_of_an_auth_object_are_sent(web: tuple[WebServer, list[Answer]]) -> None:
    server, _ = web
    api_of(server, auth=httpx.BasicAuth("ana", "word")).get("/t")
    assert server.asked[0].headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    ("answer", "status", "text", "wait"),
    [
        (Answer(status=404, body={"kind": "Gone", "said": "no t"}), 404, "(Gone: no t)", None),
        (Answer(status=404, body={"kind": "Gone"}), 404, "(Gone: Not Found)", None),
        (Answer(status=500, body=b"<html>"), 500, "(Internal Server Error)", None),
        (Answer(status=400, body=["no"]), 400, "(Bad Request)", None),
        (Answer(status=503, headers={"Retry-After": "7"}), 503, "(Service Unavailable)", 7.0),
        (Answer(status=302, body={"said": "there"}), 302, "(there)", None),
    ],
)
def test_a_failure_contains_the_request_and_the_servers_message(
    web: tuple[WebServer, list[Answer]],
    answer: Answer,
    status: int,
    text: str,
    wait: float | None,
) -> None:
    server, script = web
    api = api_of(server)
    for call in CALLS:
        script.append(answer)
        with pytest.raises(HttpFailure) as refused:
            CALLS[call](api)
        assert (refused.value.status, refused.value.retry_after) == (status, wait)
        assert str(refused.value) == f"{call} /t returned HTTP {status} {text}"


@pytest.mark.parametrize("body", [b"text", b"[]", b'"x"', b"null", b"7"])
def test_a_response_that_is_not_an_object_is_an_internal_error(
    web: tuple[WebServer, list[Answer]], body: bytes
) -> None:
    server, script = web
    for call in ("GET", "POST", "PATCH"):
        script.append(Answer(status=201, body=body))
        with pytest.raises(InternalError) as refused:
            CALLS[call](api_of(server))
        assert refused.value.code == 18
        assert refused.value.message == (
            f"{call} /t: {server.uri} returned HTTP 201 with a body that is not a JSON object"
        )


def test_an_empty_response_is_an_empty_object(web: tuple[WebServer, list[Answer]]) -> None:
    server, script = web
    for call in ("GET", "POST", "PATCH"):
        script.append(Answer(status=204))
        assert CALLS[call](api_of(server)) == {}


@pytest.mark.parametrize("call", CALLS)
def test_an_unreachable_server_and_a_closed_client(call: str) -> None:
    with WebServer() as server:
        api = api_of(server)
    with pytest.raises(ServiceUnavailableError) as refused:
        CALLS[call](api)
    assert refused.value.code == 17
    assert refused.value.message.startswith(f"{call} /t: no response from {server.uri} (")
    api.close()
    with pytest.raises(
        InvalidInputError, match="this namespace is closed; connect again"
    ) as closed:
        CALLS[call](api)
    assert closed.value.code == 13


# --- listings


@pytest.mark.parametrize("size", [None, ("limit", 2)])
def test_pages_are_read_to_the_end(
    web: tuple[WebServer, list[Answer]], size: tuple[str, int] | None
) -> None:
    server, script = web
    script += [
        Answer(body={"rows": [1, 2], "next": "a"}),
        Answer(body={"rows": [], "next": 7}),
        Answer(body={"rows": [3], "next": ""}),
    ]
    query = {"of": "x"}
    pages = api_of(server).pages("/t", query, Paging(token="from", next_token="next", size=size))
    assert next(pages)["rows"] == [1, 2]
    assert len(server.asked) == 1, "no more is asked for than is taken"
    assert [page["rows"] for page in pages] == [[], [3]]
    more = {} if size is None else {"limit": "2"}
    assert [dict(asked.query) for asked in server.asked] == [
        {"of": "x", **more},
        {"of": "x", "from": "a", **more},
        {"of": "x", "from": "7", **more},
    ]
    assert query == {"of": "x"}


def test_a_repeated_page_token_ends_the_listing(web: tuple[WebServer, list[Answer]]) -> None:
    server, script = web
    script += [Answer(body={"next": token}) for token in ("a", "b", "a", "c")]
    pages = api_of(server).pages("/t", {}, Paging(token="from", next_token="next"))
    with pytest.raises(InternalError, match=r"^GET /t: .* page token 'a' twice") as refused:
        list(pages)
    assert refused.value.code == 18
    assert len(server.asked) == 3


# --- translated failures


def test_a_matching_failure_becomes_the_error_of_the_object() -> None:
    failure = HttpFailure("GET /t", 404, "Gone", "no t")

    def ask(when: Callable[[HttpFailure], bool]) -> None:
        with raising(table_not_found, ("ns", "t"), when=when):
            raise failure

    with pytest.raises(TableNotFoundError, match=r"ns\$t") as caught:
        ask(lambda found: found.status == 404)
    assert caught.value.__cause__ is failure
    with pytest.raises(HttpFailure) as other:
        ask(lambda found: found.status == 409)
    assert other.value is failure
