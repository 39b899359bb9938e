"""Unity Catalog as a namespace.

Source: the Unity Catalog implementation specification.
"""

from .namespace import UnityConfig, UnityNamespace

__all__ = ["UnityConfig", "UnityNamespace"]
