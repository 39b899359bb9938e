"""Queries of few rows, which begin on the event loop: answered as all others are."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.directory.namespace import DirectoryNamespace
from lance_namespace_impls.server import PolicyFile, ServerOptions, TokenFile, new_token, serving
from tests.servers.http_client import http_client

pytestmark = [
    pytest.mark.usefixtures("at_once"),
    pytest.mark.skipif(
        not os.path.exists("/proc/self/mounts"), reason="only Linux tells where a file system is"
    ),
]
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
        made.count_table_rows({"id": ["t"]})  # which opens it
        yield made


@pytest.fixture
def prepared(monkeypatch):
    """Whether each query was prepared."""
    found = []
    real = DirectoryNamespace.prepared_query

    def watched(self, request):
        run = real(self, request)
        found.append(run is not None)
        return run

    monkeypatch.setattr(DirectoryNamespace, "prepared_query", watched)
    return found


def answers_of(namespace):
    with serving(namespace) as uri, http_client(uri) as http:
        for name, query in QUERIES.items():
            answer = http.post(QUERY, json={"k": 10, "vector": {}, **query})
            body = answer.content if answer.status_code == 200 else answer.json()
            if isinstance(body, dict):
                body.pop("instance", None)
            yield name, (answer.status_code, answer.headers["content-type"], body)


def test_the_answer_is_the_same(namespace, prepared, monkeypatch):
    found = dict(answers_of(namespace))
    # The others are refused before, or are of a kind that a thread does from its beginning.
    assert prepared.count(True) == 11
    monkeypatch.setattr(DirectoryNamespace, "prepared_query", lambda self, request: None)
    assert found == dict(answers_of(namespace))
    assert {status for status, *_ in found.values()} == {200, 400, 404}


def test_a_caller_gets_only_what_it_may(namespace, prepared, tmp_path):
    willy = new_token("willy")
    tokens, policy = tmp_path / "tokens.toml", tmp_path / "policy.toml"
    tokens.write_text(willy.entry)
    policy.write_text('[[grant]]\nto = ["willy"]\nactions = ["read"]\non = [["other"]]\n')
    options = ServerOptions(callers=[TokenFile(tokens)], policy=PolicyFile(policy))
    given = {"authorization": f"Bearer {willy.token}"}
    query = {"k": 10, "vector": {}, "filter": "id > 7"}
    named = {**query, "identity": {"auth_token": willy.token}}
    with serving(namespace, options) as uri, http_client(uri) as http:
        assert http.post(QUERY, json=query, headers=given).json()["code"] == 15
        assert http.post(QUERY, json=query).json()["code"] == 16
        assert http.post(QUERY, json=named).json()["code"] == 15
    assert not prepared
