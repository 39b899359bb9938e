"""Inspects the folder of a table, and handles interrupted drops."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from ...core.concurrent import ordered_map
from ...core.identifiers import Identifier, format_identifier
from ...core.location import plain_path
from ..backend import CatalogBase
from ..entry import TableEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...tables.drop import TableFolder

__all__ = ["Folders"]


@frozen
class Folders:
    """The folders of a catalog's tables."""

    catalog: CatalogBase

    def folder_of(self, entry: TableEntry) -> TableFolder:
        """Return the folder at a table's location."""
        from ...tables.drop import TableFolder

        # Inspect the files themselves, not the versions recorded in the catalog.
        return TableFolder(evolve(self.catalog.storage_of(entry), managed=False))

    def is_still_listed(self, entry: TableEntry) -> bool:
        """Return whether the catalog still lists this table rather than another with the same
        name.
        """
        try:
            found = self.catalog.find_table(entry.id)
        except TableNotFoundError:
            return False
        return plain_path(found.location) == plain_path(entry.location)

    def remove_drop_marker(self, entry: TableEntry, *, only_unauthorized: bool = False) -> None:
        """Remove the drop marker because the data must be kept.

        If storage cannot be reached, a warning is issued: a table can be deregistered without
        access to its storage.

        Args:
            entry: the table.
            only_unauthorized: whether to keep the marker of a drop that has already removed an
                entry.
        """
        if self.catalog.capabilities.storage_only:
            return
        folder = self.folder_of(entry)
        try:
            if only_unauthorized:
                folder.withdraw_drop_marker()
            else:
                folder.remove_drop_marker()
        except (OSError, RuntimeError, ValueError) as error:
            warnings.warn(
                f"{entry.location} cannot be read. If a drop of {format_identifier(entry.id)} was "
                f"interrupted, dropping a table with that name again would delete the data: "
                f"{self.catalog.translate(error, 'storage').message}",
                stacklevel=2,
            )

    def interrupted_drop(self, identifier: Identifier) -> TableEntry | None:
        """Return the former entry of a table whose drop was interrupted before deleting its data.

        Raises:
            TableNotFoundError: code 4, storage cannot be read.
        """
        if self.catalog.capabilities.storage_only:
            return None
        try:
            location = self.catalog.default_location(identifier)
        except (NamespaceNotFoundError, InvalidInputError):
            return None
        if location is None:
            return None
        entry = TableEntry(id=identifier, location=location, properties={})
        try:
            has_marker = self.folder_of(entry).has_drop_marker(identifier)
        except (OSError, RuntimeError, ValueError) as error:
            raise TableNotFoundError(
                f"table {format_identifier(identifier)} does not exist; storage at {location} "
                "cannot be checked for data that a drop left behind: "
                f"{self.catalog.translate(error, 'storage').message}"
            ) from error
        return entry if has_marker and not self.is_used_by_other(entry) else None

    def is_used_by_other(self, entry: TableEntry) -> bool:
        """Return whether another table in the namespace is registered at the same location."""
        parent = entry.id[:-1]

        def has_location(found: tuple[str, Callable[[], TableEntry]]) -> bool:
            name, look_up = found
            try:
                return name != entry.id[-1] and look_up().location == entry.location
            except TableNotFoundError:
                return False  # dropped between listing and loading

        tables = self.catalog.load_tables(parent, self.catalog.table_names(parent, None))
        return any(
            ordered_map(
                tables, has_location, max_concurrency=self.catalog.max_concurrency, wanted=None
            )
        )
