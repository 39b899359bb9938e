"""The primitives of a catalog, each with its contract, and what the operations share.

A backend subclasses `CatalogNamespace` and implements primitives in its catalog's own terms. The
operations of the protocol are mixins over them, one module a concern: the interface that is
generated from rest.yaml has them as methods of the namespace, and a mixin puts them there without
forwarding each one by hand.

What a class leaves out is found when the class is created, not when a user calls it: an abstract
primitive must be implemented, and an optional one either implemented or its operation declared
unsupported in `Capabilities`. Such an operation is refused before it begins; what the base says for
an optional primitive answers another operation that needs it on the way, as CreateNamespace needs
`remove_namespace` to overwrite.
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
from ..core.paging import KeptListings
from ..core.storage import TableStorage
from .asked import answered, asked_once
from .capabilities import Capabilities
from .completeness import optional, require_complete, without_defaults
from .entry import ListedTables, TableEntry, own_options
from .errors import missing_with_parent
from .identifiers import check_identifier

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_namespace_client.models import JsonArrowSchema

    from ..core.storage import TableStorage
    from .version_store import VersionStore

__all__ = ["CatalogBase"]

# Properties by which backends tell one catalog from another.
_WHICH_CATALOG = ("uri", "endpoint", "region", "catalog_id", "catalog", "prefix", "path")

Found = TypeVar("Found")


class CatalogBase(metaclass=ABCMeta):
    """The primitives of one catalog.

    They get identifiers of a depth that `capabilities` allows, and raise protocol errors or, for
    anything unforeseen, their catalog's own exceptions, which `translate` turns into protocol
    errors.

    Args of a subclass statement:
        abstract: whether the class is a base of backends and leaves primitives to them.
    """

    def __init_subclass__(cls, *, abstract: bool = False, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "translate" in vars(cls):
            raise TypeError(
                f"{cls.__name__} overrides translate(): a backend's own failures are recognized in "
                "recognize_failure()"
            )
        if not abstract:
            require_complete(cls)
            cls.capabilities = without_defaults(cls)

    config: Config
    capabilities: Capabilities
    page_sizes: ClassVar[tuple[int, ...]] = (100, 1000)

    if TYPE_CHECKING:  # of `Namespace`, which every backend is too

        def namespace_id(self) -> str: ...  # noqa: D102

    @property
    def max_concurrency(self) -> int:
        """Most tables that a listing looks up at the same time; each is a round trip."""
        return 16

    # --- namespaces

    @abstractmethod
    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the child namespaces' names in order, from after `after`.

        Args:
            parent: the namespace; the root is ``()``.
            after: name to start after; None starts at the first.

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
        """Remove a namespace from the catalog and return the properties that it had.

        No data is deleted.

        Args:
            identifier: the namespace.
            cascade: whether everything in it is removed from the catalog with it; only where the
                capabilities declare ``cascade``.

        Raises:
            NamespaceNotFoundError: code 1.
            NamespaceNotEmptyError: code 3, it holds any object and `cascade` is false.
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
            removed: keys to remove; one that is not there is no error.

        Raises:
            NamespaceNotFoundError: code 1.
            ConcurrentModificationError: code 14.
        """
        raise self.capabilities.refusal("AlterNamespace")

    # --- tables

    @abstractmethod
    def table_names(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the names of the Lance tables in order, from after `after`.

        A catalog that can only list all of them at once returns them by `sorted_after`, or as
        `SortedTables`: the pages of one walk are then taken off one listing, for a minute.

        Raises:
            NamespaceNotFoundError: code 1.
        """

    def first_table_names(
        self, parent: Identifier, after: str | None, wanted: int | None
    ) -> Iterator[str]:
        """Return the same names, of which no more than `wanted` will be taken (None: all).

        For a catalog that can stop early, and for one that looks at tables ahead of being asked.
        """
        return self.table_names(parent, after)

    @abstractmethod
    def load_table(self, identifier: Identifier) -> TableEntry:
        """Return a Lance table's entry.

        Raises:
            NamespaceNotFoundError: code 1, where the catalog tells it from a missing table.
            TableNotFoundError: code 4.
            InvalidInputError: code 13, it is a table, but not a Lance table.
        """

    def require_table(self, identifier: Identifier) -> None:
        """Raise as `load_table` does, for a catalog that knows of a table with less work."""
        self.load_table(identifier)

    def load_tables(
        self, parent: Identifier, names: Iterator[str]
    ) -> Iterator[tuple[str, Callable[[], TableEntry]]]:
        """Return each table's name with what loads it as `load_table` does.

        A catalog that can load several tables with one call does so here; one whose listing has
        the entries already returns `ListedTables` or `SortedTables` from `table_names`.
        """
        if isinstance(names, ListedTables):
            for name, loader in names.loaders:
                yield name, loader or partial(self.load_table, (*parent, name))
            return
        for name in names:
            yield name, partial(self.load_table, (*parent, name))

    @abstractmethod
    def default_location(self, identifier: Identifier) -> str | None:
        """Return the location of a table for which none is asked.

        None: it is unknown in advance, since the server chooses it.

        Raises:
            NamespaceNotFoundError: code 1.
            InvalidInputError: code 13, there is none, and the table needs one to be given.
        """

    @abstractmethod
    def add_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        """Add a table to the catalog; nothing is written to its location.

        Args:
            identifier: the table.
            location: root of the dataset; None is the default location.
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
            InvalidInputError: code 13, the catalog cannot have it.
        """
        return TableEntry(id=identifier, location=location, properties=properties)

    def add_table_for(
        self,
        identifier: Identifier,
        location: str | None,
        properties: Mapping[str, str],
        schema: pa.Schema,
    ) -> TableEntry:
        """Add a table to the catalog whose first rows, of that schema, are about to be written."""
        return self.add_table(identifier, location, properties)

    def create_table_at_once(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        write: Callable[[TableEntry], int],
    ) -> tuple[TableEntry, int] | None:
        """Create a table with its first rows, of which nobody sees one without the other.

        Args:
            identifier: the table.
            properties: its properties.
            write: writes the rows where it is told, where nothing is and nobody else writes, and
                returns the version. It may read rows that cannot be read again.

        Returns:
            the table and its version; None, before anything is written, where the name may be taken
            or the table has to be added before it has rows.

        Raises:
            TableAlreadyExistsError: code 5.
        """
        return None

    def adopt_table(
        self, identifier: Identifier, location: str, properties: Mapping[str, str]
    ) -> TableEntry:
        """Add a table to the catalog whose data is there already."""
        return self.add_table(identifier, location, properties)

    @abstractmethod
    def remove_table(self, entry: TableEntry) -> None:
        """Remove a table from the catalog; its data stays.

        Raises:
            TableNotFoundError: code 4, it has gone meanwhile.
        """

    def withdraw_table(self, entry: TableEntry) -> None:
        """Remove a table that was added for rows which could not be written.

        Raises:
            TableNotFoundError: code 4, it has gone meanwhile.
        """
        self.remove_table(entry)

    @optional("RenameTable")
    def move_table(self, entry: TableEntry, new: Identifier) -> None:
        """Rename a table, or move it to another namespace; its data stays where it is.

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
    """Where the catalog keeps the versions of the tables that it manages; None where it manages
    none. `load_table` and `add_table` say of each table whether it is one (`TableEntry.managed`)."""

    @final
    def versions_of(self, entry: TableEntry) -> VersionStore:
        """Return the store with a table's versions.

        Raises:
            InvalidTableStateError: code 19, the table's versions are managed by storage.
        """
        if self.version_store is None or not entry.managed:
            raise InvalidTableStateError(
                f"table {format_identifier(entry.id)} is managed by storage, and its versions are "
                "made by committing to the table itself; only a table that is created as a managed "
                "one takes its versions from the catalog"
            )
        return self.version_store

    # --- what a catalog may know better

    def known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        """Return the schema that the catalog itself keeps of a table; None where it keeps none."""
        return None

    def has_data(self, entry: TableEntry) -> bool:
        """Return whether there is a dataset for the table: in storage, or in the store of versions."""
        if entry.managed:
            return self.versions_of(entry).latest(entry, None) is not None
        from ..tables.dataset import exists

        return exists(self.storage_of(entry))

    def vended_options(self, entry: TableEntry) -> Mapping[str, str]:
        """Return the options of a table's object store that the catalog gives out for it.

        Credentials among them take the place of the namespace's; with ``expires_at_millis`` among
        them, readers and writers describe the table again before they expire.
        """
        return {}

    @final
    @contextmanager
    def sole_change(self, *identifiers: Identifier) -> Iterator[None]:
        """Keep others on this machine from adding or removing the same objects.

        Of several that remove or rename one object at once, many catalogs let more than one succeed.
        Of a table that is added, nobody else's may come and go while its place is chosen.
        """
        # Not all catalogs tell upper from lower case in names.
        keys = {tuple(name.lower() for name in identifier) for identifier in identifiers}
        with ExitStack() as stack:
            for key in sorted(keys):  # in one order, so that no two wait for each other
                stack.enter_context(machine_lock((self.lock_id, key)))
            yield

    def initial_write_lock(self, entry: TableEntry, *, wait: bool) -> AbstractContextManager[None]:
        """Return what keeps others from writing a table's first rows at the same time.

        Args:
            entry: the table.
            wait: whether to wait until nobody else holds it.

        Raises:
            ConcurrentModificationError: code 14, someone else holds it, or the table has gone.
        """
        return nullcontext()

    def data_written(self, entry: TableEntry) -> None:  # noqa: B027
        """Do what the catalog needs when a table's first data has been written."""

    def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
        """Return the protocol error for a failure of the catalog's own; None for any other.

        Args:
            error: the failure.
            what: the operation and its object, to open the message with.
        """
        return None

    # --- storage

    _session: Any = None

    def storage_of(self, entry: TableEntry) -> TableStorage:
        """Return location and storage options: the namespace's, with the table's own on top."""
        self._refuse_foreign_disk(entry)
        options = with_vended(self.config.storage, self.vended_options(entry))
        if own := own_options(entry.properties):
            options = joined_options(options, own, f"table {format_identifier(entry.id)}")
        return TableStorage(
            location=entry.location,
            options=options,
            session=self._lance_session,
            renewed_by=(self, entry.id),
            managed=entry.managed,
        )

    def bounds(self) -> Confinement | None:
        """Return the bounds of the caller; None where it may go anywhere."""
        bounds, places = confinement(), self.config.allow_locations
        if bounds is not None:
            return evolve(bounds, allowed_locations=(*bounds.allowed_locations, *places))
        return Confinement(allowed_locations=places) if self.config.confine_locations else None

    def own_places(self, identifier: Identifier) -> Iterator[str]:
        """Return the places of the namespace itself where that object may be."""
        if self.config.root is not None:
            yield self.config.root
        if self.capabilities.holds_tables(len(identifier) - 1):
            try:
                usual = self.default_location(identifier)
            except InvalidInputError:
                return  # it has none, and every table needs a location to be given
            if usual is not None:
                yield usual.rpartition("/")[0]

    def absolute_location(self, location: str) -> str:
        """Return a location that a caller asks for as a path or URI that stands by itself."""
        return location

    def resolved_location(self, location: str) -> str:
        """Return a location that a caller asks for in the form in which the catalog gets it.

        Raises:
            InvalidInputError: code 13; Lance and pyarrow would not open one place.
        """
        return absolute(self.absolute_location(location))

    def _refuse_foreign_disk(self, entry: TableEntry) -> None:
        """Refuse a table that the catalog has on this machine's disk, outside its places (code 15).

        Object stores have their own access control; on disk there would be only the process's.
        """
        bounds = self.bounds()
        if bounds is None or not is_local(entry.location):
            return
        what = f"table {format_identifier(entry.id)}"
        try:
            bounds.refuse_outside(entry.location, self.own_places(entry.id), what)
        except InvalidInputError as error:
            raise PermissionDeniedError(
                f"{what}: it is on the server's own disk, outside the places of this namespace; have "
                "the operator allow it (--allow-location)"
            ) from error

    def _lance_session(self) -> Any:
        """Return the session whose bounded caches keep opened tables.

        A dataset that is opened through it reads the newest manifest and finds the rest there.
        """
        if self._session is None:
            lance = load("lance")

            budget = self.config.cache_mib << 20
            self._session = lance.Session(
                index_cache_size_bytes=budget * 3 // 4, metadata_cache_size_bytes=budget // 4
            )
        return self._session

    # --- for the operations

    @cached_property
    def _kept_listings(self) -> KeptListings:
        return KeptListings()

    def listings_changed(self) -> None:
        """Take no more pages off what was listed before a change made here."""
        self._kept_listings.clear()

    def kept_dataset(self, identifier: Identifier, opened: Callable[[], Any]) -> Any:
        """Return a table's dataset at its latest version, which nobody is to change.

        A backend that can tell whether a table has changed since overrides this.

        Args:
            identifier: the table.
            opened: finds the table and opens its dataset.
        """
        return opened()

    def check_identifier(self, operation: str, request: Any) -> None:
        """Raise where a request's identifier cannot be one of this catalog's.

        A backend whose names follow rules of their own checks them here, after this method.

        Raises:
            InvalidInputError: code 13.
        """
        check_identifier(self.capabilities, operation, request)

    @final
    def translate(self, error: Exception, what: str) -> LanceNamespaceError:
        """Return the protocol error for a failure of the catalog or of storage, without secrets.

        Not to be overridden: a backend recognizes its own failures in `recognize_failure`.

        Args:
            error: the failure.
            what: the operation and its object, to open the message with.
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
        """Return whether an exception is a failure of the catalog or of storage, and no slip in code."""
        from ..tables.errors import from_lance

        return (
            isinstance(error, LanceNamespaceError | OSError)
            or self.recognize_failure(error, "") is not None
            or from_lance(error, "") is not None
        )

    def find_table(self, identifier: Identifier) -> TableEntry:
        """Return a table's entry; a missing parent means that the table is missing too.

        Raises:
            TableNotFoundError: code 4.
            InvalidInputError: code 13, it is a table, but not a Lance table.
        """
        with missing_with_parent(identifier):
            return self.load_table(identifier)

    def require_found(self, identifier: Identifier) -> None:
        """Raise as `find_table` does where it returns nothing."""
        with missing_with_parent(identifier):
            self.require_table(identifier)

    def asked_once(self, ask: Callable[[Identifier], Found], identifier: Identifier) -> Found:
        """Return what the catalog answers about an object, asked once an operation.

        For the parent of a new table, which `default_location` and `add_table` both need.
        """
        return asked_once((id(self), identifier), partial(ask, identifier))

    def answered(self, identifier: Identifier, answer: object) -> None:
        """Note what the catalog said of an object unasked: `asked_once` returns it in this operation."""
        answered((id(self), identifier), answer)

    def _listing(self, *of: Any) -> list[Any]:
        """Return what is listed, and in which catalog, for the page tokens of the listing."""
        return [self._which_catalog, *of]

    @cached_property
    def _which_catalog(self) -> dict[str, str | None]:
        properties = self.config.to_properties()
        return {key: properties.get(key) for key in _WHICH_CATALOG}

    @cached_property
    def lock_id(self) -> str:
        """What the locks of this catalog share, however else its connections differ."""
        which = [value for value in self._which_catalog.values() if value is not None]
        return f"{self.config.impl}{which}" if which else self.namespace_id()
