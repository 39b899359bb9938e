"""A catalog in this process, for trying things out and for tests."""

from .config import MemoryConfig
from .namespace import MemoryNamespace

__all__ = ["MemoryConfig", "MemoryNamespace"]
