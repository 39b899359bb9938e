# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Encodes the protocol's HTTP requests and responses."""

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
"""Media type for rows in a request."""

HEADER_PREFIX = "header."
"""Prefix of the keys in a request's context that are sent as HTTP headers."""

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""Pattern for a complete HTTP header name."""

# A leading or trailing space would be lost, or rejected by a library whose message shows the value.
HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
"""Pattern for a complete HTTP header value that is transmitted unchanged."""


@lru_cache(maxsize=4096)
def path_segment(text: str) -> str:
    """Return a string as a percent-encoded segment of a URL's path.

    Dots are also encoded, because clients resolve ``/./`` and ``/../``.
    """
    return quote(text, safe="").replace(".", "%2E")


def retry_after_seconds(value: str | None) -> float | None:
    """Return the number of seconds in a Retry-After header.

    Args:
        value: value of the header, a number of seconds or an HTTP date.

    Returns:
        None if the header is missing or invalid; 0 for a past date.
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
