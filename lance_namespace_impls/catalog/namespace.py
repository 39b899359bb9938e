"""Methods that every namespace of this package has in addition to the operations."""

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
"""Maximum number of names of each kind that a notebook displays."""


class Configured:
    """An object built from typed properties; it pickles as its class and properties.

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
        """Connect with properties as text, with or without the impl as prefix.

        Raises:
            InvalidInputError: code 13, a property is unknown, missing or of the wrong type.
        """
        return cls(cls.config_type.from_properties(properties, other_impls))

    @property
    def properties(self) -> dict[str, str]:
        """The properties that connect to this namespace again, including secrets."""
        return self.config.to_properties()

    def namespace_id(self) -> str:
        """Return an identification of this namespace: its impl and properties, without secrets."""
        shown = self.config.shown()
        return f"{self.config.impl}({', '.join(f'{k}={shown[k]}' for k in sorted(shown))})"

    def __repr__(self) -> str:
        return f"<{self.namespace_id()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reconnect, (type(self), self.properties))


class Namespace(Configured, LanceNamespace):
    """A namespace with typed properties: a context manager that pickles and iterates.

    It pickles as its class and properties, and reconnects when unpickled.

    Args:
        config: the typed properties.
    """

    @property
    def local_path(self) -> str | None:
        """The path of the whole catalog; None if it does not consist of plain files on this
        machine."""
        return None

    in_process: ClassVar[bool] = False
    """Whether the contents exist in this process only."""
    page_sizes: ClassVar[tuple[int, ...]] = ()
    """Names per page on the first pages of a walk; the last value applies to all further pages.
    Empty if the server chooses."""
    capabilities: Capabilities
    """The capabilities of the backend, or of this connection to it."""

    def _unsupported(self, operation: str) -> UnsupportedError:
        # Only subclasses of CatalogNamespace have to declare them.
        declared: Capabilities | None = getattr(self, "capabilities", None)
        reason = declared.reason(operation) if declared else None
        if reason is None:
            return super()._unsupported(operation)
        return UnsupportedError(f"{operation} is not supported by {type(self).__name__}: {reason}")

    def stamp(self, operation: str, request: Any) -> Stamp | None:
        """Return a stamp of the state on which the response to a read depends.

        While the stamp is current, the same request has the same response.

        Args:
            operation: the operation's name.
            request: its model.

        Returns:
            None if changes cannot be detected without a new request.
        """
        return None

    def close(self) -> None:
        """Close the connections; the namespace cannot be used afterwards."""

    def iter_namespaces(
        self, id: Sequence[str] | None = None, *, page_size: int | None = None
    ) -> Iterator[str]:
        """Iterate over the names of the child namespaces; pages are requested as needed.

        Args:
            id: the parent; defaults to the root.
            page_size: names per page; the namespace chooses by default.

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
        """Iterate over the names of the tables in a namespace; pages are requested as needed.

        Args:
            id: the namespace; defaults to the root.
            include_declared: whether to include tables without data.
            page_size: names per page; the namespace chooses by default.

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
        """Iterate over a listing page by page; a short first page makes results start early.

        Args:
            page: returns, for a limit and a page token, a page of names and the next token.
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

    def table(self, id: str | Sequence[str], *, branch: str | None = None) -> Table:
        """Return a table as an object; no request is sent until a method is called.

        Args:
            id: the names joined by dots, or a list of them if a name contains a dot.
            branch: branch to read and write; defaults to the main one.

        Raises:
            InvalidInputError: code 13, it is the root, or a name is empty.

        Examples:
            >>> namespace.table("db.events").head().to_pandas() # doctest: +SKIP
        """
        from ..objects.table import Table

        names = split_identifier(id, ".") if isinstance(id, str) else parse_identifier(id)
        return Table(self, names, branch=branch)

    def open_table(self, id: Sequence[str], *, version: int | str | None = None) -> Any:
        """Open a table as a ``lance.LanceDataset``.

        If the storage options include ``expires_at_millis``, the dataset requests new ones from
        this namespace before they expire.

        Args:
            id: the table.
            version: number or tag of the version; defaults to the latest.

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
        """Return the contents of the root as HTML for notebooks; at most `SHOWN` names per kind."""
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
