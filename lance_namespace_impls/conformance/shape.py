"""What a target can hold and where: found by making one namespace and one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from .exchange import Reply
from .rows import plain

if TYPE_CHECKING:
    from .lab import Lab

__all__ = ["Shape", "find_shape"]

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


def find_shape(lab: Lab) -> None:
    """Find where namespaces and tables can be made, and make a home."""
    shape = lab.shape
    home = (*shape.base, lab.ledger.prefix)
    made = lab.call("CreateNamespace", id=home)
    if not made.succeeded:
        shape.no_namespace = made
        lab.turned_down.setdefault("CreateNamespace", made)
        shape.home = shape.base
        shape.table_parent = shape.base if _takes_tables(lab, shape.base) else None
        return
    shape.home = home
    lab.ledger.keep("namespace", home)
    child = (*home, lab.ledger.fresh())
    shape.nested = lab.call("CreateNamespace", id=child).succeeded
    shape.namespace_parent = home if shape.nested else shape.base
    if _takes_tables(lab, home):
        shape.table_parent = home
        shape.tables_in_new = not shape.nested or _takes_tables(lab, child)
        shape.no_table = None
    elif shape.nested and _takes_tables(lab, child):
        shape.table_parent = child
        shape.tables_in_new = True
        lab.ledger.keep("namespace", child)
        shape.no_table = None


def _takes_tables(lab: Lab, parent: Identifier) -> bool:
    identifier = (*parent, lab.ledger.fresh())
    reply = lab.call("DeclareTable", id=identifier)
    if not reply.succeeded:
        reply = lab.call("CreateTable", plain(1), id=identifier)
    if not reply.succeeded:
        lab.shape.no_table = reply
    return reply.succeeded
