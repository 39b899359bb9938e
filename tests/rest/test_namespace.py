"""The REST backend: configuration, secrets, and the requests that it sends."""

from __future__ import annotations

import logging
import pickle
import traceback

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    UnauthenticatedError,
    UnsupportedError,
)
from lance_namespace_impls import AsyncRestNamespace, connect, connect_config
from lance_namespace_impls.rest import RestNamespace
from tests.servers.scripted import Answer

NOWHERE = "http://127.0.0.1:1"


@pytest.mark.requirement("general-121")
def test_properties_bare_and_prefixed():
    namespace = connect_config(
        {"impl": "rest", "rest.uri": "http://host:2333/base/", "rest.headers.X-A": "1"}
    )
    assert isinstance(namespace, RestNamespace)
    assert namespace.config.uri == "http://host:2333/base"
    assert namespace.config.headers == {"X-A": "1"}


@pytest.mark.parametrize(
    ("properties", "hint"),
    [
        ({}, "'uri' is required"),
        ({"uri": "localhost:2333"}, "http://"),
        ({"uri": "ftp://host"}, "http://"),
        ({"uri": "http://"}, "http://"),
        ({"uri": "http://host:port"}, "not a valid address"),
        ({"uri": "http://user:hunter2@host"}, "auth_token"),
        ({"uri": "http://host?x=1"}, "a query or fragment"),
        ({"uri": "http://host#x"}, "a query or fragment"),
        ({"uri": "http://host:0"}, "must have the form"),
        ({"uri": "http://[::1"}, "not a valid address"),
        ({"uri": NOWHERE, "delimiter": ""}, "delimiter"),
        ({"uri": NOWHERE, "connect_timeout": "0"}, "connect_timeout"),
        ({"uri": NOWHERE, "read_timeout": "soon"}, "seconds"),
        ({"uri": NOWHERE, "max_retries": "-1"}, "max_retries"),
        ({"uri": NOWHERE, "retrys": "1"}, "is unknown"),
        ({"uri": NOWHERE, "headers.bad name": "1"}, "header name"),
        ({"uri": NOWHERE, "headers.x": "hunter2\n"}, "printable"),
        ({"uri": NOWHERE, "auth_token": "hunter2\r\nx: y"}, "printable"),
        ({"uri": NOWHERE, "api_key": "hunter2ü"}, "printable"),
        ({"uri": NOWHERE, "proxy": "nonsense://user:hunter2@x"}, "proxy"),
        ({"uri": "https://host", "ca_bundle": "/no/such/file"}, "ca_bundle"),
        ({"uri": "https://host", "client_cert": "/no/such/file"}, "client_cert"),
    ],
)
@pytest.mark.parametrize("kind", [RestNamespace, AsyncRestNamespace])
def test_invalid_properties(kind, properties, hint):
    with pytest.raises(InvalidInputError, match=hint) as caught:
        kind.from_properties(properties)
    assert "hunter2" not in str(caught.value)


def test_secrets_are_not_shown():
    namespace = connect(
        "rest",
        {
            "uri": NOWHERE,
            "auth_token": "hunter2",
            "api_key": "hunter3",
            "headers.Authorization": "Basic hunter4",
            "proxy": "http://u:hunter5@127.0.0.1:1",
            "storage.aws_secret_access_key": "hunter6",
            "max_retries": "0",
        },
    )
    shown = f"{namespace!r} {namespace.config!r} {namespace.namespace_id()}"
    with pytest.raises(ServiceUnavailableError) as caught:
        namespace.list_tables({})
    shown += "".join(traceback.format_exception(caught.value))
    assert "hunter" not in shown
    assert NOWHERE in str(caught.value)


@pytest.mark.parametrize("kind", [RestNamespace, AsyncRestNamespace])
def test_a_namespace_can_be_pickled_and_hides_its_secrets(kind):
    first = kind.from_properties({"uri": NOWHERE, "auth_token": "hunter2", "headers.x-a": "1"})
    assert "hunter2" not in repr(first)
    assert pickle.loads(pickle.dumps(first)).config == first.config


def test_a_closed_namespace_reports_it(open_client):
    namespace = open_client(NOWHERE)
    namespace.close()
    with pytest.raises(InvalidInputError, match="closed"):
        namespace.list_tables({})


@pytest.mark.requirement("general-096")
def test_credentials_of_a_request_override_those_of_the_namespace(server, open_client):
    server.play(Answer(200), Answer(200))
    own = {"auth_token": "own", "api_key": "own", "header.X-A": "1", "delimiter": "."}
    namespace = open_client(server.uri, **own)
    namespace.table_exists({"id": ["n", "t"]})
    assert server.asked[0].line.split()[1] == "/v1/table/n%2Et/exists?delimiter=."
    identity = {"api_key": "other", "auth_token": "other"}
    namespace.table_exists({"id": ["t"], "identity": identity, "context": {"header.x-a": "2"}})
    plain, given = (asked.headers for asked in server.asked)
    assert (plain["authorization"], plain["x-api-key"], plain["x-a"]) == ("Bearer own", "own", "1")
    assert (given["authorization"], given["x-api-key"]) == ("Bearer other", "other")
    assert given["x-a"] == "2"


def test_configured_headers_override_those_of_other_properties(server, open_client):
    server.play(Answer(200))
    keys = {"auth_token": "a", "api_key": "b"}
    own = {
        "headers.authorization": "Basic own",
        "headers.X-Api-Key": "own",
        "headers.Accept": "x/y",
    }
    open_client(server.uri, **keys, **own).table_exists({"id": ["t"]})
    headers = server.asked[0].headers
    assert (headers["authorization"], headers["x-api-key"]) == ("Basic own", "own")
    assert (headers["accept"], headers["host"]) == ("x/y", server.uri.removeprefix("http://"))


@pytest.mark.parametrize(
    "more",
    [
        {"context": {"header.x": "hunter2\n"}},
        {"context": {"header.bad name": "x"}},
        {"identity": {"auth_token": "hunter2\r\nx: y"}},
    ],
)
def test_values_that_no_header_can_contain_are_rejected(open_client, more):
    with pytest.raises(InvalidInputError) as caught:
        open_client(NOWHERE).table_exists({"id": ["t"], **more})
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_text_that_is_not_unicode_is_rejected(open_client):
    for request in ({"id": ["\ud800"]}, {"id": ["t"], "tag": "\ud800"}):
        with pytest.raises(InvalidInputError, match="Unicode"):
            open_client(NOWHERE).describe_table(request)


def test_properties_too_long_for_a_url_are_rejected(server, open_client):
    server.play()
    request = {"id": ["t"], "properties": {"long": "x" * 70_000}}
    with pytest.raises(InvalidInputError, match=r"CreateTable .*set fewer or shorter properties"):
        open_client(server.uri).create_table(request, pa.table({"a": [1]}))
    assert server.asked == []


@pytest.mark.parametrize(
    "new", [{"new_table_name": "a$b"}, {"new_table_name": "u", "new_namespace_id": ["a$b"]}]
)
def test_a_new_name_with_the_delimiter_is_not_sent(server, open_client, new):
    server.play()
    with pytest.raises(InvalidInputError, match="delimiter"):
        open_client(server.uri).rename_table({"id": ["t"], **new})
    assert server.asked == []


def test_a_secret_repeated_by_the_server_is_masked(server, open_client):
    said = {"error": "is hunter2 a token?", "detail": "hunter2", "instance": "hunter2", "code": 16}
    server.play(Answer(401, said))
    with pytest.raises(UnauthenticatedError) as caught:
        open_client(server.uri, auth_token="hunter2").list_tables({})
    assert caught.value.text == "is *** a token?"
    assert (caught.value.detail, caught.value.instance) == ("***", "***")


def test_storage_options_of_a_new_table_are_neither_logged_nor_shown(server, open_client, caplog):
    caplog.set_level(logging.DEBUG)
    server.play(Answer(404, b"<html>"))
    request = {"id": ["t"], "storage_options": {"aws_secret_access_key": "hunter2"}}
    with pytest.raises(UnsupportedError, match="is not a Lance namespace server") as caught:
        open_client(server.uri).create_table(request, pa.table({"a": [1]}))
    assert "hunter2" in server.asked[0].line
    assert "hunter2" not in str(caught.value)
    assert "HTTP Request: POST" in caplog.text
    assert "hunter2" not in caplog.text


def test_own_storage_options_complete_those_of_the_server(server, open_client):
    server.play(
        Answer(200, {"location": "s3://b/t", "storage_options": {"aws_region": "theirs"}}),
        Answer(200, {"location": "s3://b/t"}),
    )
    own = {"storage.aws_region": "own", "storage.aws_access_key_id": "k"}
    namespace = open_client(server.uri, **own)
    first, second = (namespace.describe_table({"id": ["t"]}).storage_options for _ in range(2))
    assert first == {"aws_region": "theirs", "aws_access_key_id": "k"}
    assert second == {"aws_region": "own", "aws_access_key_id": "k"}


def test_an_iteration_ends_with_an_empty_page_token(server, open_client):
    """The protocol has no empty token, but some servers end a listing with one."""
    server.play(
        Answer(200, {"tables": ["a"], "page_token": "next"}),
        Answer(200, {"tables": ["b"], "page_token": ""}),
    )
    assert list(open_client(server.uri).iter_tables()) == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (406, {"error": "no", "code": 0}, 0),
        (500, {"error": "x", "code": 99}, 18),
        (401, {"error": "x", "code": 401}, 16),
        (404, {"error": "x", "code": 404}, 0),
        (409, {"error": "x", "code": True}, 14),
    ],
)
def test_invalid_responses(server, open_client, status, body, code):
    server.play(Answer(status, body))
    with pytest.raises(LanceNamespaceError) as caught:
        open_client(server.uri).list_tables({})
    assert caught.value.code == code


def test_the_proxy_of_the_environment_is_used(monkeypatch, server, open_client):
    monkeypatch.setenv("http_proxy", server.uri)
    monkeypatch.setenv("no_proxy", "elsewhere.test")
    server.play(Answer(200, {"tables": []}))
    open_client("http://catalog.test:1234").list_tables({})
    assert server.asked[0].line.startswith("GET http://catalog.test:1234/v1/namespace/%24/")
    with pytest.raises(ServiceUnavailableError):
        open_client("http://elsewhere.test:1", max_retries="0").list_tables({})
    assert len(server.asked) == 1


@pytest.mark.parametrize("given", ["proxy", "all_proxy"])
def test_a_proxy_is_used_and_the_property_overrides_the_environment(
    monkeypatch, server, open_client, given
):
    for name in ("http_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    properties = {"max_retries": "0"}
    if given == "proxy":
        properties["proxy"] = server.uri
        monkeypatch.setenv("http_proxy", NOWHERE)
        monkeypatch.setenv("no_proxy", "catalog.test")
    else:
        monkeypatch.setenv("all_proxy", server.uri)
    server.play(Answer(200, {"tables": []}))
    open_client("http://catalog.test:1234", **properties).list_tables({})
    assert server.asked[0].line.startswith("GET http://catalog.test:1234/v1/")


def test_unreadable_rows_are_invalid_input(server, open_client):
    def produce():
        yield pa.record_batch({"a": [1]})
        raise RuntimeError("the source dried up")

    rows = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), produce())
    with pytest.raises(InvalidInputError, match="dried up"):
        open_client(server.uri).create_table({"id": ["t"]}, rows)
