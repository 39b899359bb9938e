"""Selects the namespace: from options, from the environment or from the configuration file."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from ..core.profiles import config_path, read_profile

__all__ = [
    "NoNamespaceError",
    "UsageError",
    "choose",
    "find_modules_here",
    "key_values",
    "option_value",
]


class UsageError(Exception):
    """Raised for an invalid command line or configuration file; its message states the correct
    form.
    """


class NoNamespaceError(UsageError):
    """Raised if the command line, the environment and the configuration file name no namespace."""


def key_values(pairs: list[str] | None, option: str) -> dict[str, str]:
    """Parse the values of an option that have the form ``KEY=VALUE``.

    Values never appear in messages, because they may be secrets.

    Raises:
        UsageError: a value has no ``=`` or no key, or a key occurs twice.
    """
    found: dict[str, str] = {}
    for number, pair in enumerate(pairs or (), start=1):
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{option}: value number {number} must have the form KEY=VALUE")
        if key in found:
            raise UsageError(f"{option}: {key} is set twice")
        found[key] = value
    return found


def option_value(text: str) -> bool | int | str:
    """Parse the value of an option: a number, true or false, or otherwise a string."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text)
    except ValueError:
        return text


def choose(impl: str | None, profile: str | None, config: Path | None) -> dict[str, Any]:
    """Select the implementation from the command line, otherwise from the environment, otherwise
    from the configuration file.

    These sources are never combined, so that the properties of one namespace are not passed to
    another.
    """
    if impl is not None and profile is not None:
        raise UsageError("--impl and --profile are mutually exclusive: use one of them")
    if impl is not None:
        return {"impl": impl}
    environment = os.environ
    profile = profile or environment.get("LANCE_NS_PROFILE") or None
    if profile is None and environment.get("LANCE_NS_IMPL"):
        return {"impl": environment["LANCE_NS_IMPL"]} | _environment_properties()
    named = config or environment.get("LANCE_NS_CONFIG")
    if profile is None and environment.get("LANCE_NS_PROPERTIES"):
        raise UsageError(
            "LANCE_NS_PROPERTIES is set, but LANCE_NS_IMPL is not: set both, or unset it and pass "
            "--impl NAME or --profile NAME"
        )
    path = config_path(config)
    found = read_profile(path, profile) if named or profile or path.exists() else None
    if found is None:
        raise NoNamespaceError(
            "no namespace selected: pass --impl NAME or --profile NAME, or set LANCE_NS_IMPL"
        )
    return found


def find_modules_here(impl: str) -> None:
    """If `impl` is a ``module:Class``, append the current folder to the import path."""
    if ":" in impl and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def _environment_properties() -> dict[str, str]:
    try:
        pairs = shlex.split(os.environ.get("LANCE_NS_PROPERTIES", ""))
    except ValueError as error:
        raise UsageError(f"LANCE_NS_PROPERTIES cannot be read: {error}") from error
    return key_values(pairs, "LANCE_NS_PROPERTIES")
