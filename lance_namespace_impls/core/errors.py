"""From any failure to a protocol error.

Each backend puts its catalog's failures in front of this table; what nothing recognises is
`InternalError` (code 18). The original stays as ``__cause__``.
"""

from __future__ import annotations

from collections.abc import Collection

from lance_namespace_client.errors import (
    InternalError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
)

__all__ = ["excerpt", "first_line", "from_system_failure", "scrub"]


def excerpt(text: str, ends: int = 1000) -> str:
    """Return a text whole, or the two ends of one that is longer than both, for patterns to read.

    Args:
        text: a message, which may repeat what a caller sent.
        ends: characters kept of each end.
    """
    return text if len(text) <= 2 * ends else f"{text[:ends]} ... {text[-ends:]}"


def first_line(error: BaseException, limit: int = 300) -> str:
    """Return the message of an exception on one line."""
    text = " ".join(excerpt(str(error), 10 * limit).split())
    return (text[: limit - 3] + "...") if len(text) > limit else text or type(error).__name__


def scrub(text: str, secrets: Collection[str]) -> str:
    """Take secret values out of a message."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def from_system_failure(error: BaseException, what: str) -> LanceNamespaceError:
    """Translate a failure of the operating system or of a library that has no table of its own.

    Args:
        error: the failure.
        what: the operation and its object, to open the message with.
    """
    message = f"{what}: {first_line(error)}"
    if isinstance(error, PermissionError):
        return PermissionDeniedError(message)
    if isinstance(error, ConnectionError | TimeoutError):
        return ServiceUnavailableError(message)
    if isinstance(error, OSError):
        return InternalError(message)
    return InternalError(f"{what}: {type(error).__name__}: {first_line(error)}")
