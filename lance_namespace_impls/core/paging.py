"""Splits listings into pages.

A page token is opaque to callers. It contains the last returned name, so that paging continues in
order despite concurrent additions and removals. It also contains a fingerprint of the listing, so
that tokens of other listings are rejected. Any other string is interpreted as a name to start
after, because pylance and lancedb send such names.

A catalog that cannot start a listing in the middle lists everything. The process caches this
listing for a while, under an id that the token also contains, and serves the next pages from the
cache. If the cached listing has expired, or another process receives the request, the catalog is
listed again, and the page starts after the last name.

Source: protocol semantics, "Paging".
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, Self, TypeVar

from lance_namespace_client.errors import InvalidInputError

from .identifiers import to_identifier

__all__ = [
    "ListingCache",
    "Listings",
    "SortedNames",
    "cached_page_of",
    "page_of",
    "page_request",
    "sorted_after",
]

T = TypeVar("T")
Key = str | Sequence[Any]
_FINGERPRINT = re.compile("[0-9a-f]{16}")

SECONDS_KEPT = 60.0
"""Number of seconds for which pages are served from one listing."""
MAX_NAMES_KEPT = 500_000
"""Maximum number of cached names per namespace; a larger listing is cached, but no others with
it.
"""


def page_request(
    id: str | Sequence[str] | None, token: str | None, limit: int | None
) -> dict[str, Any]:
    """Return the request for a page of a listing."""
    return {"id": list(to_identifier(id)), "page_token": token, "limit": limit}


class SortedNames(Iterator[str]):
    """Sorted names from one complete listing, starting after one of them.

    Args:
        names: all names, in order.
        after: name to start after; None starts at the beginning.
    """

    def __init__(self, names: Sequence[str], after: str | None = None) -> None:
        self.names = names
        start = 0 if after is None else bisect_right(names, after)
        self._rest = map(names.__getitem__, range(start, len(names)))

    def __next__(self) -> str:
        return next(self._rest)

    def __len__(self) -> int:
        return len(self.names)

    def again(self, after: str | None, wanted: int | None) -> Self | None:
        """Return the same listing, starting after another name, or None if it cannot start there.

        Args:
            after: name to start after; None starts at the beginning.
            wanted: maximum number of names that will be read; None for all.
        """
        return type(self)(self.names, after)


class Listings:
    """A cache of the listings from which the pages of a walk are read.

    Args:
        seconds: how long pages are served from a listing; 0 disables caching.
    """

    def __init__(self, seconds: float) -> None:
        self.id = secrets.token_hex(8)
        self._seconds = seconds
        self._found: dict[Hashable, tuple[float, SortedNames]] = {}

    def __len__(self) -> int:
        return sum(len(names) for _, names in self._found.values())

    def names(
        self,
        of: Hashable,
        load: Callable[[], Iterator[str]],
        after: str | None,
        wanted: int | None = None,
    ) -> Iterator[str]:
        """Return names in order, starting after `after`, from a cached listing if there is one.

        Args:
            of: key of the listing.
            load: requests the listing from the catalog, starting after `after`.
            after: name to start after.
            wanted: maximum number of names that will be read; None for all.
        """
        loaded_at, kept = self._found.get(of, (0.0, None))
        if kept is not None and time.monotonic() < loaded_at + self._seconds:
            again = kept.again(after, wanted)
            if again is not None:
                return again
        found = load()
        if not isinstance(found, SortedNames):
            return found
        if self._seconds:
            self._found[of] = (time.monotonic(), found)
        again = found.again(after, wanted)
        return found if again is None else again

    def forget(self, of: Hashable) -> None:
        """Discard a listing that is no longer needed."""
        self._found.pop(of, None)


class ListingCache:
    """A cache of the listings of all current walks, with a size limit.

    Args:
        seconds: how long pages are served from a listing; 0 disables caching.
        most: maximum number of cached names; a walk with more names is cached, but no others with
            it.
    """

    def __init__(self, seconds: float = SECONDS_KEPT, most: int = MAX_NAMES_KEPT) -> None:
        self._seconds = seconds
        self._most = most
        self._entries: OrderedDict[str, tuple[float, int, Listings]] = OrderedDict()
        self._names = 0
        self._lock = threading.Lock()

    def find(self, id: str | None) -> Listings:
        """Return the listings of a walk, which are empty if they are no longer cached."""
        with self._lock:
            _, _, found = self._entries.get(id or "", (0.0, 0, None))
        return found if found is not None else Listings(self._seconds)

    def clear(self) -> None:
        """Discard all listings, because they are outdated."""
        if self._entries:
            with self._lock:
                self._entries.clear()
                self._names = 0

    def keep(self, listings: Listings) -> str | None:
        """Cache the listings of a walk and return its id, or None if there are no listings."""
        count = len(listings)
        if not count:
            return None
        now = time.monotonic()
        with self._lock:
            # An active walk is moved to the end, so that inactive walks come first.
            self._drop(listings.id)
            self._entries[listings.id] = (now + self._seconds, count, listings)
            self._names += count
            while len(self._entries) > 1:
                id, (until, _, _) = next(iter(self._entries.items()))
                if until >= now and self._names <= self._most:
                    break
                self._drop(id)
        return listings.id

    def _drop(self, id: str) -> None:
        _, count, _ = self._entries.pop(id, (0.0, 0, None))
        self._names -= count


_NONE_KEPT = ListingCache(seconds=0)


def page_of(
    listing: Callable[[Any], Iterator[T]],
    *,
    of: Sequence[Any],
    key: Callable[[T], Key],
    page_token: str | None,
    limit: int | None,
    from_name: Callable[[str], Any] = str,
) -> tuple[list[T], str | None]:
    """Return one page of a listing.

    Args:
        listing: returns the entries in order, starting after the given key (None: from the start);
            only the entries that the page needs are read.
        of: key of the listing, such as operation, namespace and filters; tokens are valid only for
            this key.
        key: returns the sort key of an entry.
        page_token: token of the previous page.
        limit: maximum number of entries on the page.
        from_name: converts a token that is an entry's name to a sort key.

    Returns:
        The entries, and the token of the next page or None.

    Raises:
        InvalidInputError: code 13, the limit is below 1, or the token belongs to another listing.
    """
    return cached_page_of(
        lambda after, _: listing(after),
        kept=_NONE_KEPT,
        of=of,
        key=key,
        page_token=page_token,
        limit=limit,
        from_name=from_name,
    )


def cached_page_of(
    listing: Callable[[Any, Listings], Iterator[T]],
    *,
    kept: ListingCache,
    of: Sequence[Any],
    key: Callable[[T], Key],
    page_token: str | None,
    limit: int | None,
    from_name: Callable[[str], Any] = str,
) -> tuple[list[T], str | None]:
    """Return one page of a listing like `page_of`, using listings that several pages share.

    Args:
        listing: like that of `page_of`, but also receives the listings that previous pages
            requested.
        kept: caches the listings for the next page.
    """
    if limit is not None and limit < 1:
        raise InvalidInputError(f"limit must be 1 or more, not {limit}")
    fingerprint = hashlib.sha256(json.dumps(list(of)).encode()).hexdigest()[:16]
    after, walk = _read_token(page_token, fingerprint, from_name)
    if limit is None:
        return list(listing(after, _NONE_KEPT.find(None))), None
    listings = kept.find(walk)
    entries = listing(after, listings)
    page = list(islice(entries, limit))
    if len(page) < limit or next(entries, None) is None:
        return page, None
    last = key(page[-1])
    fields = [fingerprint, last if isinstance(last, str) else list(last)]
    if (walk := kept.keep(listings)) is not None:
        fields.append(walk)
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return page, base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(
    token: str | None, fingerprint: str, from_name: Callable[[str], Any]
) -> tuple[Any, str | None]:
    """Return the key to start after, and the id of the walk's listings."""
    if not token:
        return None, None
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        found, last, *more = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return from_name(token), None
    if not isinstance(found, str) or _FINGERPRINT.fullmatch(found) is None:
        return from_name(token), None
    if found != fingerprint:
        raise InvalidInputError(
            "the page token belongs to another listing; start again without a token"
        )
    walk = more[0] if more and isinstance(more[0], str) else None
    return tuple(last) if isinstance(last, list) else last, walk


def sorted_after(names: Sequence[str] | set[str], after: str | None) -> SortedNames:
    """Return the names in order, starting after `after`."""
    return SortedNames(sorted(names), after)
