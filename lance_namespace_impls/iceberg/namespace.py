"""The Iceberg REST backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

from attrs import evolve

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedError,
)

from ..catalog.capabilities import Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import LANCE, TABLE_TYPE, ListedTables, TableEntry, is_lance, with_lance_type
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
from ..core.location import absolute, as_address, default_location
from ..core.paging import sorted_after
from .config import IcebergConfig
from .entries import (
    changed_meanwhile,
    chosen_by_server,
    entry_of,
    location_taken,
    properties_of,
)
from .errors import (
    FAILURES,
    is_conflict,
    is_location_taken,
    is_missing,
    is_no_route,
    is_not_empty,
    read_failure,
)
from .locations import as_opened
from .properties import change_properties
from .warehouse import UnwritableNameError, Warehouse, Warehouses

__all__ = ["IcebergNamespace"]

PAGES = Paging(token="pageToken", next_token="next-page-token")
# An empty token tells the server that the listing may come in pages.
FIRST_PAGE = {"pageToken": ""}
LOCATION = "location"
NO_PREFIX = "; if the server has no prefix in its paths, set the property 'prefix' to nothing"
DUMMY_SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "dummy", "required": False, "type": "string"}],
}


class IcebergNamespace(CatalogNamespace):
    """The Lance tables of an Iceberg REST catalog.

    An identifier is the warehouse, the levels of a namespace, and a table. A Lance table is an
    Iceberg table with the property ``table_type=lance`` and one unused column, at the location
    of the dataset.

    Source: the Iceberg REST catalog implementation specification.
    """

    config_type = IcebergConfig
    config: IcebergConfig
    capabilities = Capabilities(
        # Where the server, and what other engines write, put data and metadata.
        location_properties=(
            "location",
            "default-base-location",
            "write.data.path",
            "write.metadata.path",
            "write.object-storage.path",
            "write.folder-storage.path",
        ),
        namespace_depth=None,
        table_depth=2,
        configured_depth=1,
        idempotent_drop=True,
        rename_across=True,
        rename_within=1,
        shown_delimiter=".",
    )

    def __init__(self, config: IcebergConfig) -> None:
        super().__init__(config)
        self._credentials = _credentials(config)
        self._api = JsonApi(config, config.endpoint, read_failure, self._credentials)
        self._warehouses = Warehouses(config, self._api)

    def close(self) -> None:
        """Close the connections; a call after it is refused (code 13)."""
        self._api.close()
        if self._credentials is not None:
            self._credentials.close()

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for an answer of the server; None for another failure."""
        if not isinstance(error, HttpFailure):
            return None
        found = FAILURES.error(error, what)
        if is_no_route(error) and self.config.prefix is None:
            found.message += NO_PREFIX
        return found

    # --- namespaces

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        if not parent:
            return sorted_after(self._listed_warehouses(), after)
        warehouse, levels = self._warehouse(parent)
        query = dict(FIRST_PAGE)
        with _finding(namespace_not_found, parent, levels):
            if levels:
                query["parent"] = warehouse.parent(levels)
            found = [
                tuple(each)
                for page in self._api.pages(warehouse.namespaces(), query, PAGES)
                for each in page.get("namespaces") or ()
            ]
        depth = len(levels)
        names = {each[depth] for each in found if len(each) == depth + 1 and each[:depth] == levels}
        if levels and not names:
            # Some servers give an empty list for a namespace that is not there.
            self.namespace_properties(parent)
        return sorted_after(names, after)

    def _listed_warehouses(self) -> Sequence[str]:
        if self.config.warehouses is None:
            raise UnsupportedError(
                "the API of an Iceberg REST catalog does not list warehouses; name them in the "
                "property 'warehouses'"
            )
        return self.config.warehouses

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        if not identifier:
            return {}
        warehouse, levels = self._warehouse(identifier)
        if not levels:
            return {}
        with _finding(namespace_not_found, identifier, levels):
            return properties_of(self._api.get(warehouse.namespace(levels)))

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        warehouse, levels = self._warehouse(identifier)
        self._refuse_unreachable(warehouse.namespace(levels), identifier[-1])
        if len(levels) > 1:
            self.namespace_properties(identifier[:-1])
            if self._is_table(identifier):
                raise NamespaceAlreadyExistsError(
                    f"a table has the name {format_identifier(identifier)!r}; choose another name"
                )
        body = {"namespace": list(levels), "properties": dict(properties)}
        with (
            raising(namespace_exists, identifier, when=is_conflict),
            raising(namespace_not_found, identifier[:-1], when=is_missing),
        ):
            answer = self._api.post(warehouse.namespaces(), body)
        return properties_of(answer) if "properties" in answer else properties

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        warehouse, levels = self._warehouse(identifier)
        properties = self.namespace_properties(identifier)
        try:
            with raising(namespace_not_found, identifier, when=is_missing):
                self._api.delete(warehouse.namespace(levels))
        except HttpFailure as failure:
            if not is_not_empty(failure):
                raise
            raise namespace_not_empty(identifier, f"something ({failure.message})") from failure
        return properties

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        warehouse, levels = self._warehouse(identifier)
        before = self.namespace_properties(identifier)
        with raising(namespace_not_found, identifier, when=is_missing):
            change_properties(self._api, warehouse.namespace(levels), before, changed, removed)
        return self.namespace_properties(identifier)

    # --- tables

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        return self.first_table_names(parent, after, None)

    @property
    def max_concurrency(self) -> int:
        return self.config.max_concurrency

    def first_table_names(
        self, parent: Identifier, after: str | None, wanted: int | None
    ) -> Iterator[str]:
        entries = ordered_map(
            self._all_table_names(parent, after),
            lambda name: self._listed((*parent, name)),
            max_concurrency=self.config.max_concurrency,
            wanted=wanted,
        )
        return ListedTables((entry.id[-1], partial(_same, entry)) for entry in entries)

    def _all_table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the names of the tables of every kind."""
        warehouse, levels = self._warehouse(parent)
        with _finding(namespace_not_found, parent, levels):
            names = {
                str(each["name"])
                for page in self._api.pages(warehouse.tables(levels), FIRST_PAGE, PAGES)
                for each in page.get("identifiers") or ()
                if tuple(each.get("namespace") or ()) == levels
            }
        if not names:
            self.namespace_properties(parent)  # as for namespaces, above
        return sorted_after(names, after)

    def _listed(self, identifier: Identifier) -> TableEntry | None:
        """Load a table of a listing; None where it is no Lance table."""
        try:
            metadata = self._load(identifier)
        except (TableNotFoundError, NamespaceNotFoundError):
            return None  # it went between listing and loading
        except (HttpFailure, LanceNamespaceError) as error:
            what = f"ListTables: table {format_identifier(identifier)} cannot be read"
            found = self.translate(error, what) if isinstance(error, HttpFailure) else error
            if self.config.skip_unreadable:
                warnings.warn(f"{found} (left out)", stacklevel=2)
                return None
            raise found from error
        return entry_of(identifier, metadata) if is_lance(properties_of(metadata)) else None

    def _load(self, identifier: Identifier) -> dict[str, Any]:
        """Load a table's metadata, of whatever kind it is."""
        warehouse, levels = self._warehouse(identifier[:-1])
        with _finding(table_not_found, identifier, identifier[1:]):
            answer = self._api.get(self._warehouses.table(warehouse, levels, identifier[-1]))
        found = answer.get("metadata")
        if not isinstance(found, dict):
            raise InternalError(
                f"table {format_identifier(identifier)}: the server answers without a table's "
                "metadata; does it speak the Iceberg REST protocol?"
            )
        return found

    def load_table(self, identifier: Identifier) -> TableEntry:
        metadata = self._load(identifier)
        if not is_lance(properties_of(metadata)):
            raise not_a_lance_table(identifier)
        return entry_of(identifier, metadata)

    def _is_table(self, identifier: Identifier) -> bool:
        try:
            self._load(identifier)
        except TableNotFoundError:
            return False
        return True

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        warehouse, levels = self._warehouse(identifier[:-1])
        # Some servers take a table whose namespace is not there.
        namespace = self.namespace_properties(identifier[:-1])
        self._refuse_taken(identifier)
        wanted = None if location is None else absolute(location)
        asked = as_address(wanted or self._default_location(identifier, namespace))
        body = {
            "name": identifier[-1],
            "location": asked,
            "schema": DUMMY_SCHEMA,
            "stage-create": False,
            "properties": with_lance_type(properties),
        }
        with (
            raising(table_exists, identifier, when=is_conflict),
            raising(namespace_not_found, identifier[:-1], when=is_missing),
            raising(location_taken(asked), identifier, when=is_location_taken),
        ):
            answer = self._api.post(warehouse.tables(levels), body)
        entry = entry_of(identifier, {**body, **(answer.get("metadata") or {})})
        if wanted is not None and entry.location != as_opened(asked):
            # An entry that points away from the data is no use.
            self.remove_table(entry)
            raise chosen_by_server(entry, wanted)
        if entry.location != as_opened(asked) and set(entry.location) & set("%?#"):
            # A server's own choice is a plain path, and Lance would read these as of an address.
            self.remove_table(entry)
            raise InvalidInputError(
                f"table {format_identifier(identifier)} cannot be created: this server would keep it at "
                f"{entry.location}, which Lance reads otherwise; choose names without %, ? and #"
            )
        return entry

    def default_location(self, identifier: Identifier) -> str | None:
        namespace = self.namespace_properties(identifier[:-1])
        return as_opened(as_address(self._default_location(identifier, namespace)))

    def _default_location(self, identifier: Identifier, namespace: Mapping[str, str]) -> str:
        """Return the place of a table below its namespace's own, else below the root.

        Some servers take no other (Apache Polaris).
        """
        own = namespace.get(LOCATION)
        if own:
            return default_location(own if "://" in own else as_opened(own), identifier[-1:])
        return default_location(self.config.root, identifier)

    def remove_table(self, entry: TableEntry) -> None:
        warehouse, levels = self._warehouse(entry.id[:-1])
        with raising(table_not_found, entry.id, when=is_missing):
            self._api.delete(
                self._warehouses.table(warehouse, levels, entry.id[-1]), {"purgeRequested": "false"}
            )

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        warehouse, levels = self._warehouse(new[:-1])
        self.namespace_properties(new[:-1])
        self._refuse_taken(new)
        body = {
            "source": {"namespace": list(entry.id[1:-1]), "name": entry.id[-1]},
            "destination": {"namespace": list(levels), "name": new[-1]},
        }
        with (
            raising(table_exists, new, when=is_conflict),
            raising(table_not_found, entry.id, when=is_missing),
        ):
            self._api.submit(warehouse.rename(), body)

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        if TABLE_TYPE in removed or not is_lance({TABLE_TYPE: LANCE, **changed}):
            raise InvalidInputError(
                f"property {TABLE_TYPE!r} marks {format_identifier(entry.id)} as a Lance table and stays"
            )
        updates: list[dict[str, Any]] = []
        if changed:
            updates.append({"action": "set-properties", "updates": dict(changed)})
        present = [key for key in removed if key in entry.properties]
        if present:
            updates.append({"action": "remove-properties", "removals": present})
        return self._commit(entry, updates).properties if updates else entry.properties

    def replace_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Point a table elsewhere; it is never missing in between."""
        entry, wanted = self.load_table(identifier), as_address(absolute(location))
        if as_opened(wanted) != entry.location:
            entry = self._commit(entry, [{"action": "set-location", "location": wanted}])
        if as_opened(wanted) != entry.location:
            raise chosen_by_server(entry, wanted)
        gone = [key for key in entry.properties if key not in properties and key != TABLE_TYPE]
        changed = {key: value for key, value in properties.items() if key != TABLE_TYPE}
        return evolve(entry, properties=self.change_table(entry, changed, gone))

    def _commit(self, entry: TableEntry, updates: Sequence[Mapping[str, Any]]) -> TableEntry:
        warehouse, levels = self._warehouse(entry.id[:-1])
        body = {
            "identifier": {"namespace": list(levels), "name": entry.id[-1]},
            "requirements": [],
            "updates": list(updates),
        }
        with (
            raising(table_not_found, entry.id, when=is_missing),
            raising(changed_meanwhile, entry.id, when=lambda failure: failure.status == 409),
        ):
            answer = self._api.post(self._warehouses.table(warehouse, levels, entry.id[-1]), body)
        return entry_of(entry.id, answer.get("metadata") or {})

    # --- names

    def _warehouse(self, identifier: Identifier) -> tuple[Warehouse, Identifier]:
        return self._warehouses.get(identifier[0]), identifier[1:]

    def _refuse_taken(self, identifier: Identifier) -> None:
        """Refuse a name for a table that the server could not find again, or a namespace has."""
        warehouse, levels = self._warehouse(identifier[:-1])
        self._refuse_unreachable(
            self._warehouses.table(warehouse, levels, identifier[-1]), identifier[-1]
        )
        try:
            self.namespace_properties(identifier)
        except NamespaceNotFoundError:
            return
        raise TableAlreadyExistsError(
            f"a namespace has the name {format_identifier(identifier)!r}; choose another name"
        )

    def _refuse_unreachable(self, path: str, name: str) -> None:
        """Refuse a name that the server would store but refuses in the paths of its API (13)."""
        if _is_plain(name):
            return
        try:
            self._api.get(path)
        except HttpFailure as failure:
            if not is_missing(failure):
                raise


def _same(entry: TableEntry) -> TableEntry:
    return entry


@contextmanager
def _finding(
    missing: Callable[[Identifier], LanceNamespaceError],
    identifier: Identifier,
    names: Sequence[str],
) -> Iterator[None]:
    """Raise that an object is missing where a look-up finds nothing.

    A name that cannot be written in a path, or that the server refuses there, is nothing's name.
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


def _credentials(config: IcebergConfig) -> Any:
    if config.credential is None:
        return None
    try:
        from .oauth import ClientCredentials
    except ImportError as error:
        raise InvalidInputError(
            f"iceberg: property 'credential' needs {error.name}: "
            "pip install 'lance-namespace-kit[iceberg]'"
        ) from error
    return ClientCredentials(config)
