"""Builds the errors for table changes that an Iceberg catalog rejects."""

from __future__ import annotations

from lance_namespace_client.errors import ConcurrentModificationError, UnsupportedError

from ..catalog.entry import TableEntry
from ..core.identifiers import Identifier, format_identifier

__all__ = ["changed_meanwhile", "chosen_by_server"]


def chosen_by_server(entry: TableEntry, requested: str | None) -> UnsupportedError:
    """Build the error (code 0) for a server that chooses the locations of tables itself."""
    return UnsupportedError(
        f"table {format_identifier(entry.id)} cannot be stored at {requested}: this server chooses "
        f"the locations of tables (here, {entry.location}); omit the location"
    )


def changed_meanwhile(identifier: Identifier) -> ConcurrentModificationError:
    """Build the error (code 14) for a commit that conflicts with a concurrent one."""
    return ConcurrentModificationError(
        f"table {format_identifier(identifier)} changed concurrently; try again"
    )
