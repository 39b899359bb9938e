"""Row uploads and downloads, and clients that disconnect during them."""

from __future__ import annotations

import logging
import socket
import threading
import time

import httpx
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import Limits, ServerOptions, serving
from tests.servers.echo import EchoNamespace, large_rows
from tests.servers.http_client import answer_on, http_client
from tests.servers.process import wait_until

from .wire import ipc

# --- uploads


def test_a_rejected_upload_fails_before_all_rows_are_sent(uri, echo):
    """The client gets the error while it is still sending, and its next call succeeds."""

    sent = []

    def endless():
        yield ipc()[:64]
        for number in range(200):
            sent.append(number)
            yield b"\0" * (1 << 20)

    with http_client(uri, timeout=120) as client:
        response = client.post("/v1/table/t/create?mode=refuse", content=endless())
        assert (response.status_code, response.json()["code"]) == (400, 13)
        assert response.headers["connection"] == "close"
        assert client.post("/v1/table/t/describe").status_code == 200
    assert len(sent) < 200


def test_a_rejected_small_upload_keeps_the_connection(http):
    response = http.post("/v1/table/t/create?mode=refuse", content=ipc())
    assert response.status_code == 400
    assert "connection" not in response.headers


def test_a_request_with_expect_is_rejected_before_its_body(uri):
    host, port = uri.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        connection.sendall(
            b"POST /v1/table/t/create?limit=1&delimiter= HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: text/plain\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n"
        )
        answer = answer_on(connection)
    assert (answer.status, answer.headers["connection"]) == (400, "close")


def test_a_client_that_disconnects_during_an_upload_frees_its_slot():
    """The only slot for uploads becomes free, so the next upload succeeds."""
    ended = []

    class Ending(EchoNamespace):
        def create_table(self, request, data):
            try:
                return super().create_table(request, data)
            finally:
                ended.append(request.id)

    namespace = Ending()
    with serving(namespace, ServerOptions(limits=Limits(uploads=1))) as uri:
        host, port = uri.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=120) as connection:
            connection.sendall(
                b"POST /v1/table/left/create HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/vnd.apache.arrow.stream\r\n"
                b"Content-Length: 1000000\r\n\r\n" + ipc(30_000, 3)[:400_000]
            )
            wait_until(lambda: namespace.requests)
        wait_until(lambda: ended == [["left"]])
        with http_client(uri, timeout=120) as client:
            assert client.post("/v1/table/next/create", content=ipc(10)).status_code == 200


def test_uploads_have_backpressure(uri, echo):
    """A client that is faster than the reader waits; the server does not buffer all rows."""
    sent = 0

    def produce():
        nonlocal sent
        for number in range(64):
            sent = number
            yield pa.record_batch([pa.array([0] * (1 << 17), pa.int64())], names=["a"])

    class Slow(EchoNamespace):
        def create_table(self, request, data):
            time.sleep(1)
            self.sent_meanwhile = sent
            return super().create_table(request, data)

    slow = Slow()
    schema = pa.schema([("a", pa.int64())])
    with serving(slow) as address, connect("rest", {"uri": address}) as client:
        client.create_table({"id": ["t"]}, pa.RecordBatchReader.from_batches(schema, produce()))
    assert slow.rows == 64 << 17
    assert slow.sent_meanwhile < 24  # of 64 MiB: the server buffers 4, sockets buffer the rest


# --- downloads


def test_a_small_response_has_a_content_length(http, echo):
    response = http.post("/v1/table/t/query", json={"k": 1, "vector": None})
    assert response.headers["content-type"] == "application/vnd.apache.arrow.file"
    assert int(response.headers["content-length"]) == len(response.content)
    assert pa.ipc.open_file(response.content).read_all()["a"].to_pylist() == [1, 2, 3]


def test_a_large_response_is_streamed(http, echo, uri_and_client, monkeypatch):
    monkeypatch.setattr(echo, "reader", large_rows(20))
    response = http.post("/v1/table/t/query", json={"k": 1, "vector": None})
    assert response.headers["transfer-encoding"] == "chunked"
    assert pa.ipc.open_file(response.content).read_all().num_rows == 20 << 17
    reader = uri_and_client.query_table({"id": ["t"], "k": 1, "vector": None})
    assert [batch["a"][0].as_py() for batch in reader] == list(range(20))


def test_a_failure_before_the_first_batch_is_an_error_response(code_of, echo, monkeypatch):
    monkeypatch.setattr(echo, "reader", large_rows(20, fail_at=0))
    assert code_of("POST", "/v1/table/t/query", json={"k": 1, "vector": None}) == (400, 13)


def test_a_later_failure_truncates_the_response(echo, uri_and_client, caplog, monkeypatch):
    monkeypatch.setattr(echo, "reader", large_rows(20, fail_at=9))
    reader = uri_and_client.query_table({"id": ["t"], "k": 1, "vector": None})
    with (
        caplog.at_level(logging.ERROR, "lance_namespace_impls.server"),
        pytest.raises(Exception, match=r"no response from|was truncated") as caught,
    ):
        reader.read_all()
    assert caught.value.code in (17, 18)
    wait_until(lambda: "batch 9 cannot be read" in caplog.text)
    assert "QueryTable was interrupted" in caplog.text


def test_a_query_that_exceeds_its_time_limit_is_aborted(caplog):
    namespace = EchoNamespace()
    rows = large_rows(3)().read_all()

    def batches():
        yield from rows.to_batches()
        namespace.released.wait(300)

    namespace.reader = lambda: pa.RecordBatchReader.from_batches(rows.schema, batches())
    options = ServerOptions(limits=Limits(query_seconds=2))
    with serving(namespace, options) as uri, http_client(uri, timeout=300) as client:
        with pytest.raises(httpx.TransportError):
            client.post("/v1/table/t/query", json={"k": 1, "vector": None})
        namespace.released.set()
        wait_until(lambda: "was interrupted while rows were being sent" in caplog.text)
    assert "QueryTable was aborted after 2 seconds" in caplog.text


def test_a_client_that_disconnects_during_a_response_ends_the_query(uri, echo, monkeypatch):
    closed = threading.Event()
    inner = large_rows(100_000)

    def produce():
        reader = inner()

        def batches():
            try:
                yield from reader
            finally:
                closed.set()

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    monkeypatch.setattr(echo, "reader", produce)
    with httpx.stream("POST", f"{uri}/v1/table/t/query", json={"k": 1, "vector": None}) as response:
        next(response.iter_raw())
    assert closed.wait(120)
