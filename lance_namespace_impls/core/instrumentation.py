"""Lets an observer monitor calls to catalogs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

import attrs

__all__ = ["UPSTREAM_OBSERVER", "UpstreamCall", "UpstreamObserver", "upstream_call"]


@attrs.define
class UpstreamCall:
    """A call to a catalog that is in progress."""

    headers: dict[str, str] = attrs.field(factory=dict)
    """Headers to send with an HTTP call, such as a trace context."""
    result: str = "ok"
    """Result of the call: ``ok``, the HTTP status, or the name of an exception."""


class UpstreamObserver(Protocol):
    """Observes each call to a catalog."""

    def __call__(self, system: str, name: str) -> AbstractContextManager[UpstreamCall]:
        """Return a context manager that surrounds the call.

        Args:
            system: kind of the catalog, such as ``unity``.
            name: name of the call, from a small set of names.
        """


UPSTREAM_OBSERVER: ContextVar[UpstreamObserver | None] = ContextVar(
    "lance_namespace_upstream_observer", default=None
)
"""Observer for calls made in this context; None by default."""


@contextmanager
def upstream_call(system: str, name: str) -> Iterator[UpstreamCall]:
    """Return a context manager for one call to a catalog; see `UpstreamObserver`."""
    observer = UPSTREAM_OBSERVER.get()
    if observer is None:
        yield UpstreamCall()
        return
    with observer(system, name) as call:
        try:
            yield call
        except BaseException as error:
            call.result = type(error).__name__
            raise
