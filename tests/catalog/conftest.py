"""Empty namespaces, and a namespace with three tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.behaviour.memory import MemoryNamespace

from .memory import ROWS, connected

CATALOG = "tests.behaviour.memory:Mixed"

"""A catalog that allows namespaces and tables on every level."""


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Namespace]:
    """An empty catalog that allows namespaces and tables on every level."""
    with connect(CATALOG, {"root": str(tmp_path / "catalog")}) as found:
        yield found


@pytest.fixture(params=["dir", "catalog"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    """An empty directory, and an empty catalog."""
    impl = {"dir": "dir", "catalog": CATALOG}[request.param]
    with connect(impl, {"root": str(tmp_path / "tables")}) as found:
        yield found


@pytest.fixture
def some(tmp_path: Path) -> Iterator[MemoryNamespace]:
    with connected(MemoryNamespace, tmp_path) as found:
        found.create_namespace({"id": ["ns"]})
        for name in ("a", "goes", "z"):
            found.create_table({"id": ["ns", name]}, ROWS)
        yield found
