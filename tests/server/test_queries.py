"""Queries over HTTP return the same rows and errors as in process."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from tests.servers.http_client import http_client

QUERY = "/v1/table/t/query"
VECTORS = pa.FixedSizeListArray.from_arrays(pa.array([float(n) for n in range(600)]), 2)
ROWS = pa.table(
    {
        "id": range(300),
        "text": [f"row {n}" for n in range(300)],
        "vector": VECTORS.cast(pa.list_(pa.float32(), 2)),
    }
)
QUERIES = {
    "filter": {"filter": "id > 7"},
    "no row": {"filter": "id < 0"},
    "columns": {"filter": "id > 7", "columns": {"column_names": ["text"]}},
    "aliases": {"filter": "id > 7", "columns": {"column_aliases": {"twice": "id * 2"}}},
    "row ids": {"filter": "id > 7", "with_row_id": True},
    "offset": {"filter": "id > 7", "offset": 5},
    "all": {},
    "vector": {"vector": {"single_vector": [7.0, 8.0]}},
    "vector and filter": {"vector": {"single_vector": [7.0, 8.0]}, "filter": "id > 9"},
    "several vectors": {"vector": {"multi_vector": [[7.0, 8.0], [1.0, 2.0]]}},
    "no such column": {"filter": "nothing > 7"},
    "no SQL": {"filter": "id >"},
    "refused SQL": {"filter": "(" * 200 + "id" + ")" * 200},
    "wrong dimension": {"vector": {"single_vector": [7.0, 8.0, 9.0]}},
    "no vector column": {"vector": {"single_vector": [7.0]}, "vector_column": "text"},
    "another table": {"id": ["other"]},
    "not a number": {"k": "many"},
    "no rows wanted": {"k": 0, "vector": {"single_vector": [7.0, 8.0]}},
    "an old version": {"version": 1},
    "no such version": {"version": 99},
    "no such branch": {"branch": "none"},
    "a long body": {"filter": "id > 7" + " " * 20_000},
}


@pytest.fixture
def namespace(tmp_path):
    with connect("dir", {"path": str(tmp_path / "root")}) as made:
        made.create_table({"id": ["t"]}, ROWS)
        yield made


def in_process(namespace, query):
    try:
        return namespace.query_table({"id": ["t"], **query}).read_all()
    except LanceNamespaceError as error:
        return error.to_dict()


def test_a_query_has_the_same_rows_as_in_process(namespace):
    statuses = set()
    with serving(namespace) as uri, http_client(uri) as http:
        for name, query in QUERIES.items():
            sent = {"k": 10, "vector": {}, **query}
            answer = http.post(QUERY, json=sent)
            statuses.add(answer.status_code)
            if answer.status_code == 200:
                assert answer.headers["content-type"] == "application/vnd.apache.arrow.file"
                assert pa.ipc.open_file(answer.content).read_all() == in_process(namespace, sent), (
                    name
                )
            elif name == "another table":  # in the route and in the body
                assert answer.json()["code"] == 13
            else:
                found, due = answer.json(), in_process(namespace, sent)
                assert (found["code"], found["error"]) == (due["code"], due["error"]), name
    assert statuses == {200, 400, 404}
