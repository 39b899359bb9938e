"""Several worker processes serve one port."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_impls import connect
from lance_namespace_impls.directory.namespace import DirectoryNamespace
from lance_namespace_impls.server import ServerOptions, new_token, run, serve
from lance_namespace_impls.server.run import _Server
from lance_namespace_impls.server.workers.supervisor import Job, Listeners, check_workers
from tests.servers.certificates import Authority
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client
from tests.servers.process import wait_until

PATIENCE = 120.0


@contextlib.contextmanager
def running(path, *more, workers=2):
    code = "from lance_namespace_impls.cli import main; main()"
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", code, "serve", "--impl", "dir", "-p", f"path={path}"),
            *("--port", "0", "--workers", str(workers), *more),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stdout.readline()
        found = re.search(r"https?://\S+", line)
        assert found, line
        yield process, found[0]
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=300)
        process.stdout.close()


def children(process):
    """Return the process ids of the workers: the children that `multiprocessing` started."""
    found = []
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        for pid in map(int, file.read().split()):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as line:
                if b"spawn_main" in line.read():
                    found.append(pid)
    return sorted(found)


def table(path):
    with connect("dir", {"path": str(path)}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"a": [1]}))


def call(uri, operation="describe"):
    with http_client(uri, timeout=PATIENCE) as client:
        return client.post(f"/v1/table/t/{operation}", json={}).status_code


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Yield the process and the address of a server with two workers.

    A test that counts calls uses an operation that no other test uses.
    """
    path = tmp_path_factory.mktemp("shared")
    table(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOKIO_WORKER_THREADS", raising=False)
        with running(path) as found:
            yield found


def workers_of(process):
    """Wait until a server has two workers, and return their process ids."""
    wait_until(lambda: len(children(process)) == 2)
    return children(process)


def test_workers_share_the_port_and_the_metrics(shared):
    process, uri = shared
    assert len(workers_of(process)) == 2
    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(call, [uri] * 60, ["count_rows"] * 60)) == {200}

    def count():
        text = httpx.get(f"{uri}/metrics", timeout=PATIENCE).text
        samples = [s for f in text_string_to_metric_families(text) for s in f.samples]
        # The samples have no label with a worker's process id.
        assert not any("pid" in sample.labels for sample in samples)
        return sum(
            s.value
            for s in samples
            if s.name == "lance_ns_requests_total"
            and s.labels["code"] == "ok"
            and s.labels["operation"] == "CountTableRows"
        )

    for _ in range(6):
        wait_until(lambda: count() == 60)


def test_a_taken_port_is_rejected(shared, tmp_path):
    namespace = connect("dir", {"path": str(tmp_path)})
    port = int(shared[1].rpartition(":")[2])
    with pytest.raises(InvalidInputError, match="cannot listen on"):
        serve(namespace, port=port, workers=2)


def test_a_worker_accepts_from_the_sockets_of_dead_workers():
    received, orphans = multiprocessing.Pipe(duplex=False)
    with (
        socket.create_server(("127.0.0.1", 0)) as own,
        socket.create_server(("127.0.0.1", 0)) as other,
        received,
        orphans,
    ):
        started = threading.Event()
        listeners = Listeners([own, other], 0, received)
        server = _Server(EchoNamespace(), ServerOptions(), started.set, listeners)
        thread = threading.Thread(target=server.run, args=([own.dup()],), daemon=True)
        thread.start()
        try:
            assert started.wait(PATIENCE)
            address = f"http://127.0.0.1:{other.getsockname()[1]}/healthz"
            for _ in range(2):
                orphans.send(frozenset({1}))
                assert httpx.get(address, timeout=PATIENCE).status_code == 200
                orphans.send(frozenset())
                wait_until(lambda: not server._adopted)
                with pytest.raises(httpx.ReadTimeout):
                    httpx.get(address, timeout=0.5)
            port = own.getsockname()[1]
            assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE).is_success
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.mark.parametrize(("platform", "distinct"), [("linux", 3), ("darwin", 1)])
def test_each_worker_has_a_socket_if_the_system_balances_them(monkeypatch, platform, distinct):
    monkeypatch.setattr(run.sys, "platform", platform)
    with run._listen("127.0.0.1", 0, 3) as found:
        assert (len(found), len({*found})) == (3, distinct)
        assert len({each.getsockname() for each in found}) == 1
    assert {each.fileno() for each in found} == {-1}


def counted(uri, calls):
    """Return whether the metrics of all workers count this number of DescribeTable calls."""
    figure = f'lance_ns_requests_total{{code="ok",operation="DescribeTable"}} {calls}.0'
    return figure in httpx.get(f"{uri}/metrics", timeout=PATIENCE).text


def threads_of(pid):
    """Return the number of threads of a worker's tokio runtime, as set in its environment."""
    with open(f"/proc/{pid}/environ") as file:
        variables = dict(line.partition("=")[::2] for line in file.read().split("\0"))
    return variables["TOKIO_WORKER_THREADS"]


def test_workers_divide_the_cores(shared):
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    assert [threads_of(pid) for pid in workers_of(shared[0])] == [share] * 2


def test_a_dead_worker_is_replaced_and_metrics_are_preserved(shared):
    process, uri = shared
    before = workers_of(process)
    for _ in range(10):
        assert call(uri) == 200
    # A call is counted after its response, so a worker that is killed between them loses it.
    wait_until(lambda: counted(uri, 10))
    os.kill(before[0], signal.SIGKILL)
    for _ in range(20):
        assert call(uri) == 200, "the others take its connections"
    wait_until(lambda: len(children(process)) == 2 and before[0] not in children(process))
    wait_until(lambda: counted(uri, 30))


def test_all_workers_are_replaced_after_being_killed(shared):
    process, uri = shared
    before = workers_of(process)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert call(uri, "exists") == 200, "a connection waits for a worker"
    assert not set(before) & set(children(process))


def test_hangup_replaces_each_worker_and_no_call_fails(shared):
    process, uri = shared
    before = workers_of(process)
    stop, statuses = threading.Event(), []

    def call_repeatedly():
        while not stop.is_set():
            statuses.append(call(uri, "exists"))

    thread = threading.Thread(target=call_repeatedly)
    thread.start()
    try:
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: not set(before) & set(children(process)) and len(children(process)) == 2)
    finally:
        stop.set()
        thread.join()
    assert set(statuses) == {200}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_shuts_all_workers_down(number, tmp_path):
    with running(tmp_path) as (process, uri):
        workers = children(process)
        assert httpx.get(f"{uri}/healthz").status_code == 200
        process.send_signal(number)
        assert process.wait(timeout=300) == 0
    for pid in workers:
        wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"))


def test_workers_end_with_their_parent(tmp_path):
    with running(tmp_path) as (process, _):
        workers = children(process)
        process.kill()
        process.wait()
    for pid in workers:
        wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}"))


def test_workers_use_tls_and_client_certificates(tmp_path):
    table(tmp_path / "lake")
    authority = Authority(tmp_path)
    own, caller = authority.issue("server", "localhost"), authority.issue("ana", "ana")
    given = ["--tls-cert", own.cert, "--tls-key", own.key, "--tls-client-ca", authority.file]
    context = ssl.create_default_context(cafile=str(authority.file))
    with running(tmp_path / "lake", *map(str, given)) as (_, uri):
        port = int(uri.rpartition(":")[2])
        for _ in range(4):
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
                plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
                plain.recv(1 << 16)
            with (
                http_client(uri, verify=context, timeout=PATIENCE) as client,
                pytest.raises(httpx.HTTPError),
            ):
                client.post("/v1/table/t/describe", json={})
        context.load_cert_chain(caller.cert, caller.key)
        for _ in range(4):
            with http_client(uri, verify=context, timeout=PATIENCE) as client:
                assert client.post("/v1/table/t/describe", json={}).status_code == 200


def test_workers_authenticate_callers(tmp_path):
    table(tmp_path)
    made = new_token("ana")
    file = tmp_path / "tokens.toml"
    file.write_text(made.entry)
    with (
        running(tmp_path, "--tokens", str(file)) as (_, uri),
        http_client(uri, timeout=PATIENCE) as client,
    ):
        assert client.post("/v1/table/t/describe", json={}).status_code == 401
        bearer = {"authorization": f"Bearer {made.token}"}
        assert client.post("/v1/table/t/describe", json={}, headers=bearer).status_code == 200


def test_unpicklable_objects_are_rejected_before_workers_start(tmp_path):
    with pytest.raises(InvalidInputError, match="impl=memory exists only in one process"):
        serve(connect("memory"), port=0, workers=2)
    with pytest.raises(InvalidInputError, match="cannot be sent to other processes"):
        serve(EchoNamespace(), port=0, workers=2)
    namespace = connect("dir", {"path": str(tmp_path)})

    class Local:
        waits = False

        def find(self, credentials):
            return None

    with pytest.raises(InvalidInputError, match="cannot be sent to other processes"):
        serve(namespace, port=0, workers=2, options=ServerOptions(callers=[Local()]))
    with pytest.raises(InvalidInputError, match="at least one worker"):
        serve(namespace, port=0, workers=0)


class Plain(LanceNamespace):
    """A namespace without a `close` method."""


def test_the_namespace_of_the_pickle_check_is_closed(tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(DirectoryNamespace, "close", lambda self: closed.append(self))
    namespace = connect("dir", {"path": str(tmp_path)})
    check_workers(Job(namespace, ServerOptions(), print), 1)
    assert len(closed) == 1 and closed[0] is not namespace
    check_workers(Job(Plain(), ServerOptions(), print), 1)
