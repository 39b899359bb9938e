"""Parses the modes of operations, in upper or lower case and with or without underscores.

Source: protocol semantics, "Modes".
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from lance_namespace_client.errors import InvalidInputError

__all__ = ["CreateMode", "DropBehavior", "DropMode", "InsertMode", "parse_mode"]


class CreateMode(Enum):
    """How CreateNamespace and CreateTable handle an existing object."""

    CREATE = "Create"
    EXIST_OK = "ExistOk"
    OVERWRITE = "Overwrite"


class RegisterMode(Enum):
    """How RegisterTable handles an existing table."""

    CREATE = "Create"
    OVERWRITE = "Overwrite"


class DropMode(Enum):
    """How DropNamespace handles a missing namespace."""

    FAIL = "Fail"
    SKIP = "Skip"


class DropBehavior(Enum):
    """How DropNamespace handles a namespace that is not empty."""

    RESTRICT = "Restrict"
    CASCADE = "Cascade"


class InsertMode(Enum):
    """Whether InsertIntoTable appends rows or replaces the existing rows."""

    APPEND = "append"
    OVERWRITE = "overwrite"


M = TypeVar("M", bound=Enum)


def parse_mode(text: str | None, default: M, what: str = "mode") -> M:
    """Parse the name of a mode.

    Raises:
        InvalidInputError: code 13, there is no such mode.
    """
    if text is None:
        return default
    modes = type(default)
    if isinstance(text, str):
        wanted = text.replace("_", "").lower()
        for mode in modes:
            if mode.value.lower() == wanted:
                return mode
    names = ", ".join(str(mode.value) for mode in modes)
    raise InvalidInputError(f"{what} {text!r} is unknown; use one of {names}")
