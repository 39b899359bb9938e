"""Converts a catalog's locations to the form that Lance opens.

A plain path is used unchanged. ``file:/...`` with one slash is Hadoop's form of an unencoded path.
In URLs (``file:///...``, ``s3://...``), Lance decodes percent-encoded characters.
"""

from __future__ import annotations

from ..core.location import stored_form

__all__ = ["as_opened"]

FILE = "file://"


def as_opened(location: str) -> str:
    """Return a location in the form that Lance opens: a path or URL without a trailing slash."""
    if location.startswith("file:/") and not location.startswith(FILE):
        return "/" + location.removeprefix("file:").strip("/")
    return stored_form(location)
