"""A Unity Catalog double, emptied before each test, and connections to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import UnityDouble
from tests.servers.web import FaultProxy

Connect = Callable[..., UnityNamespace]


@pytest.fixture(scope="session")
def server() -> Iterator[UnityDouble]:
    with UnityDouble() as running:
        yield running


@pytest.fixture
def unity(server: UnityDouble) -> UnityDouble:
    """The double with an empty catalog ``main``."""
    server.clear()
    server.objects[("main",)] = {"properties": {"kind": "demo"}}
    server.asked.clear()
    return server


@pytest.fixture
def connected(unity: UnityDouble, tmp_path: Path) -> Iterator[Connect]:
    """Connects; properties can be changed, and left out with None."""
    made: list[UnityNamespace] = []

    def connect_with(**changes: Any) -> UnityNamespace:
        properties = {"endpoint": unity.uri, "catalog": "main", "root": str(tmp_path / "lake")}
        made.append(UnityNamespace.from_properties({**properties, **changes}))
        return made[-1]

    yield connect_with
    for namespace in made:
        namespace.close()


@pytest.fixture
def main(connected: Connect) -> UnityNamespace:
    """Connected, with an empty schema ``s``."""
    namespace = connected()
    namespace.create_namespace({"id": ["main", "s"], "properties": {"owner": "me"}})
    return namespace


@pytest.fixture
def proxy(unity: UnityDouble) -> Iterator[FaultProxy]:
    """The double behind a proxy that can be told to fail."""
    with FaultProxy(unity.uri) as running:
        yield running
