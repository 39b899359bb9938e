"""Identifiers as strings."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import InvalidInputError

__all__ = ["DEFAULT_DELIMITER", "join_identifier"]

DEFAULT_DELIMITER = "$"


def join_identifier(names: Sequence[str] | None, delimiter: str = DEFAULT_DELIMITER) -> str:
    """Convert an identifier to a string; the root is represented by the delimiter alone.

    Raises:
        InvalidInputError: code 13, a name is empty or contains the delimiter, or the string would
            be split differently.
    """
    if isinstance(names, str):
        raise InvalidInputError(f"an identifier must be a list of levels, not the string {names!r}")
    if not names:
        return delimiter
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidInputError(
                f"identifier {list(names)!r} has a level that is empty or not a string"
            )
        if delimiter in name:
            raise InvalidInputError(
                f"name {name!r} contains the delimiter {delimiter!r}; choose another 'delimiter'"
            )
    text = delimiter.join(names)
    if text.split(delimiter) != list(names):
        raise InvalidInputError(
            f"{text!r} would not be split back into {list(names)!r}: choose another 'delimiter'"
        )
    return text
