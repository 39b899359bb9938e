"""The objects that a target can hold, and the namespaces that can hold them."""

from __future__ import annotations

from attrs import define

from .exchange import Reply

__all__ = ["Shape"]

Identifier = tuple[str, ...]


@define
class Shape:
    """Where the kit works."""

    base: Identifier = ()
    """Where the caller lets it work."""
    home: Identifier = ()
    """A namespace of the kit's own; `base` where none can be made."""
    namespace_parent: Identifier | None = None
    """Where namespaces can be made."""
    table_parent: Identifier | None = None
    """Where tables can be made."""
    nested: bool = False
    """Whether namespaces can be made below `home`."""
    tables_in_new: bool = False
    """Whether a namespace made at `namespace_parent` holds tables."""
    empty_vector: bool = False
    """Whether QueryTable takes a missing vector only as an empty object."""
    no_namespace: Reply | None = None
    """What the first CreateNamespace gave, where it failed."""
    no_table: Reply | None = None
    """What making the first table gave, where it failed."""

    def capabilities(self, kind: str) -> frozenset[str]:
        """Return what checks can ask for."""
        found = {kind}
        if self.namespace_parent is not None:
            found.add("namespaces")
        if self.nested:
            found.add("nested")
        if self.table_parent is not None:
            found.add("tables")
        if self.home != self.base:
            found.add("home")
        return frozenset(found)
