"""The requests that the generated clients send, and their errors for each kind of failure."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx
import pyarrow as pa
import pytest

from lance_namespace_client.async_rest import AsyncRestNamespace
from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
)
from lance_namespace_client.rest import RestNamespace
from tests.server.attacks.hostile_arrow import file_of

from .test_streaming import Body

ROWS = pa.record_batch({"a": [1, 2]})
JSON, STREAM = "application/json", "application/vnd.apache.arrow.stream"
QUERY = {"id": ["t"], "vector": None, "k": 1}
Handler = Callable[[httpx.Request], httpx.Response]
Ask = Callable[..., Any]


def ask(
    handler: Handler, method: str, *given: Any, uri: str = "http://server", **settings: Any
) -> Any:
    with httpx.Client(transport=httpx.MockTransport(handler), **settings) as client:
        answer = getattr(RestNamespace(client, uri), method)(*given)
        return answer.read_all() if isinstance(answer, pa.RecordBatchReader) else answer


def ask_asynchronously(
    handler: Handler, method: str, *given: Any, uri: str = "http://server", **settings: Any
) -> Any:
    async def main() -> Any:
        transport = httpx.MockTransport(handler)
        async with httpx.AsyncClient(transport=transport, **settings) as client:
            answer = await getattr(AsyncRestNamespace(client, uri), method)(*given)
            return await answer.read_all() if hasattr(answer, "read_all") else answer

    return asyncio.run(main())


both = pytest.mark.parametrize("asking", [ask, ask_asynchronously])


def sent(method: str, *given: Any, answer: Any = None, asking: Ask = ask, **more: Any) -> Any:
    """Return the request that a call sends."""
    asked: list[httpx.Request] = []

    def take(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={} if answer is None else answer)

    asking(take, method, *given, **more)
    (request,) = asked
    return request


BODIES: dict[str, tuple[str, dict[str, Any], Any, str | None, bytes]] = {
    "the whole request": (
        "describe_table", {"id": ["ü"], "version": 1}, {"location": "x"}, JSON,
        '{"id":["ü"],"version":1}'.encode(),
    ),
    "one field of it": (
        "update_table_schema_metadata", {"id": ["t"], "metadata": {"a": "b"}}, {"a": "b"}, JSON,
        b'{"a": "b"}',
    ),
    "nothing": ("list_tables", {"id": []}, {"tables": []}, None, b""),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", BODIES)
def test_a_body_says_what_it_is(name: str, asking: Ask) -> None:
    method, given, answer, kind, body = BODIES[name]
    request = sent(method, given, answer=answer, asking=asking)
    assert (request.headers.get("content-type"), request.content) == (kind, body)


@both
def test_rows_have_their_content_type(asking: Ask) -> None:
    request = sent("create_table", {"id": ["t"]}, ROWS, answer={"version": 1}, asking=asking)
    assert request.headers["content-type"] == STREAM
    assert pa.ipc.open_stream(request.content).read_all() == pa.table(ROWS)


@pytest.mark.parametrize(
    ("method", "given", "line"),
    [
        ("list_tables", {"id": ["a b"]}, "/v1/namespace/a%20b/table/list?delimiter=%24"),
        (
            "list_tables",
            {"id": ["n"], "page_token": "a&b", "limit": 5, "include_declared": False},
            "/v1/namespace/n/table/list?delimiter=%24&page_token=a%26b&limit=5&include_declared=false",
        ),
        (
            "list_tables",
            {"id": ["n"], "context": {"delimiter": "/"}},
            "/v1/namespace/n/table/list?delimiter=%24",
        ),
        ("list_all_tables", {"context": {"delimiter": "/"}}, "/v1/table?delimiter=%2F"),
        ("list_all_tables", {"context": {"other": "/"}}, "/v1/table?delimiter=%24"),
        ("list_all_tables", {}, "/v1/table?delimiter=%24"),
    ],
)
def test_the_url_of_a_request(method: str, given: dict[str, Any], line: str) -> None:
    for uri in ("http://server", "http://server/"):
        request = sent(method, given, answer={"tables": []}, uri=uri)
        assert request.url.raw_path.decode() == line


def test_fields_sent_with_rows_are_text_in_the_query() -> None:
    given: dict[str, Any] = {"id": ["t"], "properties": {"a": "ü", "b": "2"}, "mode": "Overwrite"}
    query = sent("create_table", given, ROWS, answer={"version": 1}).url.params
    assert (query["properties"], query["mode"]) == ('{"a":"ü","b":"2"}', "Overwrite")
    given = {"id": ["t"], "on": ["a", "b"], "when_not_matched_insert_all": True}
    query = sent("merge_insert_into_table", given, ROWS).url.params
    assert query.get_list("on") == ["a", "b"]
    assert query["when_not_matched_insert_all"] == "true"


@both
def test_the_timeouts_of_the_client_apply_to_each_request(asking: Ask) -> None:
    timeout = httpx.Timeout(1, connect=2, read=None)
    expected = {"connect": 2, "read": None, "write": 1, "pool": 1}
    calls: list[tuple[str, list[Any], Any]] = [
        ("list_tables", [{"id": ["n"]}], {"tables": []}),
        ("create_table", [{"id": ["t"]}, ROWS], {"version": 1}),
    ]
    for method, given, answer in calls:
        request = sent(method, *given, answer=answer, asking=asking, timeout=timeout)
        assert request.extensions["timeout"] == expected


def never(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"{request.url} was asked for")


@both
@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("merge_insert_into_table", ({"id": ["t"]}, ROWS), "MergeInsertIntoTable needs on"),
        (
            "describe_table_index_stats", ({"id": ["t"], "index_name": ""},),
            "DescribeTableIndexStats needs index_name",
        ),
        ("describe_table", ({"id": ["a$b"]},), "contains the delimiter"),
        ("describe_table", ({"id": ["a", ""]},), "has a level that is empty"),
    ],
)  # fmt: skip
def test_a_request_that_no_route_can_express_is_not_sent(
    method: str, given: tuple[Any, ...], said: str, asking: Ask
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        asking(never, method, *given)


def test_credentials_and_headers_of_a_request_are_sent_as_headers() -> None:
    identity = {"api_key": "k", "auth_token": "t"}
    given = {"id": ["n"], "identity": identity, "context": {"header.X-Trace": "7", "note": "8"}}
    headers = sent("namespace_exists", given).headers
    found = {key: headers.get(key) for key in ("x-api-key", "authorization", "x-trace", "note")}
    assert found == {"x-api-key": "k", "authorization": "Bearer t", "x-trace": "7", "note": None}
    headers = sent(
        "namespace_exists", {"id": ["n"], "identity": {"api_key": "", "auth_token": ""}}
    ).headers
    assert not {"x-api-key", "authorization"} & set(headers)


@pytest.mark.parametrize("token", [" hunter2", "hunter2 ", "hunter2\n", "hunter2é"])
def test_a_token_that_would_not_arrive_unchanged_is_rejected(token: str) -> None:
    given = {"id": ["n"], "identity": {"auth_token": token}}
    with pytest.raises(InvalidInputError, match="'Authorization': the value contains") as caught:
        ask(never, "namespace_exists", given)
    assert "hunter2" not in str(caught.value)


# --- failures during the request


AWAY = "; check that the server is running"
WRONG: dict[str, tuple[Exception, type[LanceNamespaceError], str]] = {
    "refused": (
        httpx.ConnectError("[Errno 111]\n refused"), ServiceUnavailableError,
        f"ListTables: no response from http://server ([Errno 111] refused){AWAY}",
    ),
    "without a word": (
        httpx.ReadTimeout(""), ServiceUnavailableError,
        f"ListTables: no response from http://server (ReadTimeout){AWAY}",
    ),
    "no HTTP": (
        httpx.LocalProtocolError("Illegal header"), InvalidInputError,
        "ListTables cannot be sent over HTTP: Illegal header",
    ),
    "packed wrongly": (
        httpx.DecodingError("incorrect header check"), InternalError,
        "ListTables: http://server returned an unreadable response: incorrect header check",
    ),
    "another scheme": (
        httpx.UnsupportedProtocol("no"), InvalidInputError,
        "'http://server' must start with http:// or https://",
    ),
    "no address": (
        httpx.InvalidURL("odd port"), InvalidInputError,
        "ListTables cannot be sent to 'http://server': odd port",
    ),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", WRONG)
def test_a_failure_of_http_is_an_error_of_the_protocol(name: str, asking: Ask) -> None:
    failure, kind, said = WRONG[name]

    def fail(request: httpx.Request) -> httpx.Response:
        raise failure

    with pytest.raises(LanceNamespaceError) as caught:
        asking(fail, "list_tables", {"id": ["n"]})
    assert (type(caught.value), caught.value.text) == (kind, said)
    assert caught.value.__cause__ is failure


# --- responses


@both
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 400, 500])
def test_no_redirect_is_followed(status: int, asking: Ask) -> None:
    def move(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"location": "http://other"}, json={"tables": []})

    with pytest.raises(LanceNamespaceError) as caught:
        asking(move, "list_tables", {"id": ["n"]})
    assert caught.value.status == status


@both
def test_the_headers_of_a_response_are_in_its_context(asking: Ask) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        body = {"tables": [], "context": {"header.x-a": "body", "own": "1"}}
        return httpx.Response(200, headers={"X-A": "header", "X-B": "2"}, json=body)

    context = asking(answer, "list_tables", {"id": ["n"]}).context
    found = {key: context[key] for key in ("header.x-a", "header.x-b", "own")}
    assert found == {"header.x-a": "body", "header.x-b": "2", "own": "1"}


@both
def test_each_form_of_a_response_is_read(asking: Ask) -> None:
    def give(content: bytes) -> Handler:
        return lambda request: httpx.Response(200, content=content)

    assert asking(give(b"7"), "count_table_rows", {"id": ["t"]}).count == 7
    assert asking(give(b""), "drop_namespace", {"id": ["n"]}).properties is None
    assert asking(give(b"<not json>"), "namespace_exists", {"id": ["n"]}).context is not None
    for content in (b"<html>", b"[]", json.dumps({"tables": 1}).encode()):
        with pytest.raises(InternalError, match=r"ListTables: http://server (answered|returned)"):
            asking(give(content), "list_tables", {"id": ["n"]})


def rows_in(*parts: bytes, **headers: str) -> Handler:
    """Return a handler whose response streams the parts of a body."""
    return lambda request: httpx.Response(200, headers=headers, stream=Body(list(parts)))


@both
def test_rows_may_be_compressed_by_http(asking: Ask) -> None:
    content = file_of(ROWS)
    assert asking(rows_in(content), "query_table", QUERY) == pa.table(ROWS)
    packed = rows_in(gzip.compress(content), **{"Content-Encoding": "gzip"})
    assert asking(packed, "query_table", QUERY) == pa.table(ROWS)


@both
@pytest.mark.parametrize("pad", [2, 58])
def test_rows_may_arrive_in_any_chunks_and_with_any_padding(pad: int, asking: Ask) -> None:
    content = file_of(ROWS)
    assert content[:8] == b"ARROW1\0\0"
    content = content[:6] + bytes(pad) + content[8:]
    pieces = [content[at : at + 1] for at in range(len(content))]
    assert asking(rows_in(*pieces), "query_table", QUERY) == pa.table(ROWS)


@both
@pytest.mark.parametrize(
    ("end", "said"), [(0, "is not an Arrow IPC file"), (10, "is not"), (-600, "was truncated")]
)
def test_truncated_rows_are_an_error_of_the_server(end: int, said: str, asking: Ask) -> None:
    content = file_of(pa.record_batch({"a": list(range(100))}))[:end]
    with pytest.raises(InternalError, match=f"QueryTable: the response {said}"):
        asking(rows_in(content), "query_table", QUERY)
