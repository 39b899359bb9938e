from __future__ import annotations

import time

import pytest

from lance_namespace_client.errors import (
    InternalError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    ThrottlingError,
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
    """Connected through the proxy, with 250 tables: three pages."""
    unity.add_schema(("main", "s"))
    for name in NAMES:
        unity.add_table(("main", "s", name), properties={"table_type": "lance"})
    return connected(endpoint=proxy.uri)


def second_page(asked: Asked) -> bool:
    return asked.query.get("page_token") == NAMES[99]


def posted(asked: Asked) -> bool:
    return asked.method == "POST"


def test_503_then_success(proxy: FaultProxy, through: UnityNamespace) -> None:
    proxy.fail(second_page, BUSY, BUSY)
    assert through.list_tables({"id": ["main", "s"]}).tables == NAMES


def test_503_for_good_is_never_a_shorter_list(proxy: FaultProxy, through: UnityNamespace) -> None:
    proxy.fail(second_page, *[BUSY] * 4)
    with pytest.raises(ServiceUnavailableError):
        through.list_tables({"id": ["main", "s"]})


def test_429_waits_as_long_as_it_is_told(proxy: FaultProxy, through: UnityNamespace) -> None:
    proxy.fail(second_page, Answer(status=429, body={}, headers={"Retry-After": "1"}))
    started = time.monotonic()
    assert through.list_tables({"id": ["main", "s"]}).tables == NAMES
    assert time.monotonic() - started >= 1


def test_429_for_longer_than_is_waited(proxy: FaultProxy, through: UnityNamespace) -> None:
    proxy.fail(second_page, Answer(status=429, body={}, headers={"Retry-After": "3600"}))
    with pytest.raises(ThrottlingError) as caught:
        through.list_tables({"id": ["main", "s"]})
    assert caught.value.retry_after == 3600


def test_a_token_that_expires_in_the_middle_of_a_listing(
    proxy: FaultProxy, through: UnityNamespace
) -> None:
    expired = {"error_code": "UNAUTHENTICATED", "message": "the token is expired"}
    proxy.fail(second_page, Answer(status=401, body=expired))
    with pytest.raises(UnauthenticatedError, match="expired"):
        through.list_tables({"id": ["main", "s"]})


def test_a_connection_cut_in_the_middle_of_an_answer(
    proxy: FaultProxy, through: UnityNamespace
) -> None:
    proxy.fail(second_page, CUT)
    assert through.list_tables({"id": ["main", "s"]}).tables == NAMES


def test_a_connection_cut_for_good(proxy: FaultProxy, through: UnityNamespace) -> None:
    proxy.fail(second_page, *[CUT] * 4)
    with pytest.raises(ServiceUnavailableError):
        through.list_tables({"id": ["main", "s"]})


def test_an_answer_that_is_no_json(proxy: FaultProxy, through: UnityNamespace) -> None:
    proxy.fail(second_page, Answer(body=b"<html>welcome</html>"))
    with pytest.raises(InternalError, match="not a JSON object"):
        through.list_tables({"id": ["main", "s"]})


@pytest.mark.parametrize("fault", [CUT, BUSY])
def test_a_change_is_never_sent_twice(
    proxy: FaultProxy, through: UnityNamespace, fault: Answer
) -> None:
    proxy.fail(posted, fault)
    with pytest.raises(ServiceUnavailableError):
        through.declare_table({"id": ["main", "s", "new"]})
    assert sum(map(posted, proxy.asked)) == 1


def test_a_change_that_was_not_carried_out_is_sent_again(
    proxy: FaultProxy, through: UnityNamespace
) -> None:
    proxy.fail(posted, Answer(status=429, body={}))
    through.declare_table({"id": ["main", "s", "new"]})
    assert sum(map(posted, proxy.asked)) == 2
    with pytest.raises(TableAlreadyExistsError):
        through.declare_table({"id": ["main", "s", "new"]})


def test_a_server_that_is_not_there() -> None:
    namespace = UnityNamespace.from_properties(
        {"endpoint": "http://127.0.0.1:9", "catalog": "main", "max_retries": "0"}
    )
    with namespace, pytest.raises(ServiceUnavailableError, match="is the server running"):
        namespace.list_tables({"id": ["main", "s"]})
