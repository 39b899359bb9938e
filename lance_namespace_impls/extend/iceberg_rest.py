"""Building blocks for catalogs with an Iceberg REST API: base class, properties, table entries."""

from __future__ import annotations

from ..iceberg_rest.base import IcebergRestCatalog
from ..iceberg_rest.config import IcebergRestConfig
from ..iceberg_rest.entries import location_of, properties_of
from ..iceberg_rest.locations import as_opened
from ..iceberg_rest.warehouse import Warehouse

__all__ = [
    "IcebergRestCatalog",
    "IcebergRestConfig",
    "Warehouse",
    "as_opened",
    "location_of",
    "properties_of",
]
