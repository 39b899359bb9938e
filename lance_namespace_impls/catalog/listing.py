"""Listing tables, of one namespace or of the whole catalog, page by page."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import tee
from typing import TYPE_CHECKING

from lance_namespace_client import models
from lance_namespace_client.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from ..core.concurrent import ahead, ordered_map
from ..core.identifiers import (
    DEFAULT_DELIMITER,
    ROOT,
    Identifier,
    format_identifier,
    join_identifier,
    parse_identifier,
    split_identifier,
)
from ..core.paging import Listings, kept_page_of
from .entry import (
    TableEntry,
)
from .operation import listing
from .storage import TableStorages

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        ListTablesRequest,
        ListTablesResponse,
    )


__all__ = ["TableListings"]


class TableListings(TableStorages, abstract=True):
    """Listing tables, of one namespace or of the whole catalog, page by page."""

    @listing
    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the Lance tables of a namespace, in order, page by page."""
        parent = parse_identifier(request.id)
        page, token = kept_page_of(
            lambda after, made: self._listed_tables(
                parent, after, request.include_declared, _wanted(request), made
            ),
            kept=self._kept_listings,
            of=self._listing("ListTables", parent, request.include_declared),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListTablesResponse(tables=page, page_token=token)

    @listing
    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """List the Lance tables of the whole catalog as string identifiers.

        A context entry ``delimiter`` says what joins the levels, ``$`` unless given.
        """
        delimiter = (request.context or {}).get("delimiter", DEFAULT_DELIMITER)
        page, token = kept_page_of(
            lambda after, made: self._walk(
                ROOT, after or ROOT, request.include_declared, _wanted(request), made
            ),
            kept=self._kept_listings,
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
        wanted: int | None,
        made: Listings,
    ) -> Iterator[str]:
        if not self.capabilities.holds_tables(len(parent)):
            self.namespace_properties(parent)
            return
        # How many have to be looked at for as many with data is not known.
        named = wanted if wanted is None or include_declared else sys.maxsize
        names = made.names(
            ("tables", parent),
            lambda: self.first_table_names(parent, after, named),
            after,
            named,
        )
        if include_declared:
            yield from names
            return

        def with_data(found: tuple[str, Callable[[], TableEntry]]) -> str | None:
            name, look_up = found
            return name if self._is_listed_with_data((*parent, name), look_up) else None

        yield from ordered_map(
            self.load_tables(parent, names),
            with_data,
            max_concurrency=self.max_concurrency,
            wanted=wanted,
        )

    def _is_listed_with_data(
        self, identifier: Identifier, look_up: Callable[[], TableEntry]
    ) -> bool:
        try:
            return self.has_data(look_up())
        except TableNotFoundError:
            return False  # it went between listing and loading
        except Exception as error:
            what = f"ListTables: table {format_identifier(identifier)} cannot be read"
            found = error if isinstance(error, LanceNamespaceError) else self.translate(error, what)
            if self.config.skip_unreadable:
                warnings.warn(f"{found} (left out)", stacklevel=2)
                return False
            raise found from error

    def _all_below(self, parent: Identifier) -> Iterator[Identifier]:
        """Return all tables below a namespace, in the order of their identifiers."""
        return self._walk(parent, ROOT, True, None, Listings(seconds=0))

    def _walk(
        self,
        parent: Identifier,
        after: Identifier,
        include_declared: bool,
        wanted: int | None,
        made: Listings,
    ) -> Iterator[Identifier]:
        """Return all tables below `parent` in the order of their identifiers, from after `after`.

        Where the whole walk is wanted, namespaces of one level are walked at once.
        """
        depth = len(parent)
        floor = after[depth] if len(after) > depth and after[:depth] == parent else None
        tables: Iterator[str] = iter(())
        below: Iterator[str] = iter(())
        if self.capabilities.holds_tables(depth):
            tables = self._listed_tables(parent, floor, include_declared, wanted, made)
        if self.capabilities.has_namespaces(depth + 1):
            below = made.names(
                ("namespaces", parent), lambda: self.child_namespaces(parent, None), None
            )
        below = (name for name in below if floor is None or name >= floor)

        def inside(name: str) -> Iterator[Identifier]:
            try:
                yield from self._walk((*parent, name), after, include_declared, wanted, made)
            except NamespaceNotFoundError:
                return  # it went between listing and walking

        below, walked = tee(below)
        walks = ahead(walked, inside) if wanted is None else map(inside, walked)
        # Both are in order, and tables may be looked at one by one: no further than is asked for.
        for name, is_table in merge(((n, False) for n in below), ((n, True) for n in tables)):
            if is_table:
                yield (*parent, name)
            else:
                yield from next(walks)
        made.forget(("tables", parent))
        made.forget(("namespaces", parent))


def _wanted(request: ListTablesRequest) -> int | None:
    """Return how many entries of a listing are taken: the one after a page says whether there is more."""
    return None if request.limit is None else request.limit + 1
