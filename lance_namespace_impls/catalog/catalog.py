"""A backend: the operations of the protocol over the primitives of one catalog."""

from __future__ import annotations

from .data import DataOperations
from .describe import TableDescriptions
from .lifecycle import TableLifecycle
from .listing import TableListings
from .namespaces import NamespaceOperations

__all__ = ["CatalogNamespace"]


class CatalogNamespace(
    NamespaceOperations,
    TableListings,
    TableDescriptions,
    TableLifecycle,
    DataOperations,
    abstract=True,
):
    """The base class of a backend; `CatalogBase` has the primitives that it implements."""
