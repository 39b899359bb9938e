"""The three-level form, with the catalogs that Hive supports since release 3."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from pymetastore.hive_metastore.ttypes import (
    AlreadyExistsException,
    Catalog,
    Database,
    InvalidOperationException,
    NoSuchObjectException,
)

from lance_namespace_client.errors import NamespaceNotFoundError

from ..catalog.capabilities import MANAGED_OPERATIONS, Capabilities
from ..catalog.errors import namespace_exists, namespace_not_empty, namespace_not_found
from ..core.identifiers import Identifier
from ..core.location import default_location
from ..core.paging import sorted_after
from .base import FAILED_TO_STORE, NOT_ATOMIC, HiveBase
from .config import Hive3Config
from .errors import error_text
from .folders import PrecreatedFolder
from .locks import of_catalog
from .records import (
    CATALOG_LOCATION,
    LOCATION,
    catalog_properties,
    change_catalog,
    new_catalog,
)

__all__ = ["Hive3Namespace"]

# The metastore creates this database in every catalog, and drops it together with the catalog.
DEFAULT_DATABASE = "default"
# This catalog cannot be dropped, regardless of the metastore's configuration.
DEFAULT_CATALOG = "hive"


class Hive3Namespace(HiveBase):
    """A namespace with three levels: catalogs, databases and tables.

    Source: the Hive 3.x specification.
    """

    config_type = Hive3Config
    config: Hive3Config
    with_catalogs = True
    capabilities = Capabilities(
        location_properties=(LOCATION, CATALOG_LOCATION),
        namespace_depth=2,
        table_depth=2,
        lowercase_names=True,
        cascade=True,
        rename_across=True,
        rename_within=1,
        permanent=((DEFAULT_CATALOG,), (DEFAULT_CATALOG, DEFAULT_DATABASE)),
        unsupported=dict.fromkeys(MANAGED_OPERATIONS, NOT_ATOMIC),
    )

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        if len(identifier) == 1:
            return catalog_properties(self._catalog(identifier))
        return super().namespace_properties(identifier)

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        if not parent:
            return sorted_after(self._metastore.catalog_names(), after)
        if len(parent) > 1:
            return super().child_namespaces(parent, after)
        names = self._metastore.database_names(parent[0])
        if not names:  # the catalog may be missing as well
            self._require_namespace(parent)
        return sorted_after(names, after)

    def _catalog(self, identifier: Identifier) -> Catalog:
        try:
            return self._metastore.catalog(identifier[0])
        except NoSuchObjectException as error:
            raise namespace_not_found(identifier) from error

    def _catalog_exists(self, identifier: Identifier) -> bool:
        try:
            self._metastore.catalog(identifier[0])
        except NoSuchObjectException:
            return False
        return True

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        if len(identifier) > 1:
            return super().add_namespace(identifier, properties)
        location = default_location(self.config.root, identifier)
        catalog = new_catalog(identifier[0], properties, location)
        if self._catalog_exists(identifier):
            raise namespace_exists(identifier)
        try:
            with PrecreatedFolder(catalog.locationUri):
                self._metastore.create_catalog(catalog)
        except AlreadyExistsException as error:
            raise namespace_exists(identifier) from error
        except FAILED_TO_STORE as error:
            if self._catalog_exists(identifier):
                raise namespace_exists(identifier) from error
            raise
        with suppress(NamespaceNotFoundError):  # it was created, but has since been dropped
            catalog = self._catalog(identifier)
        return catalog_properties(catalog)

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        if len(identifier) > 1:
            return super().change_namespace(identifier, changed, removed)
        with self._locked_for_change(
            "AlterNamespace", identifier, of_catalog(identifier[0])
        ) as renew_lock:
            catalog = self._catalog(identifier)
            change_catalog(catalog, changed, removed)
            renew_lock()
            self._metastore.alter_catalog(catalog)
            return catalog_properties(self._catalog(identifier))

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        if len(identifier) > 1:
            return super().remove_namespace(identifier, cascade)
        catalog = self._catalog(identifier)
        properties = catalog_properties(catalog)
        self._drop_databases(identifier, cascade)
        self._drop_empty_catalog(identifier, catalog)
        return properties

    def _drop_databases(self, catalog: Identifier, cascade: bool) -> None:
        """Drop the databases in a catalog, including ``default``; without cascade, drop only ``default``."""
        names = self._metastore.database_names(catalog[0])
        others = [name for name in names if name != DEFAULT_DATABASE]
        if others and not cascade:
            raise namespace_not_empty(catalog, f"database {others[0]}")
        for name in [*others, *(name for name in names if name == DEFAULT_DATABASE)]:
            try:
                self._drop_database((*catalog, name), cascade)
            except NamespaceNotFoundError:
                continue  # another client dropped it first

    def _drop_empty_catalog(self, identifier: Identifier, catalog: Catalog) -> None:
        """Drop a catalog without databases, but keep the data at its location.

        The metastore deletes the folder of a catalog when it drops the catalog. Therefore, the
        catalog's location is first changed to a folder that does not exist.
        """
        location = catalog.locationUri
        catalog.locationUri = f"{location.rstrip('/')}/.dropped-{uuid.uuid4().hex}"
        try:
            self._metastore.alter_catalog(catalog)
            self._metastore.drop_catalog(identifier[0])
        except NoSuchObjectException as error:
            raise namespace_not_found(identifier) from error
        except Exception as error:
            catalog.locationUri = location
            self._restore(catalog)
            if isinstance(error, InvalidOperationException):
                raise namespace_not_empty(identifier, error_text(error)) from error
            raise

    def _restore(self, catalog: Catalog) -> None:
        """Restore a catalog after a failed drop: its location and its ``default`` database."""
        self._metastore.alter_catalog(catalog)
        if DEFAULT_DATABASE not in self._metastore.database_names(catalog.name):
            self._metastore.create_database(
                Database(
                    name=DEFAULT_DATABASE,
                    catalogName=catalog.name,
                    locationUri=catalog.locationUri,
                    description=f"Default database for catalog {catalog.name}",
                    parameters={},
                )
            )
