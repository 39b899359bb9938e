"""A catalog in a dict, with namespaces of any depth."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from tempfile import mkdtemp

import attrs

from ..catalog.capabilities import Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import TableEntry, managed_choice
from ..catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    not_a_lance_table,
    table_exists,
    table_not_found,
)
from ..core.identifiers import Identifier
from ..core.location import default_location
from ..core.paging import sorted_after
from .config import MemoryConfig
from .versions import Catalog, MemoryVersions

__all__ = ["Catalog", "MemoryNamespace", "catalog"]


_catalogs: dict[str, Catalog] = {}
_lock = threading.Lock()


def catalog(name: str, root: str | None = None) -> Catalog:
    """Return the catalog with a name; a catalog exists until the process exits.

    Args:
        name: name of the catalog.
        root: location of the tables if the catalog is new; defaults to a temporary folder.
    """
    with _lock:
        found = _catalogs.get(name)
        if found is None:
            found = Catalog(root or mkdtemp(prefix="lance-memory-"))
            if not root:
                atexit.register(_delete, found.root, os.getpid())
            _catalogs[name] = found
        return found


def _delete(folder: str, owner: int) -> None:
    """Delete a temporary folder, unless this process is a fork of the one that uses it."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


class MemoryNamespace(CatalogNamespace):
    """A catalog in the memory of this process: namespaces of any depth, which can all contain
    tables.

    The catalog is lost when the process exits. Its tables are Lance datasets, either in a temporary
    folder, which is also deleted, or below `root`, where they are kept. A pickled namespace finds
    its catalog only in the same process; in another process, it has an empty catalog with the same
    name.
    """

    config_type = MemoryConfig
    in_process = True
    config: MemoryConfig
    capabilities = Capabilities(
        namespace_depth=None, cascade=True, rename_across=True, managed_versioning=True
    )

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self._catalog = catalog(config.name, config.root)
        self._root = config.root or self._catalog.root
        self.version_store = MemoryVersions(self._catalog, self.add_table)

    def _require(self, namespace: Identifier) -> None:
        if namespace and namespace not in self._catalog.namespaces:
            raise namespace_not_found(namespace)

    def _require_parent(self, identifier: Identifier) -> None:
        """Raise an error if the parent of an identifier is missing, so that nothing can be
        added.
        """
        self._require(identifier[:-1])

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        with self._catalog.lock:
            self._require(parent)
            names = [ns[-1] for ns in self._catalog.namespaces if ns[:-1] == parent]
        return sorted_after(names, after)

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        with self._catalog.lock:
            self._require(identifier)
            return dict(self._catalog.namespaces.get(identifier, {}))

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        with self._catalog.lock:
            self._require_parent(identifier)
            if self._catalog.has(identifier):
                raise namespace_exists(identifier)
            self._catalog.namespaces[identifier] = dict(properties)
        return properties

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        with self._catalog.lock:
            self._require(identifier)
            children = self._catalog.children(identifier)
            if children and not cascade:
                raise namespace_not_empty(identifier, children[0][-1])
            for child in children:
                if child in self._catalog.namespaces:
                    self.remove_namespace(child, cascade)
                else:
                    del self._catalog.tables[child]
                    self._catalog.versions.pop(child, None)
            return self._catalog.namespaces.pop(identifier)

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        with self._catalog.lock:
            self._require(identifier)
            properties = _changed(self._catalog.namespaces[identifier], changed, removed)
            self._catalog.namespaces[identifier] = properties
        return properties

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        with self._catalog.lock:
            self._require(parent)
            tables = self._catalog.tables
            names = [t[-1] for t, entry in tables.items() if t[:-1] == parent and entry is not None]
        return sorted_after(names, after)

    def load_table(self, identifier: Identifier) -> TableEntry:
        with self._catalog.lock:
            self._require(identifier[:-1])
            if identifier not in self._catalog.tables:
                raise table_not_found(identifier)
            entry = self._catalog.tables[identifier]
        if entry is None:
            raise not_a_lance_table(identifier)
        return entry

    def default_location(self, identifier: Identifier) -> str:
        return default_location(self._root, identifier)

    def entry_to_add(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        stored, managed = managed_choice(properties, self.config.managed)
        return TableEntry(id=identifier, location=location, properties=stored, managed=managed)

    def default_locations(self, identifier: Identifier) -> Iterator[str]:
        # A renamed table remains at its location below the catalog's root.
        yield self._root
        yield from super().default_locations(identifier)

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        location = (location or self.default_location(identifier)).rstrip("/")
        entry = self.entry_to_add(identifier, location, properties)
        with self._catalog.lock:
            self._require_parent(identifier)
            if self._catalog.has(identifier):
                raise table_exists(identifier)
            self._catalog.tables[identifier] = entry
        return entry

    def remove_table(self, entry: TableEntry) -> None:
        with self._catalog.lock:
            if self._catalog.tables.pop(entry.id, None) is None:
                raise table_not_found(entry.id)
            self._catalog.versions.pop(entry.id, None)

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        with self._catalog.lock:
            self._require(new[:-1])
            if self._catalog.has(new):
                raise table_exists(new)
            if self._catalog.tables.pop(entry.id, None) is None:
                raise table_not_found(entry.id)
            self._catalog.tables[new] = attrs.evolve(entry, id=new)
            self._catalog.versions[new] = self._catalog.versions.pop(entry.id, {})

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        with self._catalog.lock:
            current = self.load_table(entry.id)
            properties = _changed(current.properties, changed, removed)
            self._catalog.tables[entry.id] = attrs.evolve(current, properties=properties)
        return properties


def _changed(
    old: Mapping[str, str], changed: Mapping[str, str], removed: Sequence[str]
) -> dict[str, str]:
    return {key: value for key, value in {**old, **changed}.items() if key not in removed}
