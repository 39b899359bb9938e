"""The Unity Catalog backend."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    UnsupportedError,
)
from lance_namespace_client.wire import path_segment

from ..catalog.capabilities import Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import (
    Loader,
    SortedTables,
    TableEntry,
    with_lance_type,
)
from ..catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    not_a_lance_table,
    table_exists,
    table_not_found,
)
from ..core.errors import first_line, scrub
from ..core.identifiers import Identifier, format_identifier
from ..core.json_api import HttpFailure, JsonApi, raising
from ..core.location import absolute, default_location
from ..core.locks import object_lock
from ..core.oauth import client_credentials
from ..core.paging import sorted_after
from .columns import to_columns, to_json
from .errors import (
    FAILURES,
    is_changed_meanwhile,
    is_conflict,
    is_duplicate,
    is_missing,
    is_not_empty,
    is_too_long,
    read_failure,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.models import JsonArrowSchema

from .config import SPLITS, UnityConfig
from .pages import Table, TablePages
from .records import (
    EXTERNAL,
    NO_PROPERTIES,
    PAGES,
    UnityTable,
    entry_of,
    from_uri,
    is_lance_table,
    is_sorted_by_name,
    listed_tables,
    properties_of,
    to_uri,
    too_long,
)

__all__ = ["UnityConfig", "UnityNamespace"]

CHANGES_TRIED = 10
# Delay before a change is verified: the minimum in seconds, and a multiple of the change's
# duration.
MIN_PAUSE = 0.02
PAUSE_FACTOR = 2


class UnityNamespace(CatalogNamespace):
    """The Lance tables in one catalog of Unity Catalog, or in all catalogs of a server.

    An identifier consists of the catalog, a schema and a table. A Lance table is an EXTERNAL table
    with the property ``table_type=lance``. Its columns are stored when the table is created,
    registered, or declared at a location with data; `describe_table` returns them as the schema.
    The API cannot change a table, so the stored columns may become outdated.

    Source: the Unity Catalog implementation specification.
    """

    config_type = UnityConfig
    config: UnityConfig
    capabilities = Capabilities(
        namespace_depth=2,
        table_depth=2,
        configured_depth=1,
        closed=True,
        cascade=True,
        unsupported=dict.fromkeys(
            ("AlterTable", "RenameTable"),
            "the Unity Catalog API cannot change a table; deregister it and register it again",
        ),
    )

    def __init__(self, config: UnityConfig) -> None:
        super().__init__(config)
        credentials = client_credentials(config, config.endpoint)
        base = config.endpoint + config.api_path
        self._api = JsonApi(config, base, read_failure, credentials)
        self._sorts_by_name: bool | None = None
        """Whether the server sorts tables by name and uses names as page tokens; None until
        known."""

    def close(self) -> None:
        """Close the connections; later calls are rejected (code 13)."""
        self._api.close()

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for a response of the server, or None for other failures."""
        if not isinstance(error, HttpFailure):
            return None
        if is_duplicate(error):
            return InvalidTableStateError(
                f"{what}: the server has several entries with this name, which were created "
                "concurrently, and returns none of them; remove all but one from the server's "
                "database"
            )
        if is_changed_meanwhile(error):
            return ConcurrentModificationError(
                f"{what}: another client changed the object concurrently; try again"
            )
        protocol_error = FAILURES.error(error, what)
        if error.status == 404 and not error.kind:
            protocol_error.text += (
                f"; there is no Unity Catalog API at {self._api.base}; check 'endpoint' and "
                "'api_path'"
            )
        return protocol_error

    # --- namespaces

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        if not parent:
            return sorted_after(self._catalogs(), after)
        if len(parent) > 1:
            self._schema(parent)
            return sorted_after((), after)
        self._require_catalog(parent)
        query = {"catalog_name": parent[0]}
        with raising(namespace_not_found, parent, when=is_missing):
            names = [
                str(schema["name"])
                for page in self._api.pages("/schemas", query, PAGES)
                for schema in page.get("schemas") or ()
            ]
        return sorted_after(names, after)

    def _catalogs(self) -> Sequence[str]:
        """Return the configured catalog, or all catalogs if none is configured."""
        if self.config.catalog is not None:
            return [self.config.catalog]
        return [
            str(catalog["name"])
            for page in self._api.pages("/catalogs", {}, PAGES)
            for catalog in page.get("catalogs") or ()
        ]

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        if not identifier:
            return {}
        if len(identifier) > 1:
            return properties_of(self._schema(identifier))
        self._require_catalog(identifier)
        with raising(namespace_not_found, identifier, when=is_missing):
            return properties_of(self._api.get(f"/catalogs/{_path(identifier)}"))

    def _schema(self, identifier: Identifier) -> dict[str, Any]:
        self._require_catalog(identifier)
        with raising(namespace_not_found, identifier, when=is_missing):
            return self._api.get(f"/schemas/{_path(identifier)}")

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        self._reject_invalid(identifier)
        self.namespace_properties(identifier[:1])
        body = {
            "name": identifier[1],
            "catalog_name": identifier[0],
            "properties": dict(properties),
        }
        with (
            object_lock(self._api.base, identifier),
            raising(too_long(body), identifier, when=is_too_long),
            raising(namespace_exists, identifier, when=is_conflict),
            raising(namespace_not_found, identifier[:1], when=is_missing),
        ):
            return properties_of(self._api.post("/schemas", body))

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        properties = properties_of(self._schema(identifier))
        if not cascade and self._has_tables(identifier):
            raise namespace_not_empty(identifier, "tables")  # not every server checks this
        query = {"force": "true"} if cascade else None
        try:
            with raising(namespace_not_found, identifier, when=is_missing):
                self._api.delete(f"/schemas/{_path(identifier)}", query)
        except HttpFailure as failure:
            if cascade or not is_not_empty(failure):
                raise
            contents = f"tables, volumes, functions or models (server message: {failure.message})"
            raise namespace_not_empty(identifier, contents) from failure
        return properties

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        with object_lock(self._api.base, identifier):
            for _ in range(CHANGES_TRIED):
                started = time.monotonic()
                try:
                    before, after = self._replace_properties(identifier, changed, removed)
                except HttpFailure as failure:
                    if not is_changed_meanwhile(failure):
                        raise
                    error: HttpFailure | None = failure
                    continue
                if before == after or self._was_applied(identifier, before, after, started):
                    return after
                error = None
        raise ConcurrentModificationError(
            f"AlterNamespace {format_identifier(identifier)}: other clients changed it "
            f"concurrently, {CHANGES_TRIED} times; try again"
        ) from error

    def _was_applied(
        self,
        identifier: Identifier,
        before: Mapping[str, str],
        after: Mapping[str, str],
        started: float,
    ) -> bool:
        """Verify a change after a delay during which a concurrent writer would have overwritten it.

        The API has no conditional changes, so a concurrent writer that has read the old properties
        would restore them.
        """
        time.sleep(max(MIN_PAUSE, PAUSE_FACTOR * (time.monotonic() - started)))
        current = properties_of(self._schema(identifier))
        changed_keys = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        return not any(current.get(key) == before.get(key) for key in changed_keys)

    def _replace_properties(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Change the properties once, and return the old and the new properties."""
        present = properties_of(self._schema(identifier))
        wanted = {k: v for k, v in {**present, **changed}.items() if k not in removed}
        if wanted == present:
            return present, present
        body = {"properties": wanted or NO_PROPERTIES}
        with (
            raising(too_long(body), identifier, when=is_too_long),
            raising(namespace_not_found, identifier, when=is_missing),
        ):
            response = self._api.patch(f"/schemas/{_path(identifier)}", body)
        if properties_of(response) == present:  # other values were written by a concurrent writer
            raise UnsupportedError(
                f"AlterNamespace {format_identifier(identifier)}: this server accepts the request "
                f"but does not change the schema's properties; upgrade Unity Catalog"
            )
        return present, wanted

    # --- tables

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        tables = [pair for page in self._table_pages(parent) for pair in listed_tables(page)]
        return self._sorted_tables(parent, dict(tables), after)

    def first_table_names(
        self, parent: Identifier, after: str | None, wanted: int | None
    ) -> Iterator[str]:
        """Return the names page by page if the server sorts them, and otherwise in one listing."""
        if wanted is None or self._sorts_by_name is False:
            return self.table_names(parent, after)
        if self._sorts_by_name is None:
            pages = self._table_pages(parent)
            first = next(pages)
            if first.get(PAGES.next_token):
                self._sorts_by_name = is_sorted_by_name(first)
            if not self._sorts_by_name:
                tables = [pair for page in (first, *pages) for pair in listed_tables(page)]
                return self._sorted_tables(parent, dict(tables), after)
        return TablePages(partial(self._page_after, parent), partial(_loader, parent), after)

    def _sorted_tables(
        self, parent: Identifier, tables: Mapping[str, Mapping[str, Any]], after: str | None
    ) -> SortedTables[Mapping[str, Any]]:
        if not tables:
            self._schema(parent)  # fails if it is missing, as some servers return an empty list
        return SortedTables(
            sorted(tables),
            lambda names, _: ((name, tables[name]) for name in names),
            partial(_loader, parent),
            after,
        )

    def _page_after(self, parent: Identifier, after: str | None) -> tuple[list[Table], str | None]:
        """Return the tables on one page, and the name before the next page or None on the last
        page.

        Raises:
            InternalError: code 18, the server no longer sorts the names.
        """
        page = next(self._table_pages(parent, after))
        names = [str(table["name"]) for table in page.get("tables") or ()]
        token = page.get(PAGES.next_token) or None
        if names != sorted(names) or (after is not None and names and names[0] <= after):
            self._sorts_by_name = False
            raise InternalError(
                f"ListTables {format_identifier(parent)}: {self._api.base} does not sort tables "
                f"by name; start the listing again without a page token"
            )
        if not names and after is None:
            self._schema(parent)
        return list(listed_tables(page)), str(token) if token else None

    def _has_tables(self, schema: Identifier) -> bool:
        return any(page.get("tables") for page in self._table_pages(schema))

    def _table_pages(
        self, schema: Identifier, token: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Return the pages of a schema's tables, starting at a page token."""
        self._require_catalog(schema)
        query = {"catalog_name": schema[0], "schema_name": schema[1], "omit_columns": "true"}
        if token is not None:
            query[PAGES.token] = token
        with raising(namespace_not_found, schema, when=is_missing):
            yield from self._api.pages("/tables", query, PAGES)

    def load_table(self, identifier: Identifier) -> UnityTable:
        self._require_catalog(identifier)
        with raising(table_not_found, identifier, when=is_missing):
            table = self._api.get(f"/tables/{_path(identifier)}")
        if not is_lance_table(table):
            kind = ("table_type", table.get("table_type"), EXTERNAL)
            raise not_a_lance_table(identifier, properties_of(table), kind=kind)
        return entry_of(identifier, table)

    def known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        assert isinstance(entry, UnityTable)
        return to_json(entry.columns) if entry.columns else None

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> UnityTable:
        self._require_schema_for(identifier)
        where = self._location(identifier, location)
        schema = None if location is None else self._schema_at(where, properties)
        entry = self._post_table(identifier, where, properties, schema)
        if location is not None and entry.location != from_uri(to_uri(where)):
            # The entry would not refer to the table's data, so remove it.
            self.remove_table(entry)
            raise InvalidInputError(
                f"table {format_identifier(identifier)} cannot be stored at {where}: this server "
                f"would store the location {entry.location}; specify a location in that form"
            )
        return entry

    def add_table_for(
        self,
        identifier: Identifier,
        location: str | None,
        properties: Mapping[str, str],
        schema: pa.Schema,
    ) -> UnityTable:
        self._require_schema_for(identifier)
        where = self._location(identifier, location)
        return self._post_table(identifier, where, properties, schema)

    def _require_schema_for(self, identifier: Identifier) -> None:
        """Reject invalid names and missing schemas, which some servers would accept."""
        self._reject_invalid(identifier)
        self.cached_response(self._schema, identifier[:-1])

    def _location(self, identifier: Identifier, location: str | None) -> str:
        if location is None:
            return default_location(self.config.root, identifier)
        return absolute(location)

    def default_location(self, identifier: Identifier) -> str:
        return self._location(identifier, None)

    def _schema_at(self, location: str, properties: Mapping[str, str]) -> pa.Schema | None:
        """Return the schema of the dataset at a location, or None if there is no dataset.

        A client may declare a table whose storage it cannot read; such a table has no columns.
        """
        from ..tables.dataset import open_dataset
        from ..tables.errors import is_missing_bucket

        storage = self.storage_of(TableEntry(id=(), location=location, properties=properties))
        try:
            return open_dataset(storage).schema
        except InvalidTableStateError:
            return None
        except (OSError, RuntimeError, ValueError) as error:
            if is_missing_bucket(error):
                raise self.translate(error, "storage") from error
            warnings.warn(
                f"the table has no columns in Unity Catalog, because {location} cannot be read: "
                f"{scrub(first_line(error), self.config.secrets())}",
                stacklevel=2,
            )
            return None

    def _post_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        schema: pa.Schema | None,
    ) -> UnityTable:
        body = {
            "name": identifier[2],
            "catalog_name": identifier[0],
            "schema_name": identifier[1],
            "table_type": EXTERNAL,
            "data_source_format": "TEXT",
            "columns": [] if schema is None else to_columns(schema),
            "storage_location": to_uri(location),
            "properties": with_lance_type(properties),
        }
        with (
            object_lock(self._api.base, identifier),
            raising(too_long(body), identifier, when=is_too_long),
            raising(table_exists, identifier, when=is_conflict),
            raising(namespace_not_found, identifier[:-1], when=is_missing),
        ):
            try:
                response = self._api.post("/tables", body)
            except HttpFailure as failure:
                # Some servers check the location before the name, and report that an existing table
                # conflicts with its own location.
                if failure.status != 400 or is_conflict(failure) or not self._is_table(identifier):
                    raise
                raise table_exists(identifier) from failure
        answered = {key: value for key, value in response.items() if value is not None}
        return entry_of(identifier, {**body, **answered})

    def _is_table(self, identifier: Identifier) -> bool:
        try:
            self._api.get(f"/tables/{_path(identifier)}")
        except HttpFailure:
            return False
        return True

    def remove_table(self, entry: TableEntry) -> None:
        with raising(table_not_found, entry.id, when=is_missing):
            self._api.delete(f"/tables/{_path(entry.id)}")

    # --- the configured catalog

    def _is_outside(self, identifier: Identifier) -> bool:
        """Return whether an identifier is outside the configured catalog."""
        return self.config.catalog not in (None, identifier[0])

    def _require_catalog(self, identifier: Identifier) -> None:
        if self._is_outside(identifier) or any(map(SPLITS.search, identifier)):
            raise namespace_not_found(identifier)

    def _reject_invalid(self, identifier: Identifier) -> None:
        invalid_names = [name for name in identifier if SPLITS.search(name)]
        if invalid_names:
            raise InvalidInputError(
                f"Unity Catalog does not allow a dot or \\x1f in a name: {invalid_names[0]!r}"
            )
        if self._is_outside(identifier):
            raise InvalidInputError(
                f"{format_identifier(identifier)} is not in {self.config.catalog!r}, the catalog "
                "of this namespace; connect with another 'catalog'"
            )


def _loader(parent: Identifier, name: str, table: Mapping[str, Any]) -> Loader:
    return partial(entry_of, (*parent, name), table)


@lru_cache(maxsize=4096)
def _path(identifier: Identifier) -> str:
    return ".".join(map(path_segment, identifier))
