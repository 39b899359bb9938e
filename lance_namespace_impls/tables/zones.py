"""Checks the names of time zones."""

from __future__ import annotations

import re
from functools import cache

from lance_namespace_client.errors import InvalidInputError

__all__ = ["check_zone", "is_zone"]

# Arrow's format for fixed offsets; only some tools accept other formats.
_OFFSET = re.compile(r"[+-]([01][0-9]|2[0-3]):[0-5][0-9]")


@cache
def _zones() -> frozenset[str]:
    import zoneinfo  # slow, and few clients write timestamps with a zone

    # These two names are not regions; Lance's engine does not support them.
    return frozenset(zoneinfo.available_timezones() - {"Factory", "localtime"})


def is_zone(name: str) -> bool:
    """Return whether all readers of a table recognize a time zone's name."""
    return name == "UTC" or name in _zones() or bool(_OFFSET.fullmatch(name))


def check_zone(name: str, what: str) -> str:
    """Return the name of a time zone unchanged.

    Args:
        name: a name of the IANA database such as ``Europe/Berlin``, or an offset such as
            ``+02:00``.
        what: the owner of the zone, as the start of the message.

    Raises:
        InvalidInputError: code 13, there is no such zone.
    """
    if is_zone(name):
        return name
    by_case = {each.lower(): each for each in _zones()}
    import difflib

    close = difflib.get_close_matches(name.lower()[:100], by_case, n=1, cutoff=0.8)
    hint = f"; did you mean {by_case[close[0]]!r}?" if close else ""
    raise InvalidInputError(
        f"{what}: unknown time zone "
        f"{name[:100]!r}{hint or '; use one such as UTC, Europe/Berlin or +02:00'}"
    )
