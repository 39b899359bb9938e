"""The base class of namespaces: the operations, and the methods that this package adds to them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lance_namespace_client.errors import UnsupportedError
from lance_namespace_client.namespace import LanceNamespace

from ..core.config import Config
from ..core.forks import forks
from ..core.identifiers import Identifier, to_identifier
from ..core.imports import load
from ..core.paging import page_request

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from lance_namespace_client.models import ListNamespacesResponse, ListTablesResponse

    from ..objects.async_namespace import AsyncNamespace
    from ..objects.table import Table
    from ..partitioned.namespace import PartitionedNamespace
    from ..partitioned.spec import NewField
    from ..partitioned.store import PartitionStore
    from .capabilities import Capabilities

__all__ = ["Configured", "Namespace"]

SHOWN = 20
"""Maximum number of namespaces, and of tables, that a notebook shows."""

OPERATION_METHODS = frozenset(name for name in vars(LanceNamespace) if not name.startswith("_"))
"""The methods of the generated interface."""

_reopening = threading.RLock()
_shared_with_parent: list[dict[str, Any]] = []
"""Attributes of reopened objects, kept because deleting a connection could close it."""


def _recreate_lock() -> None:
    global _reopening
    _reopening = threading.RLock()


os.register_at_fork(after_in_child=_recreate_lock)


class Configured:
    """An object that is created from typed properties, and pickled as its class and properties.

    Args:
        config: the typed properties.
    """

    config_type: ClassVar[type[Config]] = Config
    in_process: ClassVar[bool] = False
    """Whether the namespace exists only in the memory of this process."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._forks = forks()

    def reopen_after_fork(self) -> None:
        """Replace the connections if this process was forked since they were opened.

        The parent still uses its connections, so this process must neither use nor close them.
        """
        if self._forks == forks() or self.in_process:
            return
        with _reopening:
            if self._forks != forks():
                _shared_with_parent.append(dict(vars(self)))
                new = vars(type(self)(self.config))
                for name in vars(self).keys() - new.keys():
                    delattr(self, name)
                vars(self).update(new)

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, object], other_impls: Sequence[str] = ()
    ) -> Self:
        """Connect with string properties; keys may have the implementation's name as a prefix.

        Raises:
            InvalidInputError: code 13, a property is unknown, missing or of the wrong type.
        """
        return cls(cls.config_type.from_properties(properties, other_impls))

    @property
    def properties(self) -> dict[str, str]:
        """Properties that connect to the same namespace, including secrets."""
        return self.config.to_properties()

    def namespace_id(self) -> str:
        """Return a string that identifies the namespace: implementation and non-secret
        properties.
        """
        shown = self.config.shown()
        return f"{self.config.impl}({', '.join(f'{k}={shown[k]}' for k in sorted(shown))})"

    def __repr__(self) -> str:
        return f"<{self.namespace_id()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reconnect, (type(self), self.properties))


class Namespace(Configured, LanceNamespace):
    """A namespace with typed properties; it is a context manager and can be pickled.

    It is pickled as its class and properties; a copy in another process connects again.

    Args:
        config: the typed properties.
    """

    user_methods: ClassVar[frozenset[str]] = frozenset(
        {
            "asynchronous",
            "close",
            "config",
            "create_partitioned",
            "from_properties",
            "iter_namespaces",
            "iter_tables",
            "open_table",
            "partitioned",
            "properties",
            "table",
        }
    )
    """Names that `dir` lists in addition to the operations; a backend's primitives are omitted."""

    @property
    def local_path(self) -> str | None:
        """Path of the whole catalog, or None unless it consists of plain files on this machine."""
        return None

    page_sizes: ClassVar[tuple[int, ...]] = ()
    """Sizes of the first pages of a listing; the last size also applies to all further pages. Empty
    if the server chooses the sizes.
    """
    capabilities: Capabilities
    """The capabilities of the backend, or of this connection if the connection supports less."""

    def _unsupported(self, operation: str) -> UnsupportedError:
        # Only subclasses of CatalogNamespace must declare capabilities.
        declared: Capabilities | None = getattr(self, "capabilities", None)
        reason = declared.reason(operation) if declared else None
        if reason is None:
            return super()._unsupported(operation)
        return UnsupportedError(f"{operation} is not supported by {type(self).__name__}: {reason}")

    def close(self) -> None:
        """Close the connections; the namespace cannot be used afterwards."""

    def asynchronous(self) -> AsyncNamespace:
        """Return this namespace for asynchronous programs; closing it closes this one too.

        `connect_async` connects and returns such a namespace.
        """
        # The annotations of that module name this class.
        kind = load("lance_namespace_impls.catalog.threaded").ThreadedNamespace
        found: AsyncNamespace = kind(self)
        return found

    def iter_namespaces(
        self, id: str | Sequence[str] | None = None, *, page_size: int | None = None
    ) -> Iterator[str]:
        """Yield the names of the child namespaces; each page is requested when needed.

        Args:
            id: the parent, as ``"catalog.db"`` or a list of names; defaults to the root.
            page_size: names per page; the namespace chooses by default.

        Raises:
            NamespaceNotFoundError: the parent does not exist.
        """
        yield from self._pages(
            lambda limit, token: _of_namespaces(
                self.list_namespaces(page_request(id, token, limit))
            ),
            page_size,
        )

    def iter_tables(
        self,
        id: str | Sequence[str] | None = None,
        *,
        include_declared: bool = True,
        page_size: int | None = None,
    ) -> Iterator[str]:
        """Yield the names of the tables in a namespace; each page is requested when needed.

        Args:
            id: the namespace, as ``"catalog.db"`` or a list of names; defaults to the root.
            include_declared: whether to include tables without data.
            page_size: names per page; the namespace chooses by default.

        Raises:
            NamespaceNotFoundError: the namespace does not exist.
        """
        declared = {"include_declared": include_declared}
        yield from self._pages(
            lambda limit, token: _of_tables(
                self.list_tables({**page_request(id, token, limit), **declared})
            ),
            page_size,
        )

    def _pages(
        self,
        page: Callable[[int | None, str | None], tuple[Sequence[str], str | None]],
        page_size: int | None,
    ) -> Iterator[str]:
        """Yield the names of a listing; its first page is short, so the first names arrive early.

        Args:
            page: called with a page size and a token; returns the names of a page and the next
                token.
            page_size: names per page; the namespace chooses by default.
        """
        sizes = chain(self.page_sizes if page_size is None else (), repeat(page_size))
        token: str | None = None
        last: int | None = None
        while True:
            last = next(sizes) or last
            names, token = page(last, token)
            yield from names
            if not token:
                return

    def table(
        self, id: str | Sequence[str], *, branch: str | None = None, version: int | None = None
    ) -> Table:
        """Return a table as an object; only its methods contact the catalog.

        Args:
            id: names joined by dots or by the protocol's ``$``, or a list of names.
            branch: branch to read and write; defaults to the main branch.
            version: version to check out for reading; defaults to the latest.

        Raises:
            InvalidInputError: the identifier is the root, or a name in it is empty.

        Examples:
            >>> namespace.table("db.events").head().to_pandas() # doctest: +SKIP
        """
        from ..objects.table import Table

        return Table(self, id, branch=branch, version=version)

    def partitioned(self, id: str | Sequence[str] | None = None) -> PartitionedNamespace:
        """Return a partitioned namespace as an object; only its methods contact the catalog.

        Args:
            id: the partitioned namespace, as ``"lake.events"`` or a list of names; defaults to the
                root of this namespace.

        Raises:
            UnsupportedError: the catalog cannot hold partitioned namespaces.

        Examples:
            >>> lake.partitioned("events").scan("id < 10").read_all()  # doctest: +SKIP
        """
        from ..partitioned.namespace import PartitionedNamespace

        return PartitionedNamespace(self.partition_store(to_identifier(id)))

    def create_partitioned(
        self,
        id: str | Sequence[str] | None,
        schema: pa.Schema,
        partition_by: Sequence[str | NewField],
    ) -> PartitionedNamespace:
        """Create a partitioned namespace and return it.

        Args:
            id: the partitioned namespace; None is the root of this namespace.
            schema: schema of the rows.
            partition_by: partition fields, the outermost first: a column, ``year(ts)``,
                ``month(ts)``, ``day(ts)``, ``hour(ts)``, ``bucket(16, user)``,
                ``multi_bucket(16, a, b)``, ``truncate(4, name)`` or
                ``expression('lower(col0)', name)``.

        Raises:
            UnsupportedError: the catalog cannot hold partitioned namespaces.
            NamespaceAlreadyExistsError: there is an object with that name.
            TableColumnNotFoundError: a field names an unknown column.
            InvalidInputError: a field is invalid.

        Examples:
            >>> lake.create_partitioned("events", schema, ["day(ts)"])  # doctest: +SKIP
        """
        return self.partitioned(id).create(schema, partition_by)

    def partition_store(self, identifier: Identifier) -> PartitionStore:
        """Return the storage of a partitioned namespace, which need not exist yet.

        Raises:
            UnsupportedError: code 0, the catalog cannot hold partitioned namespaces.
        """
        raise UnsupportedError(
            "partitioned namespaces exist only in directories that this process accesses itself "
            f"(impl=dir, manifest=true); {type(self).__name__} cannot store partition values and "
            "the versions that readers use"
        )

    def open_table(
        self, id: str | Sequence[str], *, version: int | str | None = None
    ) -> lance.LanceDataset:
        """Open a table as a ``lance.LanceDataset``.

        If the storage options have ``expires_at_millis``, the dataset requests new ones from this
        namespace before they expire.

        Args:
            id: the table, as ``"db.letters"`` or a list of names.
            version: number or tag of the version; defaults to the latest.

        Raises:
            TableNotFoundError: the table does not exist.
            InvalidTableStateError: the table is declared without data.
            TableVersionNotFoundError: the version does not exist.
        """
        from ..tables.dataset import open_through

        dataset: lance.LanceDataset = open_through(self, to_identifier(id), version)
        return dataset

    def __dir__(self) -> list[str]:
        return sorted(OPERATION_METHODS | self.user_methods)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """Return the root's contents as HTML, for notebooks; at most `SHOWN` names of each kind."""
        from ..objects.html import as_html

        rows = [["namespace", name] for name in islice(self.iter_namespaces(), SHOWN)]
        rows += [["table", name] for name in islice(self.iter_tables(), SHOWN)]
        return as_html(["kind", "name"], rows, self.namespace_id())


def _reconnect(cls: type[Configured], properties: dict[str, str]) -> Configured:
    return cls.from_properties(properties)


def _of_namespaces(page: ListNamespacesResponse) -> tuple[Sequence[str], str | None]:
    return page.namespaces, page.page_token


def _of_tables(page: ListTablesResponse) -> tuple[Sequence[str], str | None]:
    return page.tables, page.page_token
