"""Lists the tables in a namespace or in the whole catalog, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace_client import models

from ...core.identifiers import (
    DEFAULT_DELIMITER,
    ROOT,
    join_identifier,
    parse_identifier,
    split_identifier,
)
from ...core.paging import cached_page_of
from ..backend import CatalogBase
from ..operation import listing
from ..services.walker import TableWalker

if TYPE_CHECKING:
    from lance_namespace_client.models import ListTablesRequest, ListTablesResponse

__all__ = ["ListingOperations"]


class ListingOperations(CatalogBase, abstract=True):
    """Operations that list the tables in a namespace or in the whole catalog, page by page."""

    @listing
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the Lance tables in a namespace, in order and page by page."""
        parent = parse_identifier(request.id)
        page, token = cached_page_of(
            lambda after, made: TableWalker(self).listed_tables(
                parent, after, request.include_declared, _read_limit(request), made
            ),
            kept=self._listing_cache,
            of=self._listing("ListTables", parent, request.include_declared),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListTablesResponse(tables=page, page_token=token)

    @listing
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the Lance tables in the whole catalog as string identifiers.

        The context entry ``delimiter`` separates the levels; it defaults to ``$``.
        """
        delimiter = (request.context or {}).get("delimiter", DEFAULT_DELIMITER)
        page, token = cached_page_of(
            lambda after, made: TableWalker(self).walk(
                ROOT, after or ROOT, request.include_declared, _read_limit(request), made
            ),
            kept=self._listing_cache,
            of=self._listing("ListAllTables", request.include_declared),
            key=lambda identifier: identifier,
            page_token=request.page_token,
            limit=request.limit,
            from_name=lambda name: split_identifier(name, delimiter),
        )
        tables = [join_identifier(identifier, delimiter) for identifier in page]
        return models.ListTablesResponse(tables=tables, page_token=token)


def _read_limit(request: ListTablesRequest) -> int | None:
    """Return how many entries to read: one more than a page holds, to know if another page follows."""
    return None if request.limit is None else request.limit + 1
