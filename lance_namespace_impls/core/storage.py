"""Where a dataset is and how its object store is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from .options import redact

__all__ = ["EXPIRES_AT_MILLIS", "TableStorage"]

EXPIRES_AT_MILLIS = "expires_at_millis"
"""The storage option that says when the others expire, in milliseconds since 1970."""


@frozen(kw_only=True)
class TableStorage:
    """The location of a dataset and the options of its object store."""

    location: str
    """Root of the dataset: a path or URI, without a trailing slash."""
    options: Mapping[str, str]
    session: Callable[[], Any] = field(default=lambda: None, eq=False)
    """Gives the ``lance.Session`` whose caches the datasets share; None opens without one."""

    renewed_by: tuple[Any, Sequence[str]] | None = field(default=None, eq=False)
    """A namespace and the table's identifier in it, to ask for new options when these expire."""

    def renewal(self) -> dict[str, Any]:
        """Return pylance's arguments for options that expire; none where they do not say when."""
        if self.renewed_by is None or EXPIRES_AT_MILLIS not in self.options:
            return {}
        namespace, identifier = self.renewed_by
        return {"namespace_client": namespace, "table_id": list(identifier)}

    def __repr__(self) -> str:
        return f"TableStorage({self.location!r}, {redact(self.options)!r})"
