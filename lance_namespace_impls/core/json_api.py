"""A catalog's HTTP API that speaks JSON, and how its failures become protocol errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode

import httpx
from attrs import frozen

from lance_namespace_client.errors import (
    ErrorCode,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    error_for,
)
from lance_namespace_client.wire import retry_after_seconds

from .errors import first_line
from .http import HttpConfig, Retries, new_client, send
from .identifiers import Identifier

__all__ = ["FailureTable", "HttpFailure", "JsonApi", "Paging", "raising"]

FailureReader: TypeAlias = Callable[[Mapping[str, Any]], tuple[str, str]]


@lru_cache(maxsize=1024)
def _parsed(address: str) -> httpx.URL:
    """Parse an address; objects are asked for again and again, and parsing is a good part of a call."""
    return httpx.URL(address)


class HttpFailure(Exception):
    """An answer that says that a request failed.

    Args:
        request: method and path, to say what was asked.
        status: HTTP status.
        kind: what the catalog calls the failure; empty where it does not say.
        message: what the catalog says of it.
        retry_after: seconds until the catalog wants to be asked again.
    """

    def __init__(
        self, request: str, status: int, kind: str, message: str, retry_after: float | None = None
    ) -> None:
        super().__init__(request, status, kind, message, retry_after)  # what it is pickled with
        self.request = request
        self.status = status
        self.kind = kind
        self.message = message
        self.retry_after = retry_after

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.kind, self.message) if part)
        return f"{self.request} answered HTTP {self.status}" + (f" ({text})" if text else "")


@contextmanager
def raising(
    error: Callable[[Identifier], LanceNamespaceError],
    identifier: Identifier,
    *,
    when: Callable[[HttpFailure], bool],
) -> Iterator[None]:
    """Raise the error of an object in the place of a failure that `when` recognises."""
    try:
        yield
    except HttpFailure as failure:
        if not when(failure):
            raise
        raise error(identifier) from failure


_STATUSES = {
    400: ErrorCode.INVALID_INPUT,
    401: ErrorCode.UNAUTHENTICATED,
    403: ErrorCode.PERMISSION_DENIED,
    405: ErrorCode.UNSUPPORTED,
    406: ErrorCode.UNSUPPORTED,
    409: ErrorCode.CONCURRENT_MODIFICATION,
    414: ErrorCode.INVALID_INPUT,
    419: ErrorCode.UNAUTHENTICATED,
    422: ErrorCode.INVALID_INPUT,
    429: ErrorCode.THROTTLING,
    501: ErrorCode.UNSUPPORTED,
    502: ErrorCode.SERVICE_UNAVAILABLE,
    503: ErrorCode.SERVICE_UNAVAILABLE,
    504: ErrorCode.SERVICE_UNAVAILABLE,
}
"""Codes of failures that only their HTTP status tells apart."""


@frozen(kw_only=True)
class FailureTable:
    """From a catalog's failures to protocol codes; the first that fits counts, else 18."""

    kinds: Mapping[str, int]
    """By what the catalog calls the failure; one without a known name goes by its HTTP status."""

    def error(self, failure: HttpFailure, what: str) -> LanceNamespaceError:
        """Build the protocol error of a failure.

        Args:
            failure: the failure.
            what: the operation and its object, to open the message with.
        """
        code = self.kinds.get(failure.kind)
        if code is None:
            code = _STATUSES.get(failure.status, InternalError.code)
        return error_for(code, f"{what}: {first_line(failure)}", retry_after=failure.retry_after)


@frozen(kw_only=True)
class Paging:
    """What an API calls the parts of a paged listing."""

    token: str
    """Query parameter of the token."""
    next_token: str
    """Where an answer has the token of the next page."""
    size: tuple[str, int] | None = None
    """Query parameter of the page size, and the size to ask for."""


class JsonApi:
    """Sends requests and reads answers, over pooled connections.

    What asks is sent again where the connection fails, times out or is cut, and after HTTP 429,
    502, 503 and 504. What changes something is sent again only where it cannot have been carried
    out. Safe for threads.

    Args:
        config: timeouts, retries, token and the rest.
        base: address that paths are added to.
        read_failure: takes what the catalog calls a failure and says of it out of an error body.
        auth: sends credentials that change, where a bearer token will not do.
        headers: headers of every request, below those of `config`.
    """

    def __init__(
        self,
        config: HttpConfig,
        base: str,
        read_failure: FailureReader,
        auth: httpx.Auth | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.base = base.rstrip("/")
        self._impl = config.impl
        self._client = new_client(config, base, {"Accept": "application/json", **(headers or {})})
        if auth is not None:
            self._client.auth = auth
        self._retries = Retries(config)
        self._read_failure = read_failure

    def close(self) -> None:
        """Close the connections; a request after it is refused (code 13)."""
        self._client.close()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Read an object.

        Raises:
            HttpFailure: the server refuses.
            ServiceUnavailableError: code 17, there is no answer.
            InternalError: code 18, the answer is no JSON object.
        """
        return self._call("GET", path, query, None, self._retries.repeatable)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send an object, and return the one that the server answers."""
        return self._call("POST", path, None, body, self._retries.unprocessed)

    def submit(self, path: str, body: Mapping[str, Any]) -> None:
        """Send an object whose answer nobody needs; what it holds beside its status is not read."""
        self._send("POST", path, None, body, self._retries.unprocessed)

    def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object, and return it as the server answers it."""
        return self._call("PATCH", path, None, body, self._retries.unprocessed)

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> None:
        """Remove an object; servers answer nothing, an object, or text, so that is not read."""
        self._send("DELETE", path, query, None, self._retries.unprocessed)

    def pages(
        self, path: str, query: Mapping[str, str], paging: Paging
    ) -> Iterator[dict[str, Any]]:
        """Return the pages of a listing to its end; a page may be empty and not the last.

        Raises:
            InternalError: code 18, the server gives one token twice and would never end.
        """
        asked = dict(query)
        if paging.size is not None:
            asked[paging.size[0]] = str(paging.size[1])
        seen: set[str] = set()
        while True:
            page = self.get(path, asked)
            yield page
            token = page.get(paging.next_token)
            if not token:
                return
            if token in seen:
                raise InternalError(
                    f"GET {path}: {self.base} gives the page token {str(token)[:40]!r} twice, so its "
                    "listing has no end"
                )
            seen.add(token)
            asked[paging.token] = str(token)

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        retry: Any,
    ) -> dict[str, Any]:
        return self._object(self._send(method, path, query, body, retry), f"{method} {path}")

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        retry: Any,
    ) -> httpx.Response:
        url: str | httpx.URL
        if query:
            url = f"{self.base}{path}?{urlencode(query, quote_via=quote, safe='')}"
        else:
            url = _parsed(self.base + path)
        content = None
        headers = {}
        if body is not None:
            content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
            headers["Content-Type"] = "application/json"
        if self._client.is_closed:
            raise InvalidInputError(f"{self._impl}: this namespace is closed; connect again")
        request = self._client.build_request(method, url, content=content, headers=headers)
        try:
            response = send(self._client, request, retry)
        except httpx.TransportError as error:
            raise ServiceUnavailableError(
                f"{method} {path}: no answer from {self.base} ({first_line(error)}); "
                "is the server running?"
            ) from error
        except httpx.DecodingError as error:
            raise InternalError(
                f"{method} {path}: the answer of {self.base} cannot be decoded: {first_line(error)}"
            ) from error
        if not response.is_success:
            raise self._failure(response, f"{method} {path}")
        return response

    def _failure(self, response: httpx.Response, request: str) -> HttpFailure:
        kind = message = ""
        try:
            body = response.json()
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict):
            kind, message = self._read_failure(body)
        return HttpFailure(
            request,
            response.status_code,
            kind,
            message or response.reason_phrase,
            retry_after_seconds(response.headers.get("Retry-After")),
        )

    def _object(self, response: httpx.Response, request: str) -> dict[str, Any]:
        if not response.content:
            return {}
        try:
            found = response.json()
        except ValueError:
            found = None
        except RecursionError as error:
            raise InternalError(
                f"{request}: {self.base} answered HTTP {response.status_code} with JSON that is nested "
                "too deep"
            ) from error
        if not isinstance(found, dict):
            raise InternalError(
                f"{request}: {self.base} answered HTTP {response.status_code} with a body that is "
                "no JSON object"
            )
        return found
