"""Tables as an Iceberg catalog keeps them, and why one is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    UnsupportedError,
)

from ..catalog.entry import TableEntry
from ..core.identifiers import Identifier, format_identifier
from .locations import as_opened

__all__ = [
    "changed_meanwhile",
    "chosen_by_server",
    "entry_of",
    "location_taken",
    "properties_of",
]


def properties_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties in an answer."""
    found = body.get("properties") or {}
    return {str(key): str(value) for key, value in found.items() if value is not None}


def chosen_by_server(entry: TableEntry, wanted: str | None) -> UnsupportedError:
    """Build the error for a server that decides where its tables are (code 0)."""
    return UnsupportedError(
        f"table {format_identifier(entry.id)} cannot be at {wanted}: this server chooses where its "
        f"tables are (it gave {entry.location}); leave the location out"
    )


def changed_meanwhile(identifier: Identifier) -> ConcurrentModificationError:
    """Build the error for a commit that came second (code 14)."""
    return ConcurrentModificationError(
        f"table {format_identifier(identifier)} was changed by someone else meanwhile; try again"
    )


def entry_of(identifier: Identifier, metadata: Mapping[str, Any]) -> TableEntry:
    """Return a table from its metadata.

    Raises:
        InvalidTableStateError: code 19, it has no location.
    """
    location = as_opened(str(metadata.get("location") or ""))
    if not location:
        raise InvalidTableStateError(
            f"table {format_identifier(identifier)} has no location in the catalog; deregister it "
            "with the catalog's own tools, and register it anew"
        )
    return TableEntry(id=identifier, location=location, properties=properties_of(metadata))


def location_taken(location: str) -> Callable[[Identifier], LanceNamespaceError]:
    """Return what builds the error for a table at another object's location (code 13)."""
    return lambda identifier: InvalidInputError(
        f"table {format_identifier(identifier)} cannot be at {location}: another table or namespace "
        "of this catalog is there; choose another location"
    )
