"""HTTP servers in this process: one with scripted responses, and a proxy that injects faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import httpx
from attrs import field, frozen

from .process import ANSWER_SECONDS

__all__ = ["Answer", "Asked", "FaultProxy", "WebServer"]


@frozen(kw_only=True)
class Asked:
    method: str
    path: str
    """The raw, percent-encoded path."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Headers by their lower-case names."""
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@frozen(kw_only=True)
class Answer:
    """A response of the server."""

    status: int = 200
    body: Any = None
    """Bytes are sent unchanged, None as no body, and other values as JSON."""
    headers: Mapping[str, str] = field(factory=dict)
    cut: bool = False
    """Whether the connection is closed in the middle of the body."""

    def content(self) -> bytes:
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class WebServer:
    """A server on a free loopback port that sends the responses of `respond`.

    It records every request in `asked`.
    """

    def __init__(self, respond: Callable[[Asked], Answer] | None = None) -> None:
        self.asked: list[Asked] = []
        self._respond = respond
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def respond(self, asked: Asked) -> Answer:
        assert self._respond is not None
        return self._respond(asked)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


def _handler(server: WebServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def serve(self) -> None:
            parts = urlsplit(self.path)
            asked = Asked(
                method=self.command,
                path=parts.path,
                query=dict(parse_qsl(parts.query, keep_blank_values=True)),
                headers={name.lower(): value for name, value in self.headers.items()},
                content=self.body(),
            )
            server.asked.append(asked)
            answer = server.respond(asked)
            content = answer.content()
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if answer.cut:
                content = content[: len(content) // 2]
                self.close_connection = True
            if self.command != "HEAD":
                self.wfile.write(content)

        def body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            content = b""
            while length := int(self.rfile.readline(), 16):
                content += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
            return content

        do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = serve

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing, because `asked` records the requests."""

    return Handler


class FaultProxy(WebServer):
    """Forwards requests to a real server, or returns injected faults.

    Args:
        upstream: address of the server.
    """

    def __init__(self, upstream: str) -> None:
        super().__init__()
        self._upstream = upstream
        self._client = httpx.Client(timeout=ANSWER_SECONDS)
        self._faults: list[tuple[Callable[[Asked], bool], Iterator[Answer | None]]] = []
        self._lock = threading.Lock()

    def fail(self, when: Callable[[Asked], bool], *answers: Answer | None) -> None:
        """Return these responses to the next matching requests; None forwards a request."""
        self._faults.append((when, iter(answers)))

    def respond(self, asked: Asked) -> Answer:
        """Return the next fault for a request, or else the response of the real server."""
        fault = self._due(asked)
        real = self._forward(asked) if fault is None or fault.cut else None
        if fault is None:
            assert real is not None
            return real
        if real is not None:
            return Answer(status=real.status, body=real.body, headers=real.headers, cut=True)
        return fault

    def _due(self, asked: Asked) -> Answer | None:
        with self._lock:
            for fits, answers in self._faults:
                if fits(asked):
                    answer = next(answers, None)
                    if answer is not None:
                        return answer
        return None

    def _forward(self, asked: Asked) -> Answer:
        query = f"?{httpx.QueryParams(dict(asked.query))}" if asked.query else ""
        sent = {
            name: value
            for name, value in asked.headers.items()
            if name in ("authorization", "content-type", "accept")
            or name.endswith("access-delegation")
        }
        answer = self._client.request(
            asked.method,
            f"{self._upstream}{asked.path}{query}",
            headers=sent,
            content=asked.content,
        )
        headers = {"Content-Type": answer.headers.get("Content-Type", "application/json")}
        return Answer(status=answer.status_code, body=answer.content, headers=headers)

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self._client.close()
