"""Defines typed options for the data source and for imports; unknown options are rejected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import attrs

from lance_namespace_client.errors import InvalidInputError

__all__ = [
    "choice",
    "known_options",
    "moment",
    "name_list",
    "option_name",
    "read_options",
    "require_positive",
    "version_or_latest",
    "whole_number",
    "yes_no",
]

T = TypeVar("T")


def read_options(cls: type[T], raw: Mapping[str, str], what: str) -> T:
    """Read options into an attrs class that has one attribute per option; case is ignored.

    Raises:
        InvalidInputError: code 13, an option is unknown or its value is invalid.
    """
    known = known_options(cls)
    values: dict[str, Any] = {}
    for key, value in raw.items():
        name = option_name(cls, key)
        if name is None:
            close = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else f"the options are {', '.join(known)}"
            raise InvalidInputError(f"{what}: option {key!r} is not known; {hint}")
        try:
            values[name] = known[name](value) if isinstance(value, str) else value
        except ValueError as error:
            raise InvalidInputError(
                f"{what}: option {key!r} must be {error}, not {value!r}"
            ) from None
    return cls(**values)


def known_options(cls: type[Any]) -> dict[str, Callable[[str], Any]]:
    """Return the options of an attrs class, each with the function that parses its value."""
    return {field.name: field.metadata.get("read", str) for field in attrs.fields(cls)}


def option_name(cls: type[Any], key: str) -> str | None:
    """Return the attribute for an option name, ignoring case and underscores.

    >>> option_name(TableOptions, "maxRowsPerTrigger")  # doctest: +SKIP
    'max_rows_per_trigger'
    """
    bare = key.lower().replace("_", "")
    return next((name for name in known_options(cls) if name.replace("_", "") == bare), None)


def option(default: Any = None, *, read: Callable[[str], Any] = str, doc: str, **more: Any) -> Any:
    """Declare an option.

    Args:
        default: default value.
        read: parses the value, or raises a ValueError that describes the valid values.
        doc: one-line description.
    """
    return attrs.field(default=default, metadata={"read": read, "doc": doc}, **more)


def whole_number(minimum: int, maximum: int | None = None) -> Callable[[str], int]:
    """Return a parser for integers from `minimum` to `maximum`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = minimum - 1
        if number < minimum:
            raise ValueError(f"a whole number of {minimum} or more")
        if maximum is not None and number > maximum:
            raise ValueError(f"a whole number of {minimum} to {maximum}")
        return number

    return read


def require_positive(**numbers: int | None) -> None:
    """Reject numbers below 1; None is accepted.

    Raises:
        InvalidInputError: code 13, the message names the argument.
    """
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise InvalidInputError(f"{name} must be a whole number of 1 or more, not {number}")


def version_or_latest(text: str) -> int | str:
    """Parse the number of a version, or ``latest``."""
    if text.lower() == "latest":
        return "latest"
    try:
        return whole_number(1)(text)
    except ValueError:
        raise ValueError("a version, or latest") from None


def yes_no(text: str) -> bool:
    """Parse ``true`` or ``false``."""
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def moment(text: str) -> datetime:
    """Parse a date and time in ISO 8601."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a time such as 2024-01-31T12:00:00Z") from None


def name_list(text: str) -> tuple[str, ...]:
    """Parse comma-separated names."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def field_list(text: str) -> tuple[str, ...]:
    """Parse comma-separated partition fields.

    Commas in parentheses, strings and backticks do not separate fields.
    """
    fields, depth = [""], 0
    for part in re.findall(r"'[^']*'|`[^`]*`|.", text, re.DOTALL):
        depth += {"(": 1, ")": -1}.get(part, 0)
        if part == "," and depth == 0:
            fields.append("")
        else:
            fields[-1] += part
    return tuple(each.strip() for each in fields if each.strip())


def choice(*allowed: str) -> Callable[[str], str]:
    """Return a parser for one of several words, ignoring case."""

    def read(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return text.lower()

    return read


def character(text: str) -> str:
    r"""Parse a single character; ``\t`` and ``tab`` mean a tab."""
    text = "\t" if text in (r"\t", "tab") else text
    if len(text) != 1:
        raise ValueError("one character")
    return text
