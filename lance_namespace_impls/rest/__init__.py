"""A namespace behind a server that implements the Lance REST protocol.

Source: the general specification, "Lance REST Namespace".
"""

from .asynchronous import AsyncRestNamespace
from .namespace import RestConfig, RestNamespace

__all__ = ["AsyncRestNamespace", "RestConfig", "RestNamespace"]
