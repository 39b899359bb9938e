"""Where tables are put.

Source: the general specification, "Directory Path"; the catalog specifications, property ``root``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from urllib.parse import quote

from lance_namespace_client.errors import InvalidInputError

__all__ = [
    "absolute",
    "absolute_or_current",
    "as_address",
    "default_location",
    "fresh_location",
    "plain_path",
]

# What servers refuse that parse a location as a URI; letters of any language are fine with them.
_ILLEGAL = re.compile(r'[\x00-\x20\x7f"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})')


def absolute(path: str) -> str:
    """Return a directory path as an absolute one; a URI stays as it is.

    Raises:
        InvalidInputError: code 13, it is empty, holds a NUL, or is a URI that names no place.
    """
    if not path or "\0" in path:
        raise InvalidInputError(f"the directory path {path!r} is empty or holds a NUL character")
    if "://" in path:
        if not path.partition("://")[2].strip("/"):
            raise InvalidInputError(f"the URI {path!r} names no bucket or directory")
        return path.rstrip("/")
    return os.path.abspath(os.path.expanduser(path))


def absolute_or_current(path: str | None) -> str:
    """Do the same, with the current directory where no path is given."""
    return absolute(path) if path else os.getcwd()


def as_address(location: str) -> str:
    """Return a location as a server takes it that parses URIs; Lance opens the same place.

    What no URI can hold is percent-encoded in one, and a plain path stays as it is.
    """
    if "://" not in location:
        return location
    return _ILLEGAL.sub(lambda found: quote(found[0], safe=""), location)


# File systems take 255 bytes; `fresh_location` adds to them.
LONGEST_LEVEL = 246


def default_location(root: str, names: Sequence[str]) -> str:
    """Return the location of a table or database that was made without one.

    Args:
        root: storage root, a path or URI.
        names: levels below it, outermost first.

    Returns:
        ``{root}/{names joined by /}``, each name percent-encoded; below a URI, which Lance decodes
        into a path, one with a slash or a percent sign twice, so that it stays one level. On local
        storage a name too long for a directory is cut, and ends in a part of its SHA-256.

    Raises:
        InvalidInputError: code 13, a name is ``.`` or ``..``, which leads elsewhere.
    """
    for name in names:
        if name in (".", ".."):
            raise InvalidInputError(
                f"name {name!r} cannot be part of a default location; give a location, or a name"
            )
    encoded = [quote(name, safe="") for name in names]
    if "://" not in root or root.startswith("file://"):
        encoded = [
            text if len(text) <= LONGEST_LEVEL else _shortened(name)
            for name, text in zip(names, encoded, strict=True)
        ]
    if "://" in root:
        encoded = [quote(text) if "%2F" in text or "%25" in text else text for text in encoded]
    return "/".join([root.rstrip("/"), *encoded])


def _shortened(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    head = name[:LONGEST_LEVEL]
    while len(start := quote(head, safe="")) > LONGEST_LEVEL - 17:
        head = head[:-1]
    return f"{start}-{digest}"


def plain_path(location: str) -> str:
    """Return a location without what two names of one place on local storage differ in."""
    return location.removeprefix("file://").rstrip("/")


def fresh_location(location: str) -> str:
    """Return a place beside one that is occupied: ``<location>-<8 hex digits>``."""
    return f"{location.rstrip('/')}-{os.urandom(4).hex()}"
