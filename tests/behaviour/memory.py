"""A catalog in a dict, behind the shared base of all backends.

It stands in for catalogs with namespaces where none is at hand: what core does with levels, modes,
cascades and foreign tables is tested on it. Rows are real Lance datasets in a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import attrs

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.capabilities import Capabilities
from lance_namespace_impls.core.catalog import (
    CatalogNamespace,
    TableEntry,
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    table_exists,
    table_not_found,
)
from lance_namespace_impls.core.config import Config, option
from lance_namespace_impls.core.identifiers import Identifier
from lance_namespace_impls.core.location import default_location
from lance_namespace_impls.core.paging import sorted_after

__all__ = ["LEVELS", "Catalog", "MemoryConfig", "MemoryNamespace", "catalog"]


@attrs.define
class Catalog:
    """What a catalog holds; None in place of an entry is a table that is not a Lance table."""

    namespaces: dict[Identifier, dict[str, str]] = attrs.Factory(dict)
    tables: dict[Identifier, TableEntry | None] = attrs.Factory(dict)

    def holds(self, parent: Identifier) -> list[Identifier]:
        """Give everything directly in a namespace."""
        both = [*self.namespaces, *self.tables]
        return [identifier for identifier in both if identifier[:-1] == parent]


_catalogs: dict[str, Catalog] = {}


def catalog(root: str) -> Catalog:
    """Give the catalog of a storage root; it lives as long as the process."""
    return _catalogs.setdefault(root, Catalog())


@attrs.define(kw_only=True)
class MemoryConfig(Config):
    """Properties of a catalog in memory."""

    impl: ClassVar[str] = "memory"

    root: str = option(doc="storage root of the tables; also tells one catalog from another")


class MemoryNamespace(CatalogNamespace):
    """A catalog of namespaces and tables, two levels deep unless a subclass says otherwise."""

    config_type = MemoryConfig
    config: MemoryConfig
    capabilities = Capabilities(namespace_depth=1, table_depth=1, cascade=True, rename_across=True)

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self._catalog = catalog(config.root)

    def _require(self, namespace: Identifier) -> None:
        if namespace and namespace not in self._catalog.namespaces:
            raise namespace_not_found(namespace)

    def _require_for_new(self, parent: Identifier) -> None:
        given = self.capabilities.given_depth
        if self.capabilities.closed and parent[:given] not in self._catalog.namespaces:
            raise InvalidInputError(f"{parent[:given]} is not the catalog of this connection")
        self._require(parent)

    def _child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self._require(parent)
        names = [ns[-1] for ns in self._catalog.namespaces if ns[:-1] == parent]
        return sorted_after(names, after)

    def _namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        self._require(identifier)
        return self._catalog.namespaces.get(identifier, {})

    def _make_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        self._require_for_new(identifier[:-1])
        if identifier in self._catalog.namespaces or identifier in self._catalog.tables:
            raise namespace_exists(identifier)
        self._catalog.namespaces[identifier] = dict(properties)
        return properties

    def _remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        self._require(identifier)
        held = self._catalog.holds(identifier)
        if held and not cascade:
            raise namespace_not_empty(identifier, held[0][-1])
        for child in held:
            if child in self._catalog.namespaces:
                self._remove_namespace(child, cascade)
            else:
                del self._catalog.tables[child]
        return self._catalog.namespaces.pop(identifier)

    def _alter_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        self._require(identifier)
        properties = self._catalog.namespaces[identifier]
        properties |= changed
        for key in removed:
            properties.pop(key, None)
        return properties

    def _table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        self._require(parent)
        tables = self._catalog.tables
        names = [t[-1] for t, entry in tables.items() if t[:-1] == parent and entry is not None]
        return sorted_after(names, after)

    def _table(self, identifier: Identifier) -> TableEntry:
        self._require(identifier[:-1])
        if identifier not in self._catalog.tables:
            raise table_not_found(identifier)
        entry = self._catalog.tables[identifier]
        if entry is None:
            raise InvalidInputError(f"table {'$'.join(identifier)} is not a Lance table")
        return entry

    def _add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        self._require_for_new(identifier[:-1])
        if identifier in self._catalog.tables or identifier in self._catalog.namespaces:
            raise table_exists(identifier)
        location = (location or default_location(self.config.root, identifier)).rstrip("/")
        entry = TableEntry(id=identifier, location=location, properties=dict(properties))
        self._catalog.tables[identifier] = entry
        return entry

    def _usual_location(self, identifier: Identifier) -> str:
        return default_location(self.config.root, identifier)

    def _remove_table(self, entry: TableEntry) -> None:
        if self._catalog.tables.pop(entry.id, None) is None:
            raise table_not_found(entry.id)

    def _rename_table(self, entry: TableEntry, new: Identifier) -> None:
        self._require(new[:-1])
        if new in self._catalog.tables or new in self._catalog.namespaces:
            raise table_exists(new)
        self._catalog.tables[new] = attrs.evolve(entry, id=new)
        del self._catalog.tables[entry.id]

    def _alter_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        properties = {**entry.properties, **changed}
        for key in removed:
            properties.pop(key, None)
        self._catalog.tables[entry.id] = attrs.evolve(entry, properties=properties)
        return properties


class ThreeLevels(MemoryNamespace):
    """Catalogs of databases of tables."""

    capabilities = Capabilities(namespace_depth=2, table_depth=2, cascade=True, rename_across=True)


class OneCatalog(MemoryNamespace):
    """A configured catalog, schemas in it, and no way to change a table."""

    capabilities = Capabilities(
        namespace_depth=2,
        table_depth=2,
        given_depth=1,
        closed=True,
        cascade=True,
        unsupported={
            "RenameTable": "the catalog cannot rename",
            "AlterTable": "the catalog has no table update",
        },
    )


class AnyDepth(MemoryNamespace):
    """A configured warehouse, then namespaces as deep as one likes, tables in all of them."""

    capabilities = Capabilities(
        namespace_depth=None, table_depth=2, given_depth=1, idempotent_drop=True
    )


class Mixed(MemoryNamespace):
    """Tables and namespaces side by side on every level, the root among them."""

    capabilities = Capabilities(namespace_depth=None, cascade=True, rename_across=True)


LEVELS: dict[str, type[MemoryNamespace]] = {
    "two-levels": MemoryNamespace,
    "three-levels": ThreeLevels,
    "one-catalog": OneCatalog,
    "any-depth": AnyDepth,
    "mixed": Mixed,
}
"""Catalogs of each shape that backends have."""
