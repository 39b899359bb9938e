"""Limits on the table locations and storage options that a caller may specify.

In-process callers have no limits by default, because they have the permissions of the process
anyway. A server applies limits to all requests, and the property ``confine_locations`` applies them
to every caller.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import unquote

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

from .location import LOCAL_SCHEMES, SAME_SCHEMES, SCHEME, is_local

__all__ = ["Confinement", "confined", "confinement", "is_local", "is_within"]

# Schemes of the same store; each set is represented by its first scheme.
_SAME = {
    **SAME_SCHEMES,
    "wasb": "az",
    "wasbs": "az",
}
_LEADS_UP = re.compile(r"(?:^|[/\\])\.\.?(?:$|[/\\])", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@frozen(kw_only=True)
class Confinement:
    """The limits of a caller."""

    allowed_locations: tuple[str, ...] = ()
    """Paths and URIs below which tables are allowed, in addition to the namespace's own
    locations."""
    functions: frozenset[str] | None = None
    """SQL functions that the caller may use in addition to those with a known cost; None allows all
    functions.
    """

    def refuse_outside(self, location: str, own: Iterable[str], what: str) -> None:
        """Reject a location outside the allowed ones.

        Args:
            location: the requested path or URI.
            own: the namespace's own locations.
            what: the operation and its object, as the start of the message.

        Raises:
            InvalidInputError: code 13.
        """
        if any(is_within(location, place) for place in (*self.allowed_locations, *own)):
            return
        raise InvalidInputError(
            f"{what}: location {location[:200]!r} is outside the locations of this "
            "namespace; omit the location, or ask the operator to allow it (--allow-location)"
        )


_CURRENT: ContextVar[Confinement | None] = ContextVar("confinement", default=None)


def confinement() -> Confinement | None:
    """Return the limits of the current caller, or None if there are no limits."""
    return _CURRENT.get()


@contextmanager
def confined(bounds: Confinement) -> Iterator[None]:
    """Apply limits inside the block, on this thread and on its lookup threads."""
    before = _CURRENT.set(bounds)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def is_within(location: str, place: str) -> bool:
    """Return whether a location equals another location or is below it, in any spelling.

    Symbolic links are followed on local storage. An ambiguous location (with ``..``, an empty
    level, a query, or an encoded form of these) is never within another one.
    """
    if _is_plainly_below(location, place):
        return True
    inside, outside = _readings(location), _readings(place)
    return bool(inside and outside) and all(
        any(levels[: len(prefix)] == prefix for prefix in outside) for levels in inside
    )


def _is_plainly_below(location: str, place: str) -> bool:
    """Return whether a path is below another, without symbolic links between the two.

    This is the common case, and needs only one check per level.
    """
    start = place.rstrip("/") + "/"
    if not (start.startswith("/") and location.startswith(start)) or "%" in location:
        return False
    levels = location[len(start) :].split("/")
    if "" in levels or not _is_plain(location):
        return False
    below = start
    for level in levels:
        below += level
        if os.path.islink(below):
            return False
        below += "/"
    return True


def _readings(location: str) -> Collection[tuple[str, ...]]:
    """Return the levels of a location, starting with the store, for each way to interpret it."""
    found = SCHEME.fullmatch(location)
    path = found[2] if found is not None else location
    decoded = _decoded(path)
    if not location or not _is_plain(decoded):
        return ()
    if found is None or found[1].lower() in LOCAL_SCHEMES:
        return _local_readings(path, is_uri=found is not None)
    scheme = found[1].lower()
    levels = decoded.strip("/").split("/") if path.startswith("//") else []
    if not levels or "" in levels or any(sign in path for sign in "?#") or "\\" in decoded:
        return ()
    return ((_SAME.get(scheme, scheme), *levels),)


def _local_readings(path: str, *, is_uri: bool) -> Collection[tuple[str, ...]]:
    if is_uri:
        host = re.match(r"//(localhost)?(?=/)", path)
        path = path[host.end() :] if host is not None else path
        if path.startswith("//"):
            return ()
    path = os.path.expanduser(path)
    if is_uri and not path.startswith("/"):
        return ()
    # Some readers use a plain path unchanged, and others decode it; all readers decode a URI.
    ways = {os.path.realpath(unquote(path)), os.path.realpath(path)}
    return {("file", *way.strip("/").split("/")) if way != "/" else ("file",) for way in ways}


def _decoded(text: str) -> str:
    """Undo percent-encoding repeatedly until nothing is encoded."""
    while (once := unquote(text)) != text:
        text = once
    return text


def _is_plain(path: str) -> bool:
    """Return whether a path contains neither ``..`` nor control characters."""
    return _LEADS_UP.search(path) is None and _CONTROL.search(path) is None
