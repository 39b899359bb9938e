"""Code that backends with the Iceberg REST API share: namespaces, tokens, paths and failures.

Each backend defines the paths of its tables, and converts the server's tables to entries.
"""

from .base import IcebergRestCatalog
from .config import IcebergRestConfig

__all__ = ["IcebergRestCatalog", "IcebergRestConfig"]
