"""The server reads the same request that the client sends: all operations, routes and names."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.model import Model
from lance_namespace_client.operations import OPERATIONS, Body, Operation
from lance_namespace_impls.core.identifiers import join_identifier
from lance_namespace_impls.rest import RestConfig, RestNamespace
from lance_namespace_impls.server.http.requests import Headers, read_request
from lance_namespace_impls.server.http.routing import RouteTable

from .schemas import SCHEMAS, right

ROUTES = RouteTable()
DELIMITERS = ("$", ".", "::", "/", "%", "\x1f")
AWKWARD = (
    ".", "..", "a.b", "/", "a/b", "%", "%2F", "%252F", "+", " ", "a b", "ü", "日本",
    "?x=1", "#", "&", "=", "\x1f", "\0", "list", "$",
)  # fmt: skip
WITH_JSON = [row.name for row in OPERATIONS.values() if row.body is not Body.ARROW]
names = st.one_of(
    st.sampled_from(AWKWARD), st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
)


def _drawn(data: DataObject, row: Operation[Any, Any], delimiter: str) -> Model:
    """Draw a request that a client can send."""
    given_json = data.draw(right(SCHEMAS[row.request]))
    given_json = {k: v for k, v in given_json.items() if k not in ("identity", "context")}
    for field in row.path_fields:
        given_json[field] = data.draw(names)
    given_json.pop("id", None)
    fit = names.filter(lambda name: not set(name) & set(delimiter))
    if "id" in row.path_fields:
        given_json["id"] = data.draw(st.lists(fit, max_size=3))
    if "new_table_name" in given_json:
        # The name must not contain the delimiter, so that the renamed table has an identifier.
        given_json["new_table_name"] = data.draw(fit)
        given_json["new_namespace_id"] = data.draw(st.none() | st.lists(fit, max_size=3))
    for parameter in row.query:
        if parameter.required and not given_json.get(parameter.field):
            given_json[parameter.field] = ["x"]
    model: Model = row.request_type.from_dict(given_json)
    return model


def _body_fields(request: Model) -> dict[str, Any]:
    """Return the content of a request, without the fields that are sent as headers."""
    said = {k: v for k, v in request.to_dict().items() if k not in ("identity", "context")}
    said["id"] = said.get("id") or []
    if said.get("metadata") == {}:  # an empty metadata body is equivalent to no body
        del said["metadata"]
    return said


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=10)
@given(data=st.data())
def test_a_request_survives_its_route(name: str, data: DataObject) -> None:
    row = OPERATIONS[name]
    delimiter = data.draw(st.sampled_from(DELIMITERS))
    with RestNamespace(RestConfig(uri="http://localhost", delimiter=delimiter)) as client:
        request = _drawn(data, row, delimiter)
        sent = client._build(row, request, None)
    path, _, query = sent.url.raw_path.partition(b"?")
    found = ROUTES.find(path.decode())
    assert found is not None
    endpoint = found.methods[sent.method]
    assert endpoint.operation is row
    read = read_request(endpoint, found.segments, query, Headers(sent.headers.raw), sent.read())
    assert _body_fields(read) == _body_fields(request)


@pytest.mark.parametrize("name", WITH_JSON)
@settings(max_examples=6)
@given(data=st.data())
def test_a_request_survives_the_route_by_name(name: str, data: DataObject) -> None:
    """``POST /<name>`` reads all fields from the body."""
    row = OPERATIONS[name]
    request = _drawn(data, row, "$")
    body = json.dumps(request.to_dict()).encode()
    for alias in row.names:
        found = ROUTES.find(f"/{alias}")
        assert found is not None
        read = read_request(found.methods["POST"], found.segments, b"", Headers([]), body)
        assert _body_fields(read) == _body_fields(request)


@given(identifier=st.lists(names, min_size=1, max_size=3), delimiter=st.sampled_from(DELIMITERS))
def test_the_client_rejects_a_name_with_the_delimiter(
    identifier: list[str], delimiter: str
) -> None:
    row = OPERATIONS["DescribeTable"]
    request = row.request_type.from_dict({"id": [*identifier, f"a{delimiter}b"]})
    config = RestConfig(uri="http://localhost", delimiter=delimiter)
    with (
        RestNamespace(config) as client,
        pytest.raises(InvalidInputError, match="delimiter") as caught,
    ):
        client._build(row, request, None)
    assert caught.value.code == 13


@given(one=st.lists(names, min_size=1, max_size=3), other=st.lists(names, min_size=1, max_size=3))
def test_route_and_body_must_agree(one: list[str], other: list[str]) -> None:
    try:
        text = quote(join_identifier(one, "::"), safe="").replace(".", "%2E")
    except InvalidInputError:
        return
    found = ROUTES.find(f"/v1/table/{text}/describe")
    assert found is not None
    body = json.dumps({"id": other}).encode()

    def read() -> Model:
        query = b"delimiter=%3A%3A"
        return read_request(found.methods["POST"], found.segments, query, Headers([]), body)

    if one == other:
        assert read().to_dict()["id"] == one
        return
    with pytest.raises(InvalidInputError, match="differ") as caught:
        read()
    assert caught.value.code == 13
