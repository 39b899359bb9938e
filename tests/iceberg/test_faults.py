from __future__ import annotations

from collections.abc import Callable

import pytest

from lance_namespace_client.errors import (
    LanceNamespaceError,
    ServiceUnavailableError,
)
from lance_namespace_impls.iceberg import IcebergNamespace
from tests.servers.iceberg import IcebergFixture
from tests.servers.web import Answer, Asked, FaultProxy

from .conftest import Connect
from .subject import BareApi

pytestmark = pytest.mark.xdist_group("iceberg")

NAMES = [f"t{n:02}" for n in range(30)]
BUSY = Answer(status=503, body={"error": {"type": "ServiceUnavailableException", "code": 503}})
CUT = Answer(cut=True)
EXPIRED = Answer(status=419, body={"error": {"type": "AuthenticationTimeoutException"}})


@pytest.fixture
def through(proxy: FaultProxy, connected: Connect, bare: BareApi) -> IcebergNamespace:
    """A connection to the real server through the proxy, with 30 tables."""
    for name in NAMES:
        bare.add_table(["db"], name, f"/tmp/{name}", {"table_type": "lance"})
    return connected(endpoint=proxy.uri, max_retries=1)


def listing(asked: Asked) -> bool:
    return asked.path.endswith("/tables")


def one_table(asked: Asked) -> bool:
    return asked.path.endswith("/t17")


@pytest.mark.parametrize(("where", "fault"), [(listing, CUT), (one_table, BUSY)])
def test_a_fault_in_the_middle_of_a_listing(
    proxy: FaultProxy, through: IcebergNamespace, where: Callable[[Asked], bool], fault: Answer
) -> None:
    proxy.fail(where, fault)
    assert through.list_tables({"id": ["wh", "db"]}).tables == NAMES
    proxy.fail(where, fault, fault)
    with pytest.raises(ServiceUnavailableError):
        through.list_tables({"id": ["wh", "db"]})


def test_a_token_that_expires_in_the_middle_of_a_listing(
    proxy: FaultProxy, connected: Connect, through: IcebergNamespace
) -> None:
    namespace = connected(endpoint=proxy.uri, credential="me:secret")
    proxy.fail(one_table, EXPIRED)
    assert namespace.list_tables({"id": ["wh", "db"]}).tables == NAMES
    assert sum(asked.path == "/v1/oauth/tokens" for asked in proxy.asked) == 2


def test_a_token_that_is_rejected_again_after_renewal(
    proxy: FaultProxy, connected: Connect, through: IcebergNamespace
) -> None:
    namespace = connected(endpoint=proxy.uri, credential="me:secret")
    proxy.fail(one_table, EXPIRED, EXPIRED)
    with pytest.raises(LanceNamespaceError) as caught:
        namespace.list_tables({"id": ["wh", "db"]})
    assert caught.value.code == 16


def test_a_server_that_restarts(
    server: IcebergFixture, iceberg: IcebergNamespace, bare: BareApi
) -> None:
    bare.add_table(["db"], "t", "/tmp/t", {"table_type": "lance"})
    assert iceberg.list_tables({"id": ["wh", "db"]}).tables == ["t"]
    server.stop()
    with pytest.raises(ServiceUnavailableError, match="check that the server is running"):
        iceberg.list_tables({"id": ["wh", "db"]})
    server.start()
    assert iceberg.list_tables({"id": ["wh", "db"]}).tables == ["t"]


def test_a_server_without_a_prefix_in_its_paths(connected: Connect) -> None:
    with pytest.raises(LanceNamespaceError, match="No route for request") as caught:
        connected(prefix=None).list_tables({"id": ["wh", "db"]})
    assert caught.value.code == 13
    assert caught.value.message.endswith("set the property 'prefix' to an empty value")


def test_an_unknown_route_is_reported(proxy: FaultProxy, connected: Connect) -> None:
    """The error is not mistaken for a missing namespace."""
    body = {"error": {"type": "NoSuchRouteException", "message": "No route for request: GET v1"}}
    proxy.fail(listing, Answer(status=404, body=body))
    with pytest.raises(LanceNamespaceError, match="No route for request") as caught:
        connected(endpoint=proxy.uri, prefix="").list_tables({"id": ["wh", "db"]})
    assert "'prefix'" not in caught.value.message
