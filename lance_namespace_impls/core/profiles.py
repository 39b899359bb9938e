"""Reads the configuration file for the command line, Python and Spark: one TOML table per profile.

A profile contains ``impl`` and the properties of that implementation. ``${NAME}`` in a value is
replaced by the value of that environment variable, so that the file need not contain secrets.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lance_namespace_client.errors import InvalidInputError

__all__ = ["ProfileError", "config_path", "expanded", "read_profile", "read_profiles", "unexpanded"]

DEFAULT_PROFILE = "default"
VARIABLE = re.compile(r"\$\{(\w+)\}")


class ProfileError(InvalidInputError):
    """Raised if the configuration file, or a profile in it, cannot be used (code 13)."""


def config_path(named: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of the configuration file.

    This is the argument if there is one, otherwise ``LANCE_NS_CONFIG``, otherwise the user's
    default path.
    """
    named = named or os.environ.get("LANCE_NS_CONFIG")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "lance-ns" / "config.toml"


def read_profiles(path: Path) -> dict[str, Any]:
    """Return all profiles of a configuration file, without expanding environment variables.

    Raises:
        ProfileError: code 13, the file cannot be read or is not TOML.
    """
    import tomllib  # not needed for the help of the command line

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path} is not TOML: {error}") from error


def read_profile(path: Path, name: str | None) -> dict[str, Any] | None:
    """Return a profile's ``impl`` and properties; nested tables become dotted keys.

    Args:
        path: the configuration file.
        name: the profile; defaults to the one called ``default``.

    Returns:
        the profile, or None if `name` is None and the file has no default profile.

    Raises:
        ProfileError: code 13, the file cannot be read or has no such profile; or the profile is not
            a table, has no ``impl``, or names an environment variable that is not set.
    """
    profiles = read_profiles(path)
    profile = profiles.get(name or DEFAULT_PROFILE)
    if profile is None:
        if name is None:
            return None
        known = ", ".join(sorted(profiles)) or "none"
        raise ProfileError(f"{path} has no profile {name!r}; it has {known}")
    where = f"{path}: profile {name or DEFAULT_PROFILE!r}"
    if not isinstance(profile, Mapping):
        raise ProfileError(f"{where} must be a table that starts with [{name or DEFAULT_PROFILE}]")
    flat = expanded(_flatten(profile), where)
    if not flat.get("impl"):
        raise ProfileError(f'{where} has no impl; add a line such as impl = "dir"')
    return flat


def unexpanded(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return a profile's entries as in the file; nested tables become dotted keys."""
    return _flatten(profile)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the keys of nested tables with dots; TOML parses ``storage.region = …`` as a table."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def expanded(properties: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return properties with the environment variables in their values expanded.

    Raises:
        ProfileError: code 13, a variable is not set; the message starts with `where`.
    """
    return {key: _expand(value, f"{where}, {key}") for key, value in properties.items()}


def _expand(value: Any, where: str) -> Any:
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise ProfileError(
                f"{where}: the environment variable {name} is not set; set it, or remove it from "
                f"the profile"
            )
        return os.environ[name]

    return VARIABLE.sub(variable, value)
