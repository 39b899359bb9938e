"""What catalogs with the Iceberg REST API have in common: namespaces, tokens, paths and failures.

A backend says where its tables are in the API, and what of one it reads.
"""

from .base import IcebergRestCatalog
from .config import IcebergRestConfig

__all__ = ["IcebergRestCatalog", "IcebergRestConfig"]
