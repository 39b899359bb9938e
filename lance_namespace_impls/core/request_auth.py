"""Headers that are computed for each request: AWS signatures, and custom providers.

Sources: AWS Signature Version 4; the ``DynamicContextProvider`` of the official packages.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import httpx

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    UnauthenticatedError,
)
from lance_namespace_client.wire import HEADER_NAME, HEADER_VALUE

from .errors import first_line

__all__ = ["OPERATION", "ContextProvider", "RequestAuth", "request_auth"]

OPERATION = "operation"
"""Extension of a request: the name of the operation that sends it."""
HEADERS = "headers."
DEFAULT_SERVICE = "execute-api"
UNSIGNED = "UNSIGNED-PAYLOAD"
SIGNED = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Content-SHA256")


class AuthProperties(Protocol):
    """The properties that determine the headers of each request; see `HttpConfig`."""

    @property
    def impl(self) -> str: ...
    @property
    def dynamic_context_provider(self) -> Mapping[str, str]: ...
    @property
    def sigv4(self) -> bool: ...
    @property
    def sigv4_region(self) -> str | None: ...
    @property
    def sigv4_service(self) -> str | None: ...


class ContextProvider(Protocol):
    """A class whose instances provide headers for each request, such as a new token.

    It is created with the other ``dynamic_context_provider.*`` properties as keyword arguments.
    """

    def provide_context(self, info: dict[str, str]) -> Mapping[str, str]:
        """Return the headers of a request; it is called before each one, and must not block long.

        Args:
            info: ``operation`` (for example ``describe_table``) and ``object_id``, both empty if
                the backend's API has other operations; ``method`` and ``url``.

        Returns:
            The headers, with keys such as ``headers.Authorization``; other keys have no effect.
        """


def request_auth(config: AuthProperties, uri: str) -> RequestAuth | None:
    """Return an object that adds headers to each request; None if no properties require it.

    Args:
        config: the properties.
        uri: address of the server.

    Raises:
        InvalidInputError: code 13, the provider cannot be created, or the region is unknown.
    """
    provider = _provider(config) if config.dynamic_context_provider else None
    signer = _Signer(config, uri) if config.sigv4 else None
    return RequestAuth(config.impl, provider, signer) if provider or signer else None


class RequestAuth(httpx.Auth):
    """Adds headers to each request; works in synchronous and asynchronous clients.

    Args:
        impl: name of the backend, for messages.
        provider: provides headers.
        signer: signs the request, with the provided headers.
    """

    def __init__(self, impl: str, provider: ContextProvider | None, signer: _Signer | None) -> None:
        self._impl = impl
        self._provider = provider
        self._signer = signer

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Send a request with the headers."""
        if self._provider is not None:
            request.headers.update(self._provided(self._provider, request))
        if self._signer is not None:
            self._signer.sign(request)
        yield request

    def _provided(self, provider: ContextProvider, request: httpx.Request) -> dict[str, str]:
        name = type(provider).__name__
        info = {
            "operation": str(request.extensions.get(OPERATION, "")),
            "object_id": _object_id(request),
            "method": request.method,
            "url": str(request.url),
        }
        try:
            found = provider.provide_context(info)
            headers = {
                key.removeprefix(HEADERS): value
                for key, value in found.items()
                if key.startswith(HEADERS)
            }
            valid = all(
                HEADER_NAME.fullmatch(key) and HEADER_VALUE.fullmatch(value)
                for key, value in headers.items()
            )
        except LanceNamespaceError:
            raise
        except Exception as error:
            raise UnauthenticatedError(
                f"{self._impl}: {name} failed to provide headers: {first_line(error)}"
            ) from error
        if not valid:
            raise UnauthenticatedError(f"{self._impl}: {name} provided an invalid header")
        return headers


def _object_id(request: httpx.Request) -> str:
    """Return the identifier in the URL of an operation, in its string form."""
    if OPERATION not in request.extensions:
        return ""
    _, _, rest = request.url.raw_path.decode("ascii").partition("?")[0].partition("/v1/")
    parts = rest.split("/")
    return unquote(parts[1]) if len(parts) > 2 and parts[0] in ("namespace", "table") else ""


def _provider(config: AuthProperties) -> ContextProvider:
    arguments = dict(config.dynamic_context_provider)
    path = arguments.pop("impl", "")
    key = f"{config.impl}: property 'dynamic_context_provider.impl'"
    module, _, name = path.replace(":", ".").rpartition(".")
    if not module:
        raise InvalidInputError(f"{key} must be a class, such as my_module.MyProvider")
    try:
        created = getattr(import_module(module), name)(**arguments)
    except Exception as error:
        raise InvalidInputError(f"{key}: {path} cannot be created: {first_line(error)}") from error
    if not callable(getattr(created, "provide_context", None)):
        raise InvalidInputError(f"{key}: {path} has no method provide_context")
    provider: ContextProvider = created
    return provider


class _Signer:
    """Signs requests with AWS Signature Version 4, with credentials that botocore finds and renews."""

    def __init__(self, config: AuthProperties, uri: str) -> None:
        try:
            from botocore.session import Session
        except ModuleNotFoundError as error:
            raise InvalidInputError(
                f"{config.impl}: property 'sigv4' needs botocore: pip install "
                "'lance-namespace-kit[glue]'"
            ) from error
        self._impl = config.impl
        self._session: Any = Session()
        host = urlsplit(uri).hostname or ""
        labels = host.split(".") if host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else []
        self._region = (
            config.sigv4_region
            or self._session.get_config_variable("region")
            or (labels[-3] if len(labels) > 3 else None)
        )
        if self._region is None:
            raise InvalidInputError(
                f"{config.impl}: the AWS region is unknown; set 'sigv4_region' or AWS_REGION"
            )
        self._service = config.sigv4_service or (labels[0] if labels else DEFAULT_SERVICE)

    def sign(self, request: httpx.Request) -> None:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            credentials = self._session.get_credentials()
            frozen = credentials and credentials.get_frozen_credentials()
        except (BotoCoreError, ClientError) as error:
            raise UnauthenticatedError(
                f"{self._impl}: no AWS credentials: {first_line(error)}"
            ) from error
        if frozen is None:
            raise UnauthenticatedError(
                f"{self._impl}: no AWS credentials found; set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role"
            )
        try:
            body: bytes | None = request.content
        except httpx.RequestNotRead:
            body = None  # a stream
        signed = AWSRequest(method=request.method, url=str(request.url), data=body or b"")
        if body is None:
            if request.url.scheme != "https":
                raise InvalidInputError(f"{self._impl}: rows can be signed only over https")
            signed.context["payload_signing_enabled"] = False
            signed.headers["X-Amz-Content-SHA256"] = UNSIGNED
        SigV4Auth(frozen, self._service, self._region).add_auth(signed)
        for name in SIGNED:
            if name in signed.headers:
                request.headers[name] = signed.headers[name]
