"""Callers that exhaust a resource do not block other callers."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import httpx
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.server import Limits, ServerOptions, TokenFile, new_token, serving
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import answer_on, http_client
from tests.servers.process import wait_until

from .hostile_arrow import good, stream_of

PATIENCE = 60.0
HEAD = (
    b"POST /v1/table/t/create HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/vnd.apache.arrow.stream\r\nContent-Length: 1000000\r\n\r\n"
)


class Slow(EchoNamespace):
    """A namespace whose queries block until they are released."""

    def __init__(self):
        super().__init__()
        self.running = 0
        self.most = 0
        self._lock = threading.Lock()

    def query_table(self, request):
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            assert self.released.wait(PATIENCE)
        finally:
            with self._lock:
                self.running -= 1
        return super().query_table(request)


@contextlib.contextmanager
def served(namespace, **limits):
    options = ServerOptions(limits=Limits(**limits))
    with serving(namespace, options) as uri, http_client(uri, timeout=PATIENCE) as client:
        try:
            yield uri, client
        finally:
            namespace.released.set()


def open_connection(uri, data=b""):
    host, port = uri.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(data)
    return connection


QUERY = {"k": 1, "vector": {}}
QUERY_REQUEST = (
    b"POST /v1/table/t/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Content-Length: 22\r\n\r\n{"k": 1, "vector": {}}'
)


def test_queries_have_a_limit_and_do_not_block_metadata_calls():
    namespace = Slow()
    with (
        served(namespace, queries=2, waiting=2, waiting_seconds=0.5) as (_, client),
        ThreadPoolExecutor(12) as threads,
    ):
        asked = [threads.submit(client.post, "/v1/table/t/query", json=QUERY) for _ in range(12)]
        wait_until(lambda: sum(call.done() for call in asked) == 10)
        for _ in range(20):
            assert client.post("/v1/table/t/describe").status_code == 200
        namespace.released.set()
        answers = [call.result() for call in asked]
    assert namespace.most == 2
    full = [answer for answer in answers if answer.status_code == 429]
    assert len(full) == 10
    for answer in full:
        assert answer.json()["code"] == 21
        assert int(answer.headers["retry-after"]) >= 1
    assert [answer.status_code for answer in answers].count(200) == 2


def test_a_query_has_a_deadline_and_occupies_its_slot_until_it_ends():
    namespace = Slow()
    with served(namespace, queries=1, query_seconds=2, waiting_seconds=0.3) as (_, client):
        answer = client.post("/v1/table/t/query", json=QUERY)
        assert (answer.status_code, answer.json()["code"]) == (503, 17)
        assert client.post("/v1/table/t/query", json=QUERY).status_code == 429
        namespace.released.set()
        wait_until(lambda: client.post("/v1/table/t/query", json=QUERY).status_code == 200)


def test_a_query_frees_its_slot_when_its_client_disconnects():
    namespace = Slow()
    closed = threading.Event()

    def batches():
        try:
            while True:
                yield pa.record_batch({"a": list(range(1 << 17))})
        finally:
            closed.set()

    namespace.reader = lambda: pa.RecordBatchReader.from_batches(
        pa.schema([("a", pa.int64())]), batches()
    )
    with served(namespace, queries=1) as (uri, client):
        with open_connection(uri, QUERY_REQUEST):
            wait_until(lambda: namespace.running == 1)
        namespace.released.set()
        assert closed.wait(PATIENCE)
        namespace.reader = lambda: pa.table({"a": [1]}).to_reader()
        assert client.post("/v1/table/t/query", json=QUERY).status_code == 200


def test_a_client_that_reads_nothing_is_disconnected():
    namespace = EchoNamespace()
    made = 0

    def batches():
        nonlocal made
        while True:
            made += 1
            yield pa.record_batch({"a": list(range(1 << 17))})

    namespace.reader = lambda: pa.RecordBatchReader.from_batches(
        pa.schema([("a", pa.int64())]), batches()
    )
    with (
        served(namespace, queries=1, reader_seconds=0.5) as (uri, client),
        open_connection(uri, QUERY_REQUEST) as connection,
    ):
        wait_until(lambda: made)
        namespace.reader = lambda: pa.table({"a": [1]}).to_reader()
        # The query's slot becomes free, although the client does not close its connection.
        wait_until(lambda: client.post("/v1/table/t/query", json=QUERY).status_code == 200)
        assert made < 40
        connection.settimeout(PATIENCE)
        with contextlib.suppress(ConnectionError):
            while connection.recv(1 << 20):
                pass


def test_slow_uploads_do_not_block_other_uploads():
    namespace = EchoNamespace()
    with (
        served(namespace, uploads=2, upload_window_seconds=1) as (uri, client),
        contextlib.ExitStack() as stack,
    ):
        slow = [
            stack.enter_context(open_connection(uri, HEAD + stream_of(good())[:100]))
            for _ in range(100)
        ]
        started = time.monotonic()
        assert client.post("/v1/table/t/create", content=stream_of(good())).status_code == 200
        assert time.monotonic() - started < PATIENCE / 2
        for connection in slow:
            answer = answer_on(connection)
            assert (answer.status, json.load(answer)["code"]) == (408, 13)


def test_a_stalled_upload_frees_its_slot():
    namespace = EchoNamespace()
    large = stream_of(pa.record_batch({"a": list(range(60_000))}))
    with (
        served(namespace, uploads=1, upload_window_seconds=0.5) as (uri, client),
        open_connection(uri, HEAD + large[:200_000]),
    ):
        wait_until(lambda: namespace.requests)
        answer = client.post("/v1/table/t/create", content=stream_of(good()))
        assert answer.status_code == 200, answer.text


def test_an_upload_has_a_total_deadline():
    namespace = EchoNamespace()
    with served(namespace, upload_seconds=0.5) as (_, client):

        def forever():
            while True:
                yield b"\xff\xff\xff\xff"
                time.sleep(0.1)

        answer = client.post("/v1/table/t/create", content=forever())
        assert (answer.status_code, answer.json()["code"]) in ((400, 13), (408, 13))


@pytest.mark.parametrize(
    "sent", [b"", b"POST /v1/table/t", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nx-a: "]
)
def test_an_incomplete_request_has_a_deadline(sent):
    namespace = EchoNamespace()
    with served(namespace, header_seconds=0.5) as (uri, client):
        with open_connection(uri, sent) as connection:
            answer = answer_on(connection)
            assert answer.status == 408
            answer.read()
            assert connection.recv(1) == b""
        assert client.get("/healthz").status_code == 200


def test_a_json_body_has_a_deadline():
    head = (
        b"POST /v1/table/t/describe HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with (
        served(EchoNamespace(), json_seconds=0.5) as (uri, _),
        open_connection(uri, head) as connection,
    ):
        assert answer_on(connection).status == 408


@pytest.mark.parametrize("form", ["one", "many", "endless"])
def test_headers_have_a_limit(form):
    with served(EchoNamespace(), header_bytes=4096) as (uri, client):
        lines = {
            "one": b"x-a: " + b"a" * 10_000 + b"\r\n\r\n",
            "many": b"x-a: a\r\n" * 2_000 + b"\r\n",
            "endless": b"x-a: " + b"a" * 10_000,
        }[form]
        with open_connection(uri, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + lines) as sent:
            assert answer_on(sent).status in (400, 431)
        assert client.get("/healthz").status_code == 200


def test_connections_have_a_limit():
    with served(EchoNamespace(), connections=5) as (uri, _), contextlib.ExitStack() as stack:
        held = [stack.enter_context(open_connection(uri)) for _ in range(5)]
        time.sleep(0.2)
        with open_connection(uri) as more:
            answer = answer_on(more)
            assert (answer.status, answer.headers["retry-after"]) == (429, "1")
            assert json.load(answer)["code"] == 21
        for connection in held:
            connection.close()
        wait_until(lambda: httpx.get(f"{uri}/healthz").status_code == 200)


def test_json_of_32_mib_is_not_the_default():
    assert Limits().json_bytes < 32 << 20


def test_the_limits_are_documented():
    text = Path(__file__).parents[3].joinpath("docs", "serving", "limits.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE))
    assert rows == {f.name: f"{f.default:.0f}" for f in attrs.fields(Limits)}


@pytest.mark.parametrize("name", [field.name for field in attrs.fields(Limits)])
def test_every_limit_is_a_number_above_0(name):
    for wrong in (0, -1, float("inf"), float("nan")):
        with pytest.raises(InvalidInputError, match=f"^{name} must be greater than 0, not {wrong}"):
            Limits(**{name: wrong})
    assert getattr(Limits.read({name: "7"}), name) == 7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"uploads": "0"}, "^uploads must be greater than 0, not 0"),
        ({"uploads": "1.5"}, "^uploads must be a whole number, not '1.5'"),
        ({"queries": ""}, "^queries must be a whole number, not ''"),
        ({"query_seconds": "long"}, "^query_seconds must be a number, not 'long'"),
        ({"query_seconds": "nan"}, "^query_seconds must be greater than 0, not nan"),
        ({"upload": "1"}, "unknown limit 'upload'; did you mean 'uploads'"),
        ({"zzz": "1"}, "unknown limit 'zzz'; use one of connections, header_bytes"),
    ],
)
def test_an_invalid_limit_is_rejected(given, message):
    with pytest.raises(InvalidInputError, match=message):
        Limits.read(given)


def test_operations_on_rows_and_on_metadata_use_separate_pools():
    from lance_namespace_impls.server.execution.limits import Pools

    pools = Pools(Limits())
    kinds = {name: pools.of(row) for name, row in OPERATIONS.items()}
    pools.close()
    assert kinds["DescribeTable"] is kinds["ListTables"] is pools.metadata
    assert kinds["QueryTable"] is kinds["CountTableRows"] is kinds["UpdateTable"] is pools.queries
    assert kinds["CreateTable"] is kinds["InsertIntoTable"] is pools.uploads


def client_at(uri, address, **headers):
    transport = httpx.HTTPTransport(local_address=address)
    return httpx.Client(base_url=uri, transport=transport, timeout=PATIENCE, headers=headers)


class SlowAtFirst(Slow):
    """A namespace whose queries block until they are released, except queries for two rows."""

    def query_table(self, request):
        if request.k == 2:
            return EchoNamespace.query_table(self, request)
        return super().query_table(request)


def test_queries_of_disconnected_callers_do_not_block_other_addresses():
    namespace = SlowAtFirst()
    with served(namespace, queries=4, waiting=8, waiting_seconds=PATIENCE) as (uri, client):
        connections = [open_connection(uri, QUERY_REQUEST) for _ in range(12)]
        wait_until(lambda: namespace.running == 3)
        for connection in connections:
            connection.close()
        with client_at(uri, "127.0.0.2") as other:
            for _ in range(5):
                answer = other.post("/v1/table/t/query", json={**QUERY, "k": 2})
                assert answer.status_code == 200
            assert other.post("/v1/table/t/describe").status_code == 200
        assert namespace.running == 3  # they still run and occupy slots, although no client waits
        namespace.released.set()
        wait_until(lambda: client.post("/v1/table/t/query", json=QUERY).status_code == 200)


def test_authenticated_callers_share_slots_by_name(tmp_path):
    namespace = SlowAtFirst()
    made = {name: new_token(name) for name in ("greedy", "modest")}
    (tmp_path / "tokens.toml").write_text("".join(each.entry for each in made.values()))
    options = ServerOptions(
        callers=[TokenFile(tmp_path / "tokens.toml")], limits=Limits(queries=4, waiting_seconds=0.2)
    )
    with serving(namespace, options) as uri, ThreadPoolExecutor(8) as threads:

        def query(number, k=1, *, in_body=False):
            name = "modest" if k == 2 else "greedy"
            headers = {} if in_body else {"x-api-key": made[name].token}
            body = {"identity": {"api_key": made[name].token}} if in_body else {}
            with client_at(uri, f"127.0.0.{number + 1}", **headers) as client:
                sent = {**QUERY, **body, "k": k}
                return client.post("/v1/table/t/query", json=sent).status_code

        try:
            greedy = [
                threads.submit(query, number, in_body=bool(number % 2)) for number in range(8)
            ]
            wait_until(lambda: sum(each.done() for each in greedy) == 5)
            assert {query(0, 2), query(0, 2, in_body=True)} == {200}
        finally:
            namespace.released.set()
        assert sorted(each.result() for each in greedy) == [200] * 3 + [429] * 5


def test_idle_connections_of_one_address_do_not_block_others():
    with served(EchoNamespace(), connections=4) as (uri, _):
        idle = [open_connection(uri) for _ in range(4)]
        try:
            with client_at(uri, "127.0.0.2") as other:
                assert other.post("/v1/table/t/describe").status_code == 200
            # The server closes a connection of the address with the most connections.
            wait_until(lambda: any(is_closed(each) for each in idle))
            assert sum(is_closed(each) for each in idle) == 1
        finally:
            for each in idle:
                each.close()


def is_closed(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
