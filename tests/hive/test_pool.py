"""The pool has few connections, shares them, and replaces broken ones."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pymetastore.hive_metastore.ttypes import Database

from lance_namespace_client.errors import (
    ServiceUnavailableError,
    TableNotFoundError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.hive.client import Metastore as Client
from tests.servers.hive import shared
from tests.servers.proxy import Proxy

from .sockets import open_sockets

pytestmark = pytest.mark.xdist_group("hive 2.3")

# Run in a separate process: the test process has threads, and a fork of it may hang.
FORKED = """
import os, signal, sys
from lance_namespace_impls import connect

with connect("hive2", {"uri": sys.argv[1], "root": sys.argv[2]}) as namespace:
    namespace.namespace_exists({"id": ["default"]})
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        namespace.namespace_exists({"id": ["default"]})
        os._exit(0)
    namespace.namespace_exists({"id": ["default"]})
    assert os.waitpid(child, 0)[1] == 0
    namespace.namespace_exists({"id": ["default"]})
"""


@pytest.fixture
def namespace(way: Proxy, tmp_path: Path) -> Iterator[Namespace]:
    with connect("hive2", {"uri": way.uri, "root": str(tmp_path)}) as found:
        yield found


def test_no_connection_before_the_first_call(namespace: Namespace, way: Proxy) -> None:
    assert way.opened == 0


@pytest.mark.requirement("hive3.config.pool-size")
@pytest.mark.parametrize("size", [1, 3])
def test_threads_share_as_many_connections_as_allowed(
    size: int, way: Proxy, tmp_path: Path
) -> None:
    properties = {"uri": way.uri, "root": str(tmp_path), "client.pool-size": str(size)}
    most = 0
    with connect("hive2", properties) as namespace, ThreadPoolExecutor(16) as threads:
        futures = [
            threads.submit(namespace.describe_namespace, {"id": ["default"]}) for _ in range(200)
        ]
        while not all(future.done() for future in futures):
            most = max(most, len(open_sockets(way.port)))
        answers = {future.result().properties["database.location-uri"] for future in futures}
    assert len(answers) == 1
    assert 1 <= most <= size
    assert way.opened <= size


def test_closing_a_namespace_closes_its_connections(namespace: Namespace, way: Proxy) -> None:
    namespace.namespace_exists({"id": ["default"]})
    assert len(open_sockets(way.port)) == 1
    namespace.close()
    assert open_sockets(way.port) == set()


def test_a_closed_connection_is_replaced(namespace: Namespace, way: Proxy) -> None:
    namespace.create_namespace({"id": ["replaced"]})
    way.cut()
    time.sleep(0.05)
    # A change is sent on a new connection too, because nothing was sent on the old one.
    namespace.drop_namespace({"id": ["replaced"]})
    assert way.opened == 2


def test_a_change_with_a_lost_response_is_not_retried(
    namespace: Namespace, way: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Client.create_database

    def create_without_answer(client: Client, database: Database) -> None:
        way.lose_replies = 1
        create(client, database)

    monkeypatch.setattr(Client, "create_database", create_without_answer)
    namespace.namespace_exists({"id": ["default"]})
    with pytest.raises(ServiceUnavailableError, match="may have been applied") as raised:
        namespace.create_namespace({"id": ["lost_answer"]})
    assert raised.value.code == 17
    assert isinstance(raised.value.__cause__, ConnectionError)
    properties = namespace.drop_namespace({"id": ["lost_answer"]}).properties  # it was created
    assert properties


def test_a_call_fails_after_the_read_timeout(way: Proxy, tmp_path: Path) -> None:
    properties = {"uri": way.uri, "root": str(tmp_path), "read_timeout": "3"}
    with connect("hive2", properties) as namespace:
        namespace.namespace_exists({"id": ["default"]})
        way.silent = True
        started = time.monotonic()
        with pytest.raises(ServiceUnavailableError, match=r"did not respond for 3 s"):
            namespace.describe_namespace({"id": ["default"]})
        assert time.monotonic() - started < 30
        way.silent = False
        # The delayed response must not be mistaken for the response to this call.
        with pytest.raises(TableNotFoundError):
            namespace.describe_table({"id": ["default", "none"]})


def test_waiting_for_a_connection_has_a_timeout(way: Proxy, tmp_path: Path) -> None:
    properties = {
        "uri": way.uri,
        "root": str(tmp_path),
        "client.pool-size": "1",
        "connect_timeout": "0.1",
        "read_timeout": "0.8",
    }
    with connect("hive2", properties) as namespace:
        namespace.namespace_exists({"id": ["default"]})
        way.silent = True
        failures: list[str] = []

        def ask() -> None:
            try:
                namespace.namespace_exists({"id": ["default"]})
            except ServiceUnavailableError as error:
                failures.append(str(error))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    assert len(failures) == 4
    # A thread that waited without a limit would get the connection, and then no response.
    assert any("raise client.pool-size" in failure for failure in failures)


def test_the_next_host_is_used_if_one_is_unavailable(tmp_path: Path) -> None:
    port = shared("2.3").port
    with Proxy(port) as first, Proxy(port) as second:
        uris = f"{first.uri},{second.uri}"
        with connect("hive2", {"uri": uris, "root": str(tmp_path)}) as namespace:
            namespace.namespace_exists({"id": ["default"]})
            assert (first.opened, second.opened) == (1, 0)
            first.close()
            for _ in range(3):
                namespace.namespace_exists({"id": ["default"]})
            assert (first.opened, second.opened) == (1, 1)
            second.close()
            with pytest.raises(ServiceUnavailableError) as raised:
                namespace.namespace_exists({"id": ["default"]})
    assert first.uri in str(raised.value)
    assert second.uri in str(raised.value)


def test_hive3_rejects_a_host_without_catalogs(tmp_path: Path) -> None:
    with connect("hive3", {"uri": shared("2.3").uri, "root": str(tmp_path)}) as namespace:
        for call in (
            lambda: namespace.create_namespace({"id": ["c", "d"]}),
            lambda: namespace.list_tables({"id": ["hive", "default"]}),
            lambda: namespace.list_namespaces({}),
        ):
            with pytest.raises(UnsupportedError, match="has no catalogs; use impl hive2"):
                call()


def test_another_service_on_the_port_is_reported(tmp_path: Path) -> None:
    with Proxy(_web_port()) as way:
        properties = {"uri": way.uri, "root": str(tmp_path), "read_timeout": "1"}
        with connect("hive2", properties) as namespace:
            with pytest.raises(ServiceUnavailableError):
                namespace.namespace_exists({"id": ["default"]})
            assert open_sockets(way.port) == set()


def _web_port() -> int:
    import http.server

    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def test_a_copy_opens_its_own_connection(namespace: Namespace, way: Proxy) -> None:
    namespace.namespace_exists({"id": ["default"]})
    with pickle.loads(pickle.dumps(namespace)) as copy:
        assert copy.properties == namespace.properties
        assert way.opened == 1
        copy.namespace_exists({"id": ["default"]})
        assert way.opened == 2


def test_a_forked_process_connects_for_itself(way: Proxy, tmp_path: Path) -> None:
    given = [way.uri, str(tmp_path)]
    subprocess.run([sys.executable, "-c", FORKED, *given], check=True, timeout=600)
    assert way.opened == 2


def test_user_and_groups_are_sent(tmp_path: Path) -> None:
    shared_one = shared("2.3")
    properties = {"uri": shared_one.uri, "root": str(tmp_path), "ugi": "ann:staff, dev"}
    with connect("hive2", properties) as namespace:
        namespace.declare_table({"id": ["default", "anns"]})
        table = shared_one.connect().get_table("default", "anns")
        namespace.deregister_table({"id": ["default", "anns"]})
    assert table.owner == "ann"
