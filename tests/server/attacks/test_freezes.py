"""Long and deeply nested inputs that used to block the server are answered immediately.

The tests compare the times for two sizes: quadratic time fails.
"""

from __future__ import annotations

import json
import time

import httpx
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.core.errors import first_line
from lance_namespace_impls.server import serving
from lance_namespace_impls.tables.errors import from_lance, plain_message
from tests.servers.http_client import http_client

pytestmark = pytest.mark.xdist_group("spread")

SMALL, LARGE = 20_000, 16 * 20_000
TEXTS = {
    "one long word": "x{}",
    "slashes": "/{}".replace("/", "/") + "/",
    "commas": ",{}",
    "columns": "column {} x",
    "not found": "version 1 {} ",
    "dump": "Schema {{ {}",
    "table files": "Not found: {}/data/",
    "reports": "Please file a bug report at {}",
}
FILLS = ("x", "/", "rust/", ", ", " ", "src/", "Not found: ", "column ", "location: ", "version 1 ")


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("text", TEXTS)
def test_messages_are_not_parsed_in_quadratic_time(text, fill):
    def seconds(size):
        error = OSError(TEXTS[text].format(fill * (size // len(fill))))
        best = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            from_lance(error, "QueryTable t")
            plain_message(error)
            first_line(error)
            best = min(best, time.perf_counter() - started)
        return best

    # The text is 16 times as long; quadratic time would be 256 times as long.
    assert seconds(LARGE) < 64 * seconds(SMALL) + 0.05


def test_long_messages_are_translated():
    said = "LanceError(IO): No field named " + "x" * 500_000 + ". /home/rust/lance/src/a.rs:1:2"
    found = from_lance(OSError(said), "QueryTable t")
    assert found is not None
    assert found.code == 12
    assert len(found.message) < 1000
    assert from_lance(OSError("x" * 500_000 + " /lance/rust/src/a.rs:1:2"), "t").code == 18


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with connect("dir", {"path": str(tmp_path_factory.mktemp("tables"))}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"a": [1], "s": ["apple"]}))
        with serving(namespace) as uri, http_client(uri, timeout=120) as client:
            yield client


@pytest.mark.parametrize("size", [160_000, 1_000_000])
@pytest.mark.parametrize("part", ["filter", "alias"])
def test_a_long_expression_in_a_request(served, size, part):
    text = "x" * size
    request = {"id": ["t"], "vector": {}, "k": 1}
    if part == "filter":
        request["filter"] = text
    else:
        request["columns"] = {"column_aliases": {"b": text}}
    response = served.post("/v1/table/t/query", json=request)
    assert response.status_code < 500, response.text[:300]
    assert len(response.text) < 2000


def boost(depth):
    query = {"match": {"terms": "apple", "column": "s"}}
    for _ in range(depth):
        query = {"boost": {"positive": query, "negative": {"match": {"terms": "x", "column": "s"}}}}
    return query


def boolean(depth):
    query = {"match": {"terms": "apple", "column": "s"}}
    for _ in range(depth):
        query = {"boolean": {"must": [query], "should": [], "must_not": []}}
    return query


@pytest.mark.parametrize("depth", [33, 300])
@pytest.mark.parametrize("make", [boost, boolean])
@pytest.mark.parametrize("operation", ["query", "explain_plan", "analyze_plan"])
def test_deeply_nested_full_text_queries_are_rejected(served, make, depth, operation):
    query = {"structured_query": {"query": make(depth)}}
    request = {"id": ["t"], "vector": {}, "k": 1, "full_text_query": query}
    if operation == "explain_plan":
        request = {"id": ["t"], "query": request}
    response = served.post(f"/v1/table/t/{operation}", json=request)
    assert (response.status_code, response.json()["code"]) == (400, 13), response.text[:300]
    assert "\n" not in response.json()["error"]


@pytest.mark.parametrize("depth", [500, 50_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(
    "path", ["/v1/table/t/describe", "/QueryTable", "/CreateNamespace", "/v1/table/t/update"]
)
def test_deep_json(served, depth, opening, path):
    closing = {"[": "]", '{"a":': "}"}[opening]
    inner = opening * depth + "1" + closing * depth
    for name in ("id", "context", "unknown", "vector", "properties", "full_text_query", "updates"):
        body = f'{{"id": ["t"], "{name}": {inner}}}'.encode()
        if name == "id":
            body = f'{{"id": {inner}}}'.encode()
        response = served.post(path, content=body)
        assert response.status_code < 500, (name, response.text[:300])
        assert len(response.text) < 5000


def test_deep_json_in_the_query(served):
    text = "[" * 5_000 + "]" * 5_000
    for name in ("properties", "storage_options"):
        query = httpx.QueryParams({name: json.dumps({"a": 1})[:-1] + ',"b":' + text + "}"})
        response = served.post(f"/v1/table/u/create?{query}", content=b"x")
        assert response.status_code in (400, 414, 431), response.text[:200]


def test_an_identifier_with_many_levels(served):
    response = served.post("/v1/table/" + "%24".join(["a"] * 5000) + "/describe")
    assert response.status_code < 500
