"""The server closes connections whose request does not arrive completely in time."""

from __future__ import annotations

import contextlib
import socket
from urllib.parse import urlsplit

from lance_namespace_impls import connect
from lance_namespace_impls.server import Limits, ServerOptions, serving
from tests.servers.http_client import answer_on

HEAD = b"GET /v1/table HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HANGS = 60
"""Timeout in seconds after which a connection counts as hanging."""


def test_an_incomplete_second_request_ends_the_connection() -> None:
    options = ServerOptions(limits=Limits(header_seconds=3))
    with (
        connect("memory") as namespace,
        serving(namespace, options) as uri,
        contextlib.ExitStack() as stack,
    ):
        address = (urlsplit(uri).hostname, urlsplit(uri).port)
        clients = []
        for sent in (HEAD, HEAD[:9]):
            client = stack.enter_context(socket.create_connection(address, HANGS))
            client.sendall(HEAD + b"\r\n")
            first = answer_on(client)
            assert first.status == 200
            first.read()
            client.sendall(sent)
            clients.append(client)
        for client in clients:
            answer = b""
            while data := client.recv(1 << 16):
                answer += data
            assert not answer or b"408" in answer.partition(b"\r\n")[0], answer
