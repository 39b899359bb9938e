"""Builds the errors for rejected requests for generic tables in Apache Polaris."""

from __future__ import annotations

from lance_namespace_client.errors import InternalError, InvalidInputError

from ..extend import Identifier, format_identifier

__all__ = ["moved_by_server", "no_table", "not_lance"]


def no_table(identifier: Identifier) -> InternalError:
    """Build the error for a response without a generic table (code 18)."""
    return InternalError(
        f"table {format_identifier(identifier)}: the server's response has no generic table; "
        f"check that it implements Apache Polaris' Generic Table API"
    )


def not_lance(identifier: Identifier, format: str) -> InvalidInputError:
    """Build the error (code 13) for a generic table in another format."""
    return InvalidInputError(
        f"{format_identifier(identifier)} is not a Lance table: its format is {format!r}, not "
        f"'lance'"
    )


def moved_by_server(identifier: Identifier, requested: str, stored: str) -> InvalidInputError:
    """Build the error (code 13) for a server that would store a different location."""
    return InvalidInputError(
        f"table {format_identifier(identifier)} cannot be stored at {requested}: this server would "
        f"store the location {stored}; specify a location in that form"
    )
