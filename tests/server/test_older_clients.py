"""Requests of the protocol's first release are accepted, as captured from pylance 1.0.0."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving


@pytest.fixture
def http(tmp_path: Path) -> Iterator[httpx.Client]:
    with (
        connect("dir", {"path": str(tmp_path)}) as namespace,
        serving(namespace) as uri,
        httpx.Client(base_url=uri) as client,  # it adds no content type by default
    ):
        yield client


def rows() -> bytes:
    table, sink = pa.table({"x": [1, 2]}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_rows_without_a_content_type(http: httpx.Client) -> None:
    answer = http.post("/v1/table/t/create?delimiter=%24", content=rows())
    assert answer.status_code == 200
    counted = http.post("/v1/table/t/count_rows", json={"id": ["t"]})
    assert counted.json() == 2


def test_json_without_a_content_type_is_rejected(http: httpx.Client) -> None:
    assert http.post("/v1/table/t/drop", content=b"{}").status_code == 400


def test_an_empty_table_is_declared(http: httpx.Client) -> None:
    answer = http.post("/v1/table/t/create-empty", json={"id": ["t"], "properties": None})
    assert answer.status_code == 200
    assert answer.json()["location"].endswith("/t.lance")
    again = http.post("/v1/table/t/create-empty", json={"id": ["t"]})
    assert (again.status_code, again.json()["code"]) == (409, 5)


def test_tags_are_listed_by_a_get(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    http.post("/v1/table/t/create", content=rows(), headers=headers).raise_for_status()
    http.post("/v1/table/t/tags/create", json={"tag": "first", "version": 1}).raise_for_status()
    assert http.get("/v1/table/t/tags/list").json() == http.post("/v1/table/t/tags/list").json()
