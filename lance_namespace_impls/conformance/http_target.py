"""A target behind HTTP, called without the clients of this project.

Source: rest.yaml; protocol semantics, "Errors".
"""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pyarrow as pa

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body, Operation
from lance_namespace_client.wire import path_segment

from ..core.request_auth import OPERATION
from .exchange import Exchange, Reply, Step, shown_body
from .redact import Redactor

__all__ = ["HttpTarget", "reply_of", "route", "written"]

ARROW_STREAM = "application/vnd.apache.arrow.stream"
TIMEOUT_SECONDS = 60.0
_FALLBACK = {400: 13, 401: 16, 403: 15, 404: 4, 406: 0, 409: 14, 429: 21, 503: 17}
_NO_ROUTE = (404, 405, 501)
_PLAIN = ("x-amz-date", "x-amz-content-sha256")
"""Headers of a signature that are not secret."""


class HttpTarget:
    """A Lance REST server at an address.

    Args:
        uri: base address.
        headers: headers of every request.
        token: bearer token.
        redactor: learns the secret values.
        transport: replaces the network; for tests.
        auth: computes headers for each request, such as a token or a signature; not used for requests
            with an own ``Authorization`` header.
        tls: TLS settings; by default, those of the HTTP library.
        can_stream: whether `auth` supports bodies that are sent in chunks.
    """

    kind = "http"

    def __init__(
        self,
        uri: str,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        redactor: Redactor | None = None,
        transport: httpx.BaseTransport | None = None,
        *,
        auth: httpx.Auth | None = None,
        tls: ssl.SSLContext | None = None,
        can_stream: bool = True,
    ) -> None:
        self.uri = uri.rstrip("/")
        self.redactor = redactor or Redactor()
        sent = dict(headers or {})
        self.redactor.headers |= set(sent)
        self.redactor.learn(sent.values())
        if token:
            sent["Authorization"] = f"Bearer {token}"
            self.redactor.learn([token])
        self.can_stream = can_stream
        self._auth = auth
        self.client = httpx.Client(
            headers=sent, timeout=TIMEOUT_SECONDS, transport=transport, follow_redirects=False,
            verify=True if tls is None else tls,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """Address without credentials."""
        url = httpx.URL(self.uri)
        return self.redactor.text(str(url.copy_with(userinfo=b"")))

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
        close = getattr(self._auth, "close", None)
        if close is not None:
            close()

    def call(self, step: Step) -> Reply:
        """Return the reply to one call, on its ``/v1`` route unless it is an explicit request."""
        method, path, query, content, headers = written(step)
        return self.send(step, method, path, query, content, headers)

    def send(
        self,
        step: Step,
        method: str,
        path: str,
        query: Mapping[str, str | list[str]] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Return the reply to an explicit request.

        Args:
            step: the call that the request makes; the answer is parsed for its operation.
            method: HTTP method.
            path: encoded path below the base address; it is sent unchanged.
            query: query parameters.
            content: body.
            headers: headers in addition to those of the target.
        """
        base = httpx.URL(self.uri)
        text = urlencode(query or {}, doseq=True, safe="", quote_via=quote)
        raw = (
            base.raw_path.rstrip(b"/")
            + path.encode("ascii")
            + (b"?" + text.encode() if text else b"")
        )
        request = self.client.build_request(
            method, base.copy_with(raw_path=raw), content=content, headers=dict(headers or {})
        )
        request.extensions[OPERATION] = OPERATIONS[step.operation].method_name
        started = time.monotonic()
        try:
            answer = self._send(
                request, has_own_login="authorization" in map(str.lower, headers or ())
            )
        except (httpx.TransportError, LanceNamespaceError) as error:
            return Reply(
                step=step,
                broken=f"{type(error).__name__}: {error}",
                seconds=time.monotonic() - started,
            )
        exchange = Exchange(
            method,
            str(request.url),
            self.redactor.header_map(dict(request.headers)),
            content or b"",
            answer.status_code,
            self.redactor.header_map(dict(answer.headers)),
            answer.content,
        )
        return reply_of(step, exchange, time.monotonic() - started)

    def _send(self, request: httpx.Request, has_own_login: bool) -> httpx.Response:
        if self._auth is None or has_own_login:
            return self.client.send(request)
        before = dict(request.headers)
        try:
            return self.client.send(request, auth=self._auth)
        finally:
            self.redactor.learn_computed(
                {
                    name: value
                    for name, value in request.headers.items()
                    if before.get(name) != value and name.lower() not in _PLAIN
                }
            )


def route(
    operation: Operation[Any, Any], request: Mapping[str, Any], data: bytes | None
) -> tuple[str, dict[str, str | list[str]], bytes | None, dict[str, str]]:
    """Return path, query, body and headers of a call, as rest.yaml defines them."""
    rest = {key: value for key, value in request.items() if value is not None}
    context = rest.get("context") or {}
    delimiter = str(context.get("delimiter", "$"))
    path = operation.path
    for name in operation.path_fields:
        value = rest.get(name)
        text = value if isinstance(value, str) else delimiter.join(value or ())
        if name == "id" and not text:
            text = delimiter
        path = path.replace("{" + name + "}", path_segment(text))
    query: dict[str, str | list[str]] = {"delimiter": delimiter} if delimiter != "$" else {}
    for parameter in operation.query:
        value = rest.get(parameter.field)
        if value is not None:
            taken = isinstance(value, str) or (
                parameter.type == "array" and isinstance(value, list)  # repeated
            )
            query[parameter.name] = value if taken else json.dumps(value)
    if operation.body is Body.ARROW:
        return path, query, data or b"", {"Content-Type": ARROW_STREAM}
    if operation.body is Body.FIELD:
        body = json.dumps(rest.get(operation.body_field or "", {}))
    elif operation.body is Body.JSON:
        body = json.dumps(dict(request))  # includes explicit nulls
    else:
        return path, query, None, {}
    return path, query, body.encode(), {"Content-Type": "application/json"}


def written(
    step: Step,
) -> tuple[str, str, Mapping[str, str | list[str]], bytes | None, Mapping[str, str]]:
    """Return method, path, query, body and headers of a call."""
    if step.raw is not None:
        raw = step.raw
        content = None if raw["content"] is None else base64.b64decode(raw["content"])
        return raw["method"], raw["path"], raw["query"], content, raw["headers"]
    operation = OPERATIONS[step.operation]
    return (operation.http_method, *route(operation, step.request, step.data))


def reply_of(step: Step, exchange: Exchange, seconds: float) -> Reply:
    """Return an HTTP answer as a reply."""
    if exchange.status >= 300 or exchange.status < 200:
        return _failure(step, exchange, seconds)
    operation = OPERATIONS[step.operation]
    common: dict[str, Any] = {"step": step, "exchange": exchange, "seconds": seconds}
    if operation.answer is Body.NONE:
        return Reply(answer={}, **common)
    if operation.answer is Body.ARROW:
        try:
            table = pa.ipc.open_file(exchange.body).read_all()
            table.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            return Reply(broken=f"the body is not an Arrow IPC file: {error}", **common)
        return Reply(rows=table, **common)
    try:
        value = json.loads(exchange.body)
    except ValueError:
        return Reply(broken=f"the body is not JSON: {shown_body(exchange.body)[:200]!r}", **common)
    if operation.answer is Body.FIELD:
        value = {operation.answer_field or "": value}
    if not isinstance(value, dict):
        return Reply(broken=f"the body is not a JSON object: {value!r}"[:300], **common)
    return Reply(answer=value, **common)


def _failure(step: Step, exchange: Exchange, seconds: float) -> Reply:
    common: dict[str, Any] = {"step": step, "exchange": exchange, "seconds": seconds}
    code = None
    message = ""
    try:
        body = json.loads(exchange.body)
    except ValueError:
        body = None
    if isinstance(body, dict):
        given = body.get("code")
        message = str(body.get("error") or body.get("message") or "")
        if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= 23:
            code = given
    if code is not None:
        return Reply(code=code, message=message, **common)
    message = message or f"HTTP {exchange.status}: {shown_body(exchange.body)[:200]}"
    # A 404 without a protocol error code means a missing route, not a missing object.
    no_route = exchange.status in _NO_ROUTE
    return Reply(
        code=0 if no_route else _FALLBACK.get(exchange.status, 18),
        message=message,
        no_route=no_route,
        **common,
    )
