"""Empty catalogs in SQLite and PostgreSQL databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lance_namespace_impls.sql import SqlNamespace, initialize

from ..servers.postgresql import shared

KINDS = ("sqlite", "postgresql")


@pytest.fixture(params=KINDS)
def properties(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Properties of an empty catalog."""
    found = {"uri": str(tmp_path / "catalog.db"), "root": str(tmp_path / "tables")}
    if request.param == "postgresql":
        found["uri"] = shared().new_database()
    initialize(found)
    return found


@pytest.fixture
def catalog(properties: dict[str, str]) -> Iterator[SqlNamespace]:
    """An empty catalog."""
    with SqlNamespace.from_properties(properties) as found:
        yield found
