"""Where a new table goes: never where rows of another lie."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
)

from ..core.identifiers import (
    Identifier,
    format_identifier,
)
from ..core.location import fresh_location
from .drop import TableDrops
from .entry import (
    STORAGE_PREFIX,
    TableEntry,
)

if TYPE_CHECKING:
    pass


__all__ = ["NewPlace", "TablePlaces"]


@frozen(kw_only=True)
class NewPlace:
    """Where a new table goes."""

    location: str | None = None
    """None is its usual location."""
    has_remains: bool = False
    """Whether a broken-off drop of the table left something there."""


class TablePlaces(TableDrops, abstract=True):
    """Where a new table goes: never where rows of another lie."""

    def place_of(
        self, identifier: Identifier, properties: Mapping[str, str], *, declaring: bool
    ) -> NewPlace:
        """Return where a table goes that no location is asked for.

        Whatever is at its usual location is not this table's, which is not in the catalog: it was
        deregistered or renamed, or another tool dropped its entry. It stays, and the new table goes
        beside it. What a broken-off drop of this very table left is no hindrance.
        """
        if self.capabilities.storage_only:
            return NewPlace()
        try:
            location = self.default_location(identifier)
        except (NamespaceNotFoundError, InvalidInputError):
            return NewPlace()  # adding the table says what is wrong
        if location is None:
            return NewPlace()
        # Whoever only declares a table may have no way to its storage, and is not to wait for long.
        few_retries = {f"{STORAGE_PREFIX}client_max_retries": "2"} if declaring else {}
        usual = TableEntry(
            id=identifier, location=location, properties={**few_retries, **properties}
        )
        try:
            folder = self._folder_of(usual)
            if not folder.is_occupied:
                return NewPlace()
            if folder.has_drop_marker(identifier) and not self._is_used_by_other(usual):
                return NewPlace(has_remains=True)
        except (OSError, RuntimeError, ValueError) as error:
            if declaring:  # writing rows says what is wrong
                warnings.warn(
                    f"{location} cannot be read: rows that are there already will be those of "
                    f"{format_identifier(identifier)}: {self.translate(error, 'storage').message}",
                    stacklevel=2,
                )
            return NewPlace()
        return NewPlace(location=fresh_location(location))

    def clear_place(self, entry: TableEntry) -> None:
        """Delete what a broken-off drop left at a new table's location, unless it was used since."""
        folder = self._folder_of(entry)
        if folder.has_drop_marker(entry.id) and not self._is_used_by_other(entry):
            folder.delete()

    def keep_place(self, entry: TableEntry) -> None:
        """Mark the place of a table without data that goes on under another name.

        Otherwise the next table of the old name would have the same place, and the same rows.
        """
        if self.capabilities.storage_only:
            return
        try:
            folder = self._folder_of(entry)
            if not folder.is_occupied:
                folder.reserve()
        except (OSError, RuntimeError, ValueError) as error:
            warnings.warn(
                f"{entry.location} cannot be written to: a new table "
                f"{format_identifier(entry.id)} could get the same place: "
                f"{self.translate(error, 'storage').message}",
                stacklevel=2,
            )
