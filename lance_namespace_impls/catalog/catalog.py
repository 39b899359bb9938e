"""A backend: the operations of the protocol over the primitives of one catalog."""

from __future__ import annotations

from .commits import CommitOperations
from .describe import TableDescriptions
from .listing import TableListings
from .namespaces import NamespaceOperations

__all__ = ["CatalogNamespace"]


class CatalogNamespace(
    NamespaceOperations,
    TableListings,
    TableDescriptions,
    CommitOperations,
    abstract=True,
):
    """The base class of a backend; `CatalogBase` has the primitives that it implements."""
