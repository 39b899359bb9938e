"""Named pipes in place of files: opening one blocks forever, but must not block other requests."""

from __future__ import annotations

import contextlib
import os
import threading

import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from tests.servers.http_client import http_client


@contextlib.contextmanager
def pipe_at(path):
    """Replace a file with a named pipe; at the end, a blocked reader reads an empty file."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


@pytest.fixture
def client(tmp_path):
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        for name in ("t", "other"):
            namespace.create_table({"id": [name]}, pa.table({"id": [1, 2, 3]}))
        with serving(namespace) as uri, http_client(uri, timeout=300) as made:
            yield made


def test_properties_in_a_pipe_are_rejected_immediately(client, tmp_path):
    with pipe_at(tmp_path / "t.lance" / ".lance-properties"):
        answer = client.post("/v1/table/t/describe", json={})
        assert answer.json()["code"] == 19 and "not a regular file" in answer.text
    assert client.post("/v1/table/other/describe", json={}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("count_rows", {}),
        ("describe", {"load_detailed_metadata": True}),
        ("exists", {"version": 2}),
    ],
)
def test_a_call_that_blocks_on_a_pipe_does_not_block_others(client, tmp_path, path, body):
    [manifest] = (tmp_path / "t.lance" / "_versions").glob("*.manifest")
    with pipe_at(manifest):
        waiting = threading.Thread(
            target=lambda: client.post(f"/v1/table/t/{path}", json=body), daemon=True
        )
        waiting.start()
        for _ in range(20):
            assert client.get("/healthz").status_code == 200
            assert client.post("/v1/table/other/describe", json={}).status_code == 200
    waiting.join(300)
    assert not waiting.is_alive()


def test_a_catalog_manifest_that_is_a_pipe_blocks_no_other_request(client, tmp_path):
    versions = tmp_path / "__manifest" / "_versions"
    versions.mkdir(parents=True)
    with pipe_at(versions / "1.manifest"):
        waiting = threading.Thread(
            target=lambda: client.post("/v1/table/t/describe", json={}), daemon=True
        )
        waiting.start()
        for _ in range(20):
            assert client.get("/healthz").status_code == 200
    waiting.join(300)
    assert not waiting.is_alive()
