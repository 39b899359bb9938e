"""Timeouts, connections, cookies and retries of every HTTP backend."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
import httpx
import pytest

from lance_namespace_client.errors import ServiceUnavailableError
from lance_namespace_impls import connect
from lance_namespace_impls.core.http import HttpConfig, Retries, new_client, send
from lance_namespace_impls.core.json_api import HttpFailure, JsonApi
from tests.servers.web import Answer, Asked, WebServer

BUSY = Answer(status=503, body={})
CUT = Answer(body={"never": "whole"}, cut=True)


def test_every_wait_has_a_timeout() -> None:
    config = HttpConfig(connect_timeout=1.5, read_timeout=7.0)
    with new_client(config, "http://127.0.0.1:9") as client:
        assert client.timeout == httpx.Timeout(connect=1.5, pool=1.5, read=7.0, write=7.0)


def test_waiting_for_a_free_connection_times_out() -> None:
    busy, go = threading.Event(), threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.path == "/slow":
            busy.set()
            assert go.wait(300)
        return Answer(body={})

    config = HttpConfig(max_connections=1, connect_timeout=0.1, max_retries=0)
    with WebServer(answer) as server, new_client(config, server.uri) as client:
        first = threading.Thread(target=client.get, args=(f"{server.uri}/slow",))
        first.start()
        try:
            assert busy.wait(300)
            request = client.build_request("GET", f"{server.uri}/other")
            with pytest.raises(httpx.PoolTimeout):
                send(client, request, Retries(config).repeatable)
        finally:
            go.set()
            first.join()


Change = Callable[[JsonApi], Any]
CHANGES: dict[str, Change] = {
    "POST": lambda api: api.post("/x", {"a": 1}),
    "POST without an answer": lambda api: api.submit("/x", {"a": 1}),
    "PATCH": lambda api: api.patch("/x", {"a": 1}),
    "DELETE": lambda api: api.delete("/x"),
}


def api_of(server: WebServer) -> JsonApi:
    config = HttpConfig(max_retry_wait=0.01)
    return JsonApi(config, server.uri, lambda body: ("", str(body)))


@pytest.mark.parametrize("fault", [CUT, BUSY], ids=["cut", "503"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_with_an_unclear_outcome_is_not_retried(
    web: tuple[WebServer, list[Answer]], change: str, fault: Answer
) -> None:
    server, script = web
    script += [fault] * 2
    api = api_of(server)
    with pytest.raises((HttpFailure, ServiceUnavailableError)):
        CHANGES[change](api)
    api.close()
    assert len(server.asked) == 1


@pytest.mark.parametrize("change", CHANGES)
def test_a_throttled_change_is_retried(web: tuple[WebServer, list[Answer]], change: str) -> None:
    server, script = web
    script.append(Answer(status=429, body={}))
    api = api_of(server)
    CHANGES[change](api)
    api.close()
    assert [asked.method for asked in server.asked] == [change.split()[0]] * 2


@pytest.mark.parametrize("fault", [CUT, BUSY], ids=["cut", "503"])
def test_a_read_is_retried(web: tuple[WebServer, list[Answer]], fault: Answer) -> None:
    server, script = web
    script.append(fault)
    api = api_of(server)
    assert api.get("/x") == {}
    api.close()
    assert len(server.asked) == 2


def test_a_cookie_of_one_caller_is_not_sent_with_the_next_call(
    web: tuple[WebServer, list[Answer]],
) -> None:
    server, script = web
    script.append(
        Answer(body={"tables": []}, headers={"Set-Cookie": "session=of-the-first; Path=/"})
    )
    script.append(Answer(body={"tables": []}))
    with connect("rest", {"uri": server.uri}) as namespace:
        for token in ("first", "second"):
            namespace.list_tables({"id": ["n"], "identity": {"auth_token": token}})
    assert [asked.headers.get("authorization") for asked in server.asked] == [
        "Bearer first", "Bearer second",
    ]  # fmt: skip
    assert not any("cookie" in asked.headers for asked in server.asked)


def test_what_cannot_be_meant_is_refused() -> None:
    from lance_namespace_client.errors import InvalidInputError

    for name in ("connect_timeout", "read_timeout", "max_retry_wait", "max_connections"):
        for value in (0, -1):
            with pytest.raises(InvalidInputError, match=name):
                HttpConfig(**{name: value})
    with pytest.raises(InvalidInputError, match="max_retries"):
        HttpConfig(max_retries=-1)
    assert attrs.evolve(HttpConfig(), max_retries=0).max_retries == 0


def test_a_truncated_response_releases_its_connection(
    web: tuple[WebServer, list[Answer]],
) -> None:
    server, script = web
    script.append(CUT)
    config = HttpConfig(max_connections=1, connect_timeout=5.0, max_retries=0)
    with new_client(config, server.uri) as client:
        with pytest.raises(httpx.TransportError):
            client.get(f"{server.uri}/first")
        assert client.get(f"{server.uri}/second").json() == {}


def test_the_accept_header_requests_json(web: tuple[WebServer, list[Answer]]) -> None:
    server, _ = web
    api_of(server).get("/x")
    assert server.asked[-1].headers["accept"] == "application/json"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_process_opens_its_own_connections() -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            port = str(self.client_address[1]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(port)))
            self.end_headers()
            self.wfile.write(port)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_address[1]}"
        with new_client(HttpConfig(read_timeout=20.0), uri) as client:
            port = client.get(uri).text
            assert client.get(uri).text == port
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    status = 0 if client.get(uri).text != port else 2
                finally:
                    os._exit(status)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            assert client.get(uri).text == port
        server.shutdown()
