"""Pages of a listing.

A page token is opaque to callers. It holds the last name that was given and a fingerprint of the
listing, so that a token of another listing is refused and a walk goes on in order whatever was
added or removed in between. A token of any other form is a name to start after, which is what
pylance and lancedb use.

A catalog that cannot start a listing in the middle lists everything. What it listed is kept for a
while in the process that asked, under a number that the token holds too, and the next pages are
taken off that. Where it is not there (any more), as in another process, the listing is made anew and
goes on after the last name.

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

__all__ = ["KeptListings", "Listings", "SortedNames", "kept_page_of", "page_of", "sorted_after"]

T = TypeVar("T")
Key = str | Sequence[Any]
_FINGERPRINT = re.compile("[0-9a-f]{16}")

SECONDS_KEPT = 60.0
"""How long pages are taken off one listing."""
MAX_NAMES_KEPT = 500_000
"""Most names that a namespace keeps; of larger listings, the latest alone."""


class SortedNames(Iterator[str]):
    """Names in order that were listed at once, from after one of them.

    Args:
        names: all of them, in order.
        after: name to start after; None starts at the first.
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
        """Return the same listing from after another name; None where it cannot start there.

        Args:
            after: name to start after; None starts at the first.
            wanted: most names that will be taken; None for all.
        """
        return type(self)(self.names, after)


class Listings:
    """What was listed for the pages of one walk.

    Args:
        seconds: how long pages are taken off a listing; 0 keeps none.
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
        ask: Callable[[], Iterator[str]],
        after: str | None,
        wanted: int | None = None,
    ) -> Iterator[str]:
        """Return names in order, from after `after`, off a listing that was made before.

        Args:
            of: what is listed.
            ask: lists it, from after `after`.
            after: name to start after.
            wanted: most names that will be taken; None for all.
        """
        made, kept = self._found.get(of, (0.0, None))
        if kept is not None and time.monotonic() < made + self._seconds:
            again = kept.again(after, wanted)
            if again is not None:
                return again
        found = ask()
        if not isinstance(found, SortedNames):
            return found
        if self._seconds:
            self._found[of] = (time.monotonic(), found)
        again = found.again(after, wanted)
        return found if again is None else again

    def forget(self, of: Hashable) -> None:
        """Drop a listing that no further page is taken off."""
        self._found.pop(of, None)


class KeptListings:
    """The listings of the walks under way, as far as there is room.

    Args:
        seconds: how long pages are taken off a listing; 0 keeps none.
        most: most names that are kept; a walk that has more of them is kept alone.
    """

    def __init__(self, seconds: float = SECONDS_KEPT, most: int = MAX_NAMES_KEPT) -> None:
        self._seconds = seconds
        self._most = most
        self._kept: OrderedDict[str, tuple[float, int, Listings]] = OrderedDict()
        self._names = 0
        self._lock = threading.Lock()

    def find(self, id: str | None) -> Listings:
        """Return the listings of a walk; new ones where they are not there (any more)."""
        with self._lock:
            _, _, found = self._kept.get(id or "", (0.0, 0, None))
        return found if found is not None else Listings(self._seconds)

    def clear(self) -> None:
        """Drop all: what was listed is no longer so."""
        if self._kept:
            with self._lock:
                self._kept.clear()
                self._names = 0

    def keep(self, listings: Listings) -> str | None:
        """Keep the listings of a walk and return their number; None where there are none."""
        count = len(listings)
        if not count:
            return None
        now = time.monotonic()
        with self._lock:
            # A walk that goes on is moved behind, so that those which do not are first.
            self._drop(listings.id)
            self._kept[listings.id] = (now + self._seconds, count, listings)
            self._names += count
            while len(self._kept) > 1:
                id, (until, _, _) = next(iter(self._kept.items()))
                if until >= now and self._names <= self._most:
                    break
                self._drop(id)
        return listings.id

    def _drop(self, id: str) -> None:
        _, count, _ = self._kept.pop(id, (0.0, 0, None))
        self._names -= count


_NONE_KEPT = KeptListings(seconds=0)


def page_of(
    listing: Callable[[Any], Iterator[T]],
    *,
    of: Sequence[Any],
    key: Callable[[T], Key],
    page_token: str | None,
    limit: int | None,
    from_name: Callable[[str], Any] = str,
) -> tuple[list[T], str | None]:
    """Take one page off a listing.

    Args:
        listing: gives the entries in order, from after the key that it is called with
            (None: from the start); it is not read further than the page needs.
        of: what is listed, such as operation, namespace and filters; tokens are bound to it.
        key: sort key of an entry.
        page_token: token of the page before.
        limit: most entries on the page.
        from_name: makes a key of a token that is the name of an entry.

    Returns:
        The entries, and the token of the next page or None.

    Raises:
        InvalidInputError: code 13, the limit is below 1, or the token is of another listing.
    """
    return kept_page_of(
        lambda after, _: listing(after),
        kept=_NONE_KEPT,
        of=of,
        key=key,
        page_token=page_token,
        limit=limit,
        from_name=from_name,
    )


def kept_page_of(
    listing: Callable[[Any, Listings], Iterator[T]],
    *,
    kept: KeptListings,
    of: Sequence[Any],
    key: Callable[[T], Key],
    page_token: str | None,
    limit: int | None,
    from_name: Callable[[str], Any] = str,
) -> tuple[list[T], str | None]:
    """Take one page off a listing, as `page_of` does, whose pages share what was listed.

    Args:
        listing: is called with what was listed for the pages before, too.
        kept: keeps what was listed for the next page.
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
    """Return the key to start after, and the number of the walk's listings."""
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
    """Return the names in order, from after `after`."""
    return SortedNames(sorted(names), after)
