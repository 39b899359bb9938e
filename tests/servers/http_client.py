"""An HTTP client for tests that says what its bodies are, as every client of the protocol does."""

from __future__ import annotations

import socket
from http.client import HTTPResponse
from typing import Any

import httpx

from lance_namespace_client.wire import STREAM_TYPE

__all__ = ["answer_on", "http_client", "typed"]

ROWS = ("/create", "/insert", "/merge_insert", "/CreateTable", "/InsertIntoTable")


def typed(request: httpx.Request) -> None:
    """Name the type of a body that has none: rows where the route takes rows, else JSON."""
    sends = request.headers.get("content-length", "0") != "0" or (
        "transfer-encoding" in request.headers
    )
    if sends and "content-type" not in request.headers:
        rows = request.url.path.endswith(ROWS) and "/namespace/" not in request.url.path
        request.headers["content-type"] = STREAM_TYPE if rows else "application/json"


def http_client(uri: str, **options: Any) -> httpx.Client:
    return httpx.Client(base_url=uri, event_hooks={"request": [typed]}, **options)


def answer_on(connection: socket.socket) -> HTTPResponse:
    """Return the answer that comes on a connection, its head read.

    Its body is read from it: it may come in a later packet than the head.
    """
    answer = HTTPResponse(connection)
    answer.begin()
    return answer
