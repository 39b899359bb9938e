"""The primitives of a catalog, with their contracts, and the methods that operations share.

A backend subclasses `CatalogNamespace` and implements the primitives for its catalog. Mixins
implement the protocol's operations with these primitives, one module per concern. They are mixins
because the interface generated from rest.yaml declares each operation as a method of the namespace;
any other design would need a forwarding method for each operation.

Omissions are detected when the class is created, not when a user calls a method. An abstract
primitive must be implemented. For an optional primitive, a backend must either implement it or
declare the operation unsupported in `Capabilities`. An unsupported operation is rejected before it
starts. The default implementation of an optional primitive raises the same error, for other
operations that use the primitive as a step; for example, CreateNamespace calls `remove_namespace`
to overwrite.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, final

from attrs import evolve

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    PermissionDeniedError,
)

from ..core.config import Config
from ..core.confinement import Confinement, confinement, is_local
from ..core.errors import from_system_failure, scrub
from ..core.identifiers import Identifier, format_identifier
from ..core.imports import load
from ..core.location import absolute
from ..core.locks import machine_lock
from ..core.options import joined_options, with_vended
from ..core.paging import ListingCache
from ..core.storage import TableStorage
from .capabilities import Capabilities
from .completeness import optional, require_complete, without_defaults
from .entry import ListedTables, TableEntry, storage_overrides
from .errors import missing_with_parent
from .identifiers import check_identifier
from .operation_cache import cached_response, record_response

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.models import JsonArrowSchema

    from ..core.storage import TableStorage
    from .version_store import VersionStore

__all__ = ["CatalogBase"]

# Properties that distinguish one catalog from another.
_WHICH_CATALOG = ("uri", "endpoint", "region", "catalog_id", "catalog", "prefix", "path")

Found = TypeVar("Found")


class CatalogBase(metaclass=ABCMeta):
    """The primitives of one catalog.

    Identifiers passed to primitives always have a depth that `capabilities` allows. Primitives
    raise protocol errors or, for unforeseen failures, their catalog's own exceptions, which
    `translate` converts to protocol errors.

    Class keyword arguments:
        abstract: whether the class is only a base class of backends, and need not implement the
            primitives.
    """

    def __init_subclass__(cls, *, abstract: bool = False, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "translate" in vars(cls):
            raise TypeError(
                f"{cls.__name__} overrides translate(): override recognize_failure() instead, "
                "which recognizes the errors of a backend"
            )
        if not abstract:
            require_complete(cls)
            cls.capabilities = without_defaults(cls)

    config: Config
    capabilities: Capabilities
    page_sizes: ClassVar[tuple[int, ...]] = (100, 1000)

    if TYPE_CHECKING:  # every backend is also a `Namespace`, which defines these

        def namespace_id(self) -> str: ...  # noqa: D102

        def reopen_after_fork(self) -> None: ...  # noqa: D102

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent table lookups in a listing; each lookup is a round trip."""
        return 16

    # --- namespaces

    @abstractmethod
    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the names of the child namespaces in order, starting after `after`.

        Args:
            parent: the namespace; the root is ``()``.
            after: name to start after; None starts at the beginning.

        Raises:
            NamespaceNotFoundError: code 1.
        """

    @abstractmethod
    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        """Return a namespace's properties; the root has none.

        Raises:
            NamespaceNotFoundError: code 1.
        """

    @optional("CreateNamespace")
    def add_namespace(
        self, identifier: Identifier, properties: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Add a namespace and return its properties as stored.

        Raises:
            NamespaceNotFoundError: code 1, the parent is missing.
            NamespaceAlreadyExistsError: code 2.
        """
        raise self.capabilities.refusal("CreateNamespace")

    @optional("DropNamespace")
    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        """Remove a namespace from the catalog and return its former properties.

        No data is deleted.

        Args:
            identifier: the namespace.
            cascade: whether to also remove all contents from the catalog; true only if the
                capabilities declare ``cascade``.

        Raises:
            NamespaceNotFoundError: code 1.
            NamespaceNotEmptyError: code 3, the namespace contains an object and `cascade` is false.
        """
        raise self.capabilities.refusal("DropNamespace")

    @optional("AlterNamespace")
    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change a namespace's properties and return all of them.

        Args:
            identifier: the namespace.
            changed: properties to set.
            removed: keys to remove; missing keys are ignored.

        Raises:
            NamespaceNotFoundError: code 1.
            ConcurrentModificationError: code 14.
        """
        raise self.capabilities.refusal("AlterNamespace")

    # --- tables

    @abstractmethod
    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the names of the Lance tables in order, starting after `after`.

        A catalog that can only list all names in one call returns them through `sorted_after`, or
        as `SortedTables`. A single listing then serves all pages that a client requests within a
        minute.

        Raises:
            NamespaceNotFoundError: code 1.
        """

    def first_table_names(
        self, parent: Identifier, after: str | None, wanted: int | None
    ) -> Iterator[str]:
        """Return the same names as `table_names`; the caller reads at most `wanted` (None: all).

        Override this method if the catalog can stop early, or looks up tables before their names
        are read.
        """
        return self.table_names(parent, after)

    @abstractmethod
    def load_table(self, identifier: Identifier) -> TableEntry:
        """Return a Lance table's entry.

        Raises:
            NamespaceNotFoundError: code 1, if the catalog distinguishes it from a missing table.
            TableNotFoundError: code 4.
            InvalidInputError: code 13, the table is not a Lance table.
        """

    def require_table(self, identifier: Identifier) -> None:
        """Raise the same errors as `load_table`; override this if there is a cheaper check."""
        self.load_table(identifier)

    def load_tables(
        self, parent: Identifier, names: Iterator[str]
    ) -> Iterator[tuple[str, Callable[[], TableEntry]]]:
        """Return each table's name with a function that loads the table like `load_table`.

        Override this method if the catalog can load several tables with one call. If its listing
        already includes the entries, return `ListedTables` or `SortedTables` from `table_names`
        instead.
        """
        if isinstance(names, ListedTables):
            for name, loader in names.loaders:
                yield name, loader or partial(self.load_table, (*parent, name))
            return
        for name in names:
            yield name, partial(self.load_table, (*parent, name))

    @abstractmethod
    def default_location(self, identifier: Identifier) -> str | None:
        """Return the location of a table that is created without a location.

        None means that the location is unknown in advance, because the server chooses it.

        Raises:
            NamespaceNotFoundError: code 1.
            InvalidInputError: code 13, there is no default; the caller must pass a location.
        """

    @abstractmethod
    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        """Add a table to the catalog; nothing is written to its location.

        Args:
            identifier: the table.
            location: root of the dataset; None means the default location.
            properties: the table's parameters.

        Raises:
            NamespaceNotFoundError: code 1.
            TableAlreadyExistsError: code 5.
        """

    def entry_to_add(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Return the entry that `add_table` would add.

        Raises:
            InvalidInputError: code 13, the catalog cannot store the entry.
        """
        return TableEntry(id=identifier, location=location, properties=properties)

    def add_table_for(
        self,
        identifier: Identifier,
        location: str | None,
        properties: Mapping[str, str],
        schema: pa.Schema,
    ) -> TableEntry:
        """Add a table to the catalog, just before its first rows are written with this schema."""
        return self.add_table(identifier, location, properties)

    def create_table_at_once(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        write: Callable[[TableEntry], int],
    ) -> tuple[TableEntry, int] | None:
        """Create a table together with its first rows, so that clients see either both or neither.

        Args:
            identifier: the table.
            properties: its properties.
            write: writes the rows to the entry's location and returns the version. The location is
                empty and has no other writers. The rows can possibly be read only once.

        Returns:
            the table and its version. None if the name may already be in use, or if the table must
            be added before it has rows; nothing has been written in this case.

        Raises:
            TableAlreadyExistsError: code 5.
        """
        return None

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Add a table whose data already exists to the catalog."""
        return self.add_table(identifier, location, properties)

    @abstractmethod
    def remove_table(self, entry: TableEntry) -> None:
        """Remove a table from the catalog; its data is not deleted.

        Raises:
            TableNotFoundError: code 4, the table was removed concurrently.
        """

    def withdraw_table(self, entry: TableEntry) -> None:
        """Remove a table whose first rows could not be written after the table had been added.

        Raises:
            TableNotFoundError: code 4, the table was removed concurrently.
        """
        self.remove_table(entry)

    @optional("RenameTable")
    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        """Rename a table or move it to another namespace; its data is not moved.

        Raises:
            NamespaceNotFoundError: code 1, the new parent is missing.
            TableAlreadyExistsError: code 5.
        """
        raise self.capabilities.refusal("RenameTable")

    @optional("AlterTable")
    def change_table(
        self, entry: TableEntry, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change a table's parameters and return all of them.

        Raises:
            TableNotFoundError: code 4.
            ConcurrentModificationError: code 14.
        """
        raise self.capabilities.refusal("AlterTable")

    # --- versions of managed tables

    version_store: VersionStore | None = None
    """Store for the versions of the tables that the catalog manages; None if it manages none.
    `load_table` and `add_table` mark managed tables with `TableEntry.managed`."""

    @final
    def versions_of(self, entry: TableEntry) -> VersionStore:
        """Return the store of a table's versions.

        Raises:
            InvalidTableStateError: code 19, the table's versions are managed by storage.
        """
        if self.version_store is None or not entry.managed:
            raise InvalidTableStateError(
                f"the versions of table {format_identifier(entry.id)} are managed by storage: "
                "commit to the table itself to create a version; the catalog manages versions "
                "only for tables that were created as managed tables"
            )
        return self.version_store

    # --- optional information from the catalog

    def known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        """Return the table schema that the catalog stores, or None if it stores none."""
        return None

    def has_data(self, entry: TableEntry) -> bool:
        """Return whether the table has a dataset, in storage or in the version store."""
        if entry.managed:
            return self.versions_of(entry).latest(entry, None) is not None
        from ..tables.dataset import exists

        return exists(self.storage_of(entry))

    def vended_options(self, entry: TableEntry) -> Mapping[str, str]:
        """Return the object store options that the catalog vends for a table.

        Vended credentials replace the namespace's. If the options include ``expires_at_millis``,
        readers and writers describe the table again before the credentials expire.
        """
        return {}

    @final
    @contextmanager
    def sole_change(self, *identifiers: Identifier) -> Iterator[None]:
        """Prevent other processes on this machine from adding or removing the same objects.

        In many catalogs, several concurrent drops or renames of the same object can all succeed.
        Moreover, between choosing the location of a new table and adding its entry, no other table
        with the same name may be added and removed.
        """
        # Some catalogs compare names case-insensitively, so names that differ in case share a lock.
        keys = {tuple(name.lower() for name in identifier) for identifier in identifiers}
        with ExitStack() as stack:
            for key in sorted(keys):  # in a fixed order, to avoid deadlocks
                stack.enter_context(machine_lock((self.lock_id, key)))
            yield

    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> AbstractContextManager[None]:
        """Return a lock that prevents other writers from writing a table's first rows.

        Args:
            entry: the table.
            wait: whether to wait until the lock is free.

        Raises:
            ConcurrentModificationError: code 14, another writer holds the lock, or the table was
                removed.
        """
        return nullcontext()

    def data_written(self, entry: TableEntry) -> None:  # noqa: B027
        """Hook, called after data has been written to a table for the first time."""

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for a failure of this catalog, or None for other exceptions.

        Args:
            error: the failure.
            what: the operation and its object, as the start of the message.
        """
        return None

    # --- storage

    _session: Any = None

    def storage_of(self, entry: TableEntry) -> TableStorage:
        """Return the table's location and its storage options, which override the namespace's."""
        self._refuse_foreign_disk(entry)
        options = with_vended(self.config.storage, self.vended_options(entry))
        if own := storage_overrides(entry.properties):
            options = joined_options(options, own, f"table {format_identifier(entry.id)}")
        return TableStorage(
            location=entry.location,
            options=options,
            session=self.lance_session,
            renewed_by=(self, entry.id),
            managed=entry.managed,
        )

    def bounds(self) -> Confinement | None:
        """Return the locations to which the caller is restricted; None means no restriction."""
        bounds, places = confinement(), self.config.allow_locations
        if bounds is not None:
            return evolve(bounds, allowed_locations=(*bounds.allowed_locations, *places))
        return Confinement(allowed_locations=places) if self.config.confine_locations else None

    def default_locations(self, identifier: Identifier) -> Iterator[str]:
        """Yield the namespace's own locations that may contain the object."""
        if self.config.root is not None:
            yield self.config.root
        if self.capabilities.holds_tables(len(identifier) - 1):
            try:
                usual = self.default_location(identifier)
            except InvalidInputError:
                return  # there is no default: every table requires a location
            if usual is not None:
                yield usual.rpartition("/")[0]

    def absolute_location(self, location: str) -> str:
        """Return a requested location as an absolute path or URI."""
        return location

    def resolved_location(self, location: str) -> str:
        """Return a requested location in the form in which the catalog stores it.

        Raises:
            InvalidInputError: code 13, Lance and pyarrow would open different locations.
        """
        return absolute(self.absolute_location(location))

    def _refuse_foreign_disk(self, entry: TableEntry) -> None:
        """Reject a table on this machine's disk outside of the namespace's locations (code 15).

        Object stores have their own access control, but on disk, only this process's permissions
        apply.
        """
        bounds = self.bounds()
        if bounds is None or not is_local(entry.location):
            return
        what = f"table {format_identifier(entry.id)}"
        try:
            bounds.refuse_outside(entry.location, self.default_locations(entry.id), what)
        except InvalidInputError as error:
            raise PermissionDeniedError(
                f"{what}: the table is on the server's own disk, outside the locations of this "
                "namespace; ask the operator to allow it (--allow-location)"
            ) from error

    def lance_session(self) -> Any:
        """Return the session with the bounded caches that all opened tables share.

        Opening a dataset then reads only the newest manifest; everything else comes from the
        caches.
        """
        if self._session is None:
            lance = load("lance")

            budget = self.config.cache_mib << 20
            self._session = lance.Session(
                index_cache_size_bytes=budget * 3 // 4, metadata_cache_size_bytes=budget // 4
            )
        return self._session

    # --- used by the operations

    @cached_property
    def _listing_cache(self) -> ListingCache:
        return ListingCache()

    def listings_changed(self) -> None:
        """Discard cached listings, because a change in this process made them outdated."""
        self._listing_cache.clear()

    def cached_dataset(self, identifier: Identifier, opened: Callable[[], Any]) -> Any:
        """Return a table's dataset at its latest version; callers must not modify it.

        A backend that can detect changes to a table may override this to reuse a dataset.

        Args:
            identifier: the table.
            opened: looks up the table and opens its dataset.
        """
        return opened()

    def check_identifier(self, operation: str, request: Any) -> None:
        """Raise an error if a request's identifier is invalid in this catalog.

        A backend with additional naming rules checks them here, after calling this method.

        Raises:
            InvalidInputError: code 13.
        """
        check_identifier(self.capabilities, operation, request)

    @final
    def translate(self, error: Exception, what: str) -> LanceNamespaceError:
        """Return the protocol error for a failure of the catalog or of storage, without secrets.

        Do not override this method; override `recognize_failure` to recognize a backend's own
        failures.

        Args:
            error: the failure.
            what: the operation and its object, as the start of the message.
        """
        from ..tables.errors import from_lance

        found = (
            self.recognize_failure(error, what)
            or from_lance(error, what)
            or from_system_failure(error, what)
        )
        secrets = self.config.secrets()
        found.text = scrub(found.text, secrets)
        found.subject = scrub(found.subject, secrets) if found.subject else None
        found.args = (found.text,)
        return found

    @final
    def is_failure(self, error: Exception) -> bool:
        """Return whether an exception is a failure of the catalog or storage rather than a bug."""
        from ..tables.errors import from_lance

        return (
            isinstance(error, LanceNamespaceError | OSError)
            or self.recognize_failure(error, "") is not None
            or from_lance(error, "") is not None
        )

    def find_table(self, identifier: Identifier) -> TableEntry:
        """Return a table's entry; if its parent does not exist, the table is reported as missing.

        Raises:
            TableNotFoundError: code 4.
            InvalidInputError: code 13, the table is not a Lance table.
        """
        with missing_with_parent(identifier):
            return self.load_table(identifier)

    def require_existing(self, identifier: Identifier) -> None:
        """Raise the errors of `find_table`, without returning an entry."""
        with missing_with_parent(identifier):
            self.require_table(identifier)

    def cached_response(self, ask: Callable[[Identifier], Found], identifier: Identifier) -> Found:
        """Return the catalog's response about an object; an operation requests it at most once.

        Used for the parent of a new table, which `default_location` and `add_table` both need.
        """
        return cached_response((id(self), identifier), partial(ask, identifier))

    def record_response(self, identifier: Identifier, answer: object) -> None:
        """Store a response for `cached_response` that was not requested separately."""
        record_response((id(self), identifier), answer)

    def _listing(self, *of: Any) -> list[Any]:
        """Return the key that binds page tokens to one listing in this catalog."""
        return [self._which_catalog, *of]

    @cached_property
    def _which_catalog(self) -> dict[str, str | None]:
        properties = self.config.to_properties()
        return {key: properties.get(key) for key in _WHICH_CATALOG}

    @cached_property
    def lock_id(self) -> str:
        """Identity of this catalog in lock names, the same for all connections to it."""
        which = [value for value in self._which_catalog.values() if value is not None]
        return f"{self.config.impl}{which}" if which else self.namespace_id()
