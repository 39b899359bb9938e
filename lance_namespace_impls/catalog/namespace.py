"""What every namespace of this package offers beside the operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lance_namespace_client.errors import UnsupportedError
from lance_namespace_client.namespace import LanceNamespace

from ..core.config import Config
from ..core.identifiers import parse_identifier, split_identifier

if TYPE_CHECKING:
    from lance_namespace_client.models import ListNamespacesResponse, ListTablesResponse

    from ..core.file_stamps import Stamp
    from ..objects.table import Table
    from .capabilities import Capabilities

__all__ = ["Configured", "Namespace", "page_request"]

SHOWN = 20
"""Names of a kind that a notebook shows."""


class Configured:
    """What is built of typed properties; it pickles as its class and properties.

    Args:
        config: the typed properties.
    """

    config_type: ClassVar[type[Config]] = Config

    def __init__(self, config: Config) -> None:
        self.config = config

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, Any], other_impls: Sequence[str] = ()
    ) -> Self:
        """Connect with properties as text, bare or with the impl as prefix.

        Raises:
            InvalidInputError: code 13, a property is unknown, missing or of the wrong type.
        """
        return cls(cls.config_type.from_properties(properties, other_impls))

    @property
    def properties(self) -> dict[str, str]:
        """The properties that connect to this namespace again, secrets included."""
        return self.config.to_properties()

    def namespace_id(self) -> str:
        """Return what tells this namespace from others: its impl and its properties, without secrets."""
        shown = self.config.shown()
        return f"{self.config.impl}({', '.join(f'{k}={shown[k]}' for k in sorted(shown))})"

    def __repr__(self) -> str:
        return f"<{self.namespace_id()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reconnect, (type(self), self.properties))


class Namespace(Configured, LanceNamespace):
    """A namespace with typed properties: a context manager that pickles and iterates.

    It pickles as its class and properties, and connects anew where it lands.

    Args:
        config: the typed properties.
    """

    @property
    def local_path(self) -> str | None:
        """The path that all of the catalog is at; None where it is not plain files of this machine."""
        return None

    in_process: ClassVar[bool] = False
    """Whether what it holds is in this process alone."""
    page_sizes: ClassVar[tuple[int, ...]] = ()
    """Names on the first pages of a walk, of which the last counts for all others; none where whoever
    answers chooses."""
    capabilities: Capabilities
    """What the backend can do, or this connection of it."""

    def _unsupported(self, operation: str) -> UnsupportedError:
        # Only what CatalogNamespace builds on has to declare them.
        declared: Capabilities | None = getattr(self, "capabilities", None)
        reason = declared.reason(operation) if declared else None
        if reason is None:
            return super()._unsupported(operation)
        return UnsupportedError(f"{operation} is not supported by {type(self).__name__}: {reason}")

    def stamp(self, operation: str, request: Any) -> Stamp | None:
        """Return what the answer to a read depends on, as it is now.

        As long as it is current, the same request gets the same answer.

        Args:
            operation: the operation's name.
            request: its model.

        Returns:
            None where that cannot be told without asking again.
        """
        return None

    def close(self) -> None:
        """Close the connections; the namespace is not used after it."""

    def iter_namespaces(
        self, id: Sequence[str] | None = None, *, page_size: int | None = None
    ) -> Iterator[str]:
        """Walk the names of the child namespaces, page by page as they are asked for.

        Args:
            id: the parent; the root unless given.
            page_size: names a page; the namespace chooses unless given.

        Raises:
            NamespaceNotFoundError: code 1.
        """
        yield from self._pages(
            lambda limit, token: _of_namespaces(
                self.list_namespaces(page_request(id, token, limit))
            ),
            page_size,
        )

    def iter_tables(
        self,
        id: Sequence[str] | None = None,
        *,
        include_declared: bool = True,
        page_size: int | None = None,
    ) -> Iterator[str]:
        """Walk the names of the tables in a namespace, page by page as they are asked for.

        Args:
            id: the namespace; the root unless given.
            include_declared: whether tables without data count.
            page_size: names a page; the namespace chooses unless given.

        Raises:
            NamespaceNotFoundError: code 1.
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
        """Walk a listing page by page; a short page comes first, so that a walk starts soon.

        Args:
            page: returns a page of so many names, after that token, and the next token.
            page_size: names a page; the namespace chooses unless given.
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

    def table(self, id: str | Sequence[str], *, branch: str | None = None) -> Table:
        """Return a table as an object; nothing is asked before one of its methods.

        Args:
            id: the names joined by dots, or a list of them where a name has a dot of its own.
            branch: branch that is read and written; the main one unless given.

        Raises:
            InvalidInputError: code 13, it is the root, or a name is empty.

        Examples:
            >>> namespace.table("db.events").head().to_pandas()  # doctest: +SKIP
        """
        from ..objects.table import Table

        names = split_identifier(id, ".") if isinstance(id, str) else parse_identifier(id)
        return Table(self, names, branch=branch)

    def open_table(self, id: Sequence[str], *, version: int | str | None = None) -> Any:
        """Open a table as a ``lance.LanceDataset``.

        The dataset asks this namespace for new storage options before the old ones expire, where
        they carry ``expires_at_millis``.

        Args:
            id: the table.
            version: number or tag of the version; the latest unless given.

        Raises:
            TableNotFoundError: code 4.
            InvalidTableStateError: code 19, the table is declared without data.
            TableVersionNotFoundError: code 11.
        """
        from ..tables.dataset import open_through

        return open_through(self, parse_identifier(id), version)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """Return what the root holds as HTML, for notebooks; at most `SHOWN` names of a kind."""
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


def page_request(id: Sequence[str] | None, token: str | None, limit: int | None) -> dict[str, Any]:
    """Return the request for a page of a listing."""
    return {"id": list(parse_identifier(id)), "page_token": token, "limit": limit}
