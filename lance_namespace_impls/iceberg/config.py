"""Properties of a namespace in an Iceberg REST catalog."""

from __future__ import annotations

from typing import ClassVar

import attrs

from ..iceberg_rest.config import IcebergRestConfig

__all__ = ["IcebergConfig"]


@attrs.define(kw_only=True)
class IcebergConfig(IcebergRestConfig):
    """Properties of a namespace in an Iceberg REST catalog."""

    impl: ClassVar[str] = "iceberg"
