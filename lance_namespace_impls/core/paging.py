"""Pages of a listing.

A page token is opaque to callers. It holds the last name that was given and a fingerprint of the
listing, so that a token of another listing is refused and a walk goes on in order whatever was
added or removed in between. A token of any other form is a name to start after, which is what
pylance and lancedb use.

Source: protocol semantics, "Paging".
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from lance_namespace_client.errors import InvalidInputError

__all__ = ["page_of", "sorted_after"]

T = TypeVar("T")
Key = str | Sequence[Any]
_FINGERPRINT = re.compile("[0-9a-f]{16}")


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
    if limit is not None and limit < 1:
        raise InvalidInputError(f"limit must be 1 or more, not {limit}")
    fingerprint = hashlib.sha256(json.dumps(list(of)).encode()).hexdigest()[:16]
    entries = listing(_read_token(page_token, fingerprint, from_name))
    if limit is None:
        return list(entries), None
    page: list[T] = []
    for entry in entries:
        if len(page) == limit:
            last = key(page[-1])
            last = last if isinstance(last, str) else list(last)
            text = json.dumps([fingerprint, last], separators=(",", ":"), ensure_ascii=False)
            return page, base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        page.append(entry)
    return page, None


def _read_token(token: str | None, fingerprint: str, from_name: Callable[[str], Any]) -> Any:
    if not token:
        return None
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        found, last = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return from_name(token)
    if not isinstance(found, str) or _FINGERPRINT.fullmatch(found) is None:
        return from_name(token)
    if found != fingerprint:
        raise InvalidInputError(
            "the page token belongs to another listing; start again without a token"
        )
    return tuple(last) if isinstance(last, list) else last


def sorted_after(names: Sequence[str] | set[str], after: str | None) -> Iterator[str]:
    """Return the names in order, from after `after`."""
    return iter(sorted(name for name in names if after is None or name > after))
