"""Iterates over the tables in a namespace, or over all tables below it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import tee
from typing import TYPE_CHECKING

from attrs import frozen

from lance_namespace_client.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from ...core.concurrent import ahead, ordered_map
from ...core.identifiers import (
    ROOT,
    Identifier,
    format_identifier,
)
from ...core.paging import Listings
from ..backend import CatalogBase
from ..entry import TableEntry

if TYPE_CHECKING:
    pass

__all__ = ["TableWalker"]


@frozen
class TableWalker:
    """Iterates over the tables of a catalog in the order of their identifiers."""

    catalog: CatalogBase

    def listed_tables(
        self,
        parent: Identifier,
        after: str | None,
        include_declared: bool,
        wanted: int | None,
        made: Listings,
    ) -> Iterator[str]:
        """Yield the names of the Lance tables in a namespace in order, starting after `after`."""
        if not self.catalog.capabilities.holds_tables(len(parent)):
            self.catalog.namespace_properties(parent)
            return
        # The number of tables to examine until `wanted` tables with data are found is unknown in
        # advance.
        named = wanted if wanted is None or include_declared else sys.maxsize
        names = made.names(
            ("tables", parent),
            lambda: self.catalog.first_table_names(parent, after, named),
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
            self.catalog.load_tables(parent, names),
            with_data,
            max_concurrency=self.catalog.max_concurrency,
            wanted=wanted,
        )

    def _is_listed_with_data(
        self, identifier: Identifier, look_up: Callable[[], TableEntry]
    ) -> bool:
        try:
            return self.catalog.has_data(look_up())
        except TableNotFoundError:
            return False  # it was dropped after it was listed
        except Exception as error:
            what = f"ListTables: table {format_identifier(identifier)} cannot be read"
            found = (
                error
                if isinstance(error, LanceNamespaceError)
                else self.catalog.translate(error, what)
            )
            if self.catalog.config.skip_unreadable:
                warnings.warn(f"{found} (omitted)", stacklevel=2)
                return False
            raise found from error

    def all_below(self, parent: Identifier) -> Iterator[Identifier]:
        """Yield all tables below a namespace, in the order of their identifiers."""
        return self.walk(parent, ROOT, True, None, Listings(seconds=0))

    def walk(
        self,
        parent: Identifier,
        after: Identifier,
        include_declared: bool,
        wanted: int | None,
        made: Listings,
    ) -> Iterator[Identifier]:
        """Yield all tables below `parent`, ordered by identifier, starting after `after`.

        If all tables are requested, the namespaces on the same level are listed concurrently.
        """
        depth = len(parent)
        floor = after[depth] if len(after) > depth and after[:depth] == parent else None
        tables: Iterator[str] = iter(())
        below: Iterator[str] = iter(())
        if self.catalog.capabilities.holds_tables(depth):
            tables = self.listed_tables(parent, floor, include_declared, wanted, made)
        if self.catalog.capabilities.has_namespaces(depth + 1):
            below = made.names(
                ("namespaces", parent), lambda: self.catalog.child_namespaces(parent, None), None
            )
        below = (name for name in below if floor is None or name >= floor)

        def inside(name: str) -> Iterator[Identifier]:
            try:
                yield from self.walk((*parent, name), after, include_declared, wanted, made)
            except NamespaceNotFoundError:
                return  # it was dropped after it was listed

        below, walked = tee(below)
        walks = ahead(walked, inside) if wanted is None else map(inside, walked)
        # Both sequences are sorted, and merging them lazily looks up no more tables than requested.
        for name, is_table in merge(((n, False) for n in below), ((n, True) for n in tables)):
            if is_table:
                yield (*parent, name)
            else:
                yield from next(walks)
        made.forget(("tables", parent))
        made.forget(("namespaces", parent))
