"""Chooses the location of a new table, never one that holds the data of another table."""

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

__all__ = ["NewPlace", "Placement"]


def _place_lock(location: str) -> AbstractContextManager[None]:
    return machine_lock(("first rows", plain_path(location)), 0)


def _are_rows_on_their_way(location: str) -> bool:
    try:
        with _place_lock(location):
            return False
    except TimeoutError:
        return True


def _gone_meanwhile(entry: TableEntry) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"table {format_identifier(entry.id)} was dropped or renamed while its first rows were "
        "written; create it again"
    )


@frozen(kw_only=True)
class NewPlace:
    """The location of a new table."""

    location: str | None = None
    """None is its default location."""
    has_remains: bool = False
    """Whether an interrupted drop of the table left data there."""


@frozen
class Placement:
    """Chooses locations of new tables and guards the writing of their first rows."""

    catalog: CatalogBase

    def place_of(
        self, identifier: Identifier, properties: Mapping[str, str], *, declaring: bool
    ) -> NewPlace:
        """Return the place of a new table for which no location was requested.

        Whatever is at its usual location is not this table's, which is not in the catalog: it was
        deregistered or renamed, or another tool dropped its entry. It stays, and the new table goes
        beside it; so it does while rows are on their way to a table that has gone meanwhile. What an
        interrupted drop of this very table left is no hindrance.

        Raises:
            InvalidInputError: code 13, the usual location is too long for its storage.
        """
        if self.catalog.capabilities.storage_only:
            return NewPlace()
        try:
            location = self.catalog.default_location(identifier)
        except (NamespaceNotFoundError, InvalidInputError):
            return NewPlace()  # adding the table reports the problem
        if location is None:
            return NewPlace()
        require_short_levels(location)
        # Whoever only declares a table may have no way to its storage, and is not to wait for long.
        few_retries = {f"{STORAGE_PREFIX}client_max_retries": "2"} if declaring else {}
        usual = TableEntry(
            id=identifier, location=location, properties={**few_retries, **properties}
        )
        try:
            folder = Folders(self.catalog).folder_of(usual)
            if _are_rows_on_their_way(location):
                return NewPlace(location=fresh_location(location))
            if not folder.is_occupied:
                return NewPlace()
            if folder.has_drop_marker(identifier) and not Folders(self.catalog).is_used_by_other(
                usual
            ):
                return NewPlace(has_remains=True)
        except (OSError, RuntimeError, ValueError) as error:
            if declaring:  # writing rows reports the problem
                warnings.warn(
                    f"{location} cannot be read: any rows that exist there will belong to "
                    f"{format_identifier(identifier)}: {self.catalog.translate(error, 'storage').message}",
                    stacklevel=2,
                )
            return NewPlace()
        return NewPlace(location=fresh_location(location))

    def add_at_place(
        self, identifier: Identifier, properties: Mapping[str, str], schema: pa.Schema | None
    ) -> TableEntry:
        """Add a table without a requested location to the catalog, at a place without rows.

        Args:
            identifier: the table.
            properties: its properties.
            schema: schema of the rows to be written next; None if the table is only declared.

        Raises:
            TableAlreadyExistsError: code 5.
        """
        # The contents of the place must not change before the entry names it.
        with self._sole_change_of(identifier):
            place = self.place_of(identifier, properties, declaring=schema is None)
            if schema is None:
                entry = self.catalog.add_table(identifier, place.location, properties)
            else:
                entry = self.catalog.add_table_for(identifier, place.location, properties, schema)
            if place.has_remains:
                try:
                    self._clear_place(entry)
                except BaseException:
                    self._take_back(entry)
                    raise
        return entry

    def _clear_place(self, entry: TableEntry) -> None:
        """Delete the remains of an interrupted drop at a new table's location, unless used since."""
        folder = Folders(self.catalog).folder_of(entry)
        if folder.has_drop_marker(entry.id) and not Folders(self.catalog).is_used_by_other(entry):
            folder.delete()

    @contextmanager
    def first_rows(self, entry: TableEntry) -> Iterator[AbstractContextManager[None]]:
        """Reserve a table's place for its first rows and yield a context manager for their commit.

        Until the rows are written, no new table is placed there. The commit is rejected if the
        table has been removed (code 14); during the commit, no process on this machine can drop or
        rename it.
        """
        if self.catalog.capabilities.storage_only:
            yield nullcontext()
            return
        with ExitStack() as held:
            with suppress(TimeoutError):  # another writer's first rows are on their way there
                held.enter_context(_place_lock(entry.location))
            yield self._as_listed(entry)

    @contextmanager
    def _as_listed(self, entry: TableEntry) -> Iterator[None]:
        with self.catalog.sole_change(entry.id):
            self.require_listed(entry)
            yield

    @contextmanager
    def refused_if_gone(self, entry: TableEntry) -> Iterator[None]:
        """Replace a failure by code 14 if the table was removed concurrently."""
        try:
            yield
        except InvalidInputError:
            raise
        except Exception as error:
            if self._has_gone(entry):
                raise _gone_meanwhile(entry) from error
            raise

    def _has_gone(self, entry: TableEntry) -> bool:
        """Return whether a table was removed; False if the catalog cannot be read."""
        try:
            return not Folders(self.catalog).is_still_listed(entry)
        except NamespaceNotFoundError:
            return True
        except Exception as error:
            # The caller must see why the rows could not be written.
            if not self.catalog.is_failure(error):
                raise
            return False

    def require_listed(self, entry: TableEntry) -> None:
        """Raise if a table that receives its first rows was removed or replaced (code 14)."""
        if not self.catalog.capabilities.storage_only and not Folders(self.catalog).is_still_listed(
            entry
        ):
            raise _gone_meanwhile(entry)

    @contextmanager
    def rolled_back_on_failure(self, entry: TableEntry) -> Iterator[None]:
        """Withdraw an added table if its rows cannot be written.

        Raises:
            ConcurrentModificationError: code 14, writing failed because the table was removed
                concurrently.
        """
        try:
            yield
        except BaseException as error:
            has_gone = not self._roll_back(entry)
            if (
                has_gone
                and isinstance(error, Exception)
                and not isinstance(error, InvalidInputError)
            ):
                raise _gone_meanwhile(entry) from error
            raise

    def _roll_back(self, entry: TableEntry) -> bool:
        """Withdraw a table unless others wrote data; False if it was removed concurrently."""
        try:
            if self.catalog.has_data(entry):
                return True
        except Exception as error:
            # The caller must see why the rows could not be written.
            if not self.catalog.is_failure(error):
                raise
            if self.catalog.capabilities.storage_only:
                return True  # data that cannot be read is not deleted
        with self._sole_change_of(entry.id):
            return self._take_back(entry)

    def _sole_change_of(self, identifier: Identifier) -> AbstractContextManager[None]:
        """Return `sole_change`, or a no-op if the catalog is the storage itself."""
        if self.catalog.capabilities.storage_only:
            return nullcontext()
        return self.catalog.sole_change(identifier)

    def _take_back(self, entry: TableEntry) -> bool:
        """Withdraw a table; False if it was removed concurrently."""
        try:
            # Many catalogs would remove another table that now has the name.
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
                f"table {format_identifier(entry.id)} remains without data; drop it: "
                f"{self.catalog.translate(error, 'taking it back').message}",
                stacklevel=2,
            )
        return True

    def keep_place(self, entry: TableEntry) -> None:
        """Mark the place of a table without data that is renamed.

        Otherwise the next table with the old name would be stored at the same place and share its
        rows.
        """
        if self.catalog.capabilities.storage_only:
            return
        try:
            folder = Folders(self.catalog).folder_of(entry)
            if not folder.is_occupied:
                folder.reserve()
        except (OSError, RuntimeError, ValueError) as error:
            warnings.warn(
                f"{entry.location} cannot be written to: a new table "
                f"{format_identifier(entry.id)} could get the same location: "
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
            ConcurrentModificationError: code 14, another writer wrote them concurrently.
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
            self.refused_if_gone(entry),
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
