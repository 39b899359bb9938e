"""Values that random calls draw from: those that implementations often mishandle.

Each pool starts with one ordinary value. A name family is three endings of one stem, so that the
names of a sequence differ in one respect only.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COLUMNS", "DELIMITERS", "FAMILIES", "VALUES", "is_plain"]

FAMILIES: Mapping[str, tuple[str, str, str]] = {
    "plain": ("", "1", "2"),
    "wildcard": ("a_b", "aXb", "a%b"),
    "unicode": ("ä", "z", "日本"),
    "prefix": ("", "0", "0-1"),
}
"""Endings of the names ``a``, ``b`` and ``c`` of a sequence.

``_`` and ``%`` are wildcards of SQL's LIKE, and ``ä`` sorts differently by locale than by code point.
"""

VALUES = (
    "v0",
    "v1",
    "",
    "two words",
    "x" * 4_500,
    "ä € 日本",
    'it\'s "quoted"',
    "a=b;c,d&e",
    "100%",
)
"""Values of properties. Databases often bound a column at 4,000 characters."""

COLUMNS: tuple[tuple[str, ...], ...] = (
    ("id", "name", "score", "vec"),
    ("id", "name"),
    ("id", "b", "B"),
    ("id", "Name", "name"),
)
"""Columns of new tables; names that differ only in case are different columns."""

DELIMITERS = ("$", "$", "$", ".", "::")
"""Delimiters of identifiers in routes, the default most often."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def is_plain(name: str) -> bool:
    """Return whether every catalog accepts a name: lower-case letters, digits and underscores."""
    return _PLAIN.issuperset(name)
