"""A namespace that holds tables, in any catalog of the suite."""

from __future__ import annotations

from lance_namespace_impls.catalog.namespace import Namespace

from .subject import Identifier, Subject

__all__ = ["make_home"]


def make_home(subject: Subject, namespace: Namespace) -> Identifier:
    """Empty the catalog and make a namespace in it that tables can be put into."""
    given = subject.reset()
    top = next(iter(sorted(given)), ())
    home = (*top, *("home", "inner")[: subject.capabilities.table_depth - len(top)])
    for depth in range(len(top) + 1, len(home) + 1):
        namespace.create_namespace({"id": list(home[:depth])})
    return home
