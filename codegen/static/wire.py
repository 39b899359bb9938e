"""What HTTP requests and answers of the protocol are written with."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote

__all__ = [
    "HEADER_NAME",
    "HEADER_PREFIX",
    "HEADER_VALUE",
    "STREAM_TYPE",
    "path_segment",
    "retry_after_seconds",
]

STREAM_TYPE = "application/vnd.apache.arrow.stream"
"""Media type of rows in a request."""

HEADER_PREFIX = "header."
"""Opens the keys of a request's context that travel as HTTP headers."""

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""Matches the name of an HTTP header in full."""

# A blank at an end would be lost, or refused by a library that shows the value.
HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
"""Matches the value of an HTTP header that arrives as it was sent, in full."""


@lru_cache(maxsize=4096)
def path_segment(text: str) -> str:
    """Return text percent-encoded for one segment of a URL's path.

    A dot is encoded too, since clients fold ``/./`` and ``/../`` away.
    """
    return quote(text, safe="").replace(".", "%2E")


def retry_after_seconds(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks to wait.

    Args:
        value: the header: seconds, or a date in the form of HTTP.

    Returns:
        None where there is no header, or it is neither; 0 for a date that has passed.
    """
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", value):
        return float(value)
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
