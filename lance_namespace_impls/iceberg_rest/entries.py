"""Extracts table data from responses of the Iceberg REST API, and builds errors for rejected tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    PermissionDeniedError,
)

from ..core.identifiers import Identifier, format_identifier
from .locations import as_opened

__all__ = [
    "bucket_missing",
    "location_of",
    "location_in_use",
    "properties_of",
    "store_denied",
    "store_unknown",
]


def properties_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties in a response."""
    properties = body.get("properties") or {}
    return {str(key): str(value) for key, value in properties.items() if value is not None}


def location_of(identifier: Identifier, location: str | None) -> str:
    """Return the location of a table's dataset in the form that Lance opens.

    Raises:
        InvalidTableStateError: code 19, the catalog has no location for the table.
    """
    opened = as_opened(location or "")
    if not opened:
        raise InvalidTableStateError(
            f"table {format_identifier(identifier)} has no location in the catalog; deregister it "
            "with the catalog's own tools, and register it again"
        )
    return opened


def store_unknown(what: str, location: str) -> Callable[[Identifier], LanceNamespaceError]:
    """Return a function that builds the error (code 13) for a location that the server cannot open."""
    return lambda identifier: InvalidInputError(
        f"{what} {format_identifier(identifier)} cannot be stored at {location}: this server has "
        f"no file system for that location; choose another location, or add the file system to "
        f"the server"
    )


def bucket_missing(what: str, location: str) -> Callable[[Identifier], LanceNamespaceError]:
    """Return a function that builds the error (code 13) for a location in a missing bucket."""
    return lambda identifier: InvalidInputError(
        f"{what} {format_identifier(identifier)} cannot be stored at {location}: the bucket does "
        "not exist; create it, or choose another location"
    )


def store_denied(what: str, location: str) -> Callable[[Identifier], LanceNamespaceError]:
    """Return a function that builds the error (code 15) for a location denied to the server."""
    return lambda identifier: PermissionDeniedError(
        f"{what} {format_identifier(identifier)} cannot be stored at {location}: the catalog's "
        "server is not allowed to write there; grant access to its credentials, or choose another "
        "location"
    )


def location_in_use(what: str, location: str | None) -> Callable[[Identifier], LanceNamespaceError]:
    """Return a function that builds the error (code 13) for a location that another object uses.

    Args:
        what: ``table`` or ``namespace``.
        location: the rejected location; None means a location that the server chooses.
    """
    return lambda identifier: InvalidInputError(
        f"{what} {format_identifier(identifier)} cannot be stored at "
        f"{location or 'its default location'}: another table or namespace in this catalog uses "
        "it; choose another location"
    )
