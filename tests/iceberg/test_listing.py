from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InternalError, PermissionDeniedError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.iceberg import IcebergNamespace
from tests.servers.web import Answer, Asked, FaultProxy, WebServer

from .conftest import Connect
from .subject import BareApi

pytestmark = pytest.mark.xdist_group("iceberg")

LIST = "/v1/wh/namespaces/db/tables"


class Tables:
    """A fake catalog of one namespace that counts loads; some of its tables are Lance tables."""

    def __init__(
        self,
        names: list[str],
        is_lance: Callable[[str], bool] = lambda name: True,
        folder: str = "/lake",
    ):
        self.names = names
        self.folder = folder
        self.is_lance = is_lance
        self.loaded: list[str] = []
        self.under_way = self.most_under_way = 0
        self.lock = threading.Lock()
        self.failures: dict[str, Answer] = {}

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/v1/config":
            return Answer(body={})
        if asked.path == "/v1/wh/namespaces":
            top = not asked.query.get("parent")
            return Answer(body={"namespaces": [["db"]] if top else []})
        if asked.path == "/v1/wh/namespaces/db":
            return Answer(body={"namespace": ["db"], "properties": {}})
        if asked.path == LIST:
            identifiers = [{"namespace": ["db"], "name": name} for name in self.names]
            return Answer(body={"identifiers": identifiers})
        name = unquote(asked.path.removeprefix(f"{LIST}/"))
        with self.lock:
            self.loaded.append(name)
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        time.sleep(0.01)
        with self.lock:
            self.under_way -= 1
        properties = {"table_type": "lance"} if self.is_lance(name) else {}
        found = {"metadata": {"location": f"{self.folder}/{name}", "properties": properties}}
        return self.failures.get(name, Answer(body=found))


@contextmanager
def listed(tables: Tables, **properties: Any) -> Iterator[Namespace]:
    """Yield a connection to a catalog with these tables."""
    with (
        WebServer(tables) as server,
        connect("iceberg", {"endpoint": server.uri, **properties}) as namespace,
    ):
        yield namespace


NAMES = [f"t{n:03}" for n in range(100)]
ERROR = {"type": "ServiceFailureException", "message": "broken", "code": 500}
BROKEN = Answer(status=500, body={"error": ERROR})
GONE = Answer(status=404, body={"error": {**ERROR, "type": "NoSuchTableException", "code": 404}})
# The table exists, but its metadata file does not.
NO_FILE = Answer(status=404, body={"error": {**ERROR, "type": "NotFoundException", "code": 404}})
DENIED = Answer(status=403, body={"error": {**ERROR, "type": "ForbiddenException", "code": 403}})


@pytest.mark.requirement("iceberg-list-tables")
def test_lance_tables_are_recognized_by_their_metadata() -> None:
    tables = Tables(list(reversed(NAMES)), is_lance=lambda name: name.endswith("3"))
    with listed(tables) as namespace:
        found = namespace.list_tables({"id": ["wh", "db"]}).tables
        assert list(namespace.iter_tables(["wh", "db"], page_size=3)) == found
    assert found == [name for name in NAMES if name.endswith("3")]


@pytest.mark.parametrize("at_once", [1, 4, 16])
def test_concurrency_of_metadata_loads_is_limited(at_once: int) -> None:
    names = NAMES[: 20 * at_once]
    tables = Tables(names)
    with listed(tables, max_concurrency=at_once) as namespace:
        assert namespace.list_tables({"id": ["wh", "db"]}).tables == names
        assert 1 + (at_once > 1) <= tables.most_under_way <= at_once
        tables.loaded, tables.most_under_way = [], 0
        with_data = {"id": ["wh", "db"], "include_declared": False}
        assert namespace.list_tables(with_data).tables == []
        assert sorted(tables.loaded) == names
        assert 1 + (at_once > 1) <= tables.most_under_way <= at_once


def test_a_page_loads_no_more_than_it_needs() -> None:
    tables = Tables(NAMES)
    with listed(tables) as namespace:
        page = namespace.list_tables({"id": ["wh", "db"], "limit": 10})
        assert page.tables == NAMES[:10]
        # One more table is loaded to find out whether there is a next page.
        assert sorted(tables.loaded) == NAMES[:11]
        tables.loaded.clear()
        page = namespace.list_tables(
            {"id": ["wh", "db"], "limit": 5, "page_token": page.page_token}
        )
        assert page.tables == NAMES[10:15]
        assert sorted(tables.loaded) == NAMES[10:16]


@pytest.mark.parametrize("include_declared", [True, False])
def test_a_page_of_the_whole_catalog_loads_little_more_than_it_needs(
    include_declared: bool, tmp_path: Path
) -> None:
    tables = Tables(NAMES, folder=str(tmp_path))
    if not include_declared:
        lance.write_dataset(pa.table({"x": [1]}), tmp_path / "data")
        for name in NAMES:
            (tmp_path / name).symlink_to(tmp_path / "data")
    with listed(tables, warehouses="wh", max_concurrency=4) as namespace:
        request = {"include_declared": include_declared, "limit": 10}
        page = namespace.list_all_tables(request)
    assert page.tables == [f"wh$db${name}" for name in NAMES[:10]]
    assert page.page_token is not None
    # Up to twice the concurrency is loaded ahead, and as much again to check for data.
    ahead = 2 * 4 if include_declared else 2 * 4 + 2 * 4
    assert 11 <= len(tables.loaded) <= 11 + ahead


def test_a_table_deleted_during_the_listing_is_left_out() -> None:
    tables = Tables(NAMES)
    tables.failures["t050"] = GONE
    with listed(tables) as namespace:
        found = namespace.list_tables({"id": ["wh", "db"]}).tables
    assert found == [name for name in NAMES if name != "t050"]


@pytest.mark.requirement("iceberg-list-tables-unreadable")
@pytest.mark.parametrize(
    ("failure", "error"),
    [(BROKEN, InternalError), (DENIED, PermissionDeniedError), (NO_FILE, InternalError)],
)
def test_a_table_that_cannot_be_read_fails_the_listing(
    failure: Answer, error: type[Exception]
) -> None:
    tables = Tables(NAMES)
    tables.failures["t050"] = failure
    said = r"wh\.db\.t050 cannot be read"
    with listed(tables) as namespace, pytest.raises(error, match=said):
        namespace.list_tables({"id": ["wh", "db"]})
    skipping, warned = listed(tables, skip_unreadable="true"), pytest.warns(UserWarning, match=said)
    with skipping as namespace, warned:
        found = namespace.list_tables({"id": ["wh", "db"]}).tables
    assert found == [name for name in NAMES if name != "t050"]


def test_a_response_without_metadata_is_an_error() -> None:
    tables = Tables(NAMES)
    tables.failures["t000"] = Answer(body={})
    with listed(tables) as namespace, pytest.raises(InternalError, match="has no table metadata"):
        namespace.list_tables({"id": ["wh", "db"]})


@pytest.mark.requirement("iceberg-list-namespaces-all")
def test_listings_are_read_to_their_end() -> None:
    pages = {
        "": {"namespaces": [["a"]], "next-page-token": "x+/="},
        "x+/=": {"namespaces": [], "next-page-token": "y"},
        "y": {"namespaces": [["b"], ["too", "deep"]], "next-page-token": None},
    }

    def respond(asked: Asked) -> Answer:
        return Answer(body={} if asked.path == "/v1/config" else pages[asked.query["pageToken"]])

    with WebServer(respond) as server, connect("iceberg", {"endpoint": server.uri}) as namespace:
        assert namespace.list_namespaces({"id": ["wh"]}).namespaces == ["a", "b"]


@pytest.mark.requirement("iceberg-list-tables-all")
def test_tables_are_listed_to_the_end() -> None:
    pages = {
        "": {"identifiers": [{"namespace": ["db"], "name": "b"}], "next-page-token": "x+/="},
        "x+/=": {"identifiers": [], "next-page-token": "y"},
        "y": {"identifiers": [{"namespace": ["db"], "name": "a"}], "next-page-token": ""},
    }
    table = {"metadata": {"location": "/t", "properties": {"table_type": "lance"}}}

    def respond(asked: Asked) -> Answer:
        if asked.path == LIST:
            return Answer(body=pages[asked.query["pageToken"]])
        return Answer(body={} if asked.path == "/v1/config" else table)

    with WebServer(respond) as server, connect("iceberg", {"endpoint": server.uri}) as namespace:
        assert namespace.list_tables({"id": ["wh", "db"]}).tables == ["a", "b"]


def test_a_real_listing(iceberg: IcebergNamespace, bare: BareApi) -> None:
    for n in range(40):
        bare.add_table(["db"], f"t{n:02}", f"/tmp/t{n}", {"table_type": "lance"} if n % 2 else {})
    found = iceberg.list_tables({"id": ["wh", "db"]}).tables
    assert found == [f"t{n:02}" for n in range(1, 40, 2)]
    assert list(iceberg.iter_tables(["wh", "db"], page_size=7)) == found


def test_declared_tables_can_be_left_out(
    proxy: FaultProxy, connected: Connect, bare: BareApi
) -> None:
    """The listing identifies the Lance tables; no table is loaded again to check for data."""
    namespace = connected(endpoint=proxy.uri)
    namespace.create_table({"id": ["wh", "db", "full"]}, pa.table({"x": [1]}))
    namespace.declare_table({"id": ["wh", "db", "empty"]})
    bare.add_table(["db"], "theirs", "/tmp/theirs", {})
    proxy.asked.clear()
    listed = namespace.list_tables({"id": ["wh", "db"], "include_declared": False})
    assert listed.tables == ["full"]
    tables = "/v1/namespaces/db/tables"
    loaded = sorted(asked.path for asked in proxy.asked)
    assert loaded == [tables, f"{tables}/empty", f"{tables}/full", f"{tables}/theirs"]
