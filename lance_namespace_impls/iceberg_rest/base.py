"""Base class for catalogs with the Iceberg REST API: namespaces, and listings of tables."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote

from attrs import evolve

from lance_namespace_client.errors import (
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedError,
)

from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import Loader, SortedTables, TableEntry
from ..catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    not_a_lance_table,
    table_exists,
    table_not_found,
)
from ..core.concurrent import ordered_map
from ..core.identifiers import Identifier, format_identifier
from ..core.json_api import HttpFailure, JsonApi, Paging, raising
from ..core.location import absolute_as_written, as_address, default_location
from ..core.locks import object_lock
from ..core.oauth import client_credentials
from ..core.paging import sorted_after
from .address import ApiAddress
from .config import IcebergRestConfig
from .entries import bucket_missing, location_in_use, properties_of, store_denied, store_unknown
from .errors import (
    FAILURES,
    is_bucket_missing,
    is_conflict,
    is_location_in_use,
    is_missing,
    is_no_route,
    is_not_empty,
    is_store_denied,
    is_store_unknown,
    read_failure,
)
from .locations import as_opened
from .properties import change_properties
from .warehouse import UnwritableNameError, Warehouse, Warehouses, segment

__all__ = ["IcebergRestCatalog"]

PAGES = Paging(token="pageToken", next_token="next-page-token")
# Servers return pages only to clients that send a page token; for the first page, the token is
# empty.
FIRST_PAGE = {"pageToken": ""}
LOCATION = "location"
NO_PREFIX = "; if the server's paths have no prefix, set the property 'prefix' to an empty value"

SHORT_PATH = 1000
"""Path length that every server accepts; Apache Polaris returns 414 above 4,096 characters."""

NO_LIST = (
    "the API of an Iceberg REST catalog cannot list warehouses; name them in the property "
    "'warehouses'"
)


class IcebergRestCatalog(CatalogNamespace, abstract=True):
    """Namespaces and common table operations of a catalog with the Iceberg REST API.

    An identifier consists of the warehouse, the levels of a namespace, and a table.

    Args:
        config: the server and further settings.
        headers: headers of every request.

    Source: the Iceberg REST catalog protocol.
    """

    config: IcebergRestConfig
    drop_query: ClassVar[Mapping[str, str] | None] = None
    """Query parameters of the request that removes a table."""

    def __init__(self, config: IcebergRestConfig, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(config)
        address = ApiAddress(config)
        credentials = client_credentials(config, config.endpoint, address)
        self.api = JsonApi(config, config.endpoint, read_failure, credentials, headers)
        self.warehouses = Warehouses(config, self.api, address)
        if config.warehouses is None:
            unsupported = {**self.capabilities.unsupported, "ListAllTables": NO_LIST}
            self.capabilities = evolve(self.capabilities, unsupported=unsupported)

    def close(self) -> None:
        """Close the connections; later calls are rejected (code 13)."""
        self.api.close()

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for a response of the server, or None for other failures."""
        if not isinstance(error, HttpFailure):
            return None
        protocol_error = FAILURES.error(error, what)
        if is_no_route(error) and self.config.prefix is None:
            protocol_error.text += NO_PREFIX
        return protocol_error

    # --- tables, defined by a backend

    @abstractmethod
    def tables_path(self, warehouse: Warehouse, levels: Sequence[str]) -> str:
        """Return the path of a namespace's tables."""

    def table_path(self, identifier: Identifier) -> str:
        """Return the path of a table.

        Raises:
            NamespaceNotFoundError: code 1, the warehouse does not exist.
            InvalidInputError: code 13, the name cannot be part of a path.
        """
        warehouse, levels = self.warehouse(identifier[:-1])
        return f"{self.tables_path(warehouse, levels)}/{segment(identifier[-1])}"

    @abstractmethod
    def read_table(self, identifier: Identifier, answer: Mapping[str, Any]) -> TableEntry | None:
        """Return the entry for the table in the server's response, or None if the table is not a
        Lance table.

        Raises:
            InternalError: code 18, the response contains no table.
            InvalidTableStateError: code 19, the table has no location.
        """

    # --- namespaces

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        if not parent:
            return sorted_after(self._listed_warehouses(), after)
        warehouse, levels = self.warehouse(parent)
        query = dict(FIRST_PAGE)
        with _looking_up(namespace_not_found, parent, levels):
            if levels:
                query["parent"] = warehouse.parent(levels)
            namespaces = [
                tuple(each)
                for page in self.api.pages(warehouse.namespaces(), query, PAGES)
                for each in page.get("namespaces") or ()
            ]
        depth = len(levels)
        names = {
            each[depth] for each in namespaces if len(each) == depth + 1 and each[:depth] == levels
        }
        if levels and not names:
            # Some servers return an empty list for a missing namespace, so check that the namespace
            # exists.
            self.namespace_properties(parent)
        return sorted_after(names, after)

    def _listed_warehouses(self) -> Sequence[str]:
        if self.config.warehouses is None:
            raise UnsupportedError(NO_LIST)
        return self.config.warehouses

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        if not identifier:
            return {}
        warehouse, levels = self.warehouse(identifier)
        if not levels:
            return {}
        with _looking_up(namespace_not_found, identifier, levels):
            return properties_of(self.api.get(warehouse.namespace(levels)))

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        warehouse, levels = self.warehouse(identifier)
        self._refuse_unreachable(warehouse.namespace(levels), identifier[-1])
        if len(levels) > 1:
            self.namespace_properties(identifier[:-1])
            if self._is_table(identifier):
                raise NamespaceAlreadyExistsError(
                    f"{format_identifier(identifier)!r} is already the name of a table; choose "
                    f"another name"
                )
        body = {"namespace": list(levels), "properties": dict(properties)}
        location_error = location_in_use("namespace", properties.get(LOCATION))
        with (
            # Some servers check for the name before they insert it, so one of two concurrent calls
            # would get a database failure instead of code 2.
            object_lock(self.config.endpoint, identifier),
            raising(namespace_exists, identifier, when=is_conflict),
            raising(namespace_not_found, identifier[:-1], when=is_missing),
            raising(location_error, identifier, when=is_location_in_use),
        ):
            response = self.api.post(warehouse.namespaces(), body)
        return properties_of(response) if "properties" in response else properties

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        warehouse, levels = self.warehouse(identifier)
        properties = self.namespace_properties(identifier)
        try:
            with (
                object_lock(self.config.endpoint, identifier),
                raising(namespace_not_found, identifier, when=is_missing),
            ):
                self.api.delete(warehouse.namespace(levels))
        except HttpFailure as failure:
            if not is_not_empty(failure):
                raise
            raise namespace_not_empty(identifier, f"objects ({failure.message})") from failure
        return properties

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        warehouse, levels = self.warehouse(identifier)
        # A change takes several requests, and the API cannot lock out other clients. Clients on
        # this machine, at least, wait for each other.
        with object_lock(self.config.endpoint, identifier):
            before = self.namespace_properties(identifier)
            with raising(namespace_not_found, identifier, when=is_missing):
                change_properties(self.api, warehouse.namespace(levels), before, changed, removed)
            return self.namespace_properties(identifier)

    # --- tables

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        return SortedTables(
            self._all_table_names(parent), partial(self._lance_tables, parent), _loader, after
        )

    @property
    def max_concurrency(self) -> int:
        return self.config.max_concurrency

    def _lance_tables(
        self, parent: Identifier, names: Iterator[str], wanted: int | None
    ) -> Iterator[tuple[str, TableEntry]]:
        entries = ordered_map(
            names,
            lambda name: self._listed((*parent, name)),
            max_concurrency=self.config.max_concurrency,
            wanted=wanted,
        )
        return ((entry.id[-1], entry) for entry in entries)

    def _all_table_names(self, parent: Identifier) -> list[str]:
        """Return the sorted names of all tables, whether or not they are Lance tables."""
        warehouse, levels = self.warehouse(parent)
        with _looking_up(namespace_not_found, parent, levels):
            names = {
                str(each["name"])
                for page in self.api.pages(self.tables_path(warehouse, levels), FIRST_PAGE, PAGES)
                for each in page.get("identifiers") or ()
                if tuple(each.get("namespace") or ()) == levels
            }
        if not names:
            self.namespace_properties(parent)  # as in `child_namespaces`
        return sorted(names)

    def _listed(self, identifier: Identifier) -> TableEntry | None:
        """Load a listed table, or return None if it is not a Lance table."""
        try:
            return self.read_table(identifier, self.table_response(identifier))
        except (TableNotFoundError, NamespaceNotFoundError):
            return None  # deleted after it was listed
        except (HttpFailure, LanceNamespaceError) as error:
            what = f"ListTables: table {format_identifier(identifier)} cannot be read"
            failure = self.translate(error, what) if isinstance(error, HttpFailure) else error
            if self.config.skip_unreadable:
                warnings.warn(f"{failure} (skipped)", stacklevel=2)
                return None
            raise failure from error

    def table_response(self, identifier: Identifier) -> dict[str, Any]:
        """Return the server's response for a table of any kind.

        Raises:
            TableNotFoundError: code 4.
        """
        with _looking_up(table_not_found, identifier, identifier[1:]):
            return self.api.get(self.table_path(identifier))

    def load_table(self, identifier: Identifier) -> TableEntry:
        entry = self.read_table(identifier, self.table_response(identifier))
        if entry is None:
            raise not_a_lance_table(identifier)
        return entry

    def _is_table(self, identifier: Identifier) -> bool:
        try:
            self.table_response(identifier)
        except TableNotFoundError:
            return False
        return True

    def address_of_new(self, identifier: Identifier, location: str | None) -> str:
        """Return the location of a new table as a URL that servers accept.

        Args:
            identifier: the table.
            location: requested location; None means the default location.

        Raises:
            NamespaceNotFoundError: code 1; some servers would accept a table in a missing
                namespace.
            TableAlreadyExistsError: code 5, a namespace has this name.
            InvalidInputError: code 13, the server could not find the name again.
        """
        namespace = self.cached_response(self.namespace_properties, identifier[:-1])
        self.reject_existing(identifier)
        wanted = None if location is None else absolute_as_written(location)
        return as_address(wanted or self._default_location(identifier, namespace))

    def resolved_location(self, location: str) -> str:
        return absolute_as_written(location)

    def default_location(self, identifier: Identifier) -> str | None:
        namespace = self.cached_response(self.namespace_properties, identifier[:-1])
        return as_opened(as_address(self._default_location(identifier, namespace)))

    def _default_location(self, identifier: Identifier, namespace: Mapping[str, str]) -> str:
        """Return a table's default location: below its namespace's location, or otherwise below the
        root.

        Apache Polaris, for example, accepts a table's location only below that of the namespace.
        """
        own = namespace.get(LOCATION)
        if own:
            return default_location(own if "://" in own else as_opened(own), identifier[-1:])
        return default_location(self.config.root, identifier)

    def post_table(
        self, identifier: Identifier, body: Mapping[str, Any], address: str
    ) -> dict[str, Any]:
        """Add a table to the catalog and return the server's response.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
            InvalidInputError: code 13, another object uses the location, its bucket does not exist,
                or the server cannot open it.
            PermissionDeniedError: code 15, the server may not use the location's store.
            ServiceUnavailableError: code 17, the server cannot reach the location's store.
        """
        warehouse, levels = self.warehouse(identifier[:-1])
        with (
            raising(table_exists, identifier, when=is_conflict),
            raising(namespace_not_found, identifier[:-1], when=is_missing),
            raising(location_in_use("table", address), identifier, when=is_location_in_use),
            raising(store_unknown("table", address), identifier, when=is_store_unknown),
            raising(bucket_missing("table", address), identifier, when=is_bucket_missing),
            raising(store_denied("table", address), identifier, when=is_store_denied),
        ):
            return self.api.post(self.tables_path(warehouse, levels), body)

    def remove_table(self, entry: TableEntry) -> None:
        with raising(table_not_found, entry.id, when=is_missing):
            self.api.delete(self.table_path(entry.id), self.drop_query)

    # --- names

    def warehouse(self, identifier: Identifier) -> tuple[Warehouse, Identifier]:
        """Return an object's warehouse, and the names that follow it in the identifier.

        Raises:
            NamespaceNotFoundError: code 1.
        """
        return self.warehouses.get(identifier[0]), identifier[1:]

    def reject_existing(self, identifier: Identifier) -> None:
        """Reject a table name that the server could not find again or that a namespace already has.

        Raises:
            InvalidInputError: code 13.
            TableAlreadyExistsError: code 5.
        """
        self._refuse_unreachable(self.table_path(identifier), identifier[-1])
        try:
            self.namespace_properties(identifier)
        except NamespaceNotFoundError:
            return
        raise TableAlreadyExistsError(
            f"{format_identifier(identifier)!r} is already the name of a namespace; choose "
            f"another name"
        )

    def _refuse_unreachable(self, path: str, name: str) -> None:
        """Reject a name that the server would store but does not accept in paths (code 13)."""
        if _is_plain(name) and len(path) <= SHORT_PATH:
            return
        try:
            self.api.get(path)
        except HttpFailure as failure:
            if not is_missing(failure):
                raise


def _loader(_: str, entry: TableEntry) -> Loader:
    return lambda: entry


@contextmanager
def _looking_up(
    missing: Callable[[Identifier], LanceNamespaceError],
    identifier: Identifier,
    names: Sequence[str],
) -> Iterator[None]:
    """Translate a failed lookup to the error for a missing object.

    An object counts as missing if its name cannot be part of a path, or is rejected there.
    """
    try:
        yield
    except UnwritableNameError as error:
        raise missing(identifier) from error
    except HttpFailure as failure:
        refused = failure.status == 400 and not all(map(_is_plain, names))
        if not refused and not is_missing(failure):
            raise
        raise missing(identifier) from failure


def _is_plain(name: str) -> bool:
    return quote(name, safe="") == name
