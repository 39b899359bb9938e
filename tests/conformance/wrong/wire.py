"""Handwritten wrong servers: a correct server behind a transport with one fault."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable
from typing import Any

import httpx
from attrs import frozen

__all__ = ["STATUSES", "WIRE", "WireWrong", "WrongTransport", "other_status"]

Change = Callable[[httpx.Request, "Send"], httpx.Response]
Send = Callable[[httpx.Request], httpx.Response]


@frozen
class WireWrong:
    name: str
    caught_by: str
    change: Change


class WrongTransport(httpx.BaseTransport):
    """A transport that forwards requests with one fault."""

    def __init__(self, change: Change) -> None:
        self.inner = httpx.HTTPTransport()
        self.change = change

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self.change(request, self.send)

    def send(self, request: httpx.Request) -> httpx.Response:
        answer = self.inner.handle_request(request)
        answer.read()
        return answer

    def close(self) -> None:
        self.inner.close()


WIRE: dict[str, WireWrong] = {}


def add(name: str, caught_by: str, change: Change) -> None:
    assert name not in WIRE
    WIRE[name] = WireWrong(name, caught_by, change)


def copy(
    answer: httpx.Response, *, status: int | None = None, body: bytes | None = None, **headers: str
) -> httpx.Response:
    content = answer.content if body is None else body
    kept = {"content-type": answer.headers.get("content-type", "")}
    kept |= {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(
        answer.status_code if status is None else status,
        headers={k: v for k, v in kept.items() if v},
        content=content,
    )


def rebuilt(request: httpx.Request, *, raw_path: bytes | None = None, body: bytes | None = None,
            method: str | None = None) -> httpx.Request:  # fmt: skip
    content = request.content if body is None else body
    url = request.url if raw_path is None else request.url.copy_with(raw_path=raw_path)
    headers = {k: v for k, v in request.headers.items() if k.lower() != "content-length"}
    return httpx.Request(method or request.method, url, headers=headers, content=content)


def on_failure(change: Callable[[httpx.Response], httpx.Response]) -> Change:
    def act(request: httpx.Request, send: Send) -> httpx.Response:
        answer = send(request)
        return change(answer) if answer.status_code >= 400 else answer

    return act


def on_success(change: Callable[[httpx.Response], httpx.Response]) -> Change:
    def act(request: httpx.Request, send: Send) -> httpx.Response:
        answer = send(request)
        return change(answer) if answer.status_code < 300 else answer

    return act


def before(change: Callable[[httpx.Request], httpx.Request]) -> Change:
    return lambda request, send: send(change(request))


def refusing(when: Callable[[httpx.Request], bool], status: int, code: int | None) -> Change:
    def act(request: httpx.Request, send: Send) -> httpx.Response:
        if not when(request):
            return send(request)
        return httpx.Response(status, json={"error": "refused", "code": code})

    return act


def ends(request: httpx.Request, *tails: str) -> bool:
    return request.url.raw_path.split(b"?")[0].decode().endswith(tails)


def query_without(name: str) -> Change:
    def change(request: httpx.Request) -> httpx.Request:
        path, _, text = request.url.raw_path.decode().partition("?")
        kept = [p for p in text.split("&") if p and not p.startswith(f"{name}=")]
        return rebuilt(request, raw_path=f"{path}?{'&'.join(kept)}".rstrip("?").encode())

    return before(change)


def json_body(change: Callable[[dict[str, Any]], dict[str, Any]], *tails: str) -> Change:
    def act(request: httpx.Request) -> httpx.Request:
        if tails and not ends(request, *tails):
            return request
        try:
            body = json.loads(request.content)
        except ValueError:
            return request
        if not isinstance(body, dict):
            return request
        return rebuilt(request, body=json.dumps(change(body)).encode())

    return before(act)


def coded(answer: httpx.Response, **more: Any) -> httpx.Response:
    body = {**answer.json(), **more}
    return copy(answer, body=json.dumps({k: v for k, v in body.items() if v is not None}).encode())


STATUSES = [1, 2, 4, 5, 8, 9, 11, 12, 13]


def other_status(code: int) -> Change:
    """Return a change that answers a code with the HTTP status of another code."""

    def act(answer: httpx.Response) -> httpx.Response:
        if answer.json().get("code") != code:
            return answer
        return copy(answer, status=500 if answer.status_code == 400 else 400)

    return on_failure(act)


# --- errors

add("failures are plain text", "LN-ERROR-001",
    on_failure(lambda a: copy(a, body=b"went wrong", content_type="text/plain")))  # fmt: skip
add("failures are HTML", "LN-ERROR-001",
    on_failure(lambda a: copy(a, body=b"<html>no</html>", content_type="text/html")))  # fmt: skip
add("failures have no body", "LN-WIRE-ERROR-001", on_failure(lambda a: copy(a, body=b"")))
add("failures have no code", "LN-ERROR-001", on_failure(lambda a: coded(a, code=None)))
add(
    "the code is a string",
    "LN-ERROR-001",
    on_failure(lambda a: coded(a, code=str(a.json()["code"]))),
)
add("the code is the status", "LN-ERROR-001", on_failure(lambda a: coded(a, code=a.status_code)))
add("failures have no words", "LN-ERROR-004", on_failure(lambda a: coded(a, error=None)))
add("every failure is 400", "LN-ERROR-002", on_failure(lambda a: copy(a, status=400)))
add("every failure is 500", "LN-ERROR-002", on_failure(lambda a: copy(a, status=500)))
add("failures say that they are text", "LN-ERROR-008",
    on_failure(lambda a: copy(a, content_type="text/plain")))  # fmt: skip
add("every code is 18", "LN-WIRE-ERROR-001", on_failure(lambda a: coded(a, code=18)))
add("failures are 200", "LN-WIRE-ERROR-001", on_failure(lambda a: copy(a, status=200)))
add("TableExists answers 404 without a body", "LN-WIRE-ERROR-002",
    lambda r, send: copy(a, body=b"") if (a := send(r)).status_code == 404
    and ends(r, "/exists") else a)  # fmt: skip

# --- answers

add("success is 201", "LN-ANSWER-001", on_success(lambda a: copy(a, status=201)))
add("success is 204", "LN-ERROR-005", on_success(lambda a: httpx.Response(204)))
add("answers say that they are text", "LN-ANSWER-002",
    on_success(lambda a: copy(a, content_type="text/plain")))  # fmt: skip
add("answers are wrapped", "LN-TABLE-DESCRIBE-002",
    on_success(lambda a: copy(a, body=b'{"data": ' + a.content + b"}")
               if a.content[:1] == b"{" else a))  # fmt: skip
add("answers are a list", "LN-ERROR-005",
    on_success(lambda a: copy(a, body=b"[" + a.content + b"]") if a.content[:1] == b"{" else a))  # fmt: skip
add("answers are cut short", "LN-ERROR-005",
    on_success(lambda a: copy(a, body=a.content[: len(a.content) // 2])
               if len(a.content) > 20 else a))  # fmt: skip
add("answers have bytes behind them", "LN-ERROR-005",
    on_success(lambda a: copy(a, body=a.content + b"xyz") if a.content[:1] == b"{" else a))  # fmt: skip
add("the count is an object", "LN-WIRE-BODY-008",
    lambda r, send: copy(a, body=b'{"count": ' + a.content + b"}") if (a := send(r)).is_success
    and ends(r, "/count_rows") else a)  # fmt: skip
add("the count is a string", "LN-WIRE-BODY-008",
    lambda r, send: copy(a, body=b'"' + a.content + b'"') if (a := send(r)).is_success
    and ends(r, "/count_rows") else a)  # fmt: skip
add("TableExists answers a table", "LN-WIRE-BODY-009",
    lambda r, send: copy(a, body=b'{"exists": true}') if (a := send(r)).is_success
    and ends(r, "/exists") else a)  # fmt: skip


def _as_stream(request: httpx.Request, send: Send) -> httpx.Response:
    import pyarrow as pa

    from lance_namespace_impls.conformance.rows import stream

    answer = send(request)
    if answer.content[:6] != b"ARROW1":
        return answer
    return copy(answer, body=stream(pa.ipc.open_file(answer.content).read_all()))


add("queries answer a stream", "LN-WIRE-BODY-010", _as_stream)
add("queries answer JSON", "LN-WIRE-BODY-010",
    lambda r, send: copy(a, body=b"[]") if (a := send(r)).content[:6] == b"ARROW1" else a)  # fmt: skip
add("schema metadata is wrapped", "LN-WIRE-BODY-011",
    lambda r, send: copy(a, body=b'{"metadata": ' + a.content + b"}") if (a := send(r)).is_success
    and ends(r, "/schema_metadata/update") else a)  # fmt: skip


def _break_off(request: httpx.Request, send: Send) -> httpx.Response:
    raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


add("connections break off", "LN-ERROR-005",
    lambda r, send: _break_off(r, send) if ends(r, "/describe") else send(r))  # fmt: skip

# --- requests

add("ids in the body are ignored", "LN-WIRE-ID-001",
    json_body(lambda b: {k: v for k, v in b.items() if k != "id"}, "/describe"))  # fmt: skip
add("ids in the body of writes are ignored", "LN-WIRE-ID-002",
    json_body(lambda b: {k: v for k, v in b.items() if k != "id"}, "/deregister"))  # fmt: skip
add("ids of namespaces in the body are ignored", "LN-WIRE-ID-003",
    json_body(lambda b: {k: v for k, v in b.items() if k != "id"}, "/exists", "/describe"))  # fmt: skip
add("an id in the body is refused", "LN-WIRE-ID-004",
    refusing(lambda r: ends(r, "/describe") and b'"id"' in r.content, 400, 13))  # fmt: skip
add("an id in the body is needed", "LN-WIRE-ID-004",
    refusing(lambda r: ends(r, "/describe") and b'"id"' not in r.content
             and b"/v1/table" in r.url.raw_path, 400, 13))  # fmt: skip
add("the root has no route", "LN-WIRE-ID-005",
    refusing(lambda r: r.url.raw_path.startswith(b"/v1/namespace/%24/"), 404, 1))  # fmt: skip
add("encoded delimiters are part of a name", "LN-WIRE-ID-006",
    refusing(lambda r: b"%24" in r.url.raw_path.split(b"?")[0][14:]
             and b"/describe" in r.url.raw_path, 404, 4))  # fmt: skip
add("the delimiter is ignored", "LN-WIRE-ID-007", query_without("delimiter"))
add("$ always joins names", "LN-WIRE-ID-008", query_without("delimiter"))
add("ListAllTables ignores the delimiter", "LN-WIRE-ID-009",
    lambda r, send: query_without("delimiter")(r, send)
    if r.url.raw_path.startswith(b"/v1/table?") else send(r))  # fmt: skip
add("the delimiter is ignored in namespaces", "LN-WIRE-ID-011",
    lambda r, send: query_without("delimiter")(r, send)
    if r.url.raw_path.startswith(b"/v1/namespace/") else send(r))  # fmt: skip
add("null is no id of the root", "LN-WIRE-ID-012",
    refusing(lambda r: b'"id": null' in r.content, 400, 13))  # fmt: skip
add("an empty body is refused", "LN-WIRE-BODY-001",
    refusing(lambda r: ends(r, "/describe") and not r.content, 400, 13))  # fmt: skip


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


add("bad JSON is an empty request", "LN-WIRE-BODY-002",
    before(lambda r: rebuilt(r, body=b"{}") if ends(r, "/describe") and r.content
           and not _is_json(r.content) else r))  # fmt: skip
add("bad JSON is code 18", "LN-WIRE-BODY-002",
    refusing(lambda r: ends(r, "/describe") and bool(r.content)
             and not _is_json(r.content), 500, 18))  # fmt: skip
add("bytes behind the JSON are ignored", "LN-WIRE-BODY-002",
    before(lambda r: rebuilt(r, body=b"{}") if r.content == b"{} trailing" else r))  # fmt: skip
add("JSON that is no object is an empty request", "LN-WIRE-BODY-003",
    before(lambda r: rebuilt(r, body=b"{}") if ends(r, "/describe") and r.content
           and r.content[:1] != b"{" and _is_json(r.content) else r))  # fmt: skip
add("wrong types are left out", "LN-WIRE-BODY-004",
    json_body(lambda b: {k: v for k, v in b.items() if (k, v) != ("location", 5)}, "/declare"))  # fmt: skip
add("unknown fields are refused", "LN-WIRE-BODY-005",
    refusing(lambda r: b"a_field_of_later_days" in r.content, 400, 13))  # fmt: skip
add("null is refused", "LN-WIRE-BODY-006", refusing(lambda r: b": null" in r.content, 400, 13))
add("a charset is refused", "LN-WIRE-BODY-007",
    refusing(lambda r: "charset" in r.headers.get("content-type", ""), 400, 13))  # fmt: skip
add(
    "mode and properties in the query are ignored", "LN-WIRE-QUERY-001", query_without("properties")
)
add("bad properties are left out", "LN-WIRE-QUERY-002",
    lambda r, send: query_without("properties")(r, send)
    if not urllib.parse.unquote(str(r.url)).endswith('"}') else send(r))  # fmt: skip
add("flags in the query are ignored", "LN-WIRE-QUERY-003", query_without("check_declared"))
add("a bad limit is no limit", "LN-WIRE-QUERY-004",
    lambda r, send: query_without("limit")(r, send)
    if b"limit=many" in r.url.raw_path else send(r))  # fmt: skip
add("a bad flag is true", "LN-WIRE-QUERY-004",
    lambda r, send: query_without("include_declared")(r, send)
    if b"include_declared=perhaps" in r.url.raw_path else send(r))  # fmt: skip
add("unknown parameters are refused", "LN-WIRE-QUERY-005",
    refusing(lambda r: b"of_later_days" in r.url.raw_path, 400, 13))  # fmt: skip
add("the insert mode is read in one case", "LN-WIRE-QUERY-007",
    refusing(lambda r: b"mode=OVERWRITE" in r.url.raw_path, 400, 13))  # fmt: skip
add("GET does what POST does", "LN-WIRE-METHOD-001",
    before(lambda r: rebuilt(r, method="POST") if r.method == "GET" and ends(r, "/drop") else r))  # fmt: skip
add("unknown routes succeed", "LN-WIRE-ROUTE-004",
    lambda r, send: httpx.Response(200, json={}) if ends(r, "/no_such_action") else send(r))  # fmt: skip
add("unknown routes are 500", "LN-WIRE-ROUTE-004",
    lambda r, send: httpx.Response(500, json={"code": 18})
    if ends(r, "/nothing/here") else send(r))  # fmt: skip
add("routes by name describe the root", "LN-WIRE-ROUTE-001",
    lambda r, send: httpx.Response(200, json={"location": "/elsewhere"})
    if ends(r, "/DescribeTable") else send(r))  # fmt: skip
add("ListTables by name ignores its body", "LN-WIRE-ROUTE-003",
    json_body(lambda b: {"id": b["id"]}, "/ListTables"))  # fmt: skip
add("+ in a route is a space", "LN-WIRE-ID-010",
    before(lambda r: rebuilt(r, raw_path=r.url.raw_path.replace(b"%2B", b"%20"))))  # fmt: skip
add("routes are decoded twice", "LN-WIRE-ID-010",
    before(lambda r: rebuilt(r, raw_path=r.url.raw_path.replace(b"%2520", b"%20"))))  # fmt: skip
