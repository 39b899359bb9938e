"""Locations as a catalog keeps them, and as Lance opens them.

A plain path is a path. ``file:/...``, with one slash, is how Hadoop writes a path, as it is. In
an address (``file:///...``, ``s3://...``) Lance decodes what is percent-encoded.
"""

from __future__ import annotations

from ..core.location import stored_form

__all__ = ["as_opened"]

FILE = "file://"


def as_opened(location: str) -> str:
    """Return a location as Lance opens it: a local one as a path, without a trailing slash."""
    if location.startswith("file:/") and not location.startswith(FILE):
        return "/" + location.removeprefix("file:").strip("/")
    return stored_form(location)
