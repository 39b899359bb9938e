"""Common properties of catalogs with the Iceberg REST API."""

from __future__ import annotations

from typing import ClassVar

import attrs
import httpx

from ..core.config import option, root_option, timeout_option
from ..core.http import HttpConfig, check_uri
from ..core.location import absolute_as_written

__all__ = ["IcebergRestConfig"]


@attrs.define(kw_only=True)
class IcebergRestConfig(HttpConfig):
    """Properties of a namespace in a catalog with the Iceberg REST API; backends set `impl`."""

    token_path: ClassVar[str | None] = "v1/oauth/tokens"
    default_client_auth: ClassVar[str] = "client_secret_post"
    scope_advice: ClassVar[str] = "; Apache Polaris requires PRINCIPAL_ROLE:ALL"
    api_path: ClassVar[str] = ""
    """Path below the endpoint where the API may be served if the endpoint names only the server."""

    endpoint: str = option(
        doc="URL of the server, such as http://localhost:8181, with or without /v1"
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

    def timeout(self) -> httpx.Timeout:
        """Return the timeouts in the form that the HTTP library expects, in seconds."""
        connect, read = self.connect_timeout / 1000, self.read_timeout / 1000
        return httpx.Timeout(connect=connect, read=read, write=read, pool=connect)

    def token_uri(self, api: str | None = None) -> str:
        """Return the URL that issues tokens; a relative URL is resolved against the API's URL."""
        return super().token_uri(api or self.endpoint)
