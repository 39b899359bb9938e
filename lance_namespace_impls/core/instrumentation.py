"""Calls of a catalog, as whoever watches them sees them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

import attrs

__all__ = ["UPSTREAM_OBSERVER", "UpstreamCall", "UpstreamObserver", "upstream_call"]


@attrs.define
class UpstreamCall:
    """One call of a catalog, under way."""

    headers: dict[str, str] = attrs.field(factory=dict)
    """What travels with it where it is HTTP, such as the context of a trace."""
    result: str = "ok"
    """How it ended: ``ok``, the status of HTTP, or the name of an exception."""


class UpstreamObserver(Protocol):
    """Is told of each call of a catalog."""

    def __call__(self, system: str, name: str) -> AbstractContextManager[UpstreamCall]:
        """Return a context that the call is made in.

        Args:
            system: kind of the catalog, such as ``unity``.
            name: what is called, of which there are few.
        """


UPSTREAM_OBSERVER: ContextVar[UpstreamObserver | None] = ContextVar(
    "lance_namespace_upstream_observer", default=None
)
"""Who is told of the calls that are made in this context; nobody unless set."""


@contextmanager
def upstream_call(system: str, name: str) -> Iterator[UpstreamCall]:
    """Run one call of a catalog in this context; the arguments are those of the observer."""
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
