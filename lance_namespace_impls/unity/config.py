"""Properties of a namespace in Unity Catalog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import attrs

from lance_namespace_client.errors import InvalidInputError

from ..core.config import Foreign, option, root_option
from ..core.http import HttpConfig, check_uri

__all__ = ["SPLITS", "UnityConfig"]

SPLITS = re.compile("[.\x1f]")
"""Characters at which the API splits full names."""


@attrs.define(kw_only=True)
class UnityConfig(HttpConfig):
    """Properties of a namespace in Unity Catalog."""

    impl: ClassVar[str] = "unity"
    token_path: ClassVar[str | None] = "oidc/v1/token"
    scope_advice: ClassVar[str] = "; Databricks requires all-apis"
    foreign: ClassVar[Mapping[str, Foreign]] = {
        "auth.type": Foreign(
            "set 'client_id' and 'client_secret', or 'auth_token'", ("oauth", "static")
        ),
    }

    endpoint: str = option(
        doc="URL of the server, such as http://localhost:8080, with or without the path of the API"
    )
    client_id: str | None = option(
        default=None,
        also=("auth.oauth.clientId",),
        doc="client id of the OAuth2 client-credentials flow, such as that of a Databricks service "
        "principal",
    )
    client_secret: str | None = option(
        default=None,
        also=("auth.oauth.clientSecret",),
        secret=True,
        doc="client secret of the OAuth2 client-credentials flow",
    )
    scope: str = option(
        default="all-apis", also=("auth.oauth.scope",), doc="scope of the requested OAuth2 token"
    )
    oauth2_server_uri: str | None = option(
        name="oauth2-server-uri",
        also=("oauth2_server_uri", "auth.oauth.uri"),
        default=None,
        doc="URL that issues OAuth2 tokens; defaults to the endpoint's /oidc/v1/token, as on "
        "Databricks",
    )
    catalog: str | None = option(
        default=None,
        doc="name of the catalog; if unset, the root lists all catalogs on the server",
    )
    api_path: str = option(
        default="/api/2.1/unity-catalog", doc="path of the API, relative to the endpoint"
    )
    root: str = root_option()

    def __attrs_post_init__(self) -> None:
        """Reject invalid values (code 13)."""
        super().__attrs_post_init__()
        self.endpoint = check_uri(self.impl, self.endpoint, "endpoint")
        self.api_path = f"/{self.api_path.strip('/')}".rstrip("/")
        # Some tools display the endpoint with the path, which must not be appended again.
        self.endpoint = self.endpoint.removesuffix(self.api_path)
        if self.catalog is not None and (not self.catalog or SPLITS.search(self.catalog)):
            raise InvalidInputError(
                f"unity: property 'catalog' must be the name of a catalog, not {self.catalog!r}"
            )
