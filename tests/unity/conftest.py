"""A Unity Catalog double and a real server, emptied before each test, and connections to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import UnityDouble, UnityServer
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


@pytest.fixture(scope="session")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UnityServer]:
    with UnityServer(folder=tmp_path_factory.mktemp("unity")) as running:
        yield running


@pytest.fixture
def real(running_server: UnityServer) -> UnityServer:
    """The server written by others with an empty catalog ``main``."""
    running_server.clear()
    return running_server


# It is built first, which takes long.
REAL = pytest.param("real", marks=pytest.mark.slow)


@pytest.fixture(params=["unity", REAL])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UnityNamespace]:
    """Each server in turn, with an empty schema ``s``."""
    server: UnityDouble | UnityServer = request.getfixturevalue(request.param)
    root = server.root / tmp_path.name if isinstance(server, UnityServer) else tmp_path
    properties = {"endpoint": server.uri, "catalog": "main", "root": str(root)}
    with UnityNamespace.from_properties(properties) as namespace:
        namespace.create_namespace({"id": ["main", "s"], "properties": {"owner": "me"}})
        yield namespace


@pytest.fixture
def proxy(unity: UnityDouble) -> Iterator[FaultProxy]:
    """The double behind a proxy that can be told to fail."""
    with FaultProxy(unity.uri) as running:
        yield running
