"""Encodes results as HTTP responses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from lance_namespace_client.arrow import file_chunks, to_reader
from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError
from lance_namespace_client.operations import Body, Operation
from lance_namespace_client.wire import HEADER_NAME, HEADER_PREFIX, HEADER_VALUE

from ...core.options import redact
from ...core.storage import EXPIRES_AT_MILLIS
from .requests import JSON_TYPE, OWN_HEADERS
from .routing import Found

__all__ = [
    "Pages",
    "Reply",
    "Vend",
    "error_reply",
    "gather",
    "json_reply",
    "reply",
    "wrong_method_reply",
]

FILE_TYPE = "application/vnd.apache.arrow.file"
CHUNK_BYTES = 1 << 20

_to_json = json.JSONEncoder(separators=(",", ":")).encode

RawHeaders = list[tuple[bytes, bytes]]


class Reply(NamedTuple):
    """An HTTP response."""

    status: int
    headers: RawHeaders
    body: bytes
    rest: Iterator[bytes] | None = None
    """Data to send after `body`; it is read while being sent."""
    code: int | None = None
    """The protocol's error code for a failure."""


Vend = Callable[[str | None, dict[str, str]], dict[str, str]]


class Pages(NamedTuple):
    """A full listing; its later pages are read while the first ones are being sent."""

    first: Any
    """The first page, a response model."""
    following: Callable[[str], Any]
    """Returns the page for a token."""


def reply(operation: Operation[Any, Any], response: Any, *, vend: Vend | None) -> Reply:
    """Encode the result of an operation.

    Args:
        operation: the operation.
        response: its response model, a ``pyarrow.RecordBatchReader``, or the `Pages` of a listing.
        vend: converts the location and storage options of a table for the caller; without it,
            credentials are removed.

    Raises:
        LanceNamespaceError: the first rows cannot be read.
    """
    if operation.answer is Body.ARROW:
        return _rows(operation, response)
    if isinstance(response, Pages):
        if response.first.page_token:
            return _listing_reply(operation, response)
        response = response.first
    response = operation.response_type.coerce(response)
    headers, context = _split_context(response.context)
    if operation.answer is Body.NONE:
        return Reply(operation.status, [(b"content-length", b"0"), *headers], b"")
    if operation.answer is Body.FIELD:
        data = getattr(response, operation.answer_field or "")
    else:
        data = response.to_dict()
        data.pop("context", None)
        if context:
            data["context"] = context
        if vend is not None:
            _vend(data, vend)
        elif "storage_options" in data:
            _withhold_secrets(data)
    return json_reply(operation.status, data, headers)


def _listing_reply(operation: Operation[Any, Any], listing: Pages) -> Reply:
    """Encode a full listing; if a later page fails, the response is left incomplete."""
    first = listing.first
    (field,) = (name for name in ("tables", "namespaces") if hasattr(first, name))

    def rest() -> Iterator[bytes]:
        token = first.page_token
        while token:
            page = listing.following(token)
            for name in getattr(page, field):
                yield b"," + _to_json(name).encode("ascii")
            token = page.page_token
        yield b"]}"

    names = _to_json(getattr(first, field)).encode("ascii")
    body = b'{"%s":%s' % (field.encode("ascii"), names[:-1])
    return Reply(operation.status, [(b"content-type", JSON_TYPE.encode())], body, rest())


def json_reply(status: int, data: Any, headers: RawHeaders) -> Reply:
    """Encode a JSON response in ASCII, which is valid in all common character encodings."""
    body = _to_json(data).encode("ascii")
    return Reply(status, [*_body_headers(JSON_TYPE, len(body)), *headers], body)


def error_reply(error: LanceNamespaceError, headers: RawHeaders | None = None) -> Reply:
    """Encode an error with the HTTP status of its class."""
    sent = list(headers or ())
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None and math.isfinite(retry_after):
        sent.append((b"retry-after", b"%d" % max(0, math.ceil(retry_after))))
    if error.http_status == 401:
        sent.append((b"www-authenticate", b"Bearer"))
    return json_reply(error.http_status, error.to_dict(), sent)._replace(code=int(error.code))


class _WrongMethodError(InvalidInputError):
    http_status = 405


def wrong_method_reply(method: str, found: Found) -> Reply:
    """Encode the error for an unsupported HTTP method."""
    allowed = ", ".join(sorted(found.methods))
    name = next(iter(found.methods.values())).operation.name
    error = _WrongMethodError(f"{name} accepts {allowed}, not {method}")
    return error_reply(error, [(b"allow", allowed.encode())])


def gather(chunks: Iterator[bytes]) -> tuple[bytes, bool]:
    """Combine chunks to a size that is efficient to send; return whether more chunks follow."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= CHUNK_BYTES:
            return b"".join(parts) if len(parts) > 1 else chunk, True
    return b"".join(parts), False


def _rows(operation: Operation[Any, Any], response: Any) -> Reply:
    chunks = file_chunks(to_reader(response))
    body, more = gather(chunks)
    if more:
        return Reply(operation.status, [(b"content-type", FILE_TYPE.encode())], body, chunks)
    return Reply(operation.status, _body_headers(FILE_TYPE, len(body)), body)


def _body_headers(content_type: str, length: int) -> RawHeaders:
    return [(b"content-type", content_type.encode()), (b"content-length", b"%d" % length)]


def _split_context(context: dict[str, str] | None) -> tuple[RawHeaders, dict[str, str]]:
    """Split a context into the entries that become headers and those that remain in the body."""
    headers: RawHeaders = []
    stays: dict[str, str] = {}
    for key, value in (context or {}).items():
        name = key.removeprefix(HEADER_PREFIX).lower()
        if not key.startswith(HEADER_PREFIX) or HEADER_VALUE.fullmatch(value) is None:
            stays[key] = value
        elif name not in OWN_HEADERS and HEADER_NAME.fullmatch(name) is not None:
            headers.append((name.encode("ascii"), value.encode("ascii")))
    return headers, stays


def _vend(data: dict[str, Any], vend: Vend) -> None:
    given = data.pop("storage_options", None)
    if given is not None or data.get("location"):
        found = vend(data.get("location"), given or {})
        if found:
            data["storage_options"] = found


def _withhold_secrets(data: dict[str, Any]) -> None:
    """Remove secrets and their expiration time; the client must use its own credentials."""
    given = data.pop("storage_options")
    given.pop(EXPIRES_AT_MILLIS, None)
    kept = {k: v for k, v in redact(given).items() if v == given[k]}
    if kept:
        data["storage_options"] = kept
