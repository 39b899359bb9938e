"""A Hive Metastore as a namespace: Hive 2 (database, table) and Hive 3 and newer (with catalogs).

Source: the Hive 3.x specification; the general specification, "Lance HMS Namespace".
"""

from .catalogs import Hive3Namespace
from .config import Hive2Config, Hive3Config, HiveConfig
from .namespace import Hive2Namespace, HiveNamespace

__all__ = [
    "Hive2Config",
    "Hive2Namespace",
    "Hive3Config",
    "Hive3Namespace",
    "HiveConfig",
    "HiveNamespace",
]
