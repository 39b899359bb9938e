"""Locations of tables as paths."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from .lab import Skipped
from .oracle import local_path

__all__ = [
    "local_folder",
    "place_of",
]


def place_of(text: object) -> str:
    """Return a location or URI as a path, so that both forms can be compared."""
    path = unquote(str(text)).partition("://")[2] or local_path(text)
    return path.rstrip("/")


def local_folder(described: Mapping[str, Any]) -> str:
    """Return the local directory of a described table.

    Raises:
        Skipped: the location is not a readable local directory.
    """
    where = str(described.get("location"))
    parts = urlsplit(where)
    path = unquote(parts.path) if parts.scheme == "file" else where
    if parts.scheme not in ("", "file") or not os.path.isdir(path):
        raise Skipped("this machine cannot read the location")
    return path
