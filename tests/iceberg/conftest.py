"""Real Iceberg REST servers, started once per session, and connections to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lance_namespace_impls.iceberg import IcebergNamespace
from tests.servers.iceberg import IcebergFixture, Nessie, shared_iceberg, shared_nessie
from tests.servers.s3 import GuardedS3
from tests.servers.web import FaultProxy

from .subject import WAREHOUSE, BareApi

Connect = Callable[..., IcebergNamespace]


@pytest.fixture(scope="session")
def server() -> IcebergFixture:
    """The Iceberg project's own server."""
    return shared_iceberg()


@pytest.fixture
def bare(server: IcebergFixture, tmp_path: Path) -> Iterator[BareApi]:
    """The API of that server, which contains only the namespace ``db``.

    The namespace has a location below `tmp_path`; the server's default is shared by all tests.
    """
    with httpx.Client(base_url=server.endpoint) as client:
        api = BareApi(client, "/v1", ".")
        api.clear()
        api.add_namespace(["db"], {"location": f"{tmp_path}/lake/wh/db"})
        yield api


@pytest.fixture
def connected(server: IcebergFixture, bare: BareApi, tmp_path: Path) -> Iterator[Connect]:
    """Return a callable that connects to that server; None removes one of the usual properties."""
    made: list[IcebergNamespace] = []

    def connect_with(**changes: Any) -> IcebergNamespace:
        properties = {
            "endpoint": server.endpoint,
            "prefix": "",
            "warehouses": WAREHOUSE,
            "root": str(tmp_path / "lake"),
        }
        made.append(IcebergNamespace.from_properties({**properties, **changes}))
        return made[-1]

    yield connect_with
    for namespace in made:
        namespace.close()


@pytest.fixture
def iceberg(connected: Connect) -> IcebergNamespace:
    """A connection to that server."""
    return connected()


@pytest.fixture
def proxy(server: IcebergFixture) -> Iterator[FaultProxy]:
    """A proxy in front of that server that can fail requests."""
    with FaultProxy(server.endpoint) as running:
        yield running


@pytest.fixture(scope="session")
def nessie_server() -> Nessie:
    """Nessie, with its warehouse in a bucket of an S3 test server."""
    return shared_nessie()


@pytest.fixture(scope="session")
def s3(nessie_server: Nessie) -> GuardedS3:
    """The S3 test server of Nessie's warehouse."""
    return nessie_server.s3


@pytest.fixture
def nessie(nessie_server: Nessie, s3: GuardedS3) -> Iterator[IcebergNamespace]:
    """A connection to Nessie, which contains only the namespace ``db``."""
    with httpx.Client(base_url=nessie_server.endpoint) as client:
        api = BareApi(client, f"/v1/main%7C{WAREHOUSE}", "\x1f")
        api.clear()
        api.add_namespace(["db"])
    storage = {f"storage.{key}": value for key, value in s3.options().items()}
    properties = {"endpoint": nessie_server.endpoint, "warehouses": WAREHOUSE, **storage}
    with IcebergNamespace.from_properties(properties) as namespace:
        yield namespace
