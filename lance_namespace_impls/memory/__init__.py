"""An in-memory catalog, for experiments and tests."""

from .config import MemoryConfig
from .namespace import MemoryNamespace

__all__ = ["MemoryConfig", "MemoryNamespace"]
