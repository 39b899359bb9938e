"""An Iceberg REST catalog as a namespace.

Source: the Iceberg REST catalog implementation specification.
"""

from .config import IcebergConfig
from .namespace import IcebergNamespace

__all__ = ["IcebergConfig", "IcebergNamespace"]
