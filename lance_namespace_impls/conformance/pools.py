"""Values that random calls draw from: those that implementations often mishandle.

Each pool starts with one ordinary value. A name family is three endings of one stem, so that the
names of a sequence differ in one respect only.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "COLUMNS",
    "DELIMITERS",
    "FAMILIES",
    "KEYS",
    "LIMITS",
    "MANY",
    "NESTED",
    "VALUES",
    "WRONG_MODES",
    "is_plain",
]

FAMILIES: Mapping[str, tuple[str, str, str]] = {
    "plain": ("", "1", "2"),
    "wildcard": ("a_b", "aXb", "a%b"),
    "unicode": ("ä", "z", "日本"),
    "prefix": ("", "0", "0-1"),
    "case": ("a", "A", "ab"),
    "dots": (".x", "x.y", "-x"),
    "spaces": ("a b", "a", "ab"),
    "composed": ("\u00e9", "e\u0301", "e"),
    "long": ("x" * 70, "x" * 69 + "y", "x" * 64),
    "encoded": ("a%20b", "a+b", "a&b=c"),
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
    " v ",
    "007",
    "-5",
    "line\nbreak",
    "True",
    "null",
    "x" * 300,
)
"""Values of properties. Databases often bound a column at 4,000 characters."""

COLUMNS: tuple[tuple[str, ...], ...] = (
    ("id", "name", "score", "vec"),
    ("id", "name"),
    ("id", "b", "B"),
    ("id", "Name", "name"),
    ("id", "i32", "f32", "flag", "text"),
    ("id", "big", "f64", "bytes", "list"),
    ("id", "rec", "vec", "text"),
    ("id", "i8", "u64", "day"),
    ("id", "at_us", "at_utc", "at_ms"),
    ("id", "money", "texts", "kind"),
    ("vec", "score", "name", "id"),
)
"""Columns of new tables; names that differ only in case are different columns."""

KEYS = ("k0", "k1", "k2", "K0", "k.3", "k 4", "k0x")
"""Keys of properties; some differ only in case, or start alike."""

MANY = 12
"""A larger number of properties than some catalogs store."""

NESTED = ("a/a", "a/b", "b/a", "a/a/b")
"""Names of objects below namespaces of a sequence; names of one level are ``a``, ``b`` and ``c``."""

LIMITS = (1, 2, 3, None, 1_000)
"""Limits of pages."""

WRONG_MODES = ("sometimes", "", "Create ")
"""Modes of no operation."""

DELIMITERS = ("$", "$", "$", ".", "::")
"""Delimiters of identifiers in routes, the default most often."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def is_plain(name: str) -> bool:
    """Return whether every catalog accepts a name: lower-case letters, digits and underscores."""
    return _PLAIN.issuperset(name)
