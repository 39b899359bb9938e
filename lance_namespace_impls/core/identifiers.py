"""Identifiers: the names of the levels from the root to an object.

Source: the general specification, "Object Identifier" and "Name and Identifier for Root Namespace".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.identifiers import DEFAULT_DELIMITER, join_identifier

__all__ = [
    "DEFAULT_DELIMITER",
    "ROOT",
    "SHOWN_DELIMITER",
    "Identifier",
    "check_new_name",
    "format_identifier",
    "join_identifier",
    "parse_identifier",
    "split_identifier",
    "subject_of",
    "to_identifier",
]

Identifier: TypeAlias = tuple[str, ...]
"""Names from the root (excluded) to an object; empty for the root itself."""

ROOT: Identifier = ()

SHOWN_DELIMITER: ContextVar[str] = ContextVar("SHOWN_DELIMITER", default=DEFAULT_DELIMITER)
"""Separator between the levels of an identifier in messages of the current operation."""


def parse_identifier(levels: Sequence[str] | None) -> Identifier:
    """Convert a list to an identifier; ``None``, ``""`` and ``[]`` are the root.

    Raises:
        InvalidInputError: code 13, the value is a string, or a level is empty or not a string.
    """
    if levels is None or len(levels) == 0:
        return ROOT
    if isinstance(levels, str):
        raise InvalidInputError(
            f"an identifier must be a list of levels, not the string {levels!r}; write [{levels!r}]"
        )
    for level in levels:
        if not isinstance(level, str):
            raise InvalidInputError(f"identifier {list(levels)!r}: {level!r} is not a string")
        if not level:
            raise InvalidInputError(f"identifier {list(levels)!r} has an empty level")
    return tuple(levels)


def to_identifier(id: str | Sequence[str] | None) -> Identifier:
    """Parse an identifier from a user, in any accepted form.

    Args:
        id: names joined by dots (``"db.letters"``); names joined by the protocol's delimiter
            (``"db$letters"``), which may contain dots; or a list of names. ``None``, ``""``,
            ``"$"`` and ``[]`` are the root.

    Raises:
        InvalidInputError: code 13, a name is empty or not a string.
    """
    if not isinstance(id, str):
        return parse_identifier(id)
    if not id or DEFAULT_DELIMITER in id:
        return split_identifier(id)
    return parse_identifier(id.split("."))


def split_identifier(text: str, delimiter: str = DEFAULT_DELIMITER) -> Identifier:
    """Parse a string identifier; the delimiter alone, or an empty string, is the root.

    Raises:
        InvalidInputError: code 13, a name or the delimiter is empty.
    """
    if not delimiter:
        raise InvalidInputError("the delimiter must not be empty")
    if text in ("", delimiter):
        return ROOT
    names = tuple(text.split(delimiter))
    if not all(names):
        raise InvalidInputError(f"identifier {text!r} has an empty level (delimiter {delimiter!r})")
    return names


def format_identifier(identifier: Sequence[str], delimiter: str | None = None) -> str:
    """Format an identifier for a message, on one line; unlike `join_identifier`, this never fails."""
    if not identifier:
        return "the root namespace"
    return (delimiter or SHOWN_DELIMITER.get()).join(
        n if n.isprintable() else ascii(n)[1:-1] for n in identifier
    )


def subject_of(operation: str, identifier: Sequence[str]) -> str:
    """Return the subject of a message: the operation, and its object if there is one."""
    return f"{operation} {format_identifier(identifier)}" if identifier else operation


def check_new_name(request: Any, delimiter: str) -> None:
    """Reject a new table name that cannot be part of an identifier in string form.

    Args:
        request: a request of any operation; only RenameTable has a new name.
        delimiter: separator between the levels of an identifier in a route.

    Raises:
        InvalidInputError: code 13.
    """
    name = getattr(request, "new_table_name", None)
    if name is not None:
        join_identifier([*(request.new_namespace_id or ()), name], delimiter)
