"""The HTTP encoding of requests and responses, tested with an echo namespace."""

from __future__ import annotations

import json
import logging
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lance_namespace_client.models import DescribeTableRequest
from lance_namespace_impls import connect
from lance_namespace_impls.server import ServerOptions, serving
from lance_namespace_impls.server.http.requests import Headers
from tests.servers.echo import EchoNamespace

from .wire import STREAM, ipc

# --- identifiers


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/v1/table/a%24b/describe", ["a", "b"]),
        ("/v1/table/a$b/describe", ["a", "b"]),
        ("/v1/table/a.b/describe?delimiter=.", ["a", "b"]),
        ("/v1/table/a%2Eb/describe?delimiter=%2E", ["a", "b"]),
        ("/v1/table/a%2Fb%24c/describe", ["a/b", "c"]),
        ("/v1/table/%2E%2E/describe", [".."]),
        ("/v1/table/a+b%20c/describe", ["a+b c"]),
        ("/v1/table/a%2524b/describe", ["a%24b"]),
        ("/v1/table/a%C2%A7%C2%A7b/describe?delimiter=%C2%A7%C2%A7", ["a", "b"]),
    ],
)
def test_route_identifiers(http, echo, path, names):
    assert http.post(path).status_code == 200
    assert echo.last().id == names


names_without = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="$"), min_size=1
)


@pytest.mark.requirement("general-022")
@settings(deadline=None)
@given(st.lists(names_without, min_size=1, max_size=3))
@example(["."])
@example([".."])
@example(["a.b", "c/d", "%2F", "+ +"])
@example(["nul\0", "ä\n", "?", "#"])
def test_any_name_is_transmitted_unchanged(echo, uri_and_client, names):
    answer = uri_and_client.describe_table({"id": names})
    assert echo.last().id == names
    assert [*(answer.namespace or []), answer.table] == names


def test_a_name_with_the_delimiter_requires_another_delimiter(uri, echo):
    with connect("rest", {"uri": uri}) as client:
        with pytest.raises(Exception, match="another 'delimiter'") as caught:
            client.describe_table({"id": ["a$b"]})
        assert caught.value.code == 13
    with connect("rest", {"uri": uri, "delimiter": "::"}) as client:
        client.describe_table({"id": ["a$b", "c"]})
    assert echo.last().id == ["a$b", "c"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/table/a%24%24b/describe",
        "/v1/table/a%24/describe",
        "/v1/table/a/describe?delimiter=",
        "/v1/table/%FF/describe",
    ],
)
def test_invalid_route_identifiers(code_of, path):
    assert code_of("POST", path) == (400, 13)


def test_the_name_of_an_index_in_route_and_body(http, code_of):
    path = "/v1/table/t/index/i%2F1/stats"
    assert http.post(path, json={"index_name": "i/1"}).json() == {"index_type": "i/1"}
    assert code_of("POST", path, json={"index_name": "i2"}) == (400, 13)


# --- query parameters


def test_typed_query_parameters(http, echo):
    http.post("/v1/table/t/describe?with_table_uri=true&load_detailed_metadata=FALSE")
    assert echo.last().with_table_uri is True
    assert echo.last().load_detailed_metadata is False
    http.get("/v1/namespace/$/table/list?limit=5&page_token=a%2Bb+c&include_declared=false")
    assert (echo.last().limit, echo.last().page_token) == (5, "a+b c")
    assert echo.last().include_declared is False


@pytest.mark.parametrize(
    "query",
    [
        "with_table_uri=1",
        "with_table_uri=",
        "with_table_uri=true&with_table_uri=false",
        "delimiter=a&delimiter=b",
        "check_declared=%ff",
    ],
)
def test_invalid_query_parameters(code_of, query):
    assert code_of("POST", f"/v1/table/t/describe?{query}") == (400, 13)


def test_a_limit_is_a_whole_number(code_of):
    assert code_of("GET", "/v1/namespace/$/table/list?limit=1.5") == (400, 13)


def test_a_flag_in_query_and_body_must_agree(http, code_of):
    path = "/v1/table/t/describe?check_declared=true"
    assert http.post(path, json={"check_declared": True}).status_code == 200
    assert code_of("POST", path, json={"check_declared": False}) == (400, 13)
    assert http.post(path + "&check_declared=true").status_code == 200


def test_a_required_parameter(code_of, http, echo):
    path = "/v1/table/t/merge_insert"
    refused = http.post(path, content=ipc())
    assert (refused.status_code, refused.json()["code"]) == (400, 13)
    assert "MergeInsertIntoTable needs the parameter 'on'" in refused.json()["error"]
    assert code_of("POST", f"{path}?on=a&on=b", content=ipc()) == (406, 0)


# --- bodies


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [("describe", b"{}", STREAM), ("create", ipc(), "application/json")],
)
def test_a_body_with_the_wrong_content_type_is_rejected(code_of, path, content, kind):
    headers = {"Content-Type": kind}
    assert code_of("POST", f"/v1/table/t/{path}", content=content, headers=headers) == (400, 13)


@pytest.mark.parametrize("content", [b"{", b"[]"])
def test_a_body_that_is_not_an_object_is_rejected(code_of, content):
    assert code_of("POST", "/v1/table/t/describe", content=content) == (400, 13)


def test_a_json_body_has_a_limit(code_of, http, uri):
    large = json.dumps({"context": {"x": "y" * (1 << 17)}}).encode()
    assert code_of("POST", "/v1/table/t/describe", content=large) == (413, 13)
    chunked = iter([large[:1000], large[1000:]])
    assert code_of("POST", "/v1/table/t/describe", content=chunked) == (413, 13)
    assert http.post("/v1/table/t/describe").status_code == 200


def test_a_bare_field_is_request_and_response_body(http, echo, code_of):
    path = "/v1/table/t/schema_metadata/update?branch=dev"
    assert http.post(path, json={"k": "v"}).json() == {"k": "v"}
    assert (echo.last().id, echo.last().branch) == (["t"], "dev")
    assert code_of("POST", path, json={"k": 1}) == (400, 13)
    by_name = http.post("/UpdateTableSchemaMetadata", json={"id": ["t"], "metadata": {"k": "w"}})
    assert by_name.json() == {"k": "w"}


def test_responses_that_are_not_objects(http):
    assert http.post("/v1/table/t/count_rows").json() == 7
    exists = http.post("/v1/table/t/exists")
    assert (exists.status_code, exists.content) == (200, b"")
    assert http.post("/v1/materialized_view/v/refresh").status_code == 202


def test_routes_by_name_read_fields_from_the_body(http, echo):
    http.post("/ListTables", json={"id": "", "limit": 2})
    assert (echo.last().id, echo.last().limit) == (None, 2)


def test_uploads_by_name_read_fields_from_the_query(http, echo):
    query = {"id": "a.b", "delimiter": ".", "mode": "overwrite", "properties": '{"k": "v"}'}
    response = http.post("/CreateTable", params=query, content=ipc())
    assert response.json()["properties"] == {"k": "v"}
    assert (echo.last().id, echo.last().mode, echo.rows) == (["a", "b"], "overwrite", 3)


def test_list_all_tables_receives_the_delimiter(http):
    assert http.get("/v1/table?delimiter=.").json()["tables"] == ["."]
    assert http.get("/v1/table").json()["tables"] == ["none"]
    assert http.post("/ListAllTables?delimiter=_").json()["tables"] == ["_"]


def test_properties_of_a_new_table_are_a_json_object(code_of):
    path, rows = "/v1/table/t/create", ipc()
    assert code_of("POST", path, params={"properties": "[]"}, content=rows) == (400, 13)
    headers = {"x-lance-table-properties": "3"}
    assert code_of("POST", path, headers=headers, content=rows) == (400, 13)


def test_headers_of_create(http, echo, code_of):
    headers = {"x-lance-table-properties": '{"k": "v"}', "x-lance-table-location": "/there"}
    http.post("/v1/table/t/create", headers=headers, content=ipc())
    assert echo.last().properties == {"k": "v"}
    assert echo.last().context["header.x-lance-table-location"] == "/there"
    assert code_of(
        "POST",
        "/v1/table/t/create",
        headers=headers,
        params={"properties": '{"k": "other"}'},
        content=ipc(),
    ) == (400, 13)


# --- identity and context


def test_credentials_in_headers_take_precedence(http, echo):
    body = {"identity": {"api_key": "body", "auth_token": "body"}}
    http.post("/v1/table/t/describe", json=body)
    assert echo.last().identity.api_key == "body"
    headers = {"x-api-key": "key", "Authorization": "bearer  token"}
    http.post("/v1/table/t/describe", json=body, headers=headers)
    assert echo.last().identity.api_key == "key"
    assert echo.last().identity.auth_token == "token"
    http.post("/v1/table/t/describe", json=body, headers={"Authorization": "Basic abc"})
    assert echo.last().identity.auth_token == "body"
    http.get("/v1/table", headers={"x-api-key": "key"})
    assert echo.last().identity.api_key == "key"


def test_headers_are_passed_in_the_context(uri, echo):
    with connect("rest", {"uri": uri, "headers.x-static": "1", "api_key": "k"}) as client:
        answer = client.describe_table(
            DescribeTableRequest(id=["t"], context={"header.X-Dynamic": "2", "note": "3"})
        )
    context = echo.last().context
    assert context["header.x-static"] == "1"
    assert context["header.x-dynamic"] == "2"
    assert context["note"] == "3"
    hidden = {"header.host", "header.content-length", "header.x-api-key", "header.authorization"}
    assert not hidden & set(context)
    assert echo.last().identity.api_key == "k"
    assert answer.context["header.x-echo"] == "yes"
    assert answer.context["note"] == "kept"
    assert answer.context["header.content-length"] != "7"


@pytest.mark.parametrize(
    "name",
    [
        "accept", "accept-encoding", "authorization", "connection", "content-encoding",
        "content-length", "content-type", "cookie", "date", "expect", "host", "keep-alive",
        "proxy-authenticate", "proxy-authorization", "server", "set-cookie", "te", "trailer",
        "transfer-encoding", "upgrade", "user-agent", "www-authenticate", "x-api-key",
        "x-lance-table-properties",
    ],
)  # fmt: skip
def test_hop_and_credential_headers_are_not_in_the_context(name):
    sent = [(name.title().encode(), b"a secret"), (f"{name}-2".encode(), b"1")]
    assert Headers(sent).context() == {f"header.{name}-2": "1"}


@pytest.mark.parametrize("context", [[], "x", {"a": 1}])
def test_an_invalid_context_is_rejected(code_of, context):
    headers = {"x-anything": "1"}
    assert code_of("POST", "/DescribeTable", json={"context": context}, headers=headers) == (
        400,
        13,
    )


# --- failures


def test_errors_contain_code_detail_and_status(http):
    response = http.post("/v1/table/gone/exists")
    assert response.status_code == 404
    assert response.json() == {
        "error": "table gone does not exist",
        "code": 4,
        "detail": "looked twice",
    }


def test_missing_operations_are_unsupported(code_of):
    assert code_of("POST", "/v1/table/t/drop") == (406, 0)
    assert code_of("POST", "/CreateNamespace") == (406, 0)


def test_throttling_sends_retry_after(http):
    response = http.post("/v1/table/busy/exists")
    assert (response.status_code, response.json()["code"]) == (429, 21)
    assert response.headers["retry-after"] == "2"


def test_an_internal_error_is_logged_but_not_disclosed(http, caplog):
    with caplog.at_level(logging.ERROR, "lance_namespace_impls.server"):
        response = http.post("/v1/table/broken/exists", headers={"x-request-id": "r-1"})
    assert (response.status_code, response.json()["code"]) == (500, 18)
    assert response.json()["instance"] == "r-1"
    assert "secret place" not in response.text
    assert "Traceback" not in response.text
    assert "r-1" in caplog.text
    assert "secret place" in caplog.text
    other = http.post("/v1/table/broken/exists").json()["instance"]
    assert len(other) == 32


def test_unknown_routes_and_wrong_methods(http):
    response = http.post("/v1/table/t/descrbe")
    assert (response.status_code, response.json()["code"]) == (404, 0)
    assert "/v1/table/{id}/describe" in response.json()["error"]
    assert http.get("/").json()["code"] == 0
    response = http.get("/v1/table/t/describe")
    assert (response.status_code, response.json()["code"]) == (405, 13)
    assert response.headers["allow"] == "POST"
    assert http.delete("/v1/table").headers["allow"] == "GET, HEAD"
    assert http.put("/DescribeTable").status_code == 405


@pytest.mark.requirement("general-098")
def test_health_and_document(http):
    assert http.get("/healthz").json() == {"status": "ok"}
    document = http.get("/openapi.json")
    assert document.json()["paths"]["/v1/table/{id}/describe"]
    for path in ("/healthz", "/openapi.json", "/v1/table"):
        response = http.head(path)
        assert (response.status_code, response.content) == (200, b"")


# --- secrets


@pytest.mark.requirement("general-113")
@pytest.mark.parametrize(
    ("vends", "secrets"), [(False, {None: False, True: False}), (True, {None: True, False: False})]
)
def test_storage_secrets_are_sent_only_if_vended(vends, secrets):
    with serving(EchoNamespace(), ServerOptions(vend_storage_options=vends)) as uri:
        for asks, secret in secrets.items():
            answer = httpx.post(f"{uri}/v1/table/t/describe", json={"vend_credentials": asks})
            options = answer.json()["storage_options"]
            assert options["aws_region"] == "eu"
            assert ("aws_secret_access_key" in options) is secret
            assert ("expires_at_millis" in options) is secret  # pylance 1 requires it


def test_page_tokens_with_every_ascii_character(http, echo):
    token = "".join(map(chr, range(1, 127)))
    http.get(f"/v1/namespace/$/list?page_token={quote(token, safe='')}")
    assert echo.last().page_token == token
