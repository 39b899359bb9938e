"""Common properties of catalogs with the Iceberg REST API."""

from __future__ import annotations

from typing import ClassVar

import attrs
import httpx

from lance_namespace_client.errors import InvalidInputError

from ..core.config import option, root_option, timeout_option
from ..core.http import HttpConfig, check_uri
from ..core.location import absolute_as_written

__all__ = ["IcebergRestConfig"]


@attrs.define(kw_only=True)
class IcebergRestConfig(HttpConfig):
    """Properties of a namespace in a catalog with the Iceberg REST API; backends set `impl`."""

    api_path: ClassVar[str] = ""
    """Path below the endpoint where the API may be served if the endpoint names only the server."""

    endpoint: str = option(
        doc="URL of the server, such as http://localhost:8181, with or without /v1"
    )
    credential: str | None = option(
        default=None,
        secret=True,
        doc="client_id:client_secret of the OAuth2 client-credentials flow",
    )
    scope: str = option(
        default="catalog",
        doc="scope of the requested OAuth2 token; Apache Polaris requires PRINCIPAL_ROLE:ALL",
    )
    oauth2_server_uri: str | None = option(
        name="oauth2-server-uri",
        also=("oauth2_server_uri",),
        default=None,
        doc="URL that issues OAuth2 tokens; defaults to the endpoint's /v1/oauth/tokens",
    )
    warehouses: tuple[str, ...] | None = option(
        also=("warehouse",),
        default=None,
        doc="names of the warehouses; the root namespace lists them, and others are not found",
    )
    prefix: str | None = option(
        default=None,
        doc="prefix of the API's paths, used instead of the one that the server reports; an "
        "empty value means no prefix",
    )
    max_concurrency: int = option(
        default=16,
        unit="tables",
        minimum=1,
        doc="maximum number of tables whose metadata a listing loads concurrently",
    )
    connect_timeout: float = timeout_option(
        "connect_timeout",
        default=10_000.0,
        unit="milliseconds",
        doc="maximum time to connect",
    )
    read_timeout: float = timeout_option(
        "read_timeout",
        default=30_000.0,
        unit="milliseconds",
        doc="maximum time to wait for the next part of a response",
    )
    root: str = root_option(absolute_as_written)

    def __attrs_post_init__(self) -> None:
        """Reject invalid values (code 13)."""
        super().__attrs_post_init__()
        # Some servers display the endpoint with the version, which must not be appended again.
        self.endpoint = check_uri(self.impl, self.endpoint, "endpoint").removesuffix("/v1")
        if self.credential is None:
            return
        if not all(self.client_id_and_secret()):
            raise InvalidInputError(
                f"{self.impl}: property 'credential' must have the form client_id:client_secret"
            )
        if self.auth_token is not None:
            raise InvalidInputError(f"{self.impl}: set 'auth_token' or 'credential', not both")
        if self.sigv4 or self.dynamic_context_provider:
            raise InvalidInputError(
                f"{self.impl}: set 'credential', 'sigv4' or 'dynamic_context_provider', not several"
            )
        if self.oauth2_server_uri is not None:
            check_uri(self.impl, self.token_uri(), "oauth2-server-uri")

    def timeout(self) -> httpx.Timeout:
        """Return the timeouts in the form that the HTTP library expects, in seconds."""
        connect, read = self.connect_timeout / 1000, self.read_timeout / 1000
        return httpx.Timeout(connect=connect, read=read, write=read, pool=connect)

    def client_id_and_secret(self) -> tuple[str, str]:
        """Return the client id and the client secret."""
        client_id, _, secret = (self.credential or "").partition(":")
        return client_id, secret

    def token_uri(self, api: str | None = None) -> str:
        """Return the URL that issues tokens; a relative URL is resolved against the API's URL."""
        uri = self.oauth2_server_uri or "v1/oauth/tokens"
        return uri if "://" in uri else f"{api or self.endpoint}/{uri.lstrip('/')}"

    def secrets(self) -> frozenset[str]:
        """Return the values that must not be shown, including the secret part of the credential."""
        secret = self.client_id_and_secret()[1]
        return super().secrets() | ({secret} if len(secret) > 2 else frozenset())
