"""DropTable: the entry first, then the data, resumed where it was interrupted."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from attrs import evolve

from lance_namespace_client import models
from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from ..core.concurrent import ordered_map
from ..core.identifiers import (
    Identifier,
    format_identifier,
    parse_identifier,
)
from ..core.location import plain_path
from .entry import (
    TableEntry,
    plain_properties,
)
from .operation import operation
from .storage import TableStorages

if TYPE_CHECKING:
    from collections.abc import Callable

    from lance_namespace_client.models import (
        DropTableRequest,
        DropTableResponse,
    )

    from ..tables.drop import TableFolder


__all__ = ["TableDrops"]


class TableDrops(TableStorages, abstract=True):
    """DropTable: the entry first, then the data, resumed where it was interrupted."""

    @operation
    def drop_table(self, request: DropTableRequest) -> DropTableResponse:
        """Take a table out of the catalog, then delete its data.

        A drop that was interrupted between the two is resumed, as long as the table was at its
        default location and nobody has used the data since. Of several at once one succeeds.
        """
        identifier = parse_identifier(request.id)
        # A drop under way looks like one that was interrupted.
        with self.sole_change(identifier):
            entry = self._drop(identifier)
        return models.DropTableResponse(
            id=list(identifier),
            location=entry.location,
            properties=plain_properties(entry.properties),
        )

    def remove_table_and_data(self, entry: TableEntry) -> None:
        """Take a table out of the catalog, then delete its data.

        A marker beside the data outlives a process that is killed in between; the next DropTable or
        CreateTable of the name finds it. Where it cannot be written, nothing is changed.
        """
        folder = self._folder_of(entry)
        has_marker = folder.write_drop_marker(entry.id)
        try:
            self.remove_table(entry)
        except Exception:
            if has_marker and self._is_still_listed(entry):
                self._remove_drop_marker(entry)
            raise
        if has_marker:
            folder.delete()

    def _folder_of(self, entry: TableEntry) -> TableFolder:
        from ..tables.drop import TableFolder

        # What is in the folder is looked at, not what the catalog says of it.
        return TableFolder(evolve(self.storage_of(entry), managed=False))

    def _is_still_listed(self, entry: TableEntry) -> bool:
        """Return whether the catalog has a table, and not none or another one of its name."""
        try:
            found = self.find_table(entry.id)
        except TableNotFoundError:
            return False
        return plain_path(found.location) == plain_path(entry.location)

    def _remove_drop_marker(self, entry: TableEntry) -> None:
        """Remove the marker of a drop that never came to the catalog: the data is to be kept.

        A table can leave the catalog while its storage is out of reach; that is then warned about.
        """
        if self.capabilities.storage_only:
            return
        try:
            self._folder_of(entry).remove_drop_marker()
        except (OSError, RuntimeError, ValueError) as error:
            warnings.warn(
                f"{entry.location} cannot be read: if a drop of {format_identifier(entry.id)} "
                "was interrupted there, dropping that name again would delete the data: "
                f"{self.translate(error, 'storage').message}",
                stacklevel=2,
            )

    def _interrupted_drop(self, identifier: Identifier) -> TableEntry | None:
        """Find the data of a table that is out of the catalog, and whose drop was interrupted.

        Raises:
            TableNotFoundError: code 4, storage cannot tell.
        """
        if self.capabilities.storage_only:
            return None
        try:
            location = self.default_location(identifier)
        except (NamespaceNotFoundError, InvalidInputError):
            return None
        if location is None:
            return None
        entry = TableEntry(id=identifier, location=location, properties={})
        try:
            has_marker = self._folder_of(entry).has_drop_marker(identifier)
        except (OSError, RuntimeError, ValueError) as error:
            raise TableNotFoundError(
                f"table {format_identifier(identifier)} does not exist; whether a drop left data at "
                f"{location} cannot be seen: {self.translate(error, 'storage').message}"
            ) from error
        return entry if has_marker and not self._is_used_by_other(entry) else None

    def _is_used_by_other(self, entry: TableEntry) -> bool:
        """Return whether another table of the namespace has the location: someone rescued the data."""
        parent = entry.id[:-1]

        def has_location(found: tuple[str, Callable[[], TableEntry]]) -> bool:
            name, look_up = found
            try:
                return name != entry.id[-1] and look_up().location == entry.location
            except TableNotFoundError:
                return False  # it went between listing and loading

        tables = self.load_tables(parent, self.table_names(parent, None))
        return any(
            ordered_map(tables, has_location, max_concurrency=self.max_concurrency, wanted=None)
        )

    def _drop(self, identifier: Identifier) -> TableEntry:
        try:
            entry = self.find_table(identifier)
        except TableNotFoundError:
            interrupted = self._interrupted_drop(identifier)
            if interrupted is None or not self._folder_of(interrupted).delete():
                raise
            return interrupted
        self.remove_table_and_data(entry)
        return entry
