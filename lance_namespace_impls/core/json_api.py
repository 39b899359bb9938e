"""Client for a catalog's JSON API over HTTP, with translation of its failures."""

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
from .oauth import ClientCredentials, client_credentials

__all__ = ["FailureTable", "HttpFailure", "JsonApi", "Paging", "raising"]

FailureReader: TypeAlias = Callable[[Mapping[str, Any]], tuple[str, str]]


@lru_cache(maxsize=1024)
def _parsed(address: str) -> httpx.URL:
    """Parse an address; results are cached, because parsing takes much of a call's time."""
    return httpx.URL(address)


class HttpFailure(Exception):
    """A response that reports a failed request.

    Args:
        request: method and path, for messages.
        status: HTTP status.
        kind: the catalog's name for the failure; empty if it has none.
        message: the catalog's message.
        retry_after: seconds after which the catalog allows a retry.
    """

    def __init__(
        self, request: str, status: int, kind: str, message: str, retry_after: float | None = None
    ) -> None:
        super().__init__(request, status, kind, message, retry_after)  # arguments for pickling
        self.request = request
        self.status = status
        self.kind = kind
        self.message = message
        self.retry_after = retry_after

    def __str__(self) -> str:
        text = ": ".join(part for part in (self.kind, self.message) if part)
        return f"{self.request} returned HTTP {self.status}" + (f" ({text})" if text else "")


@contextmanager
def raising(
    error: Callable[[Identifier], LanceNamespaceError],
    identifier: Identifier,
    *,
    when: Callable[[HttpFailure], bool],
) -> Iterator[None]:
    """Raise the specified error instead of an HTTP failure that `when` recognizes."""
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
"""Codes for failures that are identified only by their HTTP status."""


@frozen(kw_only=True)
class FailureTable:
    """Maps a catalog's failures to protocol codes; the first match applies, and 18 is the
    default.
    """

    kinds: Mapping[str, int]
    """Codes by the catalog's name for the failure; if the name is unknown, the HTTP status applies.
    """

    def error(self, failure: HttpFailure, what: str) -> LanceNamespaceError:
        """Build the protocol error for a failure.

        Args:
            failure: the failure.
            what: the operation and its object, with which the message starts.
        """
        code = self.kinds.get(failure.kind)
        if code is None:
            code = _STATUSES.get(failure.status, InternalError.code)
        return error_for(code, f"{what}: {first_line(failure)}", retry_after=failure.retry_after)


@frozen(kw_only=True)
class Paging:
    """The names that an API uses for the parts of a paged listing."""

    token: str
    """Query parameter for the token."""
    next_token: str
    """Key of the next page token in a response."""
    size: tuple[str, int] | None = None
    """Query parameter for the page size, and the size to request."""


class JsonApi:
    """Sends requests and reads responses over pooled connections.

    Read requests are retried if the connection fails, times out or is interrupted, and after HTTP
    status 429, 502, 503 or 504. Changes are retried only if the server cannot have executed them.
    Thread-safe.

    Args:
        config: timeouts, retries, token and other properties.
        base: address to which paths are appended.
        read_failure: extracts the name and message of a failure from the body of an error response.
        auth: authenticates requests; by default, with OAuth2 tokens if `config` has a client, from
            a URL relative to `base`.
        headers: headers of every request; those of `config` take precedence.
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
        self._auth = auth or client_credentials(config, self.base)
        sent = {"Accept": "application/json", **(headers or {})}
        self._client = new_client(config, base, sent, self._auth)
        self._retries = Retries(config)
        self._read_failure = read_failure

    def close(self) -> None:
        """Close the connections; later requests are rejected (code 13)."""
        self._client.close()
        if isinstance(self._auth, ClientCredentials):
            self._auth.close()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Read an object.

        Raises:
            HttpFailure: the server rejects the request.
            ServiceUnavailableError: code 17, the server does not respond.
            InternalError: code 18, the response is not a JSON object.
        """
        return self._call("GET", path, query, None, self._retries.repeatable)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send an object and return the object in the response."""
        return self._call("POST", path, None, body, self._retries.unprocessed)

    def submit(self, path: str, body: Mapping[str, Any]) -> None:
        """Send an object; only the status of the response is examined."""
        self._send("POST", path, None, body, self._retries.unprocessed)

    def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object and return the object in the response."""
        return self._call("PATCH", path, None, body, self._retries.unprocessed)

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> None:
        """Remove an object; the response body is ignored, because it differs between servers."""
        self._send("DELETE", path, query, None, self._retries.unprocessed)

    def pages(
        self, path: str, query: Mapping[str, str], paging: Paging
    ) -> Iterator[dict[str, Any]]:
        """Yield all pages of a listing; a page can be empty without being the last one.

        Raises:
            InternalError: code 18, the server repeats a page token, so the listing would never end.
        """
        parameters = dict(query)
        if paging.size is not None:
            parameters[paging.size[0]] = str(paging.size[1])
        seen: set[str] = set()
        while True:
            page = self.get(path, parameters)
            yield page
            token = page.get(paging.next_token)
            if not token:
                return
            if token in seen:
                raise InternalError(
                    f"GET {path}: {self.base} returned the page token {str(token)[:40]!r} twice, "
                    "so its listing does not end"
                )
            seen.add(token)
            parameters[paging.token] = str(token)

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
                f"{method} {path}: no response from {self.base} ({first_line(error)}); check that "
                f"the server is running"
            ) from error
        except httpx.DecodingError as error:
            raise InternalError(
                f"{method} {path}: the response from {self.base} cannot be decoded: "
                f"{first_line(error)}"
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
                f"{request}: {self.base} returned HTTP {response.status_code} with JSON that "
                "is nested too deeply"
            ) from error
        if not isinstance(found, dict):
            raise InternalError(
                f"{request}: {self.base} returned HTTP {response.status_code} with a body "
                "that is not a JSON object"
            )
        return found
