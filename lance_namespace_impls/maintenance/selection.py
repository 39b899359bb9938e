"""Selects the tables of a catalog that a job processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from attrs import field, frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    UnsupportedError,
)

from ..core.identifiers import DEFAULT_DELIMITER, ROOT, Identifier, to_identifier

if TYPE_CHECKING:
    from ..catalog.namespace import Namespace

__all__ = ["Selection"]


@frozen(kw_only=True)
class Selection:
    """The tables below a namespace whose names match a pattern.

    Attributes:
        under: the namespace; defaults to the root.
        patterns: patterns such as ``sales$*`` or ``*_2024``. They are matched against the full name
            of a table, from the root and joined with `delimiter`. A table must match at least one
            pattern; if there are no patterns, all tables are selected.
        delimiter: separator of the levels of an identifier.
    """

    under: Identifier = field(default=ROOT, converter=to_identifier)
    patterns: Sequence[str] = ()
    delimiter: str = DEFAULT_DELIMITER

    def matches(self, table: Identifier) -> bool:
        """Return whether a table is selected."""
        name = self.delimiter.join(table)
        inside = table[: len(self.under)] == self.under
        return inside and (
            not self.patterns or any(fnmatchcase(name, pattern) for pattern in self.patterns)
        )

    def find(self, namespace: Namespace) -> Iterator[Identifier]:
        """Return the selected tables; the tables of a namespace precede those of nested namespaces.

        Raises:
            NamespaceNotFoundError: code 1, the namespace `under` does not exist.
        """
        yield from (table for table in _walk(namespace, self.under) if self.matches(table))

    def shown(self) -> str:
        """Return the selection as a string that is equal for equal selections."""
        return f"under={list(self.under)} patterns={sorted(self.patterns)} by {self.delimiter!r}"


def _walk(namespace: Namespace, parent: Identifier) -> Iterator[Identifier]:
    depth = len(parent)
    capabilities = namespace.capabilities
    if capabilities.holds_tables(depth):
        try:
            for name in namespace.iter_tables(parent):
                yield (*parent, name)
        except (InvalidInputError, UnsupportedError):
            # A server may reject listing tables above the level that contains them.
            if capabilities.namespace_depth is not None:
                raise
    if capabilities.has_namespaces(depth + 1):
        for name in namespace.iter_namespaces(parent):
            try:
                yield from _walk(namespace, (*parent, name))
            except NamespaceNotFoundError:
                continue  # it was dropped between being listed and being walked
