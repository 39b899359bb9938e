"""A backend: the operations of the protocol over the primitives of one catalog."""

from __future__ import annotations

from .clone import TableClones
from .describe import TableDescriptions
from .namespaces import NamespaceOperations

__all__ = ["CatalogNamespace"]


class CatalogNamespace(
    NamespaceOperations,
    TableDescriptions,
    TableClones,
    abstract=True,
):
    """The base class of a backend; `CatalogBase` has the primitives that it implements."""
