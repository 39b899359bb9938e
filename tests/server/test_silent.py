"""The server closes connections whose request does not arrive completely in time."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.server import Limits, ServerOptions, serving
from tests.servers.http_client import answer_on

HEAD = b"GET /v1/table HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HANGS = 60
"""Timeout in seconds after which a connection counts as hanging."""


FIRST = [(b"", 0, 0.2), (b"G", 0, 0.2), (b"GET /v1", 0, 0.2), (HEAD[:26], 0, 0.2), (HEAD, 0, 0.2)]


@pytest.mark.parametrize(("sent", "before", "seconds"), [*FIRST, (HEAD, 1, 3), (HEAD[:9], 1, 3)])
def test_an_incomplete_request_ends_the_connection(
    sent: bytes, before: int, seconds: float
) -> None:
    options = ServerOptions(limits=Limits(header_seconds=seconds))
    with connect("memory") as namespace, serving(namespace, options) as uri:
        parts = urlsplit(uri)
        with socket.create_connection((parts.hostname, parts.port), HANGS) as client:
            for _ in range(before):
                client.sendall(HEAD + b"\r\n")
                first = answer_on(client)
                assert first.status == 200
                first.read()
            client.sendall(sent)
            answer = b""
            while data := client.recv(1 << 16):
                answer += data
    assert not answer or b"408" in answer.partition(b"\r\n")[0], answer


def test_a_slow_request_within_the_deadline_is_answered() -> None:
    options = ServerOptions(limits=Limits(header_seconds=HANGS))
    with connect("memory") as namespace, serving(namespace, options) as uri:
        parts = urlsplit(uri)
        with socket.create_connection((parts.hostname, parts.port), HANGS) as client:
            for part in (b"", b"G", HEAD[1:20], HEAD[20:], b"\r\n"):
                client.sendall(part)
            assert answer_on(client).status == 200
