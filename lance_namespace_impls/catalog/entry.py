"""A Lance table as its catalog knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

from ..core.identifiers import (
    Identifier,
)

if TYPE_CHECKING:
    pass


__all__ = [
    "LANCE",
    "MANAGED",
    "STORAGE_PREFIX",
    "TABLE_TYPE",
    "ListedTables",
    "TableEntry",
    "is_lance",
    "managed_choice",
    "own_options",
    "plain_properties",
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


class ListedTables(Iterator[str]):
    """The names of tables whose entries their listing gave too, so that none is loaded again.

    Args:
        loaders: each table's name with what returns its entry.
    """

    def __init__(self, loaders: Iterator[tuple[str, Callable[[], TableEntry]]]) -> None:
        self.loaders = loaders

    def __next__(self) -> str:
        return next(self.loaders)[0]


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


def own_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the storage options among a table's properties."""
    start = len(STORAGE_PREFIX)
    return {k[start:]: value for k, value in properties.items() if k.startswith(STORAGE_PREFIX)}
