"""AsyncOperations: the awaited operations that asynchronous tables and searches call."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from lance_namespace_client.async_namespace import AsyncLanceNamespace

if TYPE_CHECKING:
    from lance_namespace_client.namespace import LanceNamespace

__all__ = ["AsyncOperations"]


class AsyncOperations(AsyncLanceNamespace):
    """The awaited operations of a namespace, and the same namespace for blocking calls."""

    @property
    @abstractmethod
    def synchronous(self) -> LanceNamespace:
        """The same namespace for blocking calls, such as those of threads."""
