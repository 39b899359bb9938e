from __future__ import annotations

import pytest

from lance_namespace_client.errors import InternalError
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import API, PAGE_SIZE
from tests.servers.web import Answer, Asked, WebServer

from .conftest import Unity

LANCE = {"table_type": "EXTERNAL", "properties": {"table_type": "lance"}}


def test_a_thousand_tables_in_the_fewest_pages(unity: Unity, main: UnityNamespace) -> None:
    names = [f"t{n:04}" for n in range(1000)]
    for name in names:
        unity.add_table(("main", "s", name), properties={"table_type": "lance"})
    unity.asked.clear()
    assert main.list_tables({"id": ["main", "s"]}).tables == names
    # A full page tells nothing of what follows, so the server wants to be asked once more.
    assert len(unity.asked) == 1000 // PAGE_SIZE + 1
    assert all(asked.path == f"{API}/tables" for asked in unity.asked)


def test_a_thousand_schemas(unity: Unity, main: UnityNamespace) -> None:
    for n in range(1000):
        unity.add_schema(("main", f"s{n:04}"))
    unity.asked.clear()
    found = main.list_namespaces({"id": ["main"]}).namespaces
    assert len(found) == 1001
    assert len(unity.asked) == 1001 // PAGE_SIZE + 1


def paged(pages: dict[str, Answer]) -> WebServer:
    """Serve pages by their token."""

    def respond(asked: Asked) -> Answer:
        return pages[asked.query.get("page_token", "first")]

    return WebServer(respond)


def tables(*names: str) -> list[dict[str, object]]:
    return [{"name": name, **LANCE} for name in names]


def test_pages_may_be_empty_and_an_empty_token_ends() -> None:
    pages = {
        "first": Answer(body={"tables": tables("b"), "next_page_token": "two+/="}),
        "two+/=": Answer(body={"tables": [], "next_page_token": "three"}),
        "three": Answer(body={"next_page_token": "four"}),
        "four": Answer(body={"tables": tables("a"), "next_page_token": ""}),
    }
    with paged(pages) as server:
        namespace = UnityNamespace.from_properties({"endpoint": server.uri, "catalog": "main"})
        with namespace:
            assert namespace.list_tables({"id": ["main", "s"]}).tables == ["a", "b"]
    assert len(server.asked) == 4


def test_a_listing_without_end_is_an_error() -> None:
    again = Answer(body={"next_page_token": "x"})
    with paged({"first": again, "x": again}) as server:
        namespace = UnityNamespace.from_properties({"endpoint": server.uri, "catalog": "main"})
        with namespace, pytest.raises(InternalError, match="no end"):
            namespace.list_tables({"id": ["main", "s"]})


def test_callers_page_through_their_own_limit(unity: Unity, main: UnityNamespace) -> None:
    names = [f"t{n:03}" for n in range(250)]
    for name in reversed(names):
        unity.add_table(("main", "s", name), properties={"table_type": "lance"})
    assert list(main.iter_tables(["main", "s"], page_size=99)) == names


def test_what_the_listing_gave_is_not_asked_for_again(unity: Unity, main: UnityNamespace) -> None:
    for n in range(30):
        main.declare_table({"id": ["main", "s", f"t{n:02}"]})
    unity.asked.clear()
    assert main.list_tables({"id": ["main", "s"], "include_declared": False}).tables == []
    assert {asked.path for asked in unity.asked} == {f"{API}/tables"}
