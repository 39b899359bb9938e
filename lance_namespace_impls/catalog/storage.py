"""Where a table's data is, with which options it is reached, and by whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from lance_namespace_client.errors import (
    InvalidInputError,
    PermissionDeniedError,
    UnsupportedError,
)

from ..core.config import Config
from ..core.confinement import Confinement, confinement, is_local
from ..core.identifiers import (
    Identifier,
    format_identifier,
)
from ..core.imports import load
from ..core.location import absolute
from ..core.options import joined_options, with_vended
from ..core.paging import KeptListings
from ..core.storage import TableStorage
from ..core.stores import check_options
from .base import CatalogBase
from .entry import (
    MANAGED,
    TableEntry,
    own_options,
)

if TYPE_CHECKING:
    pass


__all__ = ["TableStorages"]


class TableStorages(CatalogBase, abstract=True):
    """Where a table's data is, with which options it is reached, and by whom."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        check_options(config.root, config.storage)
        self._session: Any = None
        self._kept_listings = KeptListings()

    def listings_changed(self) -> None:
        """Take no more pages off what was listed before a change made here."""
        self._kept_listings.clear()

    def storage_of(self, entry: TableEntry) -> TableStorage:
        """Return location and storage options: the namespace's, with the table's own on top."""
        self._refuse_foreign_disk(entry)
        options = with_vended(self.config.storage, self.vended_options(entry))
        if own := own_options(entry.properties):
            options = joined_options(options, own, f"table {format_identifier(entry.id)}")
        return TableStorage(
            location=entry.location,
            options=options,
            session=self._lance_session,
            renewed_by=(self, entry.id),
            managed=entry.managed,
        )

    def _bounds(self) -> Confinement | None:
        """Return the bounds of the caller; None where it may go anywhere."""
        bounds, places = confinement(), self.config.allow_locations
        if bounds is not None:
            return evolve(bounds, allowed_locations=(*bounds.allowed_locations, *places))
        return Confinement(allowed_locations=places) if self.config.confine_locations else None

    def _own_places(self, identifier: Identifier) -> Iterator[str]:
        """Return the places of the namespace itself where that object may be."""
        if self.config.root is not None:
            yield self.config.root
        if self.capabilities.holds_tables(len(identifier) - 1):
            try:
                usual = self.default_location(identifier)
            except InvalidInputError:
                return  # it has none, and every table needs a location to be given
            if usual is not None:
                yield usual.rpartition("/")[0]

    def absolute_location(self, location: str) -> str:
        """Return a location that a caller asks for as a path or URI that stands by itself."""
        return location

    def resolved_location(self, location: str) -> str:
        """Return a location that a caller asks for in the form in which the catalog gets it.

        Raises:
            InvalidInputError: code 13; Lance and pyarrow would not open one place.
        """
        return absolute(self.absolute_location(location))

    def _refuse_outside(self, operation: str, identifier: Identifier, location: str | None) -> None:
        """Refuse a location that the caller may not choose (code 13)."""
        bounds = self._bounds()
        if bounds is not None and location is not None:
            what = f"{operation} {format_identifier(identifier)}"
            places = self._own_places(identifier)
            bounds.refuse_outside(self.absolute_location(location), places, what)

    def _refuse_properties(
        self, operation: str, identifier: Identifier, properties: Mapping[str, str]
    ) -> None:
        """Refuse properties that lead where the caller may not go, or credentials elsewhere (13)."""
        if not properties:
            return
        for key in self.capabilities.location_properties:
            self._refuse_outside(operation, identifier, properties.get(key))
        if "Table" in operation:
            what = f"{operation} {format_identifier(identifier)}"
            joined_options(self.config.storage, own_options(properties), what)
            self._refuse_managed(operation, what, properties.get(MANAGED))

    def _refuse_managed(self, operation: str, what: str, choice: str | None) -> None:
        """Refuse to change who keeps a table's versions (13), and to keep them without a store (0)."""
        if not self.capabilities.managed_versioning:
            if (choice or "").lower() == "true" and operation != "AlterTable":
                reason = self.capabilities.reason("CreateTableVersion")
                raise UnsupportedError(f"{what}: {MANAGED}=true is not supported: {reason}")
        elif operation == "AlterTable" and choice is not None:
            raise InvalidInputError(
                f"{what}: {MANAGED} is chosen when a table is created and stays; register the table "
                "under another name to choose again"
            )

    def _refuse_foreign_disk(self, entry: TableEntry) -> None:
        """Refuse a table that the catalog has on this machine's disk, outside its places (code 15).

        Object stores have their own access control; on disk there would be only the process's.
        """
        bounds = self._bounds()
        if bounds is None or not is_local(entry.location):
            return
        what = f"table {format_identifier(entry.id)}"
        try:
            bounds.refuse_outside(entry.location, self._own_places(entry.id), what)
        except InvalidInputError as error:
            raise PermissionDeniedError(
                f"{what}: it is on the server's own disk, outside the places of this namespace; have "
                "the operator allow it (--allow-location)"
            ) from error

    def _lance_session(self) -> Any:
        """Return the session whose bounded caches keep opened tables.

        A dataset that is opened through it reads the newest manifest and finds the rest there.
        """
        if self._session is None:
            lance = load("lance")

            budget = self.config.cache_mib << 20
            self._session = lance.Session(
                index_cache_size_bytes=budget * 3 // 4, metadata_cache_size_bytes=budget // 4
            )
        return self._session
