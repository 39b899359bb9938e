"""Where a dataset is and how its object store is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from .options import EXPIRES_AT_MILLIS, redact

__all__ = ["EXPIRES_AT_MILLIS", "TableStorage"]


@frozen(kw_only=True)
class TableStorage:
    """The location of a dataset and the options of its object store."""

    location: str
    """Root of the dataset: a path or URI, without a trailing slash."""
    options: Mapping[str, str]
    session: Callable[[], Any] = field(default=lambda: None, eq=False)
    """Returns the ``lance.Session`` whose caches the datasets share; None opens without one."""

    renewed_by: tuple[Any, Sequence[str]] | None = field(default=None, eq=False)
    """A namespace and the table's identifier in it, to ask for new options when these expire."""

    managed: bool = False
    """Whether the namespace of `renewed_by` keeps the table's versions, so that it is asked for the
    latest one, and for each commit."""

    def of_namespace(self) -> dict[str, Any]:
        """Return pylance's arguments for asking the namespace.

        They are there where the options expire, and where the namespace keeps the versions.
        """
        if self.renewed_by is None or not (self.managed or EXPIRES_AT_MILLIS in self.options):
            return {}
        namespace, identifier = self.renewed_by
        return {
            "namespace_client": namespace,
            "table_id": list(identifier),
            "namespace_client_managed_versioning": self.managed,
        }

    def __repr__(self) -> str:
        return f"TableStorage({self.location!r}, {redact(self.options)!r})"
