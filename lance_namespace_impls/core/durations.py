"""Parses durations."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from lance_namespace_client.errors import InvalidInputError

__all__ = ["UNITS", "parse_duration"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
UNITS: Final = {"milliseconds": 0.001, "seconds": 1.0}
"""The units of a number without a suffix, each with its length in seconds."""


def parse_duration(text: str, unit: str = "seconds") -> timedelta:
    """Parse a duration such as ``30s``, ``500ms`` or ``2m``.

    Args:
        text: a number, optionally followed by ``ms``, ``s``, ``m`` or ``h``.
        unit: unit of a number without a suffix, one of `UNITS`.

    Raises:
        InvalidInputError: code 13.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(
            f"timeout {text!r} is not a duration such as '30s', '500ms' or '2m'"
        )
    factor = _SECONDS[match[2]] if match[2] else UNITS[unit]
    return timedelta(seconds=float(match[1]) * factor)
