"""Modes of operations, in any case and with or without underscores.

Source: protocol semantics, "Modes".
"""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from lance_namespace_client.errors import InvalidInputError

__all__ = ["CreateMode", "DropBehavior", "DropMode", "InsertMode", "parse_mode"]


class CreateMode(Enum):
    """What CreateNamespace and CreateTable do about an object that is there already."""

    CREATE = "Create"
    EXIST_OK = "ExistOk"
    OVERWRITE = "Overwrite"


class RegisterMode(Enum):
    """What RegisterTable does about a table that is there already."""

    CREATE = "Create"
    OVERWRITE = "Overwrite"


class DropMode(Enum):
    """What DropNamespace does about a namespace that is not there."""

    FAIL = "Fail"
    SKIP = "Skip"


class DropBehavior(Enum):
    """What DropNamespace does about a namespace that is not empty."""

    RESTRICT = "Restrict"
    CASCADE = "Cascade"


class InsertMode(Enum):
    """Whether InsertIntoTable adds rows or replaces them."""

    APPEND = "append"
    OVERWRITE = "overwrite"


M = TypeVar("M", bound=Enum)


def parse_mode(text: str | None, default: M, what: str = "mode") -> M:
    """Take a mode by name.

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
    raise InvalidInputError(f"{what} {text!r} is not known; it is one of {names}")
