"""The objects that a target can hold, and the namespaces that can hold them."""

from __future__ import annotations

from attrs import define

from .exchange import Reply

__all__ = ["Shape"]

Identifier = tuple[str, ...]


@define
class Shape:
    """Where the kit may create objects in the target."""

    base: Identifier = ()
    """Namespace that the caller specified for the run."""
    home: Identifier = ()
    """Namespace that the kit created; `base` if it cannot create one."""
    namespace_parent: Identifier | None = None
    """Parent in which namespaces can be created."""
    table_parent: Identifier | None = None
    """Parent in which tables can be created."""
    nested: bool = False
    """Whether namespaces can be created below `home`."""
    tables_in_new: bool = False
    """Whether a namespace created in `namespace_parent` can hold tables."""
    empty_vector: bool = False
    """Whether QueryTable accepts a missing vector only as an empty object."""
    no_namespace: Reply | None = None
    """Reply to the first CreateNamespace, if it failed."""
    no_table: Reply | None = None
    """Reply to the call that creates the first table, if it failed."""

    def capabilities(self, kind: str) -> frozenset[str]:
        """Return the capabilities that checks can require."""
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
