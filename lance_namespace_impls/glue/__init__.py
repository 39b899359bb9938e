"""AWS Glue Data Catalog as a namespace.

Source: the AWS Glue specification; the Glue API reference, "Catalogs API", "Database API" and
"Table API".
"""

from .config import GlueConfig
from .namespace import GlueNamespace

__all__ = ["GlueConfig", "GlueNamespace"]
