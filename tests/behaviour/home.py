"""A namespace that holds tables, in any catalog of the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.catalog.namespace import Namespace

from .subject import Identifier, Subject

__all__ = ["MakeTable", "make_home", "makes_tables"]

MakeTable = Callable[[Any, list[str]], Any]
MAKES: dict[str, MakeTable] = {
    "declare": lambda ns, table: ns.declare_table({"id": table}),
    "create": lambda ns, table: ns.create_table({"id": table}, pa.table({"x": [1]})),
    "register": lambda ns, table: ns.register_table(
        {"id": table, "location": f"{ns.config.root}/other"}
    ),
}
makes_tables = pytest.mark.parametrize("make_table", MAKES.values(), ids=MAKES)
"""Runs a test with each operation that creates a table."""


def make_home(subject: Subject, namespace: Namespace) -> Identifier:
    """Empty the catalog and create a namespace that can contain tables."""
    given = subject.reset()
    top = next(iter(sorted(given)), ())
    home = (*top, *("home", "inner")[: subject.capabilities.table_depth - len(top)])
    for depth in range(len(top) + 1, len(home) + 1):
        namespace.create_namespace({"id": list(home[:depth])})
    return home
