from __future__ import annotations

import pytest

from lance_namespace_client.errors import (
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.web import Answer, Asked, FaultProxy

from .conftest import Connect, Unity

NAMES = [f"t{n:03}" for n in range(250)]
BUSY = Answer(status=503, body={"error_code": "UNAVAILABLE", "message": "busy"})
CUT = Answer(cut=True)


@pytest.fixture
def through(unity: Unity, proxy: FaultProxy, connected: Connect) -> UnityNamespace:
    """A connection through the proxy, with 250 tables, which are three pages."""
    unity.add_schema(("main", "s"))
    for name in NAMES:
        unity.add_table(("main", "s", name), properties={"table_type": "lance"})
    return connected(endpoint=proxy.uri, max_retries=1)


def second_page(asked: Asked) -> bool:
    return asked.query.get("page_token") == NAMES[99]


@pytest.mark.parametrize("fault", [BUSY, CUT], ids=["503", "cut"])
def test_a_fault_in_the_middle_of_a_listing(
    proxy: FaultProxy, through: UnityNamespace, fault: Answer
) -> None:
    proxy.fail(second_page, fault)
    assert through.list_tables({"id": ["main", "s"]}).tables == NAMES
    proxy.fail(second_page, fault, fault)
    with pytest.raises(ServiceUnavailableError):
        through.list_tables({"id": ["main", "s"]})


def test_a_change_with_a_cut_response_is_sent_once(
    proxy: FaultProxy, through: UnityNamespace
) -> None:
    proxy.fail(lambda asked: asked.method == "POST", CUT)
    with pytest.raises(ServiceUnavailableError):
        through.declare_table({"id": ["main", "s", "new"]})
    assert sum(asked.method == "POST" for asked in proxy.asked) == 1


def test_a_token_that_expires_in_the_middle_of_a_listing(
    proxy: FaultProxy, through: UnityNamespace
) -> None:
    expired = {"error_code": "UNAUTHENTICATED", "message": "the token is expired"}
    proxy.fail(second_page, Answer(status=401, body=expired))
    with pytest.raises(UnauthenticatedError, match="expired"):
        through.list_tables({"id": ["main", "s"]})


def test_a_server_that_is_not_there() -> None:
    namespace = UnityNamespace.from_properties(
        {"endpoint": "http://127.0.0.1:9", "catalog": "main", "max_retries": "0"}
    )
    with (
        namespace,
        pytest.raises(ServiceUnavailableError, match="check that the server is running"),
    ):
        namespace.list_tables({"id": ["main", "s"]})
