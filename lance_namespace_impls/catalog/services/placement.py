"""Chooses the location of a new table, but never one that contains the data of another table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from attrs import frozen

from lance_namespace_client.arrow import RowStream
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

from ...core.errors import about
from ...core.identifiers import Identifier, format_identifier, subject_of
from ...core.location import fresh_location, plain_path, require_short_levels
from ...core.locks import machine_lock
from ..backend import CatalogBase
from ..entry import STORAGE_PREFIX, TableEntry
from .folders import Folders

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NewLocation", "Placement"]


def _first_rows_lock(location: str) -> AbstractContextManager[None]:
    return machine_lock(("first rows", plain_path(location)), 0)


def _is_being_written(location: str) -> bool:
    try:
        with _first_rows_lock(location):
            return False
    except TimeoutError:
        return True


def _removed_concurrently(entry: TableEntry) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"table {format_identifier(entry.id)} was dropped or renamed while its first rows were "
        "written; create it again"
    )


@frozen(kw_only=True)
class NewLocation:
    """A location chosen for a new table."""

    location: str | None = None
    """None is the table's default location."""
    has_remains: bool = False
    """Whether an interrupted drop of the table left data there."""


@frozen
class Placement:
    """Chooses the locations of new tables, and guards the writing of their first rows."""

    catalog: CatalogBase

    def new_location(
        self, identifier: Identifier, properties: Mapping[str, str], *, declaring: bool
    ) -> NewLocation:
        """Choose the location of a new table if none was requested.

        Data at the default location belongs to another table: one that was deregistered or renamed,
        or whose entry was dropped by another tool. Such data is kept, and the new table is stored
        next to it. The same applies while another writer is still writing rows for a table that was
        removed. A location with the remains of an interrupted drop of a table with this name is
        reused.

        Raises:
            InvalidInputError: code 13, the default location is too long for its storage.
        """
        if self.catalog.capabilities.storage_only:
            return NewLocation()
        try:
            location = self.catalog.default_location(identifier)
        except (NamespaceNotFoundError, InvalidInputError):
            return NewLocation()  # the problem is reported when the table is added
        if location is None:
            return NewLocation()
        require_short_levels(location)
        # A client that only declares a table may have no access to the table's storage, and must
        # not wait long.
        few_retries = {f"{STORAGE_PREFIX}client_max_retries": "2"} if declaring else {}
        usual = TableEntry(
            id=identifier, location=location, properties={**few_retries, **properties}
        )
        try:
            folder = Folders(self.catalog).folder_of(usual)
            if _is_being_written(location):
                return NewLocation(location=fresh_location(location))
            if not folder.is_occupied:
                return NewLocation()
            if folder.has_drop_marker(identifier) and not Folders(self.catalog).is_used_by_other(
                usual
            ):
                return NewLocation(has_remains=True)
        except (OSError, RuntimeError, ValueError) as error:
            if declaring:  # the problem is reported when rows are written
                warnings.warn(
                    f"{location} cannot be read; rows that already exist there will become rows of "
                    f"{format_identifier(identifier)}: "
                    f"{self.catalog.translate(error, 'storage').message}",
                    stacklevel=2,
                )
            return NewLocation()
        return NewLocation(location=fresh_location(location))

    def add_at_new_location(
        self, identifier: Identifier, properties: Mapping[str, str], schema: pa.Schema | None
    ) -> TableEntry:
        """Add a table for which no location was requested, at a location without rows.

        Args:
            identifier: the table.
            properties: its properties.
            schema: schema of the rows to be written next; None if the table is only declared.

        Raises:
            TableAlreadyExistsError: code 5.
        """
        # The contents of the location must not change before the entry references it.
        with self._sole_change_of(identifier):
            target = self.new_location(identifier, properties, declaring=schema is None)
            if schema is None:
                entry = self.catalog.add_table(identifier, target.location, properties)
            else:
                entry = self.catalog.add_table_for(identifier, target.location, properties, schema)
            if target.has_remains:
                try:
                    self._delete_remains(entry)
                except BaseException:
                    self._withdraw(entry)
                    raise
        return entry

    def _delete_remains(self, entry: TableEntry) -> None:
        """Delete the remains of an interrupted drop at a new table's location, unless they are in
        use.
        """
        folder = Folders(self.catalog).folder_of(entry)
        if folder.has_drop_marker(entry.id) and not Folders(self.catalog).is_used_by_other(entry):
            folder.delete()

    @contextmanager
    def first_rows(self, entry: TableEntry) -> Iterator[AbstractContextManager[None]]:
        """Reserve a table's location for its first rows; yield a context manager for the commit.

        Until the rows are written, no new table uses the location. The commit is rejected if the
        table has been removed (code 14). During the commit, no process on this machine can drop or
        rename the table.
        """
        if self.catalog.capabilities.storage_only:
            yield nullcontext()
            return
        with ExitStack() as held:
            with suppress(TimeoutError):  # another writer is writing its first rows there
                held.enter_context(_first_rows_lock(entry.location))
            yield self._as_listed(entry)

    @contextmanager
    def _as_listed(self, entry: TableEntry) -> Iterator[None]:
        with self.catalog.sole_change(entry.id):
            self.require_listed(entry)
            yield

    @contextmanager
    def conflict_if_removed(self, entry: TableEntry) -> Iterator[None]:
        """Report code 14 instead of the failure if the table was removed concurrently."""
        try:
            yield
        except InvalidInputError:
            raise
        except Exception as error:
            if self._was_removed(entry):
                raise _removed_concurrently(entry) from error
            raise

    def _was_removed(self, entry: TableEntry) -> bool:
        """Return whether a table was removed, or False if the catalog cannot be read."""
        try:
            return not Folders(self.catalog).is_still_listed(entry)
        except NamespaceNotFoundError:
            return True
        except Exception as error:
            # Report why the rows could not be written, instead of this failure.
            if not self.catalog.is_failure(error):
                raise
            return False

    def require_listed(self, entry: TableEntry) -> None:
        """Raise an error (code 14) if the table was removed or replaced while its first rows were
        written.
        """
        if not self.catalog.capabilities.storage_only and not Folders(self.catalog).is_still_listed(
            entry
        ):
            raise _removed_concurrently(entry)

    @contextmanager
    def rolled_back_on_failure(self, entry: TableEntry) -> Iterator[None]:
        """Remove the added table from the catalog if its rows cannot be written.

        Raises:
            ConcurrentModificationError: code 14, writing failed because the table was removed
                concurrently.
        """
        try:
            yield
        except BaseException as error:
            was_removed = not self._roll_back(entry)
            if (
                was_removed
                and isinstance(error, Exception)
                and not isinstance(error, InvalidInputError)
            ):
                raise _removed_concurrently(entry) from error
            raise

    def _roll_back(self, entry: TableEntry) -> bool:
        """Remove a table without data from the catalog; return False if it was removed concurrently."""
        try:
            if self.catalog.has_data(entry):
                return True
        except Exception as error:
            # Report why the rows could not be written, instead of this failure.
            if not self.catalog.is_failure(error):
                raise
            if self.catalog.capabilities.storage_only:
                return True  # data is not deleted if it cannot be read
        with self._sole_change_of(entry.id):
            return self._withdraw(entry)

    def _sole_change_of(self, identifier: Identifier) -> AbstractContextManager[None]:
        """Return `CatalogBase.sole_change`, or a no-op if the catalog is the storage itself."""
        if self.catalog.capabilities.storage_only:
            return nullcontext()
        return self.catalog.sole_change(identifier)

    def _withdraw(self, entry: TableEntry) -> bool:
        """Remove a table from the catalog; return False if it was removed concurrently."""
        try:
            # Many catalogs would otherwise remove another table that now has this name.
            is_catalog = not self.catalog.capabilities.storage_only
            if is_catalog and not Folders(self.catalog).is_still_listed(entry):
                return False
            self.catalog.withdraw_table(entry)
        except TableNotFoundError:
            return False
        except Exception as error:
            if not self.catalog.is_failure(error):
                raise
            warnings.warn(
                f"table {format_identifier(entry.id)} could not be removed and remains without "
                f"data; drop it: {self.catalog.translate(error, 'undo').message}",
                stacklevel=2,
            )
        return True

    def reserve_location(self, entry: TableEntry) -> None:
        """Mark the location of a renamed table that has no data.

        Otherwise, the next table with the old name would be stored at the same location, and the
        two tables would share their rows.
        """
        if self.catalog.capabilities.storage_only:
            return
        try:
            folder = Folders(self.catalog).folder_of(entry)
            if not folder.is_occupied:
                folder.reserve()
        except (OSError, RuntimeError, ValueError) as error:
            warnings.warn(
                f"{entry.location} cannot be written to: a new table {format_identifier(entry.id)} "
                "could be stored at the same location: "
                f"{self.catalog.translate(error, 'storage').message}",
                stacklevel=2,
            )

    def fill_declared(self, operation: str, identifier: Identifier, rows: RowStream) -> int:
        """Write the first rows of a declared table and return the dataset's version.

        Args:
            operation: name of the calling operation.
            identifier: the table.
            rows: the rows.

        Raises:
            ConcurrentModificationError: code 14, another writer wrote the first rows concurrently.
        """
        from ...tables.schema import check_columns
        from ...tables.write import create

        subject = subject_of(operation, identifier)
        with about(subject):
            check_columns(rows.schema)
        entry = self.catalog.find_table(identifier)
        with (
            self.first_rows(entry) as committing,
            self.catalog.initial_write_lock(entry, wait=False),
            self.conflict_if_removed(entry),
        ):
            storage = self.catalog.storage_of(entry)
            try:
                with about(subject), rows.guarded():
                    version = create(storage, rows, overwrite=False, committing=committing)
            except TableAlreadyExistsError as error:
                raise ConcurrentModificationError(
                    f"table {format_identifier(identifier)}: another writer wrote its first rows "
                    "concurrently; send the rows again"
                ) from error
        self.catalog.data_written(entry)
        return version
