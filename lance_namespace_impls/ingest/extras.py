"""Loads optional libraries for file formats, which the extras of this package install."""

from __future__ import annotations

from typing import Any

from lance_namespace_client.errors import InvalidInputError

from ..core.imports import load

__all__ = ["load_extra"]


def load_extra(module: str, what: str, extra: str) -> Any:
    """Return a module of an extra.

    Args:
        module: name of the module.
        what: the operation that needs it, as the start of the message.
        extra: name of the extra.

    Raises:
        InvalidInputError: code 13, it is not installed; the message contains the install command.
    """
    try:
        return load(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise InvalidInputError(
            f"{what} needs {package}: pip install 'lance-namespace-kit[{extra}]'"
        ) from error
