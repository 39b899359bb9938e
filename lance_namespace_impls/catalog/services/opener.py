"""Opens the datasets of tables for reading or writing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from attrs import frozen

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from ...core.errors import about
from ...core.identifiers import Identifier, format_identifier, parse_identifier, subject_of
from ...core.location import plain_path
from ..backend import CatalogBase
from ..errors import table_not_found
from ..version_store import RemoveVersions
from .folders import Folders

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        CountTableRowsRequest,
        InsertIntoTableRequest,
        MergeInsertIntoTableRequest,
        QueryTableRequest,
    )

    from ...tables.lineage import LocationState, OpenedVersion
    from ..entry import TableEntry

__all__ = ["Opener"]


@frozen
class Opener:
    """Opens the datasets of a catalog's tables."""

    catalog: CatalogBase

    @contextmanager
    def read(
        self, operation: str, request: QueryTableRequest | CountTableRowsRequest
    ) -> Iterator[Any]:
        """Open a table's dataset like `opened`, but only for reading."""
        if request.version is not None or request.branch is not None:
            choice = {"version": request.version, "branch": request.branch}
            with self.opened(operation, request.id, **choice) as dataset:
                yield dataset
            return
        identifier = parse_identifier(request.id)

        def opened() -> Any:
            with self.opened(operation, identifier) as dataset:
                return dataset

        dataset = self.catalog.cached_dataset(identifier, opened)
        with about(subject_of(operation, identifier)), self._refused_if_dropped(identifier):
            yield dataset

    @contextmanager
    def opened(self, operation: str, names: Sequence[str] | None, **choice: Any) -> Iterator[Any]:
        """Open a table's dataset; errors name the operation and the table."""
        from ...tables.dataset import open_dataset

        identifier = parse_identifier(names)
        entry = self.catalog.find_table(identifier)
        storage = self.catalog.storage_of(entry)
        with about(subject_of(operation, identifier)), self._refused_if_dropped(identifier, entry):
            yield open_dataset(storage, **choice)

    @contextmanager
    def _refused_if_dropped(
        self, identifier: Identifier, entry: TableEntry | None = None
    ) -> Iterator[None]:
        """Report that a table was dropped or renamed concurrently, and not pylance's missing file.

        Args:
            identifier: the table.
            entry: the entry that was looked up earlier; None if there was no lookup.

        Raises:
            TableNotFoundError: code 4, the catalog no longer has the table.
            ConcurrentModificationError: code 14, the catalog has another table with that name.
        """
        from ...tables.lineage import replaced

        try:
            yield
        except (InternalError, InvalidTableStateError) as error:
            failure: Exception = error
        except LanceNamespaceError:
            raise
        except Exception as error:  # noqa: BLE001 raised again below, directly or as a cause
            failure = error
            if entry is not None:
                self._delete_remains(entry)
        else:
            return
        try:
            found = self.catalog.find_table(identifier)
        except (NamespaceNotFoundError, TableNotFoundError):
            raise table_not_found(identifier) from failure
        except Exception as error:
            # Report the failure of the operation instead of this failure.
            if not self.catalog.is_failure(error):
                raise
            raise failure from None
        if entry is not None and plain_path(found.location) != plain_path(entry.location):
            raise replaced(f"table {format_identifier(identifier)}") from failure
        raise failure

    def _delete_remains(self, entry: TableEntry) -> None:
        """Delete files that pylance wrote to an open dataset after the table was dropped.

        pylance recreates a deleted folder, and in a directory catalog, a folder is a table.
        """
        if not self.catalog.capabilities.storage_only:
            return
        try:
            Folders(self.catalog).folder_of(entry).delete_remains()
        except Exception as error:
            # Report the failure of the operation instead of this failure.
            if not self.catalog.is_failure(error):
                raise

    @contextmanager
    def changed(
        self, operation: str, names: Sequence[str] | None, branch: str | None = None
    ) -> Iterator[Any]:
        """Open a table's dataset like `opened`, for a change that consists of one commit.

        Raises:
            TableNotFoundError: code 4, the table was dropped concurrently.
            ConcurrentModificationError: code 14, the table was dropped and created again. If the
                change was applied to the new table, it is reverted.
        """
        with self.opened_version(operation, names, branch) as (dataset, _):
            yield dataset

    @contextmanager
    def opened_version(
        self, operation: str, names: Sequence[str] | None, branch: str | None = None
    ) -> Iterator[tuple[Any, OpenedVersion]]:
        """Open a dataset like `changed`, for a change that consists of several commits.

        The caller records every commit except the last one in the returned version.
        """
        from ...tables.lineage import LocationState, open_version

        identifier = parse_identifier(names)
        entry = self.catalog.find_table(identifier)
        storage = self.catalog.storage_of(entry)
        with about(subject_of(operation, identifier)), open_version(storage, branch) as found:
            dataset, opened = found
            try:
                yield dataset, opened
            except InvalidInputError:
                raise
            except Exception as error:
                opened.note(dataset)
                if self._look(opened) is LocationState.SAME:
                    with self._refused_if_dropped(identifier, entry):
                        raise
                raise self._replaced(entry, opened) from error
            opened.note(dataset)
            # If nothing is stored at the location, the table was dropped or renamed after the
            # change.
            if self._look(opened) is LocationState.OTHER:
                raise self._replaced(entry, opened)

    def _look(self, opened: OpenedVersion) -> LocationState:
        """Return the dataset at a location; if it cannot be read, assume the opened dataset."""
        from ...tables.lineage import LocationState

        try:
            return opened.state()
        except Exception as error:
            # Report the result of the change instead of this failure.
            if not self.catalog.is_failure(error):
                raise
            return LocationState.SAME

    def _replaced(self, entry: TableEntry, opened: OpenedVersion) -> LanceNamespaceError:
        """Revert a change to a table that has replaced the opened one, and return the error."""
        from ...tables.lineage import replaced

        name = format_identifier(entry.id)
        with self.catalog.sole_change(entry.id):
            try:
                self._revert_change(entry, opened)
            except Exception as error:
                if not self.catalog.is_failure(error):
                    raise
                warnings.warn(
                    f"{entry.location}: versions {sorted(opened.committed)} of a dropped table cannot "
                    f"be removed from {name}: {self.catalog.translate(error, 'undo').message}",
                    stacklevel=2,
                )
            try:
                self.catalog.find_table(entry.id)
            except TableNotFoundError as error:
                return error
        return replaced(f"table {name}")

    def _revert_change(self, entry: TableEntry, opened: OpenedVersion) -> None:
        numbers = opened.misplaced()
        if entry.managed and numbers:
            # Delete the versions from the catalog first, because readers must not find a version
            # whose manifest is missing.
            found = self.catalog.find_table(entry.id)
            self.catalog.versions_of(found).commit(
                [RemoveVersions(table=found, branch=opened.branch, versions=numbers)]
            )
        opened.delete(numbers)
        if self.catalog.capabilities.storage_only or not Folders(self.catalog).is_still_listed(
            entry
        ):
            # pylance recreates a deleted folder, and in a directory catalog, a folder is a table.
            Folders(self.catalog).folder_of(entry).delete_remains()

    @contextmanager
    def changed_or_declared(
        self, operation: str, request: InsertIntoTableRequest | MergeInsertIntoTableRequest
    ) -> Iterator[tuple[Any, OpenedVersion] | None]:
        """Open a table for a change, or yield None if its main branch has no data."""
        with ExitStack() as stack:
            try:
                found = stack.enter_context(
                    self.opened_version(operation, request.id, request.branch)
                )
            except InvalidTableStateError:
                if request.branch is not None:
                    raise
                found = None
            yield found
