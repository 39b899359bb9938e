"""A directory of Lance tables as a namespace.

Source: the general specification, "Lance Directory Namespace".
"""

from .namespace import DirectoryConfig, DirectoryNamespace

__all__ = ["DirectoryConfig", "DirectoryNamespace"]
