"""Fetches and renews tokens with the OAuth2 client-credentials flow.

Sources: RFC 6749, sections 2.3.1, 4.4, 5.1 and 5.2; the Iceberg REST catalog implementation
specification, property ``credential``.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import math
import os
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, urlsplit

import httpx

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lance_namespace_client.wire import HEADER_VALUE, retry_after_seconds

from .errors import first_line, scrub
from .http import MAX_BYTES, HttpConfig, Retries, new_client, send

__all__ = ["ClientCredentials", "client_credentials"]

EXPIRED = (401, 419)
# A token is renewed this many seconds before it expires, or after half its lifetime if that is
# later.
LEEWAY_SECONDS = 60
MAX_TOKEN_RESPONSE_BYTES = 1 << 20
OVERLOADED = 429
ADVICE = "check 'oauth2-server-uri'"


class _Token(NamedTuple):
    """A token and its renewal time, replaced together because other threads may renew the token."""

    token: str
    renew_at: float


class _RefusedError(Exception):
    """A response without a token: the server's answer, and the properties to check."""

    def __init__(self, text: str, advice: str = ADVICE) -> None:
        super().__init__(text)
        self.text = text
        self.advice = advice


def client_credentials(
    config: HttpConfig, base: str, address: Callable[[], str] | None = None
) -> ClientCredentials | None:
    """Return an object that adds OAuth2 tokens to requests; None if no client is configured.

    Arguments and errors are those of `ClientCredentials`.
    """
    return ClientCredentials(config, base, address) if config.has_oauth_client else None


class ClientCredentials(httpx.Auth):
    """Adds a token to every request; works in threads, in asyncio programs and after a fork.

    A token is fetched for the first request and renewed before it expires. Concurrent requests share
    one token request, and its failure. If the server nevertheless rejects the token (HTTP status 401
    or 419), the request is repeated once with a new token. A request whose body is a stream cannot
    be repeated; the next request then fetches a new token.

    Args:
        config: the client, scope, and the URL that issues tokens.
        base: configured address of the server; a relative URL that issues tokens is resolved against
            it.
        address: returns the address of the API, if it may differ from `base`.

    Raises:
        InvalidInputError: code 13, Authlib is not installed.
    """

    def __init__(
        self, config: HttpConfig, base: str, address: Callable[[], str] | None = None
    ) -> None:
        try:
            from authlib.oauth2.auth import ClientAuth
            from authlib.oauth2.rfc6749.parameters import prepare_token_request
        except ImportError as error:
            raise InvalidInputError(
                f"{config.impl}: OAuth2 needs {error.name}: pip install "
                "'lance-namespace-kit[oauth]'"
            ) from error
        client_id, secret = config.client_id_and_secret()
        self._config = config
        self._address = address or (lambda: base)
        self._client_auth: Any = ClientAuth(client_id, secret, config.client_auth)
        self._body = prepare_token_request(
            "client_credentials",
            scope=config.scope,
            audience=config.audience,
            resource=config.resource,
        )
        self._secrets = config.secrets() | _written_forms(client_id, secret)
        uri = config.token_uri(base)
        self._client = new_client(config, uri, {"Accept": "application/json"})
        if urlsplit(uri)[:2] != urlsplit(base)[:2]:
            # These headers may be credentials of the API, such as a key.
            for name in config.headers:
                self._client.headers.pop(name, None)
        self._retry = Retries(config).repeatable
        self._token: _Token | None = None
        self._start_idle()
        _ALL.add(self)

    def _start_idle(self) -> None:
        self._lock = threading.Lock()
        self._pending: Future[str] | None = None

    def close(self) -> None:
        """Close the connections to the token server."""
        self._client.close()

    def sync_auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with a token; if the server rejects it, repeat it once with a new token."""
        token = self._after(None)
        response = yield _with_token(request, token)
        if response.status_code in EXPIRED:
            self._discard(token)
            if _is_repeatable(request):
                yield _with_token(request, self._after(token))

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send a request like `sync_auth_flow`, without blocking the event loop."""
        token = await self._after_async(None)
        response = yield _with_token(request, token)
        if response.status_code in EXPIRED:
            self._discard(token)
            if _is_repeatable(request):
                yield _with_token(request, await self._after_async(token))

    def _after(self, refused: str | None) -> str:
        """Return a valid token other than `refused`."""
        token = self._usable(refused)
        if token is not None:
            return token
        pending, leads = self._join(refused)
        if leads:
            self._complete(pending)
        with _own_copy_of_errors():
            return pending.result()

    async def _after_async(self, refused: str | None) -> str:
        token = self._usable(refused)
        if token is not None:
            return token
        pending, leads = self._join(refused)
        if leads:
            # A separate thread completes the request even if this task is canceled, so that other
            # tasks and threads receive the token.
            arguments = (self._complete, pending)
            thread = threading.Thread(target=copy_context().run, args=arguments, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the system has no more threads
                self._fail(pending, error)
        with _own_copy_of_errors():
            return await asyncio.wrap_future(pending)

    def _usable(self, refused: str | None) -> str | None:
        token = self._token
        if token is None or token.token == refused or time.monotonic() >= token.renew_at:
            return None
        return token.token

    def _discard(self, refused: str) -> None:
        with self._lock:
            if self._token is not None and self._token.token == refused:
                self._token = None

    def _join(self, refused: str | None) -> tuple[Future[str], bool]:
        """Return the pending token request, and whether the caller has to complete it."""
        with self._lock:
            if self._pending is not None:
                return self._pending, False
            future: Future[str] = Future()
            future.set_running_or_notify_cancel()  # a canceled task must not cancel it for others
            token = self._usable(refused)
            if token is not None:
                future.set_result(token)
                return future, False
            self._pending = future
            return future, True

    def _complete(self, pending: Future[str]) -> None:
        try:
            token = self._fetch()
        except Exception as error:  # noqa: BLE001 - raised for each caller that waits
            self._fail(pending, error)
        except BaseException:
            self._fail(pending, ServiceUnavailableError("the request for a token was interrupted"))
            raise
        else:
            with self._lock:
                self._token = token
                self._pending = None
            pending.set_result(token.token)

    def _fail(self, pending: Future[str], error: Exception) -> None:
        with self._lock:
            self._pending = None
        pending.set_exception(error)

    def _fetch(self) -> _Token:
        requested_at = time.monotonic()
        uri = self._config.token_uri(self._address())
        try:
            lifetime, token = self._read(self._request(uri))
        except httpx.TransportError as error:
            raise ServiceUnavailableError(
                f"no token from {uri} ({first_line(error)}); check that the server is running"
            ) from error
        except (_RefusedError, httpx.DecodingError) as error:
            # The response may repeat the secret, so it is not kept as the cause.
            refused = error if isinstance(error, _RefusedError) else _RefusedError(str(error))
            text = first_line(_RefusedError(scrub(refused.text, self._secrets)))
            raise UnauthenticatedError(
                f"{uri} issued no token for this client: {text}; {refused.advice}"
            ) from None
        return _Token(token, requested_at + lifetime - min(LEEWAY_SECONDS, lifetime / 2))

    def _request(self, uri: str) -> httpx.Response:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        url, headers, body = self._client_auth.prepare("POST", uri, headers, self._body)
        request = self._client.build_request("POST", url, headers=headers, content=body)
        request.extensions[MAX_BYTES] = MAX_TOKEN_RESPONSE_BYTES
        response = send(self._client, request, self._retry)
        if response.status_code >= 500 or response.status_code == OVERLOADED:
            raise ServiceUnavailableError(
                f"no token from {uri}: it returned HTTP {response.status_code}; try again later",
                retry_after=retry_after_seconds(response.headers.get("Retry-After")),
            )
        return response

    def _read(self, response: httpx.Response) -> tuple[float, str]:
        """Return the lifetime of a token in seconds, and the token."""
        status = f"it returned HTTP {response.status_code}"
        if 300 <= response.status_code < 400:
            target = response.headers.get("Location", "another address")
            raise _RefusedError(f"{status}, a redirect to {target}, which is not followed")
        try:
            body = response.json()
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise _RefusedError(f"{status} with a body that is not a JSON object")
        if "error" in body or not response.is_success:
            reason = _reason(body)
            advice = self._advice() if reason or response.status_code == 401 else None
            raise _RefusedError(f"{status} ({reason})" if reason else status, advice or ADVICE)
        token = body.get("access_token")
        if not isinstance(token, str) or not token:
            raise _RefusedError(f"{status} without an access_token")
        if HEADER_VALUE.fullmatch(token) is None:
            raise _RefusedError(f"{status} with an access_token that no header can contain")
        lifetime = _lifetime(body.get("expires_in"))
        if lifetime is None:
            raise _RefusedError(f"{status} with an expires_in that is not a number of seconds")
        return lifetime, token

    def _advice(self) -> str:
        scope = self._config.scope
        shown = "" if scope is None else f" ({scope!r}{self._config.scope_advice})"
        return f"check {self._config.oauth_client_keys} and 'scope'{shown}"


_ALL: weakref.WeakSet[ClientCredentials] = weakref.WeakSet()


def _forget_pending() -> None:
    """Drop locks and token requests after a fork: their threads exist only in the parent."""
    for each in _ALL:
        each._start_idle()


os.register_at_fork(after_in_child=_forget_pending)


@contextmanager
def _own_copy_of_errors() -> Iterator[None]:
    """Raise a copy of an error that several callers receive, because each adds its subject to it."""
    try:
        yield
    except LanceNamespaceError as error:
        raise copy.copy(error) from error.__cause__


def _with_token(request: httpx.Request, token: str) -> httpx.Request:
    request.headers["Authorization"] = f"Bearer {token}"
    return request


def _is_repeatable(request: httpx.Request) -> bool:
    """Return whether the body is in memory, so that it can be sent again."""
    return isinstance(request.stream, httpx.ByteStream)


def _written_forms(client_id: str, secret: str) -> frozenset[str]:
    """Return all encodings of the secret in a request; error responses may echo them."""
    pair = base64.b64encode(f"{client_id}:{secret}".encode()).decode("ascii")
    forms = (secret, quote(secret, safe=""), quote_plus(secret), pair)
    return frozenset(form for form in forms if len(form) > 2)


def _reason(body: Mapping[str, Any]) -> str:
    """Return the error and its description from an OAuth2 or Iceberg error body."""
    error = body.get("error")
    if isinstance(error, Mapping):
        parts = [error.get("type"), error.get("message")]
    else:
        parts = [error, body.get("error_description") or body.get("message")]
    return ": ".join(part for part in parts if isinstance(part, str) and part)


def _lifetime(seconds: Any) -> float | None:
    """Return a token's lifetime in seconds, infinite if the server reports none; None if invalid."""
    if seconds is None:
        return math.inf
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | str):
        return None
    try:
        lifetime = float(seconds)
    except (ValueError, OverflowError):
        return None
    if not 0 <= lifetime < math.inf:
        return None
    return lifetime or math.inf
