"""The location of a dataset and the options for accessing its object store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from .location import stored_form
from .options import EXPIRES_AT_MILLIS, redact
from .stores import resolve

__all__ = ["EXPIRES_AT_MILLIS", "TableStorage"]


@frozen(kw_only=True)
class TableStorage:
    """The location of a dataset and the options for its object store."""

    location: str = field(converter=stored_form)
    """Root of the dataset: a path or URI, without a trailing slash."""
    options: Mapping[str, str]
    session: Callable[[], Any] = field(default=lambda: None, eq=False)
    """Returns the ``lance.Session`` whose caches the datasets share; None opens datasets without a
    session."""

    renewed_by: tuple[Any, Sequence[str]] | None = field(default=None, eq=False)
    """A namespace, and the table's identifier in it, for requesting new options when the current
    ones expire.
    """

    managed: bool = False
    """Whether the namespace in `renewed_by` manages the table's versions. If so, pylance calls the
    namespace to find the latest version and to commit.
    """

    def lance_options(self) -> dict[str, str] | None:
        """Return the options that Lance uses for the dataset, including those from the environment.

        pyarrow receives the same options; see `resolve`.

        Raises:
            InvalidInputError: code 13, Lance and pyarrow would open different locations.
        """
        return dict(resolve(self.location, self.options).options) or None

    def of_namespace(self) -> dict[str, Any]:
        """Return the arguments that make pylance call the namespace.

        There are no arguments unless the options expire or the namespace manages the versions.
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
