"""AsyncNamespace: a namespace for asynchronous programs, as an object."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from lance_namespace_client.async_namespace import AsyncLanceNamespace

from ..core.async_calls import in_thread
from ..core.identifiers import to_identifier
from ..core.paging import page_request
from .async_operations import AsyncOperations
from .async_table import AsyncTable
from .blocking import open_through

if TYPE_CHECKING:
    import lance

__all__ = ["AsyncNamespace"]

OPERATION_METHODS = frozenset(
    name for name in vars(AsyncLanceNamespace) if not name.startswith("_")
)


class AsyncNamespace(AsyncOperations):
    """A namespace whose operations are awaited; it is an asynchronous context manager.

    `connect_async` returns it for every catalog. Use it, and the tables that it returns, from one
    event loop.
    """

    user_methods: ClassVar[frozenset[str]] = frozenset(
        {"aclose", "iter_namespaces", "iter_tables", "open_table", "synchronous", "table"}
    )
    """Names that `dir` lists in addition to the operations."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections; the namespace cannot be used afterwards."""

    def table(
        self, id: str | Sequence[str], *, branch: str | None = None, version: int | None = None
    ) -> AsyncTable:
        """Return a table as an object; only its methods contact the catalog.

        Args:
            id: names joined by dots or by the protocol's ``$``, or a list of names.
            branch: branch to read and write; defaults to the main branch.
            version: version to check out for reading; defaults to the latest.

        Raises:
            InvalidInputError: the identifier is the root, or a name in it is empty.

        Examples:
            >>> await namespace.table("db.events").count_rows() # doctest: +SKIP
        """
        return AsyncTable(self, id, branch=branch, version=version)

    async def open_table(
        self, id: str | Sequence[str], *, version: int | str | None = None
    ) -> lance.LanceDataset:
        """Open a table as a ``lance.LanceDataset``, whose own methods block.

        Args:
            id: the table, as ``"db.letters"`` or a list of names.
            version: number or tag of the version; defaults to the latest.

        Raises:
            TableNotFoundError: the table does not exist.
            InvalidTableStateError: the table is declared without data.
            TableVersionNotFoundError: the version does not exist.
        """
        return await in_thread(open_through, self.synchronous, to_identifier(id), version, None)

    async def iter_namespaces(
        self, id: str | Sequence[str] | None = None, *, page_size: int | None = None
    ) -> AsyncIterator[str]:
        """Iterate over the names of the child namespaces; pages are requested on demand.

        Args:
            id: the parent; defaults to the root.
            page_size: maximum number of names per page; by default, the namespace chooses.

        Raises:
            NamespaceNotFoundError: code 1.
        """
        token: str | None = None
        while True:
            page = await self.list_namespaces(page_request(id, token, page_size))
            for name in page.namespaces:
                yield name
            if not (token := page.page_token):
                return

    async def iter_tables(
        self,
        id: str | Sequence[str] | None = None,
        *,
        include_declared: bool = True,
        page_size: int | None = None,
    ) -> AsyncIterator[str]:
        """Iterate over the names of the tables in a namespace; pages are requested on demand.

        Args:
            id: the namespace; defaults to the root.
            include_declared: whether to include tables without data.
            page_size: maximum number of names per page; by default, the namespace chooses.

        Raises:
            NamespaceNotFoundError: code 1.
        """
        token: str | None = None
        while True:
            request = page_request(id, token, page_size)
            page = await self.list_tables({**request, "include_declared": include_declared})
            for name in page.tables:
                yield name
            if not (token := page.page_token):
                return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def __dir__(self) -> list[str]:
        return sorted(OPERATION_METHODS | self.user_methods)

    def __repr__(self) -> str:
        return f"<{self.namespace_id()}>"
