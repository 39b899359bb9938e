"""Fetches tokens with the OAuth2 client-credentials flow.

Source: the Iceberg REST catalog implementation specification, property ``credential``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
from authlib.common.errors import AuthlibBaseError
from authlib.oauth2.client import OAuth2Client

from lance_namespace_client.errors import (
    InternalError,
    ServiceUnavailableError,
    UnauthenticatedError,
)

from ..core.errors import first_line, scrub
from ..core.http import Retries, new_client, send
from .config import IcebergRestConfig

__all__ = ["ClientCredentials"]

EXPIRED = (401, 419)
# A token is renewed this many seconds before it expires, or after half its lifetime if that is
# later.
LEEWAY_SECONDS = 60


class _Token(NamedTuple):
    """A token and its renewal time, replaced together because other threads may renew the token."""

    token: str
    renew_at: float


class ClientCredentials(httpx.Auth):
    """Adds a token to every request; thread-safe.

    A token is fetched for the first request and renewed before it expires. If the server
    nevertheless rejects the token (HTTP status 401 or 419), the request is repeated once with a new
    token.

    Args:
        config: credential, scope, and the URL that issues tokens.
        address: returns the URL of the API.
    """

    def __init__(self, config: IcebergRestConfig, address: Callable[[], str]) -> None:
        client_id, secret = config.client_id_and_secret()
        self._config = config
        self._address = address
        self._uri = config.token_uri()
        self._scope = config.scope
        self._secrets = config.secrets()
        self._session = _Session(config, self._uri)
        self._client = OAuth2Client(
            self._session,
            client_id=client_id,
            client_secret=secret,
            scope=config.scope or None,
            token_endpoint_auth_method="client_secret_post",
        )
        self._lock = threading.Lock()
        self._token: _Token | None = None

    def close(self) -> None:
        """Close the connections to the token server."""
        self._session.close()

    def sync_auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with a token; if the server rejects it, repeat it once with a new token."""
        token = self._current()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code in EXPIRED:
            request.headers["Authorization"] = f"Bearer {self._after(token)}"
            yield request

    def _current(self) -> str:
        token = self._token
        if token is not None and time.monotonic() < token.renew_at:
            return token.token
        return self._after(token and token.token)

    def _after(self, refused: str | None) -> str:
        """Return a token other than `refused`; only one of several threads fetches a new token."""
        with self._lock:
            if self._token is None or self._token.token == refused:
                self._token = self._fetch()
            return self._token.token

    def _fetch(self) -> _Token:
        requested_at = time.monotonic()
        self._uri = self._config.token_uri(self._address())
        try:
            response = self._client.fetch_token(self._uri, grant_type="client_credentials")
        except httpx.TransportError as error:
            raise ServiceUnavailableError(
                f"no token from {self._uri} ({first_line(error)}); check that the server is running"
            ) from error
        except (httpx.DecodingError, RecursionError) as error:
            raise InternalError(
                f"{self._uri} returned an unreadable response: {first_line(error)}"
            ) from error
        except (AuthlibBaseError, httpx.HTTPStatusError, ValueError) as error:
            raise self._refused(error) from error
        token = response.get("access_token")
        if not token:
            raise UnauthenticatedError(
                f"{self._uri} returned a response without an access_token; check "
                f"'oauth2_server_uri'"
            )
        lifetime = float(response.get("expires_in") or "inf")
        return _Token(str(token), requested_at + lifetime - min(LEEWAY_SECONDS, lifetime / 2))

    def _refused(self, error: Exception) -> UnauthenticatedError | ServiceUnavailableError:
        text = scrub(first_line(error), self._secrets)
        if isinstance(error, httpx.HTTPStatusError) and error.response.status_code >= 500:
            return ServiceUnavailableError(f"no token from {self._uri}: {text}")
        return UnauthenticatedError(
            f"{self._uri} issued no token for this credential: {text}; check 'credential' and "
            f"'scope' ({self._scope!r}; Apache Polaris requires PRINCIPAL_ROLE:ALL)"
        )


class _Session:
    """An adapter that sends Authlib's requests with this package's client, timeouts and retries."""

    def __init__(self, config: IcebergRestConfig, uri: str) -> None:
        self._client = new_client(config, uri)
        self._retry = Retries(config).repeatable

    def close(self) -> None:
        self._client.close()

    def post(
        self, url: str, data: Mapping[str, str], headers: Mapping[str, str], auth: Any
    ) -> httpx.Response:
        url, headers, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        request = self._client.build_request("POST", url, headers=headers, content=body)
        return send(self._client, request, self._retry)
