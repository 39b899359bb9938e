"""In-memory catalogs of each shape that backends have.

They test how the catalog layer handles levels, modes, cascades and foreign tables.
"""

from __future__ import annotations

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import memory
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.core.identifiers import Identifier
from lance_namespace_impls.memory import MemoryConfig
from lance_namespace_impls.memory.namespace import Catalog
from lance_namespace_impls.memory.namespace import catalog as shared_catalog

__all__ = ["LEVELS", "MemoryConfig", "MemoryNamespace", "Mixed", "catalog"]


def catalog(root: str) -> Catalog:
    """Return the catalog of a storage root, for changes that the interface cannot make."""
    return shared_catalog(root, root)


class MemoryNamespace(memory.MemoryNamespace):
    """Databases of tables."""

    capabilities = Capabilities(namespace_depth=1, table_depth=1, cascade=True, rename_across=True)


class ThreeLevels(MemoryNamespace):
    """Catalogs of databases of tables."""

    capabilities = Capabilities(namespace_depth=2, table_depth=2, cascade=True, rename_across=True)


class OneCatalog(MemoryNamespace):
    """A configured catalog that contains schemas, and whose tables cannot be changed."""

    capabilities = Capabilities(
        namespace_depth=2,
        table_depth=2,
        configured_depth=1,
        closed=True,
        cascade=True,
        unsupported={
            "RenameTable": "the catalog cannot rename",
            "AlterTable": "the catalog has no table update",
        },
    )

    def _require_parent(self, identifier: Identifier) -> None:
        if identifier[:1] not in self._catalog.namespaces:
            raise InvalidInputError(f"{identifier[:1]} is not the catalog of this connection")
        super()._require_parent(identifier)


class AnyDepth(MemoryNamespace):
    """A configured warehouse that contains namespaces of any depth, with tables in all of them."""

    capabilities = Capabilities(
        namespace_depth=None, table_depth=2, configured_depth=1, idempotent_drop=True
    )


class Mixed(MemoryNamespace):
    """Tables and namespaces next to each other on every level, including the root."""

    capabilities = memory.MemoryNamespace.capabilities


LEVELS: dict[str, type[memory.MemoryNamespace]] = {
    "two-levels": MemoryNamespace,
    "three-levels": ThreeLevels,
    "one-catalog": OneCatalog,
    "any-depth": AnyDepth,
    "mixed": Mixed,
}
"""Catalogs of each shape that backends have."""
