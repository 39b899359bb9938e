"""An HTTP client for tests that sends the content type of bodies, like all protocol clients."""

from __future__ import annotations

import socket
from http.client import HTTPResponse
from typing import Any

import httpx

from lance_namespace_client.wire import STREAM_TYPE

__all__ = ["answer_on", "http_client", "typed"]

ROWS = ("/create", "/insert", "/merge_insert", "/CreateTable", "/InsertIntoTable")


def typed(request: httpx.Request) -> None:
    """Add a missing content type to a body: Arrow if the route accepts rows, otherwise JSON."""
    sends = request.headers.get("content-length", "0") != "0" or (
        "transfer-encoding" in request.headers
    )
    if sends and "content-type" not in request.headers:
        rows = request.url.path.endswith(ROWS) and "/namespace/" not in request.url.path
        request.headers["content-type"] = STREAM_TYPE if rows else "application/json"


def http_client(uri: str, **options: Any) -> httpx.Client:
    return httpx.Client(base_url=uri, event_hooks={"request": [typed]}, **options)


def answer_on(connection: socket.socket) -> HTTPResponse:
    """Return the response on a connection after reading its head.

    The caller reads the body, which may arrive in a later packet.
    """
    answer = HTTPResponse(connection)
    answer.begin()
    return answer
