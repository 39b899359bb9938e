"""Short SQL expressions that would produce gigabytes for each row are rejected."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from tests.servers.http_client import http_client

GROWING = [
    "repeat(text, 2000000000)",
    "REPEAT (text, 1e9)",
    "repeat /* much */ (text, 2000 + 2000)",
    "repeat(text, id)",
    "repeat(text, 1.2.3)",
    '"repeat"(text, 2000000000)',
    "concat('a', repeat(repeat(repeat(text, 999), 999), 999))",
    "lpad(text, 2000000000, 'x')",
    "rpad(text, -2000000000)",
    f"replace(replace(text, 'a', '{'a' * 99}'), 'a', '{'a' * 99}')",
    f"regexp_replace(regexp_replace(text, 'a', '{'a' * 99}', 'g'), 'a', '{'a' * 99}', 'g')",
    "array_to_string(array_repeat(text, 2000000000), ',')",
    "array_to_string(array_resize(make_array(text), 2000000000), ',')",
    "array_to_string(range(0, 2000000000), ',')",
    "array_to_string(generate_series(2000000000), ',')",
]
FITTING = [
    "repeat(text, 3)",
    "lpad(text, 10, '0')",
    "rpad(text, 5)",
    "replace(replace(text, 'a', 'aa'), 'b', 'bb')",
    "concat(repeat(text, 500), repeat(text, 500))",
    "left(rpad(text, 100, 'x'), id)",
]


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("root"))
    with connect("dir", {"path": path}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"id": [1, 2], "text": ["a", "b"]}))
        with serving(namespace) as uri, http_client(uri) as client:
            yield client


def ways(expression):
    """Yield an operation and a body for each part of a request that can contain an expression."""
    wide = f"length({expression}) > 0"
    yield "query", {"k": 1, "vector": {}, "filter": wide}
    yield "query", {"k": 1, "vector": {}, "columns": {"column_aliases": {"x": expression}}}
    yield "count_rows", {"predicate": wide}
    yield "delete", {"predicate": wide}
    yield "update", {"updates": [["text", expression]]}
    yield "add_columns", {"new_columns": [{"name": "x", "expression": expression}]}


@pytest.mark.parametrize("expression", GROWING)
def test_expressions_with_unbounded_results_are_rejected(http, expression):
    for name, body in ways(expression):
        answer = http.post(f"/v1/table/t/{name}", content=json.dumps(body), headers={
            "content-type": "application/json"})  # fmt: skip
        assert (answer.status_code, answer.json()["code"]) == (400, 13), (name, answer.text)
    assert http.post("/v1/table/t/count_rows", json={}).json() == 2


@pytest.mark.parametrize("expression", FITTING)
def test_bounded_expressions_are_accepted(http, expression):
    body = {"k": 1, "vector": {}, "filter": f"length({expression}) > 0"}
    body["columns"] = {"column_aliases": {"x": expression}}
    assert http.post("/v1/table/t/query", json=body).status_code == 200


@pytest.mark.parametrize(
    "expression", ["repeat(text, id)", "lpad(text, id)", "rpad(text, id + 1, 'x')"]
)
def test_a_length_from_a_column_is_rejected_with_a_suggestion(http, expression):
    """The lengths in a column can be as large as 2**31; the error suggests an alternative."""
    body = {"k": 1, "vector": {}, "filter": f"length({expression}) > 0"}
    error = http.post("/v1/table/t/query", json=body).json()["error"]
    assert "a number literal of at most 1000" in error and "left(rpad(name, 100), size)" in error
    body["filter"] = "left(rpad(text, 100, 'x'), id) = 'bx'"
    answer = http.post("/v1/table/t/query", json=body)
    assert pa.ipc.open_file(answer.content).read_all()["id"].to_pylist() == [2]
