"""Where a dataset is and how its object store is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from .config import redact

__all__ = ["TableStorage"]


@frozen(kw_only=True)
class TableStorage:
    """The location of a dataset and the options of its object store."""

    location: str
    """Root of the dataset: a path or URI, without a trailing slash."""
    options: Mapping[str, str]
    session: Callable[[], Any] = field(default=lambda: None, eq=False)
    """Gives the ``lance.Session`` whose caches the datasets share; None opens without one."""

    def __repr__(self) -> str:
        return f"TableStorage({self.location!r}, {redact(self.options)!r})"
