"""From any failure to a protocol error.

Each backend puts its catalog's failures in front of this table; what nothing recognises is
`InternalError` (code 18). The original stays as ``__cause__``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from lance_namespace_client.errors import (
    InternalError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
)

__all__ = ["about", "excerpt", "first_line", "from_system_failure", "scrub"]


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Raise the errors of what is inside as about `subject`, where they do not say what they are about.

    Args:
        subject: the operation and its object, as `subject_of` writes them.
    """
    try:
        yield
    except LanceNamespaceError as error:
        if error.subject is None:
            error.subject = subject
        raise


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
    text = first_line(error)
    if isinstance(error, PermissionError):
        return PermissionDeniedError(text, subject=what)
    if isinstance(error, ConnectionError | TimeoutError):
        return ServiceUnavailableError(text, subject=what)
    if isinstance(error, OSError):
        return InternalError(text, subject=what)
    return InternalError(f"{type(error).__name__}: {text}", subject=what)
