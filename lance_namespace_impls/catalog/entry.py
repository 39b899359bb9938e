"""A Lance table as its catalog knows it."""

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
    "own_options",
    "plain_properties",
    "storage_options",
    "with_lance_type",
]

STORAGE_PREFIX = "storage."
TABLE_TYPE = "table_type"
MANAGED = "managed_versioning"
"""Property that a table is created with, to have its versions kept by the catalog, or not."""
LANCE = "lance"


@frozen(kw_only=True)
class TableEntry:
    """A Lance table as its catalog knows it."""

    id: Identifier
    location: str
    """Root of the dataset: a path or URI, without a trailing slash."""
    properties: Mapping[str, str]
    """The table's parameters in the catalog, ``storage.*`` among them."""
    managed: bool = False
    """Whether the catalog keeps the table's versions, in its `VersionStore`."""


Loader: TypeAlias = Callable[[], TableEntry]
Found = TypeVar("Found")


class ListedTables(Iterator[str], Generic[Found]):
    """The names of tables whose entries their listing gave too, so that none is loaded again.

    Args:
        tables: each table's name with what the listing gave of it.
        loader: takes both, and returns what returns the entry; None where it has to be loaded. It is
            asked only for tables that are looked at.
    """

    def __init__(
        self, tables: Iterator[tuple[str, Found]], loader: Callable[[str, Found], Loader | None]
    ) -> None:
        self._tables = tables
        self._loader = loader

    @property
    def loaders(self) -> Iterator[tuple[str, Loader | None]]:
        """Each table's name with what returns its entry; None where it has to be loaded."""
        return ((name, self._loader(name, found)) for name, found in self._tables)

    def __iter__(self) -> Iterator[str]:
        return map(itemgetter(0), self._tables)

    def __next__(self) -> str:
        return next(self._tables)[0]


class SortedTables(ListedTables[Found], SortedNames):
    """What was listed at once and may be tables; which are is found out as they are asked for.

    Args:
        names: all names, in order.
        tables: takes names in order, and how many tables will be wanted of them (None: all), and
            returns the tables among them, each with what the listing gave of it.
        loader: see `ListedTables`.
        after: name to start after; None starts at the first.
        wanted: most tables that will be taken; None for all.
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
        """Return the same listing from after another name; see `SortedNames`."""
        return SortedTables(self.names, self._tables_among, self._loader, after, wanted)


def is_lance(properties: Mapping[str, str] | None) -> bool:
    """Return whether a catalog's table parameters mark a Lance table: ``table_type=lance``, any case."""
    return (properties or {}).get(TABLE_TYPE, "").lower() == LANCE


def with_lance_type(properties: Mapping[str, str]) -> dict[str, str]:
    """Return table parameters with the mark of a Lance table."""
    return {**properties, TABLE_TYPE: LANCE}


def managed_choice(properties: Mapping[str, str], default: bool) -> tuple[dict[str, str], bool]:
    """Return the properties of a new table without the choice who keeps its versions, and that choice.

    Args:
        properties: the properties that it is created with.
        default: whether the catalog keeps the versions where they do not say.

    Raises:
        InvalidInputError: code 13, the choice is neither true nor false.
    """
    left = {key: value for key, value in properties.items() if key != MANAGED}
    text = properties.get(MANAGED, str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidInputError(
            f"property {MANAGED!r} of a table is 'true' or 'false', not {properties[MANAGED]!r}"
        )
    return left, text == "true"


def plain_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return a table's properties without its storage options."""
    return {k: v for k, v in properties.items() if not k.startswith(STORAGE_PREFIX)}


def storage_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return those of a table's properties that are storage options."""
    return {key: value for key, value in properties.items() if key.startswith(STORAGE_PREFIX)}


def own_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options among a table's properties."""
    start = len(STORAGE_PREFIX)
    return {key[start:]: value for key, value in storage_options(properties).items()}
