"""An HTTP server with scripted responses: one for each request, regardless of its content."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["CUT", "SILENT", "Answer", "Asked", "Script", "scripted_server"]

SILENT = "silent"
"""The connection is closed without an answer."""


class Answer(NamedTuple):
    """The response to one request."""

    status: int
    body: Any = None
    """Sent as JSON; bytes are sent unchanged."""
    headers: tuple[str, ...] = ()
    cut: int | None = None
    """The connection is closed after this number of bytes of the body."""


CUT = Answer(200, {"tables": ["never whole"]}, cut=5)


class Asked(NamedTuple):
    line: str
    headers: dict[str, str]
    body: bytes
    at: float
    """Time of arrival, in seconds of the monotonic clock."""
    connection: int
    """Identifies the connection of the request."""


class Script:
    """The remaining responses, and the received requests."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.answers: list[Answer | str] = []
        self.asked: list[Asked] = []

    def play(self, *answers: Answer | str) -> None:
        self.answers = list(answers)
        self.asked.clear()


@contextlib.contextmanager
def scripted_server() -> Iterator[Script]:
    """Start the server on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    script = Script(f"http://127.0.0.1:{listener.getsockname()[1]}")
    open_connections: list[socket.socket] = []
    accepting = threading.Thread(target=_accept, args=(listener, script, open_connections))
    accepting.start()
    try:
        yield script
    finally:
        _close(listener)
        accepting.join()
        for connection in open_connections:
            _close(connection)


def _close(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side may have closed it already
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def _accept(listener: socket.socket, script: Script, opened: list[socket.socket]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # closed at the end of the test
        opened.append(connection)
        threading.Thread(target=_serve, args=(connection, script)).start()


def _serve(connection: socket.socket, script: Script) -> None:
    with connection, connection.makefile("rb") as file:
        try:
            while _serve_one(connection, file, script):
                pass
        except (OSError, ValueError):
            return  # the client disconnected during its request


def _serve_one(connection: socket.socket, file: Any, script: Script) -> bool:
    """Read one request and send its response; return False if the connection must be closed."""
    asked = _read(file)
    if asked is None:
        return False
    script.asked.append(asked)
    answer = script.answers.pop(0) if script.answers else Answer(500, {"error": "over", "code": 18})
    if isinstance(answer, str):
        return False
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    lines = [f"HTTP/1.1 {answer.status} X", f"Content-Length: {len(body)}", *answer.headers]
    connection.sendall("\r\n".join([*lines, "", ""]).encode() + body[: answer.cut])
    return answer.cut is None


def _read(file: Any) -> Asked | None:
    line = file.readline().decode().strip()
    if not line:
        return None
    headers: dict[str, str] = {}
    while text := file.readline().decode().strip():
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(file.readline(), 16):
            body += file.read(size)
            file.readline()
        file.readline()
    else:
        body = file.read(int(headers.get("content-length", 0)))
    return Asked(line, headers, body, time.monotonic(), threading.get_ident())
