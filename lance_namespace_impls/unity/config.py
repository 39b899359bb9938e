"""Properties of a namespace in Unity Catalog."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import attrs

from lance_namespace_client.errors import (
    InvalidInputError,
)

from ..core.config import option, root_option
from ..core.http import HttpConfig, check_uri

if TYPE_CHECKING:
    pass


__all__ = ["SPLITS", "UnityConfig"]

SPLITS = re.compile("[.\x1f]")
"""Characters at which the API splits full names."""


@attrs.define(kw_only=True)
class UnityConfig(HttpConfig):
    """Properties of a namespace in Unity Catalog."""

    impl: ClassVar[str] = "unity"

    endpoint: str = option(
        doc="URL of the server, such as http://localhost:8080, with or without the path of the API"
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
