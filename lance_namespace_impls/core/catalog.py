"""The shared base of all backends: the protocol, on top of a catalog's few primitives."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from heapq import merge
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from lance_namespace_client import models
from lance_namespace_client._arrow import to_reader
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import OPERATIONS

from ..tables.operations import TableOperations
from .concurrent import alone, looked_up
from .config import Config
from .confinement import Confinement, confinement, is_local
from .errors import from_system_failure, scrub
from .identifiers import (
    DEFAULT_DELIMITER,
    ROOT,
    Identifier,
    format_identifier,
    join_identifier,
    parse_identifier,
    split_identifier,
)
from .location import fresh_location
from .modes import CreateMode, DropBehavior, DropMode, RegisterMode, parse_mode
from .operation import operation
from .options import joined_options
from .paging import page_of
from .storage import TableStorage

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client._arrow import ArrowData
    from lance_namespace_client.models import (
        AlterNamespaceRequest,
        AlterNamespaceResponse,
        AlterTableRequest,
        AlterTableResponse,
        CreateNamespaceRequest,
        CreateNamespaceResponse,
        CreateTableRequest,
        CreateTableResponse,
        DeclareTableRequest,
        DeclareTableResponse,
        DeregisterTableRequest,
        DeregisterTableResponse,
        DescribeNamespaceRequest,
        DescribeNamespaceResponse,
        DescribeTableRequest,
        DescribeTableResponse,
        DropNamespaceRequest,
        DropNamespaceResponse,
        DropTableRequest,
        DropTableResponse,
        JsonArrowSchema,
        ListNamespacesRequest,
        ListNamespacesResponse,
        ListOperationsRequest,
        ListOperationsResponse,
        ListTablesRequest,
        ListTablesResponse,
        NamespaceExistsRequest,
        NamespaceExistsResponse,
        RegisterTableRequest,
        RegisterTableResponse,
        RenameTableRequest,
        RenameTableResponse,
        TableExistsRequest,
        TableExistsResponse,
    )

    from ..tables.drop import TableFolder
    from .capabilities import Capabilities

__all__ = ["CatalogNamespace", "TableEntry"]

STORAGE_PREFIX = "storage."
TABLE_TYPE = "table_type"
LANCE = "lance"


@frozen(kw_only=True)
class TableEntry:
    """A Lance table as its catalog knows it."""

    id: Identifier
    location: str
    """Root of the dataset: a path or URI, without a trailing slash."""
    properties: Mapping[str, str]
    """The table's parameters in the catalog, ``storage.*`` among them."""


@frozen(kw_only=True)
class NewPlace:
    """Where a new table goes."""

    location: str | None = None
    """None is its usual location."""
    has_remains: bool = False
    """Whether a broken-off drop of the table left something there."""


class CatalogNamespace(TableOperations):
    """A backend: the operations of the protocol over the primitives of one catalog.

    A backend implements the methods that start with one underscore and are abstract, in its
    catalog's own terms. They get identifiers of a depth that `capabilities` allows, and raise
    protocol errors or, for anything unforeseen, their catalog's own exceptions, which
    `translate` turns into protocol errors.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._session: Any = None

    @property
    def _looks_at_once(self) -> int:
        """Most tables that a listing looks for data at the same time; each is a round trip."""
        return 16

    # --- primitives

    @abstractmethod
    def _child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Give the child namespaces' names in order, from after `after`.

        Raises:
            NamespaceNotFoundError: code 1.
        """

    @abstractmethod
    def _namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        """Give a namespace's properties; the root has none.

        Raises:
            NamespaceNotFoundError: code 1.
        """

    def _make_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Make a namespace and give its properties as stored.

        Raises:
            NamespaceNotFoundError: code 1, the parent is missing.
            NamespaceAlreadyExistsError: code 2.
        """
        raise self._unsupported("CreateNamespace")

    def _remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        """Take a namespace out of the catalog and give the properties that it had.

        Raises:
            NamespaceNotFoundError: code 1.
            NamespaceNotEmptyError: code 3, it holds any object and `cascade` is false.
        """
        raise self._unsupported("DropNamespace")

    def _alter_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change a namespace's properties and give all of them.

        Raises:
            NamespaceNotFoundError: code 1.
        """
        raise self._unsupported("AlterNamespace")

    @abstractmethod
    def _table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Give the names of the Lance tables in order, from after `after`.

        Raises:
            NamespaceNotFoundError: code 1.
        """

    def _first_table_names(
        self, parent: Identifier, after: str | None, wanted: int | None
    ) -> Iterator[str]:
        """Give the same names, of which no more than `wanted` will be taken (None: all).

        For a catalog that has to look at tables one by one, and does so ahead of being asked.
        """
        return self._table_names(parent, after)

    @abstractmethod
    def _table(self, identifier: Identifier) -> TableEntry:
        """Look a Lance table up.

        Raises:
            NamespaceNotFoundError: code 1, where the catalog tells it from a missing table.
            TableNotFoundError: code 4.
            InvalidInputError: code 13, it is a table, but not a Lance table.
        """

    def _lookups(
        self, parent: Identifier, names: Iterator[str]
    ) -> Iterator[tuple[str, Callable[[], TableEntry]]]:
        """Give each table's name with what looks it up as `_table` does.

        A catalog that can look up several tables with one call does so here.
        """
        for name in names:
            yield name, partial(self._table, (*parent, name))

    @abstractmethod
    def _add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        """Put a table into the catalog; nothing is written to its location.

        Args:
            identifier: the table.
            location: root of the dataset; None is the default location.
            properties: the table's parameters.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
        """

    def _add_table_for(
        self,
        identifier: Identifier,
        location: str | None,
        properties: Mapping[str, str],
        schema: pa.Schema,
    ) -> TableEntry:
        """Put a table into the catalog whose first rows, of that schema, are about to be written."""
        return self._add_table(identifier, location, properties)

    def _adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Put a table into the catalog whose data is there already."""
        return self._add_table(identifier, location, properties)

    @abstractmethod
    def _remove_table(self, entry: TableEntry) -> None:
        """Take a table out of the catalog; its data stays.

        Raises:
            TableNotFoundError: code 4, it has gone meanwhile.
        """

    def _rename_table(self, entry: TableEntry, new: Identifier) -> None:
        """Give a table another name.

        Raises:
            NamespaceNotFoundError: code 1, the new parent is missing.
            TableAlreadyExistsError: code 5.
        """
        raise self._unsupported("RenameTable")

    def _alter_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change a table's parameters and give all of them.

        Raises:
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
        """
        raise self._unsupported("AlterTable")

    def _known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        """Give the schema that the catalog itself keeps of a table; None where it keeps none."""
        return None

    def _has_data(self, entry: TableEntry) -> bool:
        """Say whether storage holds a dataset for the table."""
        from ..tables.dataset import exists

        return exists(self._storage(entry))

    def _filling(self, entry: TableEntry, *, wait: bool) -> AbstractContextManager[None]:
        """Keep others from writing the first rows of a table at the same time, where it can be.

        Args:
            entry: the table.
            wait: whether to wait until nobody else is at it.

        Raises:
            ConcurrentModificationError: code 14, someone else is at it, or the table has gone.
        """
        return nullcontext()

    def _data_written(self, entry: TableEntry) -> None:
        """Do what the catalog needs when a table's first data has been written."""

    def _withdraw_table(self, entry: TableEntry) -> None:
        """Take back a table that was added for data which could not be written.

        Raises:
            TableNotFoundError: code 4, it has gone meanwhile.
        """
        self._remove_table(entry)

    def _usual_location(self, identifier: Identifier) -> str | None:
        """Give the location that the table has unless another is asked for.

        None: that cannot be foretold, since the server chooses it.

        Raises:
            NamespaceNotFoundError: code 1.
            InvalidInputError: code 13, there is none, and the table needs one to be given.
        """
        return None

    def _drop_table(self, entry: TableEntry) -> None:
        """Take a table out of the catalog, then delete its data.

        A mark beside the data outlives a process that is killed in between; the next DropTable or
        CreateTable of the name finds it. Where it cannot be written, nothing is changed.
        """
        folder = self._folder_of(entry)
        marked = folder.mark(entry.id)
        try:
            self._remove_table(entry)
        except Exception:
            if marked and self._is_still_listed(entry):
                self._take_mark_away(entry)
            raise
        if marked:
            folder.delete()

    def translate(self, error: Exception, what: str) -> LanceNamespaceError:
        """Turn a failure of the catalog or of storage into a protocol error.

        A backend recognises its own failures first and leaves the rest to this method.

        Args:
            error: the failure.
            what: the operation and its object, to open the message with.
        """
        from ..tables.errors import from_lance

        found = from_lance(error, what) or from_system_failure(error, what)
        found.args = (scrub(found.message, self.config.secrets()),)
        found.message = found.args[0]
        return found

    # --- identifiers

    def check_identifier(self, operation: str, request: Any) -> None:
        """Refuse an identifier of a depth that the catalog does not have (code 13)."""
        path = OPERATIONS[operation].path
        names_table = path.startswith(("/v1/table/{id}", "/v1/materialized_view/{id}"))
        if not names_table and not path.startswith("/v1/namespace/{id}"):
            return
        identifier = parse_identifier(request.id)
        depth = len(identifier) - 1 if names_table else len(identifier)
        allowed = self.capabilities
        if names_table and not identifier:
            raise InvalidInputError(f"{operation} needs the identifier of a table, not the root")
        if not allowed.has_namespaces(depth) or (names_table and not allowed.holds_tables(depth)):
            raise InvalidInputError(
                f"{operation}: {format_identifier(identifier)!r} does not fit this catalog: "
                f"{_table_names(allowed) if names_table else _namespace_names(allowed)}"
            )
        if allowed.lowercase_names:
            _require_lowercase(operation, identifier)
            if operation == "RenameTable":
                _require_lowercase(operation, parse_identifier(request.new_namespace_id))
                _require_lowercase(operation, (request.new_table_name,))
        if not names_table and depth <= allowed.given_depth and operation in _NOT_ON_GIVEN:
            raise InvalidInputError(
                f"{operation}: {format_identifier(identifier)} is there by configuration "
                "and is neither made, changed nor dropped"
            )

    # --- drops that were broken off

    def _folder_of(self, entry: TableEntry) -> TableFolder:
        from ..tables.drop import TableFolder

        return TableFolder(self._storage(entry))

    def _is_still_listed(self, entry: TableEntry) -> bool:
        """Say whether a removal that failed has had no effect all the same."""
        try:
            self._find(entry.id)
        except TableNotFoundError:
            return False
        return True

    def _take_mark_away(self, entry: TableEntry) -> None:
        """Take the mark of a drop away that never came to the catalog: the data is to be kept.

        A table can leave the catalog while its storage is out of reach; that is then warned about.
        """
        if self.capabilities.storage_only:
            return
        try:
            self._folder_of(entry).unmark()
        except (OSError, RuntimeError, ValueError) as error:
            warnings.warn(
                f"{entry.location} cannot be looked at: if a drop of {format_identifier(entry.id)} "
                "was broken off there, dropping that name again would delete the data: "
                f"{self.translate(error, 'storage').message}",
                stacklevel=2,
            )

    def _dropped_halfway(self, identifier: Identifier) -> TableEntry | None:
        """Find the data of a table that is out of the catalog, and whose drop was broken off.

        Raises:
            TableNotFoundError: code 4, storage cannot tell.
        """
        if self.capabilities.storage_only:
            return None
        try:
            location = self._usual_location(identifier)
        except (NamespaceNotFoundError, InvalidInputError):
            return None
        if location is None:
            return None
        entry = TableEntry(id=identifier, location=location, properties={})
        try:
            marked = self._folder_of(entry).is_marked(identifier)
        except (OSError, RuntimeError, ValueError) as error:
            raise TableNotFoundError(
                f"table {format_identifier(identifier)} does not exist; whether a drop left data at "
                f"{location} cannot be seen: {self.translate(error, 'storage').message}"
            ) from error
        return entry if marked and not self._is_used_by_other(entry) else None

    def _is_used_by_other(self, entry: TableEntry) -> bool:
        """Say whether another table of the namespace has the location: someone rescued the data."""
        parent = entry.id[:-1]
        for name, look_up in self._lookups(parent, self._table_names(parent, None)):
            if name == entry.id[-1]:
                continue
            try:
                if look_up().location == entry.location:
                    return True
            except TableNotFoundError:
                continue  # it went between listing and loading
        return False

    # --- places of new tables

    def _place_of(
        self, identifier: Identifier, properties: Mapping[str, str], *, declaring: bool
    ) -> NewPlace:
        """Return where a table goes that no location is asked for.

        Whatever is at its usual location is not this table's, which is not in the catalog: it was
        deregistered or renamed, or another tool dropped its entry. It stays, and the new table goes
        beside it. What a broken-off drop of this very table left is no hindrance.
        """
        if self.capabilities.storage_only:
            return NewPlace()
        try:
            location = self._usual_location(identifier)
        except (NamespaceNotFoundError, InvalidInputError):
            return NewPlace()  # adding the table says what is wrong
        if location is None:
            return NewPlace()
        # Whoever only declares a table may have no way to its storage, and is not to wait for long.
        patience = {f"{STORAGE_PREFIX}client_max_retries": "2"} if declaring else {}
        usual = TableEntry(id=identifier, location=location, properties={**patience, **properties})
        try:
            folder = self._folder_of(usual)
            if not folder.is_occupied:
                return NewPlace()
            if folder.is_marked(identifier) and not self._is_used_by_other(usual):
                return NewPlace(has_remains=True)
        except (OSError, RuntimeError, ValueError) as error:
            if declaring:  # writing rows says what is wrong
                warnings.warn(
                    f"{location} cannot be looked at: rows that are there already will be those of "
                    f"{format_identifier(identifier)}: {self.translate(error, 'storage').message}",
                    stacklevel=2,
                )
            return NewPlace()
        return NewPlace(location=fresh_location(location))

    def _clear_place(self, entry: TableEntry) -> None:
        """Delete what a broken-off drop left at a new table's location, unless it was used since."""
        folder = self._folder_of(entry)
        if folder.is_marked(entry.id) and not self._is_used_by_other(entry):
            folder.delete()

    def _keep_place(self, entry: TableEntry) -> None:
        """Mark the place of a table without data that goes on under another name.

        Otherwise the next table of the old name would have the same place, and the same rows.
        """
        if self.capabilities.storage_only:
            return
        try:
            folder = self._folder_of(entry)
            if not folder.is_occupied:
                folder.reserve()
        except (OSError, RuntimeError, ValueError) as error:
            warnings.warn(
                f"{entry.location} cannot be written to: a new table "
                f"{format_identifier(entry.id)} could get the same place: "
                f"{self.translate(error, 'storage').message}",
                stacklevel=2,
            )

    # --- looking tables up

    def _locate(self, identifier: Identifier) -> TableStorage:
        return self._storage(self._find(identifier))

    def _find(self, identifier: Identifier) -> TableEntry:
        """Look a table up; a missing parent means that the table is missing too (code 4)."""
        try:
            return self._table(identifier)
        except NamespaceNotFoundError as error:
            raise TableNotFoundError(
                f"table {format_identifier(identifier)} does not exist: {error.message}"
            ) from error

    def _storage(self, entry: TableEntry) -> TableStorage:
        """Give location and storage options: the namespace's, with the table's own on top."""
        own = _own_options(entry.properties)
        what = f"table {format_identifier(entry.id)}"
        self._refuse_foreign_disk(entry, what)
        return TableStorage(
            location=entry.location,
            options=joined_options(self.config.storage, own, what),
            session=self._lance_session,
            renewed_by=(self, entry.id),
        )

    # --- what a caller may reach

    def _bounds(self) -> Confinement | None:
        """Return the bounds of the caller; None where it may go anywhere."""
        bounds, places = confinement(), self.config.allow_locations
        if bounds is not None:
            return evolve(bounds, allowed_locations=(*bounds.allowed_locations, *places))
        return Confinement(allowed_locations=places) if self.config.confine_locations else None

    def _own_places(self, identifier: Identifier) -> Iterator[str]:
        """Give the places of the namespace itself where that object may be."""
        if self.config.root is not None:
            yield self.config.root
        if self.capabilities.holds_tables(len(identifier) - 1):
            try:
                usual = self._usual_location(identifier)
            except InvalidInputError:
                return  # it has none, and every table needs a location to be given
            if usual is not None:
                yield usual.rpartition("/")[0]

    def _asked_location(self, location: str) -> str:
        """Give a location that a caller asks for as a path or URI that stands by itself."""
        return location

    def _refuse_outside(self, operation: str, identifier: Identifier, location: str | None) -> None:
        """Refuse a location that the caller may not choose (code 13)."""
        bounds = self._bounds()
        if bounds is not None and location is not None:
            what = f"{operation} {format_identifier(identifier)}"
            places = self._own_places(identifier)
            bounds.refuse_outside(self._asked_location(location), places, what)

    def _refuse_properties(
        self, operation: str, identifier: Identifier, properties: Mapping[str, str]
    ) -> None:
        """Refuse properties that lead where the caller may not go, or credentials elsewhere (13)."""
        for key in self.capabilities.location_properties:
            self._refuse_outside(operation, identifier, properties.get(key))
        if "Table" in operation:
            what = f"{operation} {format_identifier(identifier)}"
            joined_options(self.config.storage, _own_options(properties), what)

    def _refuse_foreign_disk(self, entry: TableEntry, what: str) -> None:
        """Refuse a table that the catalog has on this machine's disk, outside its places (code 15).

        Object stores have their own access control; on disk there would be only the process's.
        """
        bounds = self._bounds()
        if bounds is None or not is_local(entry.location):
            return
        try:
            bounds.refuse_outside(entry.location, self._own_places(entry.id), what)
        except InvalidInputError as error:
            raise PermissionDeniedError(
                f"{what}: it is on the server's own disk, outside the places of this namespace; have "
                "the operator allow it (--allow-location)"
            ) from error

    def _lance_session(self) -> Any:
        """Give the session whose bounded caches keep opened tables.

        A dataset that is opened through it reads the newest manifest and finds the rest there.
        """
        if self._session is None:
            import lance

            budget = self.config.cache_mib << 20
            self._session = lance.Session(
                index_cache_size_bytes=budget * 3 // 4, metadata_cache_size_bytes=budget // 4
            )
        return self._session

    # --- namespaces

    @operation
    def list_operations(self, request: ListOperationsRequest) -> ListOperationsResponse:
        """List the operations that this namespace supports."""
        return models.ListOperationsResponse(
            operations=[
                row.name
                for row in OPERATIONS.values()
                if getattr(type(self), row.method_name)
                is not getattr(LanceNamespace, row.method_name)
                and row.name not in self.capabilities.unsupported
            ]
        )

    @operation
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """List the direct child namespaces, in order, page by page."""
        parent = parse_identifier(request.id)
        page, token = page_of(
            lambda after: self._child_namespaces(parent, after),
            of=self._listing("ListNamespaces", parent),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListNamespacesResponse(namespaces=page, page_token=token)

    @operation
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """Read a namespace's properties."""
        identifier = parse_identifier(request.id)
        return models.DescribeNamespaceResponse(
            properties=dict(self._namespace_properties(identifier))
        )

    @operation
    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        """Succeed where the namespace exists; code 1 where it does not."""
        self._namespace_properties(parse_identifier(request.id))
        return models.NamespaceExistsResponse()

    @operation
    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """Make a namespace; an overwritten one must be empty."""
        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, CreateMode.CREATE)
        properties = request.properties or {}
        self._refuse_properties("CreateNamespace", identifier, properties)
        try:
            stored = self._make_namespace(identifier, properties)
        except NamespaceAlreadyExistsError as taken:
            if mode is CreateMode.CREATE:
                raise
            try:
                if mode is CreateMode.EXIST_OK:
                    stored = self._namespace_properties(identifier)
                else:
                    self._require_removable(identifier)
                    self._remove_namespace(identifier, cascade=False)
                    stored = self._make_namespace(identifier, properties)
            except NamespaceNotFoundError:
                raise taken from None  # by a table, or it went meanwhile
        return models.CreateNamespaceResponse(properties=dict(stored))

    @operation
    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """Take a namespace out of the catalog; no data is deleted."""
        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, DropMode.FAIL)
        behavior = parse_mode(request.behavior, DropBehavior.RESTRICT, "behavior")
        if behavior is DropBehavior.CASCADE and not self.capabilities.cascade:
            raise UnsupportedError("DropNamespace: this catalog has no Cascade; empty it first")
        self._require_removable(identifier)
        try:
            properties = self._remove_namespace(identifier, behavior is DropBehavior.CASCADE)
        except NamespaceNotFoundError:
            if mode is DropMode.FAIL and not self.capabilities.idempotent_drop:
                raise
            properties = {}
        return models.DropNamespaceResponse(properties=dict(properties))

    def _require_removable(self, identifier: Identifier) -> None:
        if identifier in self.capabilities.permanent:
            raise InvalidInputError(
                f"namespace {format_identifier(identifier)} cannot be dropped or overwritten: the "
                "catalog needs it"
            )

    @operation
    def alter_namespace(self, request: AlterNamespaceRequest) -> AlterNamespaceResponse:
        """Set and unset properties of a namespace."""
        changed, removed = _changes(request.set_properties, request.unset_properties)
        identifier = parse_identifier(request.id)
        self._refuse_properties("AlterNamespace", identifier, changed)
        properties = self._alter_namespace(identifier, changed, removed)
        return models.AlterNamespaceResponse(properties=dict(properties))

    # --- listing tables

    @operation
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the Lance tables of a namespace, in order, page by page."""
        parent = parse_identifier(request.id)
        # The entry after the page says whether there is a next one.
        wanted = None if request.limit is None else request.limit + 1
        page, token = page_of(
            lambda after: self._listed_tables(parent, after, request.include_declared, wanted),
            of=self._listing("ListTables", parent, request.include_declared),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListTablesResponse(tables=page, page_token=token)

    @operation
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the Lance tables of the whole catalog as string identifiers.

        A context entry ``delimiter`` says what joins the names, ``$`` unless given.
        """
        delimiter = (request.context or {}).get("delimiter", DEFAULT_DELIMITER)
        page, token = page_of(
            lambda after: self._walk(ROOT, after or ROOT, request.include_declared),
            of=self._listing("ListAllTables", request.include_declared),
            key=lambda identifier: identifier,
            page_token=request.page_token,
            limit=request.limit,
            from_name=lambda name: split_identifier(name, delimiter),
        )
        tables = [join_identifier(identifier, delimiter) for identifier in page]
        return models.ListTablesResponse(tables=tables, page_token=token)

    def _listed_tables(
        self,
        parent: Identifier,
        after: str | None,
        include_declared: bool,
        wanted: int | None = None,
    ) -> Iterator[str]:
        if not self.capabilities.holds_tables(len(parent)):
            self._namespace_properties(parent)
            return
        if include_declared:
            yield from self._first_table_names(parent, after, wanted)
            return

        def with_data(found: tuple[str, Callable[[], TableEntry]]) -> str | None:
            name, look_up = found
            return name if self._is_listed_with_data((*parent, name), look_up) else None

        lookups = self._lookups(parent, self._table_names(parent, after))
        yield from looked_up(lookups, with_data, at_once=self._looks_at_once, wanted=wanted)

    def _is_listed_with_data(
        self, identifier: Identifier, look_up: Callable[[], TableEntry]
    ) -> bool:
        try:
            return self._has_data(look_up())
        except TableNotFoundError:
            return False  # it went between listing and loading
        except Exception as error:
            what = f"ListTables: table {format_identifier(identifier)} cannot be read"
            found = error if isinstance(error, LanceNamespaceError) else self.translate(error, what)
            if self.config.skip_unreadable:
                warnings.warn(f"{found} (left out)", stacklevel=2)
                return False
            raise found from error

    def _walk(
        self, parent: Identifier, after: Identifier, include_declared: bool
    ) -> Iterator[Identifier]:
        """Give all tables below `parent` in the order of their identifiers, from after `after`."""
        depth = len(parent)
        floor = after[depth] if len(after) > depth and after[:depth] == parent else None
        tables: Iterator[str] = iter(())
        below: Iterator[str] = iter(())
        if self.capabilities.holds_tables(depth):
            tables = self._listed_tables(parent, floor, include_declared)
        if self.capabilities.has_namespaces(depth + 1):
            below = self._child_namespaces(parent, None)
        # Both are in order, and tables may be looked at one by one: no further than is asked for.
        names = merge(
            ((n, False) for n in below if floor is None or n >= floor), ((n, True) for n in tables)
        )
        for name, is_table in names:
            if is_table:
                yield (*parent, name)
                continue
            try:
                yield from self._walk((*parent, name), after, include_declared)
            except NamespaceNotFoundError:
                continue  # it went between listing and walking

    # --- tables

    @operation
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Tell where a table is and, where asked for, what is in it."""
        identifier = parse_identifier(request.id)
        chosen = [n for n in ("version", "tag", "branch") if getattr(request, n) is not None]
        if len(chosen) > 1:
            raise InvalidInputError(
                f"DescribeTable {format_identifier(identifier)}: give one of {', '.join(chosen)}"
            )
        entry = self._find(identifier)
        storage = self._storage(entry)
        answer = models.DescribeTableResponse(
            table=identifier[-1],
            namespace=list(identifier[:-1]),
            location=entry.location,
            storage_options=dict(storage.options) or None,
            properties=_plain_properties(entry.properties),
            managed_versioning=False,
        )
        if request.with_table_uri:
            from ..tables.dataset import table_uri

            answer.table_uri = table_uri(entry.location)
        if request.check_declared:
            answer.is_only_declared = not self._has_data(entry)
        if not chosen:
            answer.schema = self._known_schema(entry)
        if request.load_detailed_metadata or chosen:
            from ..tables.describe import fill_details

            fill_details(answer, storage, request)
        return answer

    @operation
    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Succeed where the table exists; code 4 where it does not."""
        entry = self._find(parse_identifier(request.id))
        if request.version is not None:
            from ..tables.dataset import has_version

            if not has_version(self._storage(entry), request.version):
                raise TableNotFoundError(
                    f"table {format_identifier(entry.id)} has no version {request.version}"
                )
        return models.TableExistsResponse()

    @operation
    def declare_table(self, request: DeclareTableRequest) -> DeclareTableResponse:
        """Put a table into the catalog without data."""
        identifier = parse_identifier(request.id)
        if request.location == "":
            raise InvalidInputError(
                f"DeclareTable {format_identifier(identifier)}: the location is empty; leave it out"
            )
        properties = request.properties or {}
        self._refuse_outside("DeclareTable", identifier, request.location)
        self._refuse_properties("DeclareTable", identifier, properties)
        place = NewPlace(location=request.location)
        if request.location is None:
            place = self._place_of(identifier, properties, declaring=True)
        entry = self._add_table(identifier, place.location, properties)
        if place.has_remains:
            self._clear_place(entry)
        return models.DeclareTableResponse(
            location=entry.location,
            storage_options=dict(self._storage(entry).options) or None,
            properties=_plain_properties(entry.properties),
            managed_versioning=False,
        )

    @operation
    def register_table(self, request: RegisterTableRequest) -> RegisterTableResponse:
        """Put a table into the catalog whose data is there already."""
        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, RegisterMode.CREATE)
        if not request.location:
            raise InvalidInputError(
                f"RegisterTable {format_identifier(identifier)}: the location is empty"
            )
        properties = request.properties or {}
        self._refuse_outside("RegisterTable", identifier, request.location)
        self._refuse_properties("RegisterTable", identifier, properties)
        try:
            entry = self._adopt_table(identifier, request.location, properties)
        except TableAlreadyExistsError as taken:
            if mode is RegisterMode.CREATE:
                raise
            try:
                entry = self._replace_table(identifier, request.location, properties)
            except TableNotFoundError:
                raise taken from None  # by a namespace, or it went meanwhile
        return models.RegisterTableResponse(
            location=entry.location, properties=_plain_properties(entry.properties)
        )

    def _replace_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Put a table in another's place; the old entry comes back where the new one fails."""
        old = self._table(identifier)
        self._remove_table(old)
        try:
            return self._adopt_table(identifier, location, properties)
        except Exception:
            self._adopt_table(identifier, old.location, old.properties)
            raise

    @operation
    def create_table(self, request: CreateTableRequest, data: ArrowData) -> CreateTableResponse:
        """Make a table with rows in it.

        A table that is declared and has no data yet is filled. Mode Overwrite replaces rows,
        schema and properties in one commit, so that readers never find the table missing; older
        versions of the dataset stay until they are cleaned up.

        A context entry ``header.x-lance-table-location`` must be where the table is or goes.
        """
        from ..tables.schema import check_columns
        from ..tables.write import create

        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, CreateMode.CREATE)
        properties = dict(request.properties or {})
        properties |= {
            STORAGE_PREFIX + key: value for key, value in (request.storage_options or {}).items()
        }
        self._refuse_properties("CreateTable", identifier, properties)
        reader = to_reader(data)
        check_columns(reader.schema)
        place = self._place_of(identifier, properties, declaring=False)
        added = held = False
        changed: Mapping[str, str] = {}
        gone: Sequence[str] = ()
        try:
            entry = self._add_table_for(identifier, place.location, properties, reader.schema)
            added = True
        except TableAlreadyExistsError:
            entry = self._table_in_the_way(identifier)
            held = self._has_data(entry)
            if held:
                if mode is CreateMode.CREATE:
                    raise
                if mode is CreateMode.EXIST_OK:
                    _refuse_other_location(entry, request)
                    return self._created(entry, None)
            if properties or mode is CreateMode.OVERWRITE:
                changed, gone = _replacing(entry.properties, properties)
                self._require_alterable(entry, [*changed, *gone])
        with (
            nullcontext() if held else self._filling(entry, wait=mode is CreateMode.EXIST_OK),
            self._taking_back(entry) if added else nullcontext(),
        ):
            _refuse_other_location(entry, request)
            if added and place.has_remains:
                self._clear_place(entry)
            overwrite = mode is CreateMode.OVERWRITE
            try:
                version = create(self._storage(entry), reader, overwrite=overwrite)
            except TableAlreadyExistsError:
                if mode is CreateMode.EXIST_OK:
                    return self._created(entry, None)
                raise
        self._data_written(entry)
        if changed or gone:
            entry = evolve(entry, properties=self._alter_table(entry, changed, gone))
        return self._created(entry, version)

    def _fill_declared(self, identifier: Identifier, reader: pa.RecordBatchReader) -> int:
        from ..tables.schema import check_columns
        from ..tables.write import create

        check_columns(reader.schema)
        entry = self._find(identifier)
        with self._filling(entry, wait=False):
            try:
                version = create(self._storage(entry), reader, overwrite=False)
            except TableAlreadyExistsError as error:
                raise ConcurrentModificationError(
                    f"table {format_identifier(identifier)}: someone else wrote its first rows at "
                    "the same moment; send the rows again"
                ) from error
        self._data_written(entry)
        return version

    def _require_alterable(self, entry: TableEntry, keys: Sequence[str]) -> None:
        """Refuse other properties for a table in a catalog that cannot change one (code 0)."""
        if keys and "AlterTable" in self.capabilities.unsupported:
            raise UnsupportedError(
                f"CreateTable: this catalog cannot change properties of the table "
                f"{format_identifier(entry.id)} ({', '.join(sorted(keys))}); give those that it has, "
                "or drop it first"
            )

    @contextmanager
    def _taking_back(self, entry: TableEntry) -> Iterator[None]:
        """Take a table that was added back where its rows cannot be written.

        Raises:
            ConcurrentModificationError: code 14, that failed since the table has gone meanwhile.
        """
        try:
            yield
        except BaseException as error:
            has_gone = not self._take_back(entry)
            if (
                has_gone
                and isinstance(error, Exception)
                and not isinstance(error, InvalidInputError)
            ):
                raise ConcurrentModificationError(
                    f"table {format_identifier(entry.id)} was dropped while its first rows were "
                    "written; create it again"
                ) from error
            raise

    def _take_back(self, entry: TableEntry) -> bool:
        """Withdraw a table, unless it holds what others wrote; False where it has gone meanwhile."""
        try:
            if self._has_data(entry):
                return True
        except Exception:  # noqa: BLE001 why rows could not be written is what the caller must see
            if self.capabilities.storage_only:
                return True  # data that cannot be looked at is not deleted
        try:
            self._withdraw_table(entry)
        except TableNotFoundError:
            return False
        except Exception as error:  # noqa: BLE001 as above
            warnings.warn(
                f"table {format_identifier(entry.id)} stays without data; drop it: "
                f"{self.translate(error, 'taking it back').message}",
                stacklevel=2,
            )
        return True

    def _table_in_the_way(self, identifier: Identifier) -> TableEntry:
        """Look up the table that was in the way of a new one."""
        try:
            return self._table(identifier)
        except TableNotFoundError as error:
            raise TableAlreadyExistsError(
                f"table {format_identifier(identifier)} cannot be created: its storage is occupied "
                "by a table that was deregistered; register that one, or choose another name"
            ) from error
        except InvalidInputError as error:
            raise TableAlreadyExistsError(
                f"table {format_identifier(identifier)} cannot be created: {error.message}"
            ) from error

    def _created(self, entry: TableEntry, version: int | None) -> CreateTableResponse:
        storage = self._storage(entry)
        if version is None:
            from ..tables.dataset import latest_version

            version = latest_version(storage)
        return models.CreateTableResponse(
            location=entry.location,
            version=version,
            storage_options=dict(storage.options) or None,
            properties=_plain_properties(entry.properties),
        )

    @operation
    def deregister_table(self, request: DeregisterTableRequest) -> DeregisterTableResponse:
        """Take a table out of the catalog; its data stays."""
        identifier = parse_identifier(request.id)
        entry = self._find(identifier)
        self._take_mark_away(entry)
        self._remove_table(entry)
        return models.DeregisterTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=_plain_properties(entry.properties),
        )

    @operation
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Take a table out of the catalog, then delete its data.

        A drop that was broken off between the two is gone on with, as long as the table was at its
        default location and nobody has used the data since. Of several at once one succeeds.
        """
        identifier = parse_identifier(request.id)
        # A drop under way looks like one that was broken off.
        with alone((self.namespace_id(), "DropTable", identifier)):
            entry = self._drop(identifier)
        return models.DropTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=_plain_properties(entry.properties),
        )

    def _drop(self, identifier: Identifier) -> TableEntry:
        try:
            entry = self._find(identifier)
        except TableNotFoundError:
            halfway = self._dropped_halfway(identifier)
            if halfway is None or not self._folder_of(halfway).delete():
                raise
            return halfway
        self._drop_table(entry)
        return entry

    @operation
    def rename_table(self, request: RenameTableRequest) -> RenameTableResponse:
        """Give a table another name, and another namespace where the catalog can."""
        identifier = parse_identifier(request.id)
        parent = identifier[:-1]
        if request.new_namespace_id is not None:
            parent = parse_identifier(request.new_namespace_id)
        new = parse_identifier([*parent, request.new_table_name])
        if not self.capabilities.holds_tables(len(parent)):
            raise InvalidInputError(
                f"RenameTable: {format_identifier(parent)!r} cannot hold tables in this catalog"
            )
        if parent != identifier[:-1] and not self.capabilities.rename_across:
            raise UnsupportedError("RenameTable: this catalog cannot move tables across namespaces")
        within = self.capabilities.rename_within
        if parent[:within] != identifier[:within]:
            raise UnsupportedError(
                f"RenameTable: this catalog cannot move a table out of "
                f"{format_identifier(identifier[:within])}; register it in "
                f"{format_identifier(parent)}, then deregister it"
            )
        entry = self._find(identifier)
        if new == identifier:
            raise TableAlreadyExistsError(f"table {format_identifier(new)} has that name already")
        self._take_mark_away(entry)
        self._keep_place(entry)
        self._rename_table(entry, new)
        return models.RenameTableResponse()

    @operation
    def alter_table(self, request: AlterTableRequest) -> AlterTableResponse:
        """Set and unset properties of a table."""
        changed, removed = _changes(request.set_properties, request.unset_properties)
        identifier = parse_identifier(request.id)
        entry = self._find(identifier)
        left = {key: value for key, value in entry.properties.items() if key not in removed}
        locations = self.capabilities.location_properties
        kept = {key: value for key, value in left.items() if key not in locations}
        self._refuse_properties("AlterTable", identifier, {**kept, **changed})
        properties = self._alter_table(entry, changed, removed)
        return models.AlterTableResponse(properties=_plain_properties(properties))


_NOT_ON_GIVEN = frozenset({"CreateNamespace", "DropNamespace", "AlterNamespace"})


def _table_names(allowed: Capabilities) -> str:
    """Say of how many names a table's identifier is."""
    least, deepest = allowed.table_depth + 1, allowed.namespace_depth
    if deepest is None:
        return f"a table has {least} or more names"
    if deepest + 1 > least:
        return f"a table has {least} to {deepest + 1} names"
    return f"a table has {least} names" if least > 1 else "a table has one name"


def _namespace_names(allowed: Capabilities) -> str:
    """Say of how many names a namespace's identifier is."""
    if allowed.namespace_depth == 0:
        return "it has no namespaces but the root"
    return f"a namespace has at most {allowed.namespace_depth} names"


def _require_lowercase(operation: str, names: Sequence[str]) -> None:
    for name in names:
        if name != name.lower():
            raise InvalidInputError(
                f"{operation}: this catalog stores names in lower case, so {name!r} would come back "
                f"as {name.lower()!r}; write it that way"
            )


def is_lance(properties: Mapping[str, str] | None) -> bool:
    """Say whether a catalog's table parameters mark a Lance table: ``table_type=lance``, any case."""
    return (properties or {}).get(TABLE_TYPE, "").lower() == LANCE


def with_lance_type(properties: Mapping[str, str]) -> dict[str, str]:
    """Give table parameters with the mark of a Lance table."""
    return {**properties, TABLE_TYPE: LANCE}


def not_a_lance_table(
    identifier: Identifier,
    properties: Mapping[str, str] | None = None,
    *,
    kind: tuple[str, str | None, str] | None = None,
) -> InvalidInputError:
    """Build the error for a table of another kind (code 13).

    Args:
        identifier: the table.
        properties: its properties.
        kind: what its catalog calls a table's kind, the kind that this one has, and the one that
            Lance tables have; where its properties are those of a Lance table, that is why.
    """
    why = f"it has no {TABLE_TYPE}={LANCE}"
    if kind is not None and is_lance(properties):
        name, has, wanted = kind
        why = f"its {name} is {has}, not {wanted}" if has else f"it has no {name}={wanted}"
    return InvalidInputError(f"table {format_identifier(identifier)} is not a Lance table: {why}")


def _refuse_other_location(entry: TableEntry, request: CreateTableRequest) -> None:
    """Refuse rows for another place than the table's (code 13)."""
    wanted = (request.context or {}).get("header.x-lance-table-location")
    if wanted and _plain_path(wanted) != _plain_path(entry.location):
        raise InvalidInputError(
            f"CreateTable {format_identifier(entry.id)}: the table's place is {entry.location}, not "
            f"{wanted}; leave x-lance-table-location out, or register the table at that place"
        )


def _replacing(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Give what is to be set and unset to have new properties in the place of old ones."""
    changed = {k: v for k, v in new.items() if k != TABLE_TYPE and old.get(k) != v}
    return changed, [k for k in old if k != TABLE_TYPE and k not in new]


def _plain_path(location: str) -> str:
    return location.removeprefix("file://").rstrip("/")


def namespace_not_found(identifier: Identifier) -> NamespaceNotFoundError:
    """Build the error for a namespace that is not there (code 1)."""
    return NamespaceNotFoundError(f"namespace {format_identifier(identifier)} does not exist")


def namespace_exists(identifier: Identifier) -> NamespaceAlreadyExistsError:
    """Build the error for a namespace that is there already (code 2)."""
    return NamespaceAlreadyExistsError(
        f"namespace {format_identifier(identifier)} already exists; mode ExistOk keeps it"
    )


def namespace_not_empty(identifier: Identifier, holds: str) -> NamespaceNotEmptyError:
    """Build the error for a namespace that still holds something (code 3)."""
    return NamespaceNotEmptyError(
        f"namespace {format_identifier(identifier)} is not empty: it holds {holds}"
    )


def table_not_found(identifier: Identifier) -> TableNotFoundError:
    """Build the error for a table that is not there (code 4)."""
    return TableNotFoundError(f"table {format_identifier(identifier)} does not exist")


def table_exists(identifier: Identifier) -> TableAlreadyExistsError:
    """Build the error for a table that is there already (code 5)."""
    return TableAlreadyExistsError(f"table {format_identifier(identifier)} already exists")


def _own_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Give the storage options among a table's properties."""
    start = len(STORAGE_PREFIX)
    return {k[start:]: value for k, value in properties.items() if k.startswith(STORAGE_PREFIX)}


def _plain_properties(properties: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in properties.items() if not k.startswith(STORAGE_PREFIX)}


def _changes(
    changed: Mapping[str, str] | None, removed: Sequence[str] | None
) -> tuple[dict[str, str], list[str]]:
    both = sorted(set(changed or ()) & set(removed or ()))
    if both:
        raise InvalidInputError(f"properties {', '.join(both)} are to be set and unset at once")
    return dict(changed or {}), list(removed or ())
