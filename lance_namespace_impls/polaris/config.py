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
        doc="address of the server, such as http://localhost:8181, or of its Iceberg REST API, such "
        "as http://localhost:8181/api/catalog"
    )
    scope: str = option(
        default="PRINCIPAL_ROLE:ALL", doc="scope of the token that the flow asks for"
    )
    vended_credentials: bool = option(
        default=True,
        doc="whether Polaris is asked for credentials of each table's storage, which then count "
        "before those among 'storage.'",
    )
