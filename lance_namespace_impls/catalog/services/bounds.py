"""Checks the locations, options and version management that callers request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    UnsupportedError,
)

from ...core.errors import about
from ...core.identifiers import Identifier, format_identifier, parse_identifier
from ...core.location import require_short_levels
from ...core.options import joined_options
from ..backend import CatalogBase
from ..entry import MANAGED, storage_overrides

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        DeclareTableRequest,
    )

__all__ = ["Bounds"]


@frozen
class Bounds:
    """Rejects locations and properties that the caller may not choose."""

    catalog: CatalogBase

    def refuse_outside(self, operation: str, identifier: Identifier, location: str | None) -> None:
        """Reject a location that the caller may not choose (code 13)."""
        bounds = self.catalog.bounds()
        if bounds is not None and location is not None:
            what = f"{operation} {format_identifier(identifier)}"
            places = self.catalog.default_locations(identifier)
            bounds.refuse_outside(self.catalog.absolute_location(location), places, what)

    def refuse_properties(
        self, operation: str, identifier: Identifier, properties: Mapping[str, str]
    ) -> None:
        """Reject properties that specify a forbidden location or redirect credentials (code 13)."""
        if not properties:
            return
        for key in self.catalog.capabilities.location_properties:
            self.refuse_outside(operation, identifier, properties.get(key))
        if "Table" in operation:
            what = f"{operation} {format_identifier(identifier)}"
            joined_options(self.catalog.config.storage, storage_overrides(properties), what)
            self.refuse_managed(operation, what, properties.get(MANAGED))

    def refuse_managed(self, operation: str, what: str, choice: str | None) -> None:
        """Reject a change of version management (code 13), or managed versions without a store
        (code 0).
        """
        if not self.catalog.capabilities.managed_versioning:
            if (choice or "").lower() == "true" and operation != "AlterTable":
                reason = self.catalog.capabilities.reason("CreateTableVersion")
                raise UnsupportedError(f"{what}: {MANAGED}=true is not supported: {reason}")
        elif operation == "AlterTable" and choice is not None:
            raise InvalidInputError(
                f"{what}: {MANAGED} is set when a table is created and cannot be changed; "
                "register the table under another name to set it"
            )

    def check_declaration(self, request: DeclareTableRequest, operation: str) -> Identifier:
        """Check that the caller may declare a table, and return the table's identifier.

        Raises:
            InvalidInputError: code 13.
        """
        identifier = parse_identifier(request.id)
        what = f"{operation} {format_identifier(identifier)}"
        if request.location == "":
            raise InvalidInputError(f"{what}: the location is empty; omit it")
        if request.location is not None:
            with about(what):
                require_short_levels(request.location)
        self.refuse_outside("DeclareTable", identifier, request.location)
        self.refuse_properties("DeclareTable", identifier, request.properties or {})
        return identifier
