"""Finds the shape of a target by creating one namespace and one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rows import plain

if TYPE_CHECKING:
    from .lab import Lab

__all__ = ["find_shape"]

Identifier = tuple[str, ...]


def find_shape(lab: Lab) -> None:
    """Find where namespaces and tables can be created, and create a home namespace."""
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
    lab.setup.append(made.step)
    child = (*home, lab.ledger.fresh())
    nested = lab.call("CreateNamespace", id=child)
    shape.nested = nested.succeeded
    shape.namespace_parent = home if shape.nested else shape.base
    if _takes_tables(lab, home):
        shape.table_parent = home
        shape.tables_in_new = not shape.nested or _takes_tables(lab, child)
        shape.no_table = None
    elif shape.nested and _takes_tables(lab, child):
        shape.table_parent = child
        shape.tables_in_new = True
        lab.ledger.keep("namespace", child)
        lab.setup.append(nested.step)
        shape.no_table = None


def _takes_tables(lab: Lab, parent: Identifier) -> bool:
    identifier = (*parent, lab.ledger.fresh())
    reply = lab.call("DeclareTable", id=identifier)
    if not reply.succeeded:
        reply = lab.call("CreateTable", plain(1), id=identifier)
    if not reply.succeeded:
        lab.shape.no_table = reply
    return reply.succeeded
