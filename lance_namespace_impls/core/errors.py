"""Translates any failure to a protocol error.

Each backend first handles the failures of its own catalog. A failure that nothing recognizes
becomes an `InternalError` (code 18). The original exception is the ``__cause__``.
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
    """Set `subject` on errors raised inside the block, unless they already have a subject.

    Args:
        subject: the operation and its object, as formatted by `subject_of`.
    """
    try:
        yield
    except LanceNamespaceError as error:
        if error.subject is None:
            error.subject = subject
        raise


def excerpt(text: str, ends: int = 1000) -> str:
    """Return a message, reduced to its two ends if it is long, for pattern matching.

    Args:
        text: a message, which may repeat a caller's input.
        ends: number of characters to keep at each end.
    """
    return text if len(text) <= 2 * ends else f"{text[:ends]} ... {text[-ends:]}"


def first_line(error: BaseException, limit: int = 300) -> str:
    """Return the message of an exception on one line."""
    text = " ".join(excerpt(str(error), 10 * limit).split())
    return (text[: limit - 3] + "...") if len(text) > limit else text or type(error).__name__


def scrub(text: str, secrets: Collection[str]) -> str:
    """Remove secret values from a message."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def from_system_failure(error: BaseException, what: str) -> LanceNamespaceError:
    """Return the protocol error for a failure of the system, or of a library without its own error
    table.

    Args:
        error: the failure.
        what: the operation and its object, with which the message starts.
    """
    text = first_line(error)
    if isinstance(error, PermissionError):
        return PermissionDeniedError(text, subject=what)
    if isinstance(error, ConnectionError | TimeoutError):
        return ServiceUnavailableError(text, subject=what)
    if isinstance(error, OSError):
        return InternalError(text, subject=what)
    return InternalError(f"{type(error).__name__}: {text}", subject=what)
