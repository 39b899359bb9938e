"""Locations as a catalog keeps them, and as Lance opens them.

A plain path is a path. ``file:/...``, with one slash, is how Hadoop writes a path, as it is. In
an address (``file:///...``, ``s3://...``) Lance decodes what is percent-encoded.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

__all__ = ["as_address", "as_opened"]

FILE = "file://"
# What servers refuse that parse a location as a URI; letters of any language are fine with them.
_ILLEGAL = re.compile(r'[\x00-\x20\x7f"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})')


def as_address(location: str) -> str:
    """Return a location as servers take it, with what no URI can hold percent-encoded."""
    if "://" not in location:
        return location
    return _ILLEGAL.sub(lambda found: quote(found[0], safe=""), location)


def as_opened(location: str) -> str:
    """Return a location as Lance opens it: a local one as a path, without a trailing slash."""
    if location.startswith(f"{FILE}/"):
        path = unquote(location.removeprefix(FILE))
    elif location.startswith("file:/") and not location.startswith(FILE):
        path = location.removeprefix("file:")
    else:
        return location.rstrip("/")
    return "/" + path.strip("/")
