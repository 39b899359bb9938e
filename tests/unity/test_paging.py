from __future__ import annotations

import pickle
from contextlib import AbstractContextManager
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InternalError
from lance_namespace_client.models import ListTablesResponse
from lance_namespace_impls.unity import UnityNamespace
from tests.servers.unity import API, PAGE_SIZE
from tests.servers.web import Answer, Asked, WebServer

from .conftest import Unity, answered

LANCE = {"table_type": "EXTERNAL", "properties": {"table_type": "lance"}}


@pytest.mark.requirement("unity-list-tables-all")
def test_a_thousand_tables_in_the_fewest_pages(unity: Unity, main: UnityNamespace) -> None:
    names = [f"t{n:04}" for n in range(1000)]
    for name in names:
        unity.add_table(("main", "s", name), properties={"table_type": "lance"})
    unity.asked.clear()
    assert main.list_tables({"id": ["main", "s"]}).tables == names
    # A full page does not show whether another follows, so one more request is needed.
    assert len(unity.asked) == 1000 // PAGE_SIZE + 1
    assert all(asked.path == f"{API}/tables" for asked in unity.asked)


@pytest.mark.requirement("unity-list-namespaces-all")
def test_a_thousand_schemas(unity: Unity, main: UnityNamespace) -> None:
    for n in range(1000):
        unity.add_schema(("main", f"s{n:04}"))
    unity.asked.clear()
    found = main.list_namespaces({"id": ["main"]}).namespaces
    assert len(found) == 1001
    assert len(unity.asked) == 1001 // PAGE_SIZE + 1


def tables(*names: str) -> list[dict[str, object]]:
    return [{"name": name, **LANCE} for name in names]


@pytest.mark.requirement("unity-list-tables-pages")
def test_pages_may_be_empty_and_an_empty_token_ends() -> None:
    pages = {
        "first": Answer(body={"tables": tables("b"), "next_page_token": "two+/="}),
        "two+/=": Answer(body={"tables": [], "next_page_token": "three"}),
        "three": Answer(body={"next_page_token": "four"}),
        "four": Answer(body={"tables": tables("a"), "next_page_token": ""}),
    }
    respond = lambda asked: pages[asked.query.get("page_token", "first")]  # noqa: E731
    with answered(respond) as (server, namespace):
        assert namespace.list_tables({"id": ["main", "s"]}).tables == ["a", "b"]
    assert len(server.asked) == 4


def test_listed_tables_are_not_requested_again(unity: Unity, main: UnityNamespace) -> None:
    for n in range(30):
        main.declare_table({"id": ["main", "s", f"t{n:02}"]})
    unity.asked.clear()
    assert main.list_tables({"id": ["main", "s"], "include_declared": False}).tables == []
    assert {asked.path for asked in unity.asked} == {f"{API}/tables"}


def walked(namespace: UnityNamespace, limit: int, **more: object) -> list[list[str]]:
    """Read the tables of the schema ``s`` in pages of a limit."""
    pages: list[list[str]] = []
    token: str | None = None
    while not pages or token:
        request = {"id": ["main", "s"], "limit": limit, "page_token": token, **more}
        page = namespace.list_tables(request)
        pages.append(page.tables)
        token = page.page_token
    return pages


@pytest.mark.requirement("unity-list-tables-all")
@pytest.mark.parametrize("more", [{}, {"include_declared": False}])
def test_pages_read_each_page_of_the_server_once(
    unity: Unity, main: UnityNamespace, more: dict[str, object], tmp_path: Path
) -> None:
    names = [f"t{n:04}" for n in range(450)]
    lance.write_dataset(pa.table({"x": [1]}), tmp_path / "data")
    for name in names:
        (tmp_path / name).symlink_to(tmp_path / "data")
        unity.add_table(
            ("main", "s", name),
            properties={"table_type": "lance"},
            storage_location=(tmp_path / name).as_uri(),
        )
    walked(main, 100)  # the namespace now knows how the server sorts
    unity.asked.clear()
    pages = walked(main, 70, **more)
    assert [name for page in pages for name in page] == names
    assert len(unity.asked) == 450 // PAGE_SIZE + 1
    unity.asked.clear()
    first = main.list_tables({"id": ["main", "s"], "limit": 70, **more})
    assert first.page_token
    assert len(unity.asked) == 1


@pytest.mark.parametrize("of", [["main", "s"], None], ids=["of a schema", "of all"])
def test_earlier_pages_can_be_requested_again(
    unity: Unity, main: UnityNamespace, of: list[str] | None
) -> None:
    main.create_namespace({"id": ["main", "t"]})
    names = [f"t{n:03}" for n in range(130)]  # more than one page of the server
    for schema in ("s", "t"):
        for name in names:
            unity.add_table(("main", schema, name), properties={"table_type": "lance"})

    def ask(token: str | None) -> ListTablesResponse:
        request = {"limit": 40, "page_token": token}
        if of is None:
            return main.list_all_tables(request)
        return main.list_tables({"id": of, **request})

    def pages_from(token: str | None) -> list[tuple[str | None, list[str]]]:
        page = ask(token)
        return [(token, page.tables), *(pages_from(page.page_token) if page.page_token else ())]

    every = names if of else [f"main${schema}${name}" for schema in "st" for name in names]
    walk = pages_from(None)
    assert [name for _, page in walk for name in page] == every
    for number, (token, page) in reversed([*enumerate(walk)]):
        for _ in range(2):
            assert ask(token).tables == page
        assert [name for _, page in pages_from(token) for name in page] == every[number * 40 :]


def test_another_process_continues_after_the_name(unity: Unity, main: UnityNamespace) -> None:
    for n in range(450):
        unity.add_table(("main", "s", f"t{n:04}"), properties={"table_type": "lance"})
    token = main.list_tables({"id": ["main", "s"], "limit": 300}).page_token
    with pickle.loads(pickle.dumps(main)) as other:
        unity.asked.clear()
        page = other.list_tables({"id": ["main", "s"], "limit": 100, "page_token": token})
    assert page.tables == [f"t{n:04}" for n in range(300, 400)]
    assert len(unity.asked) <= 3


def by_name(found: list[str]) -> AbstractContextManager[tuple[WebServer, UnityNamespace]]:
    """Serve two names per page in the order of the list; a token is the last name of a page."""

    def respond(asked: Asked) -> Answer:
        after = asked.query.get("page_token")
        start = 0 if after is None else found.index(after) + 1
        page = found[start : start + 2]
        token = page[-1] if start + 2 < len(found) else None
        return Answer(body={"tables": tables(*page), "next_page_token": token})

    return answered(respond)


def test_a_server_with_another_order_is_listed_completely() -> None:
    with by_name(["b", "a", "d", "c", "e"]) as (server, namespace):
        assert walked(namespace, 2) == [["a", "b"], ["c", "d"], ["e"]]
        assert len(server.asked) == 3


def test_an_unexpected_order_fails_once_and_is_remembered() -> None:
    with by_name(["a", "b", "C", "d"]) as (_, namespace):
        with pytest.raises(InternalError, match="without a page token"):
            walked(namespace, 2)
        assert walked(namespace, 2) == [["C", "a"], ["b", "d"]]
