"""Correct targets: every check must pass on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.server import serving
from tests.behaviour.memory import LEVELS, MemoryConfig

SQL = ("sql-postgresql", "sql-managed")
CORRECT = ("dir", "dir-manifest", "rest", *LEVELS, *SQL, "rest-mixed", "rest-three-levels")
WIDE = ("LN-ALIKE-*", "LN-COMBINED-*", "LN-PAST-*")
"""Checks of the contents of tables after long sequences of calls. They take half of a run.

The code that answers them is the same for every catalog here, so the fast tests run them on one
target only.
"""
UNDER = {"one-catalog": ("main",), "any-depth": ("main",)}
"""Namespace in which objects can be created, for catalogs configured with a namespace."""


def memory(root: Path, levels: str) -> Any:
    namespace = LEVELS[levels](MemoryConfig(root=str(root)))
    if levels in UNDER:
        namespace._catalog.namespaces[UNDER[levels]] = {}
    return namespace


def database(root: Path, name: str) -> Any:
    """Return a catalog in an empty database."""
    from lance_namespace_impls.sql import SqlNamespace, initialize
    from tests.servers.postgresql import shared

    uri = shared().new_database() if "postgresql" in name else str(root / "catalog.db")
    managed = str(name.endswith("managed")).lower()
    properties = {"uri": uri, "root": str(root / "tables"), "managed": managed}
    initialize(properties)
    return SqlNamespace.from_properties(properties)


@contextmanager
def correct(name: str, root: Path) -> Iterator[Target]:
    """Yield the correct target with the given name."""
    served = name.startswith("rest")
    levels = name.removeprefix("rest-")
    if name in SQL:
        with database(root, name) as namespace:
            yield PythonTarget(namespace, name)
        return
    manifest = {"manifest": "true"} if name == "dir-manifest" else {}
    namespace = (
        memory(root, levels)
        if levels in LEVELS
        else connect("dir", {"path": str(root), **manifest})
    )
    if not served:
        yield PythonTarget(namespace, name)
        return
    with serving(namespace) as uri:
        target = HttpTarget(uri)
        yield target
        target.close()


@pytest.fixture(scope="session")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server for a catalog that can have tables and namespaces in the same parent."""
    with serving(memory(tmp_path_factory.mktemp("served"), "mixed")) as address:
        yield address


MakeTarget = Callable[[], Target]
