"""Options of table operations that clients pass as entries of `context`."""

from __future__ import annotations

__all__ = ["ORDER_BY", "REPLACE", "asks"]

from typing import Any

ORDER_BY = "order_by"
"""QueryTable: the order of the rows, as a JSON list of objects with `column_name`, `ascending` and
`nulls_first`."""
REPLACE = "replace"
"""CreateTableIndex: ``true`` replaces an index with the same name."""


def asks(request: Any, entry: str) -> bool:
    """Return whether an entry of a request's context has the value ``true``."""
    return str((request.context or {}).get(entry, "")).lower() == "true"
