"""Pages of a listing.

A page token is opaque to callers. It holds the last name that was given and a fingerprint of the
listing, so that a token of another listing is refused and a walk goes on in order whatever was
added or removed in between.

Source: protocol semantics, "Paging".
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from lance_namespace_client.errors import InvalidInputError

__all__ = ["page_of", "sorted_after"]

T = TypeVar("T")
Key = str | Sequence[Any]


def page_of(
    listing: Callable[[Any], Iterator[T]],
    *,
    of: Sequence[Any],
    key: Callable[[T], Key],
    page_token: str | None,
    limit: int | None,
) -> tuple[list[T], str | None]:
    """Take one page off a listing.

    Args:
        listing: gives the entries in order, from after the key that it is called with
            (None: from the start); it is not read further than the page needs.
        of: what is listed, such as operation, namespace and filters; tokens are bound to it.
        key: sort key of an entry.
        page_token: token of the page before.
        limit: most entries on the page.

    Returns:
        The entries, and the token of the next page or None.

    Raises:
        InvalidInputError: code 13, the limit is below 1 or the token is not of this listing.
    """
    if limit is not None and limit < 1:
        raise InvalidInputError(f"limit must be 1 or more, not {limit}")
    fingerprint = hashlib.sha256(json.dumps(list(of)).encode()).hexdigest()[:16]
    entries = listing(_read_token(page_token, fingerprint))
    page: list[T] = []
    for entry in entries:
        if limit is not None and len(page) == limit:
            last = key(page[-1])
            last = last if isinstance(last, str) else list(last)
            text = json.dumps([fingerprint, last], separators=(",", ":"), ensure_ascii=False)
            return page, base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        page.append(entry)
    return page, None


def _read_token(token: str | None, fingerprint: str) -> Any:
    if not token:
        return None
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        found, last = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise InvalidInputError(
            f"page token {token[:40]!r} is not one of ours; start again without a token"
        ) from None
    if found != fingerprint:
        raise InvalidInputError(
            "the page token belongs to another listing; start again without a token"
        )
    return tuple(last) if isinstance(last, list) else last


def sorted_after(names: Sequence[str] | set[str], after: str | None) -> Iterator[str]:
    """Give the names in order, from after `after`."""
    return iter(sorted(name for name in names if after is None or name > after))
