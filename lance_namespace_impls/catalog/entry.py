"""A Lance table's entry in its catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Generic, TypeAlias, TypeVar

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

from ..core.identifiers import (
    Identifier,
)
from ..core.paging import SortedNames

__all__ = [
    "LANCE",
    "MANAGED",
    "STORAGE_PREFIX",
    "TABLE_TYPE",
    "ListedTables",
    "Loader",
    "SortedTables",
    "TableEntry",
    "is_lance",
    "managed_choice",
    "storage_overrides",
    "plain_properties",
    "storage_options",
    "with_lance_type",
]

STORAGE_PREFIX = "storage."
TABLE_TYPE = "table_type"
MANAGED = "managed_versioning"
"""Property of a new table that specifies whether the catalog manages the table's versions."""
LANCE = "lance"


@frozen(kw_only=True)
class TableEntry:
    """A Lance table's entry in its catalog."""

    id: Identifier
    location: str
    """Root of the dataset: a path or URI, without a trailing slash."""
    properties: Mapping[str, str]
    """The table's parameters in the catalog, including ``storage.*``."""
    managed: bool = False
    """Whether the catalog manages the table's versions, in its `VersionStore`."""


Loader: TypeAlias = Callable[[], TableEntry]
Found = TypeVar("Found")


class ListedTables(Iterator[str], Generic[Found]):
    """Table names from a listing that also returned the entries, so that tables need not be loaded.

    Args:
        tables: each table's name with its data from the listing.
        loader: called with a name and its data, only for tables that are looked up. Returns a
            function that returns the entry, or None if the table must be loaded.
    """

    def __init__(
        self, tables: Iterator[tuple[str, Found]], loader: Callable[[str, Found], Loader | None]
    ) -> None:
        self._tables = tables
        self._loader = loader

    @property
    def loaders(self) -> Iterator[tuple[str, Loader | None]]:
        """Each table's name with a function that returns its entry; None if it must be loaded."""
        return ((name, self._loader(name, found)) for name, found in self._tables)

    def __iter__(self) -> Iterator[str]:
        return map(itemgetter(0), self._tables)

    def __next__(self) -> str:
        return next(self._tables)[0]


class SortedTables(ListedTables[Found], SortedNames):
    """A complete listing of objects from which the tables are filtered lazily.

    Args:
        names: all names, in order.
        tables: called with names in order and the number of tables that will be read (None: all).
            Returns the tables among them, each with its data from the listing.
        loader: see `ListedTables`.
        after: name to start after; None starts at the beginning.
        wanted: maximum number of tables that will be read; None for all.
    """

    def __init__(
        self,
        names: Sequence[str],
        tables: Callable[[Iterator[str], int | None], Iterator[tuple[str, Found]]],
        loader: Callable[[str, Found], Loader | None],
        after: str | None = None,
        wanted: int | None = None,
    ) -> None:
        SortedNames.__init__(self, names, after)
        ListedTables.__init__(self, tables(self._rest, wanted), loader)
        self._tables_among = tables

    def again(self, after: str | None, wanted: int | None) -> SortedTables[Found]:
        """Return the same listing, starting after another name; see `SortedNames.again`."""
        return SortedTables(self.names, self._tables_among, self._loader, after, wanted)


def is_lance(properties: Mapping[str, str] | None) -> bool:
    """Return whether table parameters mark a Lance table: ``table_type=lance``, in any case."""
    return (properties or {}).get(TABLE_TYPE, "").lower() == LANCE


def with_lance_type(properties: Mapping[str, str]) -> dict[str, str]:
    """Return table parameters with ``table_type=lance`` added."""
    return {**properties, TABLE_TYPE: LANCE}


def managed_choice(properties: Mapping[str, str], default: bool) -> tuple[dict[str, str], bool]:
    """Return a new table's properties without `MANAGED`, and whether the catalog manages its
    versions.

    Args:
        properties: the properties in the creation request.
        default: whether the catalog manages the versions if the properties do not specify it.

    Raises:
        InvalidInputError: code 13, the value of `MANAGED` is neither true nor false.
    """
    left = {key: value for key, value in properties.items() if key != MANAGED}
    text = properties.get(MANAGED, str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidInputError(
            f"property {MANAGED!r} of a table must be 'true' or 'false', not "
            f"{properties[MANAGED]!r}"
        )
    return left, text == "true"


def plain_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return a table's properties without its storage options."""
    return {k: v for k, v in properties.items() if not k.startswith(STORAGE_PREFIX)}


def storage_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that are storage options; the keys keep their prefix."""
    return {key: value for key, value in properties.items() if key.startswith(STORAGE_PREFIX)}


def storage_overrides(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options among the properties; the keys have no prefix."""
    start = len(STORAGE_PREFIX)
    return {key[start:]: value for key, value in storage_options(properties).items()}
