"""Codes of what is missing, where the sources name more than one."""

from __future__ import annotations

__all__ = ["NO_BRANCH", "NO_COLUMN", "NO_NEW_COLUMN", "NO_VERSION"]

NO_COLUMN = (12, 13)
"""rest.yaml names 12; the published texts of the fields, "InvalidInput or TableColumnNotFound"."""
NO_NEW_COLUMN = (12, 13, 20)
"""Where a new column is made of one that is missing: it is a change that does not fit, too."""
NO_BRANCH = (4, 11, 22)
"""The texts of the fields name 4 or 11; code 22 is that the table has no such branch."""
NO_VERSION = (4, 11)
"""Of operations that protocol semantics gives 4 alone; code 11 is that there is no such version."""
