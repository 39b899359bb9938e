"""Properties of a namespace in Apache Polaris."""

from __future__ import annotations

from typing import ClassVar

import attrs

from ..extend import option
from ..extend.iceberg_rest import IcebergRestConfig

__all__ = ["PolarisConfig"]


@attrs.define(kw_only=True)
class PolarisConfig(IcebergRestConfig):
    """Properties of a namespace in Apache Polaris."""

    impl: ClassVar[str] = "polaris"
    api_path: ClassVar[str] = "/api/catalog"

    endpoint: str = option(
        doc="URL of the server, such as http://localhost:8181, or of its Iceberg REST API, such as "
        "http://localhost:8181/api/catalog"
    )
    scope: str = option(default="PRINCIPAL_ROLE:ALL", doc="scope of the requested OAuth2 token")
    vended_credentials: bool = option(
        default=True,
        doc="whether to request storage credentials for each table from Polaris; they override "
        "those in 'storage.'",
    )
