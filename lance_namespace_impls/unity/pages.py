"""Lists tables page by page on servers that sort them by name."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any, TypeAlias

from ..catalog.entry import ListedTables, Loader
from ..core.paging import SortedNames

__all__ = ["Table", "TablePages"]

Table: TypeAlias = tuple[str, Mapping[str, Any]]
"""A table's name, and the table in the server's response."""
Page: TypeAlias = tuple[list[Table], str | None]
_NAME = itemgetter(0)


class _Window:
    """A buffer of tables that were read but have not been returned yet.

    Args:
        page_after: reads the page after a name; also returns the name before the next page.
        after: name to start after; None starts at the beginning.
    """

    def __init__(self, page_after: Callable[[str | None], Page], after: str | None) -> None:
        self._page_after = page_after
        self._lock = threading.Lock()
        self.start = after
        self._tables: list[Table] = []
        self._next: str | None = after
        self._is_whole = False

    def __len__(self) -> int:
        return len(self._tables)

    def drop_to(self, name: str) -> None:
        """Discard the tables up to and including a name."""
        with self._lock:
            del self._tables[: bisect_right(self._tables, name, key=_NAME)]
            self.start = name

    def after(self, name: str | None) -> Iterator[Table]:
        """Return the tables after a name, which must not come before the discarded tables."""
        while tables := self._read_after(name):
            yield from tables
            name = tables[-1][0]

    def _read_after(self, name: str | None) -> list[Table]:
        """Return the buffered tables after a name; if there are none, read further pages."""
        with self._lock:
            while True:
                found = self._tables
                at = 0 if name is None else bisect_right(found, name, key=_NAME)
                if at < len(found) or self._is_whole:
                    return found[at:]
                read, self._next = self._page_after(self._next)
                self._is_whole = self._next is None
                found += read


class TablePages(ListedTables[Mapping[str, Any]], SortedNames):
    """The tables of a server that sorts them by name and accepts any name as a page token.

    A page is buffered until all its tables have been returned, so that no page is read twice.

    Args:
        page_after: reads the page after a name; also returns the name before the next page.
        loader: called with a table's name and the table; returns a function that returns its entry.
        after: name to start after; None starts at the beginning.
    """

    def __init__(
        self,
        page_after: Callable[[str | None], Page],
        loader: Callable[[str, Mapping[str, Any]], Loader | None],
        after: str | None,
        window: _Window | None = None,
    ) -> None:
        self._page_after = page_after
        self._window = _Window(page_after, after) if window is None else window
        super().__init__(self._window.after(after), loader)

    def __len__(self) -> int:
        return max(1, len(self._window))

    def again(self, after: str | None, wanted: int | None) -> TablePages | None:
        """Return the same listing, starting after another name; see `SortedNames.again`."""
        window, start = self._window, self._window.start
        if after != start:
            if after is None or (start is not None and after < start):
                return None  # the tables after this name have already been discarded
            window.drop_to(after)
        return TablePages(self._page_after, self._loader, after, window)
