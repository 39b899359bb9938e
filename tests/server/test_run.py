from __future__ import annotations

import inspect
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError
from lance_namespace_impls.server import run, serve, serving
from tests.servers.echo import EchoNamespace
from tests.servers.ours import server_process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_shuts_the_process_down(tmp_path, number):
    with server_process({"impl": "dir", "dir.path": str(tmp_path)}) as (process, uri):
        with httpx.Client() as kept_alive:
            assert kept_alive.get(f"{uri}/healthz").status_code == 200
            process.send_signal(number)
            assert process.wait(timeout=120) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{uri}/healthz")


def test_the_namespace_is_closed_and_signal_handlers_are_restored():
    class Closing(EchoNamespace):
        closed = False

        def close(self) -> None:
            self.closed = True

    namespace = Closing()
    before = signal.getsignal(signal.SIGTERM)
    addresses = []

    def stop_immediately(uri):
        addresses.append(uri)
        signal.raise_signal(signal.SIGTERM)

    serve(namespace, port=0, announce=stop_immediately)
    assert namespace.closed
    assert addresses[0].startswith("http://127.0.0.1:")
    assert signal.getsignal(signal.SIGTERM) is before


def test_ipv6_addresses_are_written_with_brackets():
    addresses = []

    def stop_immediately(uri):
        addresses.append(uri)
        signal.raise_signal(signal.SIGINT)

    serve(EchoNamespace(), "::1", 0, announce=stop_immediately)
    assert addresses[0].startswith("http://[::1]:")


def test_an_unavailable_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"port {port}"):
            serve(EchoNamespace(), port=port)
    with pytest.raises(InvalidInputError, match="port 70000"):
        serve(EchoNamespace(), port=70000)


def test_a_server_that_does_not_start_is_code_17(monkeypatch):
    monkeypatch.setattr(run._Server, "run", lambda self, sockets: None)
    monkeypatch.setattr(run, "STOP_SECONDS", 0.01)
    with pytest.raises(ServiceUnavailableError, match="the server did not start"):
        serving(EchoNamespace()).__enter__()


def test_the_default_address_is_loopback():
    given = inspect.signature(serve).parameters
    assert {name: given[name].default for name in ("host", "port", "workers")} == {
        "host": "127.0.0.1", "port": 2333, "workers": 1,
    }  # fmt: skip


def test_a_missing_dependency_is_not_a_missing_extra():
    code = "import sys; sys.modules['attrs'] = None; import lance_namespace_impls.server"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "ModuleNotFoundError" in run.stderr and "pip install" not in run.stderr


@pytest.mark.parametrize("missing", ["httptools", "prometheus_client", "joserfc"])
def test_a_missing_extra_names_the_command_that_installs_it(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; import lance_namespace_impls.server"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "pip install 'lance-namespace-kit[server]'" in run.stderr
