"""Which tables of a catalog a job is about."""

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

from ..core.identifiers import DEFAULT_DELIMITER, ROOT, Identifier, parse_identifier

if TYPE_CHECKING:
    from ..catalog.namespace import Namespace

__all__ = ["Selection"]


@frozen(kw_only=True)
class Selection:
    """The tables below a namespace whose names match a pattern.

    Attributes:
        under: the namespace; the root unless given.
        patterns: such as ``sales$*`` or ``*_2024``, matched against all names of a table from the
            root, joined by `delimiter`; one of them is enough, and none is all tables.
        delimiter: what joins the levels of an identifier.
    """

    under: Identifier = field(default=ROOT, converter=parse_identifier)
    patterns: Sequence[str] = ()
    delimiter: str = DEFAULT_DELIMITER

    def matches(self, table: Identifier) -> bool:
        """Return whether a table is one of them."""
        name = self.delimiter.join(table)
        inside = table[: len(self.under)] == self.under
        return inside and (
            not self.patterns or any(fnmatchcase(name, pattern) for pattern in self.patterns)
        )

    def find(self, namespace: Namespace) -> Iterator[Identifier]:
        """Walk the tables, each namespace's own before those below it.

        Raises:
            NamespaceNotFoundError: code 1, `under` is not there.
        """
        yield from (table for table in _walk(namespace, self.under) if self.matches(table))

    def shown(self) -> str:
        """Return the selection as text, the same for the same tables."""
        return f"under={list(self.under)} patterns={sorted(self.patterns)} by {self.delimiter!r}"


def _walk(namespace: Namespace, parent: Identifier) -> Iterator[Identifier]:
    depth = len(parent)
    capabilities = namespace.capabilities
    if capabilities.holds_tables(depth):
        try:
            for name in namespace.iter_tables(parent):
                yield (*parent, name)
        except (InvalidInputError, UnsupportedError):
            # A server may refuse to list tables above the level that holds them.
            if capabilities.namespace_depth is not None:
                raise
    if capabilities.has_namespaces(depth + 1):
        for name in namespace.iter_namespaces(parent):
            try:
                yield from _walk(namespace, (*parent, name))
            except NamespaceNotFoundError:
                continue  # it went between listing and walking
