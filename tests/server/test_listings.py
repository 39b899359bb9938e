"""Complete listings are streamed page by page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lance_namespace_client.errors import InternalError, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.memory import MemoryNamespace
from lance_namespace_impls.server import serving

from ..servers.http_client import http_client

NAMES = [f"t{n:04}" for n in range(2500)]


class Slow(MemoryNamespace):
    """A namespace that blocks before its second page until it is released, and then can fail."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.may_go_on = threading.Event()
        self.fails = False

    def list_tables(self, request: Any = None) -> Any:
        if request is not None and request.page_token is not None:
            assert self.may_go_on.wait(300)
            if self.fails:
                raise InternalError("the catalog is on fire")
        return super().list_tables(request)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slow]:
    root = str(tmp_path_factory.mktemp("filled"))
    with Slow.from_properties({"name": root, "root": root}) as namespace:
        for name in NAMES:
            namespace.declare_table({"id": [name]})
        yield namespace


@pytest.fixture
def slow(filled: Slow) -> Slow:
    filled.fails = False
    filled.may_go_on.clear()
    return filled


def test_the_first_page_is_sent_before_the_others_are_read(slow: Slow) -> None:
    with serving(slow) as uri, http_client(uri, timeout=300) as client:
        with client.stream("GET", "/v1/namespace/$/table/list") as answer:
            assert answer.status_code == 200
            chunks = answer.iter_raw()
            assert b'"t0000","t0001"' in next(chunks)
            slow.may_go_on.set()
            for _ in chunks:
                pass
        assert client.get("/v1/namespace/$/table/list").json() == {"tables": NAMES}


def test_a_listing_that_fails_midway_is_incomplete(slow: Slow) -> None:
    slow.fails = True
    slow.may_go_on.set()
    with serving(slow) as uri:
        with http_client(uri, timeout=300) as client, pytest.raises(httpx.RemoteProtocolError):
            client.get("/v1/namespace/$/table/list")
        with (
            connect("rest", {"uri": uri, "max_retries": "0"}) as namespace,
            pytest.raises(LanceNamespaceError),
        ):
            namespace.list_tables({})


def test_single_pages_and_short_listings(slow: Slow) -> None:
    slow.may_go_on.set()
    with serving(slow) as uri, http_client(uri, timeout=300) as client:
        page = client.get("/v1/namespace/$/table/list", params={"limit": 2000})
        assert page.json()["tables"] == NAMES[:2000]
        assert page.json()["page_token"]
        assert int(page.headers["content-length"]) == len(page.content)
        last = {"page_token": page.json()["page_token"]}
        rest = client.get("/v1/namespace/$/table/list", params=last)
        assert rest.json() == {"tables": NAMES[2000:]}
        empty = client.get("/v1/namespace/$/list")
        assert empty.json() == {"namespaces": []}


def test_the_listing_of_a_local_directory_is_complete(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        for name in NAMES:
            (tmp_path / f"{name}.lance").mkdir()
            (tmp_path / f"{name}.lance" / ".lance-reserved").touch()
        with serving(namespace) as uri, connect("rest", {"uri": uri}) as client:
            assert client.list_tables({"id": []}).tables == NAMES
            assert "ListTables" in client.list_operations({}).operations
