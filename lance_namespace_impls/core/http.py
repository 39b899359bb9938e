"""HTTP for backends: properties, a pooled client, and retries."""

from __future__ import annotations

import os
import ssl
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import attrs
import httpx
from httpx_retries import Retry, RetryTransport

from lance_namespace_client.decoding import ACCEPTED_ENCODINGS, bound
from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.wire import HEADER_NAME, HEADER_VALUE, retry_after_seconds

from .async_pool import Lanes
from .asyncio_backend import LoopBackend
from .config import Foreign, option, prefix_option, timeout_option
from .instrumentation import upstream_call
from .request_auth import request_auth
from .tls import TlsConfig, tls_context

__all__ = [
    "MAX_BYTES",
    "HttpConfig",
    "Retries",
    "check_uri",
    "new_async_client",
    "new_client",
    "send",
    "send_async",
]

T = TypeVar("T")
Client = TypeVar("Client", httpx.Client, httpx.AsyncClient)

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
# Errors after which it is certain that the request never reached the server.
NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
# Errors after which it is unknown whether the server executed the request.
OUTCOME_UNKNOWN: Final = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
# The first pause is a random fraction of twice this value; this upper bound doubles with each
# further pause.
BACKOFF_SECONDS: Final = 0.25
STREAMED: Final = "streamed"
MAX_BYTES: Final = "max_bytes"
"""Extension of a request: the maximum size of its response, in bytes, if lower than the default."""
CLIENT_AUTH_METHODS: Final = ("client_secret_basic", "client_secret_post")


@attrs.define(kw_only=True)
class HttpConfig(TlsConfig):
    """The properties that all backends with an HTTP API accept."""

    token_path: ClassVar[str | None] = None
    """Path that issues OAuth2 tokens, relative to the server, if there is a customary one."""
    default_client_auth: ClassVar[str] = CLIENT_AUTH_METHODS[0]
    scope_advice: ClassVar[str] = ""
    """Ends messages about the scope."""

    foreign: ClassVar[Mapping[str, Foreign]] = {
        "tls.reload_interval_seconds": Foreign(
            "certificates are read when the namespace connects; connect again to reload them"
        ),
    }

    auth_token: str | None = option(
        default=None,
        also=("token",),
        secret=True,
        doc="bearer token, sent as 'Authorization: Bearer ...'",
    )
    headers: dict[str, str] = prefix_option(
        "headers.", also=("header.",), secret=True, doc="headers sent with every request"
    )
    credential: str | None = option(
        default=None,
        secret=True,
        doc="client_id:client_secret of the OAuth2 client-credentials flow",
    )
    client_id: str | None = option(
        default=None,
        doc="client id of the OAuth2 client-credentials flow, instead of credential",
    )
    client_secret: str | None = option(
        default=None,
        secret=True,
        doc="client secret of the OAuth2 client-credentials flow, instead of credential",
    )
    scope: str | None = option(default=None, doc="scope of the requested OAuth2 token")
    oauth2_server_uri: str | None = option(
        name="oauth2-server-uri",
        also=("oauth2_server_uri",),
        default=None,
        doc="URL that issues OAuth2 tokens",
    )
    oauth2_client_auth: str | None = option(
        name="oauth2-client-auth",
        also=("oauth2_client_auth",),
        default=None,
        doc="how the client id and secret are sent: client_secret_basic (a header) or "
        "client_secret_post (the body); defaults to the header, or the body for Iceberg's API",
    )
    audience: str | None = option(
        default=None, doc="audience of the requested OAuth2 token, if the server requires one"
    )
    resource: str | None = option(
        default=None, doc="resource of the requested OAuth2 token, if the server requires one"
    )
    dynamic_context_provider: dict[str, str] = prefix_option(
        "dynamic_context_provider.",
        secret=True,
        doc="'impl': class that provides headers for each request; other keys are its arguments",
    )
    sigv4: bool = option(
        default=False,
        also=("rest.sigv4-enabled", "sigv4-enabled"),
        doc="whether requests are signed with AWS Signature Version 4, with the credentials of the "
        "environment",
    )
    sigv4_region: str | None = option(
        default=None,
        also=("rest.signing-region", "signing-region"),
        doc="AWS region of signatures; defaults to AWS_REGION, the profile's region, or that of an "
        "AWS endpoint",
    )
    sigv4_service: str | None = option(
        default=None,
        also=("rest.signing-name", "signing-name"),
        doc="AWS service of signatures, such as glue or s3tables; defaults to that of an AWS "
        "endpoint, or execute-api",
    )
    connect_timeout: float = timeout_option(
        "connect_timeout", default=10.0, doc="maximum time to establish a connection"
    )
    read_timeout: float = timeout_option(
        "read_timeout", default=60.0, doc="maximum time between parts of a response"
    )
    max_retries: int = option(
        default=3,
        unit="retries",
        minimum=0,
        doc="number of retries of requests that are safe to repeat; 0 disables them",
    )
    max_retry_wait: float = option(
        default=30.0,
        unit="seconds",
        above=0,
        doc="maximum pause before a retry; if the server requests a longer pause, the request is "
        "not retried",
    )
    max_connections: int = option(
        default=100, unit="connections", minimum=1, doc="maximum number of open connections"
    )
    proxy: str | None = option(
        default=None,
        secret=True,
        doc="URL of an HTTP proxy; defaults to HTTP_PROXY, HTTPS_PROXY and NO_PROXY",
    )

    def __attrs_post_init__(self) -> None:
        """Reject implausible values (code 13)."""
        if self.auth_token == "":
            raise InvalidInputError(f"{self.impl}: property 'auth_token' is empty; omit it")
        if self.sigv4 and self.auth_token is not None:
            raise InvalidInputError(f"{self.impl}: set 'auth_token' or 'sigv4', not both")
        self._check_oauth()
        sent = {f"headers.{name}": value for name, value in self.headers.items()}
        for key, value in {**sent, "auth_token": self.auth_token or ""}.items():
            self.check_header(key, value)

    def _check_oauth(self) -> None:
        keys = self.oauth_client_keys
        if self.credential is not None:
            if self.client_id is not None or self.client_secret is not None:
                raise InvalidInputError(
                    f"{self.impl}: set 'credential', or 'client_id' and 'client_secret', not both"
                )
            if not all(self.client_id_and_secret()):
                raise InvalidInputError(
                    f"{self.impl}: property 'credential' must have the form client_id:client_secret"
                )
        elif (self.client_id is None) != (self.client_secret is None) or (
            self.has_oauth_client and not all(self.client_id_and_secret())
        ):
            raise InvalidInputError(
                f"{self.impl}: set both 'client_id' and 'client_secret', or neither"
            )
        if self.client_auth not in CLIENT_AUTH_METHODS:
            raise InvalidInputError(
                f"{self.impl}: property 'oauth2-client-auth' must be "
                f"{' or '.join(CLIENT_AUTH_METHODS)}"
            )
        if self.oauth2_server_uri is not None and "://" in self.oauth2_server_uri:
            check_uri(self.impl, self.oauth2_server_uri, "oauth2-server-uri")
        if not self.has_oauth_client:
            return
        if self.auth_token is not None:
            raise InvalidInputError(f"{self.impl}: set 'auth_token' or {keys}, not both")
        if "authorization" in map(str.lower, self.headers):
            raise InvalidInputError(f"{self.impl}: set 'headers.Authorization' or {keys}, not both")
        if self.sigv4 or self.dynamic_context_provider:
            raise InvalidInputError(
                f"{self.impl}: set {keys}, 'sigv4' or 'dynamic_context_provider', not several"
            )
        if self.oauth2_server_uri is None and self.token_path is None:
            raise InvalidInputError(
                f"{self.impl}: property 'oauth2-server-uri' is required with {keys}: the URL that "
                "issues OAuth2 tokens"
            )
        basic = self.client_auth == CLIENT_AUTH_METHODS[0]
        if basic and not all(map(str.isascii, self.client_id_and_secret())):
            raise InvalidInputError(
                f"{self.impl}: {keys} may contain only ASCII characters, unless "
                f"'oauth2-client-auth' is {CLIENT_AUTH_METHODS[1]}"
            )

    @property
    def has_oauth_client(self) -> bool:
        """Whether requests need a token from the OAuth2 client-credentials flow."""
        return self.credential is not None or self.client_id is not None

    @property
    def client_auth(self) -> str:
        """How the client id and secret are sent, as a name of RFC 7591."""
        return self.oauth2_client_auth or self.default_client_auth

    @property
    def oauth_client_keys(self) -> str:
        """The properties that contain the client id and secret, for messages."""
        return "'client_id' with 'client_secret'" if self.credential is None else "'credential'"

    def client_id_and_secret(self) -> tuple[str, str]:
        """Return the client id and the client secret; both are empty if there is no client."""
        if self.credential is None:
            return self.client_id or "", self.client_secret or ""
        client_id, _, secret = self.credential.partition(":")
        return client_id, secret

    def token_uri(self, api: str) -> str:
        """Return the URL that issues tokens; a relative URL is resolved against `api`."""
        uri = self.oauth2_server_uri or self.token_path or ""
        return uri if "://" in uri else f"{api}/{uri.lstrip('/')}"

    def secrets(self) -> frozenset[str]:
        """Return the values that must not be shown, including the secret part of the credential."""
        secret = self.client_id_and_secret()[1]
        return super().secrets() | ({secret} if len(secret) > 2 else frozenset())

    def timeout(self) -> httpx.Timeout:
        """Return the timeouts as the HTTP library expects them, in seconds."""
        return httpx.Timeout(
            connect=self.connect_timeout,
            read=self.read_timeout,
            write=self.read_timeout,
            pool=self.connect_timeout,
        )

    def check_header(self, key: str, value: str) -> None:
        """Reject an invalid header, without showing the value (code 13)."""
        if HEADER_NAME.fullmatch(key.removeprefix("headers.")) is None:
            raise InvalidInputError(f"{self.impl}: {key!r} must end with a header name")
        if HEADER_VALUE.fullmatch(value) is None:
            raise InvalidInputError(
                f"{self.impl}: property {key!r} contains characters other than printable ASCII, "
                f"or starts or ends with a space"
            )


def check_uri(impl: str, uri: str, key: str = "uri") -> str:
    """Validate the server address in the property `key`, and return it without a trailing slash.

    Raises:
        InvalidInputError: code 13, it is not an ``http://`` or ``https://`` address, or contains
            credentials, a query or a fragment.
    """
    try:
        parts = urlsplit(uri)
        named = parts.hostname is not None and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise InvalidInputError(
            f"{impl}: property {key!r} is not a valid address: {error}"
        ) from None
    if "@" in parts.netloc:
        raise InvalidInputError(
            f"{impl}: property {key!r} contains credentials; pass them as 'auth_token' or "
            "'headers.Authorization', which messages do not show"
        )
    if parts.scheme not in ("http", "https") or not named:
        raise InvalidInputError(
            f"{impl}: property {key!r} must have the form http://host:2333, not {uri!r}"
        )
    if parts.query or parts.fragment:
        raise InvalidInputError(
            f"{impl}: property {key!r} must not contain a query or fragment: {uri!r}"
        )
    return uri.rstrip("/")


def new_client(
    config: HttpConfig,
    uri: str,
    headers: Mapping[str, str] | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.Client:
    """Build a client for one server; a forked process uses its own connections.

    Args:
        config: timeouts, TLS, headers and other properties.
        uri: address of the server.
        headers: headers of every request; those of `config` take precedence.
        auth: authenticates requests, if static headers and `request_auth` are not enough.

    Raises:
        InvalidInputError: code 13, a certificate cannot be read, or the proxy is not a valid
            address.
    """
    connect = partial(_transport, httpx.HTTPTransport, config, uri, _context_for(config, uri))
    buffered = _BufferedResponses(connect, config.impl)
    return _with_rules(httpx.Client, buffered, config, uri, headers, auth)


def new_async_client(
    config: HttpConfig,
    uri: str,
    headers: Mapping[str, str] | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.AsyncClient:
    """Build an asynchronous client for one server; see `new_client` for arguments and errors."""
    tls = _context_for(config, uri)
    backend = LoopBackend()

    def lane() -> httpx.AsyncHTTPTransport:
        transport = _transport(httpx.AsyncHTTPTransport, config, uri, tls, 1)
        transport._pool._network_backend = (
            backend  # httpx does not apply its own limits to a custom transport
        )
        return transport

    lanes = Lanes(lane, config.max_connections)
    whole = _BufferedAsyncResponses(lanes, config.impl)
    return _with_rules(httpx.AsyncClient, whole, config, uri, headers, auth)


def _transport(
    kind: Callable[..., T],
    config: HttpConfig,
    uri: str,
    tls: ssl.SSLContext,
    connections: int | None = None,
) -> T:
    try:
        return kind(
            verify=tls,
            proxy=config.proxy or _proxy_of_environment(uri),
            limits=httpx.Limits(max_connections=connections or config.max_connections),
        )
    except (ValueError, httpx.InvalidURL, ImportError) as error:
        # The library's message may contain the proxy's address, which may include a password.
        raise InvalidInputError(
            f"{config.impl}: property 'proxy' is not a valid proxy URL ({type(error).__name__})"
        ) from None


def _with_rules(
    kind: type[Client],
    transport: httpx.BaseTransport | httpx.AsyncBaseTransport,
    config: HttpConfig,
    uri: str,
    headers: Mapping[str, str] | None,
    auth: httpx.Auth | None,
) -> Client:
    """Build a client that retries calls and stores no cookies."""
    sent = httpx.Headers({"Accept-Encoding": ACCEPTED_ENCODINGS, **(headers or {})})
    if config.auth_token is not None:
        sent["Authorization"] = f"Bearer {config.auth_token}"
    sent.update(config.headers)
    options: Any = {
        "transport": RetryTransport(transport, Retry(total=0)),
        "headers": sent,
        "auth": auth or request_auth(config, uri),
        "timeout": config.timeout(),
        "trust_env": False,
    }
    client = kind(**options)
    # Callers share a client, so a cookie set for one caller must not be sent with the request of
    # another.
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return client


def _context_for(config: HttpConfig, uri: str) -> ssl.SSLContext:
    """Return the TLS settings for one server.

    Raises:
        InvalidInputError: code 13, a certificate cannot be read.
    """
    if not uri.startswith("https:"):
        # Loading the certificate authorities takes longer than a whole call; this context has none.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return tls_context(config)


def _proxy_of_environment(uri: str) -> str | None:
    parts = urlsplit(uri)
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def _bound(request: httpx.Request, response: httpx.Response) -> None:
    """Limit the size of a response, to the maximum of its request if that is set."""
    limits = [request.extensions[MAX_BYTES]] if MAX_BYTES in request.extensions else []
    bound(response, *limits)


class _BufferedResponses(httpx.BaseTransport):
    """Reads whole responses within the scope of retries, so that truncated responses are retried.

    Streamed responses are passed on as they arrive, except for error responses, which are small and
    read completely.
    """

    def __init__(self, connect: Callable[[], httpx.BaseTransport], impl: str) -> None:
        self._connect = connect
        self._impl = impl
        self._start_unconnected()
        _ALL.add(self)

    def _start_unconnected(self) -> None:
        self._transport = self._connect()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with upstream_call(self._impl, request.method) as call:
            request.headers.update(call.headers)
            response = self._transport.handle_request(request)
            call.result = str(response.status_code)
            if response.is_error or STREAMED not in request.extensions:
                _bound(request, response)
                try:
                    response.read()
                except BaseException:
                    response.close()
                    raise
        return response

    def close(self) -> None:
        self._transport.close()


_ALL: weakref.WeakSet[_BufferedResponses] = weakref.WeakSet()


def _forget_connections() -> None:
    """Drop all connections after a fork: the child must not use the connections of its parent."""
    for each in _ALL:
        each._start_unconnected()


os.register_at_fork(after_in_child=_forget_connections)


class _BufferedAsyncResponses(httpx.AsyncBaseTransport):
    """The asynchronous version of `_BufferedResponses`."""

    def __init__(self, transport: httpx.AsyncBaseTransport, impl: str) -> None:
        self._transport = transport
        self._impl = impl

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with upstream_call(self._impl, request.method) as call:
            request.headers.update(call.headers)
            response = await self._transport.handle_async_request(request)
            call.result = str(response.status_code)
            if response.is_error or STREAMED not in request.extensions:
                _bound(request, response)
                try:
                    await response.aread()
                except BaseException:
                    await response.aclose()
                    raise
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _RetryAfterTooLongError(Exception):
    """Raised if the server requests a longer pause than allowed; its response is then returned."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__("the server requested a longer pause")
        self.response = response


class _Retry(Retry):
    """A retry policy that never retries earlier than the server requests."""

    def sleep(self, response: httpx.Response | Exception) -> None:
        self._check_pause(response)
        super().sleep(response)

    async def asleep(self, response: httpx.Response | Exception) -> None:
        self._check_pause(response)
        await super().asleep(response)

    def _check_pause(self, response: httpx.Response | Exception) -> None:
        if isinstance(response, httpx.Response):
            delay = retry_after_seconds(response.headers.get("Retry-After"))
            if delay is not None and delay > self.max_backoff_wait:
                raise _RetryAfterTooLongError(response)


class _RetryUnsent(_Retry):
    """A retry policy for requests that were never sent; every response is accepted."""

    def is_retryable_status_code(self, status_code: int) -> bool:
        return False


class Retries:
    """Retry policies; the pauses grow exponentially with jitter, and respect Retry-After.

    Args:
        config: the number of retries, and the longest pause.
    """

    def __init__(self, config: HttpConfig) -> None:
        common: dict[str, Any] = {
            "total": config.max_retries,
            "allowed_methods": METHODS,
            "backoff_factor": BACKOFF_SECONDS,
            "max_backoff_wait": config.max_retry_wait,
        }
        self.repeatable: Retry = _Retry(
            **common, status_forcelist=(429, 502, 503, 504), retry_on_exceptions=OUTCOME_UNKNOWN
        )
        """For requests that are safe to repeat."""
        self.unprocessed: Retry = _Retry(
            **common, status_forcelist=(429,), retry_on_exceptions=NOT_SENT
        )
        """For changes: retries only if the server cannot have executed the request."""
        self.unsent: Retry = _RetryUnsent(**common, retry_on_exceptions=NOT_SENT)
        """For bodies that can be produced only once: retries only if nothing has been read."""


def send(
    client: httpx.Client, request: httpx.Request, retry: Retry, *, stream: bool = False
) -> httpx.Response:
    """Send a request, with retries according to `retry`.

    Args:
        client: from `new_client`.
        request: from ``client.build_request``.
        retry: a policy of `Retries`.
        stream: whether the caller reads and closes a successful response.

    Raises:
        httpx.RequestError: the last attempt received no response or a truncated one.
    """
    _mark(request, retry, stream)
    try:
        return client.send(request, stream=stream)
    except _RetryAfterTooLongError as error:
        error.response.request = request
        return error.response


async def send_async(
    client: httpx.AsyncClient, request: httpx.Request, retry: Retry, *, stream: bool = False
) -> httpx.Response:
    """Send a request like `send`, with a client from `new_async_client`."""
    _mark(request, retry, stream)
    try:
        return await client.send(request, stream=stream)
    except _RetryAfterTooLongError as error:
        error.response.request = request
        return error.response


def _mark(request: httpx.Request, retry: Retry, stream: bool) -> None:
    request.extensions["retry"] = retry
    if stream:
        request.extensions[STREAMED] = True
