"""The Glue backend."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    UnsupportedError,
)

from ..catalog.capabilities import MANAGED_OPERATIONS, Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import TABLE_TYPE, SortedTables, TableEntry, is_lance
from ..catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    table_exists,
    table_not_found,
)
from ..catalog.identifiers import parent_after
from ..core.identifiers import Identifier, format_identifier, parse_identifier
from ..core.location import absolute, default_location
from ..core.locks import object_lock
from ..core.paging import sorted_after
from .config import CATALOG, DATABASE, GlueConfig
from .errors import NO_SUCH_CALL, NOT_FOUND, code_of, from_aws, translating, was_repeated
from .places import Place, Places, ResolvedNamespace, ambiguous, child_catalog_id, is_account, pages
from .records import (
    LOCATION,
    NAMESPACE_TYPE,
    GlueTable,
    as_entry,
    as_listed,
    changed_properties,
    from_listed,
    glue_table,
    is_lance_table,
    members,
    new_table,
    properties_of,
    with_properties,
)
from .session import make_client

__all__ = ["GlueNamespace"]

NOT_SHOWN_ATOMIC = (
    "AWS does not guarantee that Glue's UpdateTable compares and replaces a version atomically, "
    "so one of two concurrent commits could be lost"
)
MAX_NAME_LENGTH = 255
"""Maximum length of a name or a property key (Glue API reference, NameString and KeyString)."""
PAGE = 100  # Glue's maximum number of entries per page of databases, tables or functions


class GlueNamespace(CatalogNamespace):
    """The Lance tables of an AWS Glue Data Catalog.

    The root is the account's default catalog, or `catalog_id`. Its children are catalogs and
    databases; catalogs hold further catalogs and databases, and databases hold tables.

    Glue has no locks. AlterTable detects concurrent changes of the table by its version id.
    AlterNamespace detects them only between clients on the same machine: Glue has no versions of
    catalogs and databases, so a concurrent change between the read and the write is overwritten.
    DropNamespace also deletes objects that are added to the namespace after its last check.
    RenameTable copies the entry and then deletes the old entry; a change to the old entry
    immediately before its deletion is lost.

    Source: the AWS Glue specification.
    """

    config_type = GlueConfig
    config: GlueConfig
    capabilities = Capabilities(
        namespace_depth=None,
        table_depth=1,
        lowercase_names=True,
        rename_across=True,
        location_properties=(LOCATION,),
        unsupported=dict.fromkeys(MANAGED_OPERATIONS, NOT_SHOWN_ATOMIC),
    )

    def __init__(self, config: GlueConfig) -> None:
        super().__init__(config)
        self._lock = threading.Lock()
        self._client: Any = None
        self._places = Places(self._glue, config.catalog_id)

    def _glue(self) -> Any:
        """Return the Glue client, which is created by the first call."""
        client = self._client
        if client is None:
            with self._lock:
                client = self._client
                if client is None:
                    client = self._client = make_client(self.config)
        return client

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for an AWS failure, or None for other failures."""
        return from_aws(error, what)

    def check_identifier(self, operation: str, request: Any) -> None:
        """Reject names and property keys that are too long for AWS Glue (code 13)."""
        super().check_identifier(operation, request)
        names = [*parse_identifier(getattr(request, "id", None))]
        if operation == "RenameTable":
            names += [*parent_after(self.capabilities, request), request.new_table_name]
        for name in names:
            _check_length("name", name)
        for field in ("properties", "set_properties"):
            for key in getattr(request, field, None) or ():
                _check_length("property", key)

    # --- namespaces

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        place = self._resolve(parent).place
        if place.database is not None:
            return sorted_after((), after)
        with translating(missing=namespace_not_found(parent)):
            catalogs = {entry["Name"]: entry for entry in self._child_catalogs(place)}
            databases = {entry["Name"]: entry for entry in self._databases(place)}
        if both := sorted(catalogs.keys() & databases.keys()):
            raise ambiguous((*parent, both[0]))
        # A recursive walk reads the children next, so recording them saves one lookup for each
        # child.
        for name, entry in catalogs.items():
            if "CatalogId" in entry:
                self.record_response(
                    (*parent, name), ResolvedNamespace(Place(entry["CatalogId"]), entry)
                )
        for name, entry in databases.items():
            self.record_response(
                (*parent, name), ResolvedNamespace(Place(place.catalog_id, name), entry)
            )
        return sorted_after({*catalogs, *databases}, after)

    def _resolve(self, identifier: Identifier) -> ResolvedNamespace:
        """Return a namespace, which is requested only once per operation."""
        return self.cached_response(self._places.look_up, identifier)

    def _child_catalogs(self, place: Place) -> Iterator[Mapping[str, Any]]:
        """Return the direct child catalogs, without the entry of the default catalog itself."""
        # GetCatalogs rejects IncludeRoot together with a parent.
        arguments: dict[str, Any] = {"IncludeRoot": True}
        if place.catalog_id is not None:
            arguments = {"ParentCatalogId": place.catalog_id}
        try:
            for entry in pages(self._glue().get_catalogs, "CatalogList", **arguments):
                if _is_child(entry, place.catalog_id):
                    yield entry
        except ClientError as error:
            if code_of(error) not in NO_SUCH_CALL:
                raise

    def _databases(self, place: Place) -> Iterator[Mapping[str, Any]]:
        return pages(self._glue().get_databases, "DatabaseList", MaxResults=PAGE, **place.scope)

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        return properties_of(self._places.look_up(identifier))

    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        kind = self._kind_of_new(identifier, properties)
        plain_properties = {
            key: value for key, value in properties.items() if key != NAMESPACE_TYPE
        }
        parent = self._places.look_up(identifier[:-1]).place
        if parent.database is not None:
            raise InvalidInputError(
                f"namespace {format_identifier(identifier)} cannot be created: "
                f"{format_identifier(identifier[:-1])} is a database, which can contain only tables"
            )
        existing, _ = self._places.candidates(identifier)
        if existing:
            raise namespace_exists(identifier)
        self._places.forget(identifier)
        with translating(
            missing=namespace_not_found(identifier[:-1]), exists=namespace_exists(identifier)
        ):
            if kind == CATALOG:
                return self._make_catalog(identifier, plain_properties)
            return self._make_database(identifier, parent, plain_properties)

    def _kind_of_new(self, identifier: Identifier, properties: Mapping[str, str]) -> str:
        """Return the kind of a new namespace: catalog or database.

        Raises:
            InvalidInputError: code 13, the kind is unknown.
            UnsupportedError: code 0, Glue cannot create a catalog there.
        """
        usual = self.config.default_namespace_type if len(identifier) == 1 else DATABASE
        kind = properties.get(NAMESPACE_TYPE, usual).lower()
        if kind not in (CATALOG, DATABASE):
            raise InvalidInputError(
                f"namespace {format_identifier(identifier)}: property {NAMESPACE_TYPE!r} must be "
                f"{CATALOG} or {DATABASE}, not {kind!r}"
            )
        if kind == CATALOG and len(identifier) > 1:
            raise UnsupportedError(
                f"CreateNamespace {format_identifier(identifier)}: Glue's CreateCatalog accepts no "
                "parent, so catalogs can be created only on the first level"
            )
        return kind

    def _make_catalog(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        if child_catalog_id(None, identifier[-1]) is None:
            raise InvalidInputError(
                f"namespace {format_identifier(identifier)} cannot be a catalog: its name is "
                "longer than 64 characters, is an account number, or contains one of / \\ . :"
            )
        root = self.config.catalog_id
        if root is not None and root != self._caller_account():
            raise UnsupportedError(
                f"CreateNamespace {format_identifier(identifier)}: Glue creates catalogs only in "
                f"the caller's default catalog, but the root is {root}"
            )
        self._glue().create_catalog(
            Name=identifier[-1], CatalogInput=with_properties({}, properties)
        )
        return properties

    def _caller_account(self) -> str | None:
        for entry in pages(self._glue().get_catalogs, "CatalogList", IncludeRoot=True):
            if is_account(entry.get("CatalogId", "")):
                return str(entry["CatalogId"])
        return None

    def _make_database(
        self, identifier: Identifier, parent: Place, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        database: dict[str, Any] = with_properties({"Name": identifier[-1]}, properties)
        if "LocationUri" not in database and self.config.root is not None:
            database["LocationUri"] = default_location(self.config.root, identifier)
        self._glue().create_database(DatabaseInput=database, **parent.scope)
        return properties_of(ResolvedNamespace(Place(parent.catalog_id, identifier[-1]), database))

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        namespace = self._places.look_up(identifier)
        place = namespace.place
        with translating(missing=namespace_not_found(identifier)):
            if first_object := self._first_object(place):
                raise namespace_not_empty(identifier, first_object)
            self._places.forget(identifier)
            if place.database is None:
                self._glue().delete_catalog(CatalogId=place.catalog_id)
            else:
                self._glue().delete_database(Name=place.database, **place.scope)
        return properties_of(namespace)

    def _first_object(self, place: Place) -> str | None:
        """Describe the first object of any kind in a namespace, or return None if it is empty."""
        if place.database is None:
            for catalog in self._child_catalogs(place):
                return f"catalog {catalog['Name']}"
            for database in self._databases(place):
                return f"database {database['Name']}"
            return None
        where = {"DatabaseName": place.database, "MaxResults": PAGE, **place.scope}
        for table in pages(self._glue().get_tables, "TableList", **where):
            return f"table {table['Name']}"
        functions = self._glue().get_user_defined_functions
        for function in pages(functions, "UserDefinedFunctions", Pattern="*", **where):
            return f"function {function['FunctionName']}"
        return None

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        if NAMESPACE_TYPE in changed:
            raise InvalidInputError(
                f"namespace {format_identifier(identifier)}: {NAMESPACE_TYPE!r} is only supported "
                f"by CreateNamespace; the kind of a namespace cannot be changed"
            )
        # Glue has no versions of namespaces, so at least serialize the changes on this machine.
        with object_lock(self.lock_id, identifier):
            namespace = self._places.look_up(identifier)
            place = namespace.place
            properties = changed_properties(properties_of(namespace), changed, removed)
            members = ("Description", "LocationUri")
            other_fields = {
                key: value for key, value in namespace.entry.items() if key not in members
            }
            with translating(missing=namespace_not_found(identifier)):
                if place.database is None:
                    entry = with_properties(
                        self._as_input("CatalogInput", other_fields), properties
                    )
                    self._glue().update_catalog(CatalogId=place.catalog_id, CatalogInput=entry)
                else:
                    entry = with_properties(
                        self._as_input("DatabaseInput", other_fields), properties
                    )
                    self._glue().update_database(
                        Name=place.database, DatabaseInput=entry, **place.scope
                    )
            return properties_of(ResolvedNamespace(place, entry))

    # --- tables

    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        place = self._resolve(parent).place
        if place.database is None:
            return sorted_after((), after)
        where = {"DatabaseName": place.database, "MaxResults": PAGE, **place.scope}
        with translating(missing=namespace_not_found(parent)):
            tables = pages(self._glue().get_tables, "TableList", **where)
            lance_tables = {
                table["Name"]: as_listed(table) for table in tables if is_lance_table(table)
            }

        return SortedTables(
            sorted(lance_tables),
            lambda names, _: ((name, lance_tables[name]) for name in names),
            lambda name, listed: partial(from_listed, (*parent, name), place, listed),
            after,
        )

    def load_table(self, identifier: Identifier) -> GlueTable:
        parent = identifier[:-1]
        place = self._places.cached(parent)
        table = None if place is None else self._read_table(place, identifier[-1])
        if place is None or table is None:
            # The cached place may be out of date, so look it up again.
            place = self._places.look_up(parent).place
            table = self._read_table(place, identifier[-1])
        if table is None:
            raise table_not_found(identifier)
        return as_entry(identifier, place, table)

    def _read_table(self, place: Place, name: str) -> Mapping[str, Any] | None:
        if place.database is None:
            return None
        try:
            table: Mapping[str, Any] = self._glue().get_table(
                DatabaseName=place.database, Name=name, **place.scope
            )["Table"]
        except ClientError as error:
            if code_of(error) != NOT_FOUND:
                raise
            return None
        return table

    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> GlueTable:
        database = self._resolve(identifier[:-1])
        if database.place.database is None:
            raise InvalidInputError(
                f"table {format_identifier(identifier)} cannot be created: "
                f"{format_identifier(identifier[:-1])} is a catalog, which cannot contain tables"
            )
        if location is None:
            location = self._default_location(identifier, database)
        table = new_table(identifier, location, properties)
        self._create(identifier, database.place, table)
        return as_entry(identifier, database.place, table)

    def replace_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> GlueTable:
        """Replace a table's entry with another one atomically.

        Raises:
            ConcurrentModificationError: code 14, the old entry changed concurrently.
        """
        old = self.load_table(identifier)
        table = new_table(identifier, location, properties)
        self._update(old, table)
        return as_entry(identifier, old.place, table)

    def default_location(self, identifier: Identifier) -> str | None:
        database = self._resolve(identifier[:-1])
        if database.place.database is None:
            return None
        return absolute(self._default_location(identifier, database))

    def _default_location(self, identifier: Identifier, database: ResolvedNamespace) -> str:
        own = database.entry.get("LocationUri")
        if own:
            return default_location(own, identifier[-1:])
        if self.config.root is not None:
            return default_location(self.config.root, identifier)
        raise InvalidInputError(
            f"table {format_identifier(identifier)} needs a location: its database has none, and "
            "property 'root' is not set"
        )

    def _create(self, identifier: Identifier, place: Place, table: Mapping[str, Any]) -> None:
        parent = identifier[:-1]
        with translating(missing=namespace_not_found(parent), exists=table_exists(identifier)):
            self._glue().create_table(DatabaseName=place.database, TableInput=table, **place.scope)

    def remove_table(self, entry: TableEntry) -> None:
        if not self._delete(entry.id, glue_table(entry).place):
            raise table_not_found(entry.id)

    def _delete(self, identifier: Identifier, place: Place) -> bool:
        """Delete a table's entry; return False if there is none, perhaps because it was just
        deleted.
        """
        try:
            self._glue().delete_table(
                DatabaseName=place.database, Name=identifier[-1], **place.scope
            )
        except ClientError as error:
            if code_of(error) != NOT_FOUND:
                raise
            # If botocore retried a deletion, the first attempt may have succeeded.
            return was_repeated(error)
        return True

    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change a table's parameters, but keep the rest of its entry.

        Raises:
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14, the table changed after it was read.
            InvalidInputError: code 13, the change would remove the parameter that marks a Lance
                table.
        """
        table = glue_table(entry)
        properties = changed_properties(entry.properties, changed, removed)
        if not is_lance(properties):
            raise InvalidInputError(
                f"table {format_identifier(entry.id)}: {TABLE_TYPE} must remain 'lance'; "
                f"deregister the table instead"
            )
        self._update(table, self._as_input("TableInput", table.entry) | {"Parameters": properties})
        return properties

    def _update(self, table: GlueTable, new: Mapping[str, Any]) -> None:
        """Overwrite a table's entry, unless it has changed since it was read."""
        version = {"VersionId": table.entry["VersionId"]} if "VersionId" in table.entry else {}
        with translating(missing=table_not_found(table.id)):
            self._glue().update_table(
                DatabaseName=table.place.database, TableInput=new, **version, **table.place.scope
            )

    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        """Copy the table's entry to the new name and delete the old entry.

        Glue has no call for renaming. The old entry is read again before it is deleted; if it has
        changed, the copy is rolled back. A change between this read and the deletion is lost. For a
        short time, readers may see both names, but always at least one of them. The data is not
        moved. Partitions, column statistics, older versions of the entry and Lake Formation grants
        are not copied.

        Raises:
            NamespaceNotFoundError: code 1, the new parent is missing.
            TableNotFoundError: code 4, the table was deleted concurrently.
            TableAlreadyExistsError: code 5.
            ConcurrentModificationError: code 14, the table changed concurrently.
        """
        old = glue_table(entry)
        target = self._places.look_up(new[:-1]).place
        if target.database is None:
            raise InvalidInputError(
                f"RenameTable: {format_identifier(new[:-1])} is a catalog, which cannot contain "
                "tables"
            )
        copy = self._as_input("TableInput", old.entry) | {"Name": new[-1]}
        self._create(new, target, copy)
        try:
            self._refuse_changed(old)
        except Exception:
            self._delete(new, target)
            raise
        try:
            self._delete(old.id, old.place)
        except (BotoCoreError, ClientError):
            # The deletion may have succeeded despite the failure; in that case, the copy is the
            # table.
            if self._read_table(old.place, old.id[-1]) is None:
                return
            self._delete(new, target)
            raise

    def _refuse_changed(self, old: GlueTable) -> None:
        current = self._read_table(old.place, old.id[-1])
        if current is None:
            raise table_not_found(old.id)
        if current != old.entry:
            raise ConcurrentModificationError(
                f"table {format_identifier(old.id)} was changed during the rename; try again"
            )

    def _as_input(self, shape: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an entry that Glue accepts as input, as specified by botocore's
        model.
        """
        wanted: dict[str, Any] = members(entry, self._glue().meta.service_model.shape_for(shape))
        return wanted


def _check_length(what: str, text: str) -> None:
    if len(text) > MAX_NAME_LENGTH:
        raise InvalidInputError(
            f"{what} {text[:20]!r}... has {len(text)} characters, but AWS Glue allows at most "
            f"{MAX_NAME_LENGTH}; shorten it"
        )


def _is_child(entry: Mapping[str, Any], parent: str | None) -> bool:
    """Return whether a catalog is a direct child of `parent`; the default catalog never is."""
    path = _path(entry.get("CatalogId", entry["Name"]))
    above = "" if parent is None else _path(parent)
    return path != "" and path.rpartition("/")[0] == above


def _path(catalog_id: str) -> str:
    """Return the names in a catalog id, which are empty for the account's default catalog."""
    return "" if is_account(catalog_id) else catalog_id.rpartition(":")[2]
