"""Operations that need only the status of a response ignore its body."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.servers.web import Answer, Asked, WebServer

TEXT = {"Content-Type": "text/plain"}
UNREAD = [
    Answer(body=b"200 OK", headers=TEXT),
    Answer(body=b'"NO_CONTENT"'),
    Answer(body=b"[]"),
    Answer(status=204),
    Answer(body={}),
]
LANCE = {"properties": {"table_type": "lance"}}


@pytest.fixture(params=UNREAD, ids=["text", "string", "list", "nothing", "object"])
def server(request: pytest.FixtureRequest) -> Iterator[WebServer]:
    """Start a catalog for all protocols with one namespace and one table; it accepts any change."""

    def respond(asked: Asked) -> Answer:
        if asked.method == "DELETE" or asked.path.endswith(("/rename", "/properties", "/exists")):
            answer: Answer = request.param
            return answer
        if asked.path.endswith("/config"):
            return Answer(body={"overrides": {"prefix": "wh"}, "defaults": {}})
        if asked.method == "GET" and asked.path.endswith("gone"):
            return Answer(status=404, body={"error": {"type": "NoSuchTableException", "code": 404}})
        if asked.path.endswith("/tables"):
            return Answer(body={"tables": []})
        if asked.path.endswith("/t"):
            return Answer(body={"metadata": {"location": "file:///nowhere/t", **LANCE}})
        table = {"table_type": "EXTERNAL", "storage_location": "file:///nowhere/t", **LANCE}
        return Answer(body={"name": "t", **table})

    with WebServer(respond) as running:
        yield running


@pytest.fixture
def unity(server: WebServer) -> Iterator[Namespace]:
    with connect("unity", {"endpoint": server.uri, "catalog": "main"}) as namespace:
        yield namespace


@pytest.fixture
def iceberg(server: WebServer) -> Iterator[Namespace]:
    with connect("iceberg", {"endpoint": server.uri, "root": "/nowhere"}) as namespace:
        yield namespace


def test_unity(unity: Namespace) -> None:
    unity.deregister_table({"id": ["main", "s", "t"]})
    unity.drop_namespace({"id": ["main", "s"]})


def test_iceberg(iceberg: Namespace) -> None:
    iceberg.rename_table({"id": ["wh", "s", "t"], "new_table_name": "gone"})
    iceberg.deregister_table({"id": ["wh", "s", "t"]})
    iceberg.alter_namespace({"id": ["wh", "s"], "set_properties": {"a": "b"}})
    iceberg.drop_namespace({"id": ["wh", "s"]})


def test_rest(server: WebServer) -> None:
    with connect("rest", {"uri": server.uri}) as namespace:
        namespace.table_exists({"id": ["s", "t"]})
        namespace.namespace_exists({"id": ["s"]})
        assert [asked.path.rpartition("/")[2] for asked in server.asked] == ["exists", "exists"]
