"""Invalid requests fail with the right code and change nothing in a directory namespace."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.server import serving
from tests.servers.http_client import http_client

ROWS = pa.table({"a": pa.array(range(100_000), pa.int64())})


@contextlib.contextmanager
def client_of(root):
    with (
        connect("dir", {"path": root}) as namespace,
        serving(namespace) as uri,
        http_client(uri) as client,
    ):
        namespace.create_table({"id": ["t"]}, pa.table({"a": pa.array([1, 2], pa.int64())}))
        yield client


@pytest.fixture
def root(tmp_path):
    return tmp_path / "tables"


@pytest.fixture
def http(root):
    with client_of(root) as client:
        yield client


@pytest.fixture(scope="module")
def kept_root(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def kept_client(kept_root):
    with client_of(kept_root) as client:
        yield client


@pytest.fixture
def kept(kept_root, kept_client):
    """Yield a client; fail the test if a file has changed at the end."""
    before = files(kept_root)
    yield kept_client
    assert files(kept_root) == before


def files(root):
    return {
        str(Path(folder) / name): os.stat(Path(folder) / name).st_mtime_ns
        for folder, _, names in os.walk(root)
        for name in names
    }


def ipc(batch_rows=10_000):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, ROWS.schema) as writer:
        writer.write_table(ROWS, max_chunksize=batch_rows)
    return sink.getvalue()


def failure(response):
    return response.status_code, response.json()["code"]


def test_an_interrupted_upload_changes_nothing(tmp_path):
    """The body is chunked, so that only the missing last chunk shows that it is incomplete."""
    ended = threading.Event()

    class Watched(DirectoryNamespace):
        def create_table(self, request, data):
            try:
                return super().create_table(request, data)
            finally:
                ended.set()

    def broken():
        yield whole[: len(whole) // 2]
        raise ConnectionError("the client dies")

    whole = ipc()
    namespace = Watched.from_properties({"path": tmp_path})
    with serving(namespace) as uri, pytest.raises(ConnectionError):
        http_client(uri).post("/v1/table/new/create", content=broken())
    assert ended.wait(120)
    assert files(tmp_path) == {}
    assert list(namespace.iter_tables()) == []


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/v1/table/$/describe", b"{}", 13),
        ("/v1/table/a$b/describe", b"{}", 13),
        ("/v1/table/t/describe", b'{"version": 1, "tag": "x"}', 13),
        ("/v1/table/t/describe", b'{"version": 99}', 11),
        ("/v1/table/t/register", b'{"location": "/etc"}', 13),
        ("/v1/table/t/register", b'{"location": "t.lance", "mode": "sideways"}', 13),
        ("/v1/table/t/rename", b'{"new_table_name": "../t"}', 13),
        ("/v1/table/..%2Fx/declare", b"{}", 13),
        ("/v1/table/%2E%2E/drop", b"", 13),
        ("/v1/table/u/drop", b"", 4),
        ("/v1/namespace/n/create", b"{}", 13),
        ("/v1/namespace/$/drop", b"{}", 13),
        ("/v1/table/t/query", b'{"k": 1, "vector": null, "filter": "nonsense ="}', 13),
        ("/v1/table/t/query", b'{"k": 1, "vector": null, "filter": "b > 1"}', 12),
        ("/v1/table/t/query", b'{"k": -1, "vector": null}', 13),
        ("/v1/table/t/query", b'{"k": 1}', 13),
    ],
)
def test_invalid_requests(kept, path, body, code):
    response = kept.post(path, content=body)
    assert response.json()["code"] == code, response.text
    assert response.status_code in (400, 404, 406)
    assert "Traceback" not in response.text


def test_a_page_token_is_valid_only_for_its_listing(http, root):
    for name in ("u", "v"):
        http.post(f"/v1/table/{name}/declare")
    token = http.get("/v1/namespace/$/table/list?limit=1").json()["page_token"]
    assert failure(http.get("/v1/table", params={"page_token": token})) == (400, 13)
    assert failure(http.get("/v1/namespace/$/list", params={"page_token": token})) == (400, 13)
    assert http.get("/v1/table?page_token=t").json()["tables"] == ["u", "v"]
    following = http.get("/v1/namespace/$/table/list", params={"page_token": token})
    assert following.json()["tables"] == ["u", "v"]


@pytest.mark.requirement("general-091", "general-092")
def test_an_incomplete_table(http, root):
    (root / "half.lance" / "data").mkdir(parents=True)
    (root / "half.lance" / "data" / "x.lance").write_bytes(b"rows that were never committed")
    assert "half" in http.get("/v1/table").json()["tables"]
    assert http.post("/v1/table/half/exists").status_code == 200
    described = http.post("/v1/table/half/describe", json={"load_detailed_metadata": True})
    assert failure(described) == (409, 19)
    assert failure(http.post("/v1/table/half/count_rows")) == (409, 19)


def test_a_root_that_is_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("not a directory")
    with connect("dir", {"path": path}) as namespace, serving(namespace) as uri:
        assert failure(httpx.get(f"{uri}/v1/table")) == (400, 13)
        assert failure(http_client(uri).post("/v1/table/t/create", content=ipc())) == (400, 13)
    assert path.read_text() == "not a directory"


def test_the_requested_location_of_a_new_table_must_match(http, root):
    rows = ipc()
    other = {"x-lance-table-location": "/elsewhere"}
    own = {"x-lance-table-location": f"file://{root}/new.lance/"}
    assert failure(http.post("/v1/table/new/create", headers=other, content=rows)) == (400, 13)
    assert not (root / "new.lance").exists()
    created = http.post("/v1/table/new/create", headers=own, content=rows)
    assert created.json()["location"] == f"{root}/new.lance"
    again = http.post("/v1/table/new/create?mode=ExistOk", headers=other, content=rows)
    assert failure(again) == (400, 13)
    again = http.post("/v1/table/new/create?mode=Overwrite", headers=other, content=rows)
    assert failure(again) == (400, 13)
    assert http.post("/v1/table/new/count_rows").json() == 100_000
