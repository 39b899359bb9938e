"""The Hive Metastore as a namespace: Hive 2 (databases, tables) and Hive 3 or later (also
catalogs).

Source: the Hive 3.x specification; the general specification, "Lance HMS Namespace".
"""

from .auto import HiveNamespace
from .config import Hive2Config, Hive3Config, HiveConfig
from .hive2 import Hive2Namespace
from .hive3 import Hive3Namespace

__all__ = [
    "Hive2Config",
    "Hive2Namespace",
    "Hive3Config",
    "Hive3Namespace",
    "HiveConfig",
    "HiveNamespace",
]
