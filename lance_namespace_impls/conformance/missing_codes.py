"""Error codes for missing objects for which the sources name several codes."""

from __future__ import annotations

__all__ = [
    "NO_BRANCH",
    "NO_COLUMN",
    "NO_NEW_COLUMN",
    "NO_VERSION",
]

NO_COLUMN = (12, 13)
"""rest.yaml names 12; the field descriptions name "InvalidInput or TableColumnNotFound"."""
NO_NEW_COLUMN = (12, 13, 20)
"""For a new column computed from a missing one: the schema change does not fit either."""
NO_BRANCH = (4, 11, 22)
"""The field descriptions name 4 or 11; code 22 means that the table has no such branch."""
NO_VERSION = (4, 11)
"""For operations with only 4 in the protocol semantics; 11 means that the version is missing."""
