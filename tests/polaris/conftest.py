"""Apache Polaris, as a double and as a real server, cleared before each test, and connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lance_namespace_impls.polaris import PolarisNamespace
from tests.servers.polaris_tables import CATALOG, PolarisServer, PolarisTables
from tests.servers.s3 import GuardedS3

from .subject import Polaris, properties_for

Connect = Callable[..., PolarisNamespace]


@pytest.fixture(scope="module")
def real_server() -> Iterator[PolarisServer]:
    with PolarisServer() as running:
        yield running


@pytest.fixture
def double(tmp_path: Path) -> Iterator[PolarisTables]:
    with PolarisTables((tmp_path / CATALOG).as_uri()) as running:
        yield running


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.real("polaris"))])
def polaris(request: pytest.FixtureRequest) -> Iterator[Polaris]:
    """Each server, without tables; the double must respond as the real one does."""
    if request.param == "double":
        yield request.getfixturevalue("double")
        return
    server: PolarisServer = request.getfixturevalue("real_server")
    server.clear()
    server.asked.clear()
    yield server
    assert not server.differences, "\n".join(server.differences[:5])


@pytest.fixture
def connected(polaris: Polaris) -> Iterator[Connect]:
    """Return a callable that connects to the server, with additional properties."""
    made: list[PolarisNamespace] = []

    def connect_with(**more: str) -> PolarisNamespace:
        made.append(PolarisNamespace.from_properties(properties_for(polaris, **more)))
        return made[-1]

    yield connect_with
    for namespace in made:
        namespace.close()


@pytest.fixture
def lake(connected: Connect) -> PolarisNamespace:
    """A connection to a server with an empty namespace ``db``."""
    namespace = connected()
    namespace.create_namespace({"id": [CATALOG, "db"], "properties": {"owner": "me"}})
    return namespace


@pytest.fixture(scope="module")
def s3() -> Iterator[GuardedS3]:
    """An S3 test server with one bucket."""
    with GuardedS3() as running:
        yield running
