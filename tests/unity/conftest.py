"""Unity Catalog, as a double and as a real server, cleared before each test, and connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import UnityDouble
from tests.servers.unity_real import UnityServer
from tests.servers.web import Answer, Asked, FaultProxy, WebServer

Connect = Callable[..., UnityNamespace]
Unity: TypeAlias = UnityDouble | UnityServer


@pytest.fixture(
    scope="session", params=["double", pytest.param("real", marks=pytest.mark.real("unity"))]
)
def server(request: pytest.FixtureRequest) -> Iterator[Unity]:
    with UnityServer() if request.param == "real" else UnityDouble() as running:
        yield running


@pytest.fixture
def unity(server: Unity) -> Iterator[Unity]:
    """Each server with an empty catalog ``main``; the double must respond as the real one does."""
    server.clear()
    server.add_catalog("main", {"kind": "demo"})
    server.asked.clear()
    yield server
    if isinstance(server, UnityServer):
        assert not server.differences, "\n".join(server.differences[:5])


@pytest.fixture
def connected(unity: Unity, tmp_path: Path) -> Iterator[Connect]:
    """Return a callable that connects to the server; None removes one of the usual properties."""
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
    """A connection to a server with an empty schema ``s``."""
    namespace = connected()
    namespace.create_namespace({"id": ["main", "s"], "properties": {"owner": "me"}})
    return namespace


@pytest.fixture
def proxy(unity: Unity) -> Iterator[FaultProxy]:
    """A proxy in front of a server that can fail requests."""
    with FaultProxy(unity.uri) as running:
        yield running


@contextmanager
def answered(
    respond: Callable[[Asked], Answer], **more: Any
) -> Iterator[tuple[WebServer, UnityNamespace]]:
    """Yield a server with a test's responses, and a connection to its catalog ``main``.

    None removes one of the usual properties.
    """
    with WebServer(respond) as server:
        given = {"endpoint": server.uri, "catalog": "main", **more}
        properties = {key: value for key, value in given.items() if value is not None}
        with UnityNamespace.from_properties(properties) as namespace:
            yield server, namespace
