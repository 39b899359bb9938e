"""A read-only server rejects every operation that changes something."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_namespace_client.operations import OPERATIONS, Action, Body
from lance_namespace_impls import connect
from lance_namespace_impls.server import ServerOptions, TokenFile, new_token, serving
from tests.servers.http_client import http_client


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    root = tmp_path_factory.mktemp("tables")
    with connect("dir", {"path": str(root)}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"a": [1]}))
        with (
            serving(namespace, ServerOptions(read_only=True)) as uri,
            http_client(uri, timeout=300) as client,
        ):
            yield root, client


@pytest.mark.parametrize("name", OPERATIONS)
def test_only_reading_operations_are_allowed(served, name):
    root, client = served
    before = sorted(root.rglob("*"))
    operation = OPERATIONS[name]
    path = operation.path.format_map(dict.fromkeys(operation.path_fields, "t"))
    body = b"x" if operation.body is Body.ARROW else b"{}"
    for method, at in ((operation.http_method, path), ("POST", f"/{name}?id=t")):
        answer = client.request(method, at, content=None if method == "GET" else body)
        denied = answer.status_code == 403 and answer.json()["code"] == 15
        assert denied is (operation.action is not Action.READ), answer.text
    assert sorted(root.rglob("*")) == before


def test_reading_operations_return_data(served):
    _, client = served
    assert client.post("/v1/table/t/count_rows", json={}).status_code == 200
    query = {"vector": {"single_vector": []}, "k": 1}
    assert client.post("/v1/table/t/query", json=query).status_code == 200
    assert client.get("/v1/namespace/%24/table/list").json()["tables"] == ["t"]


def test_repeatable_operations_only_read():
    for operation in OPERATIONS.values():
        assert operation.repeatable <= (operation.action is Action.READ), operation.name


def test_authentication_precedes_the_check_for_changes(tmp_path):
    file = tmp_path / "tokens.toml"
    made = new_token("ana")
    file.write_text(made.entry)
    options = ServerOptions(read_only=True, callers=[TokenFile(file)])
    with (
        connect("dir", {"path": str(tmp_path / "tables")}) as namespace,
        serving(namespace, options) as uri,
        http_client(uri) as client,
    ):
        assert client.post("/v1/table/t/drop").status_code == 401
        assert client.post("/v1/table/t/update", json={}).status_code == 401
        named = {"identity": {"api_key": made.token}}
        assert client.post("/v1/table/t/update", json=named).status_code == 403
        sent = {"x-api-key": made.token}
        assert client.post("/v1/table/t/drop", headers=sent).status_code == 403
