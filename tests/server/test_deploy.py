"""docs/deploy.md: its options exist, its Kubernetes probes succeed, and its nginx setup works."""

from __future__ import annotations

import contextlib
import io
import os
import re
import ssl
import subprocess
import time
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
import yaml
from typer.testing import CliRunner

from lance_namespace_client.wire import STREAM_TYPE
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.server import Access, ServerOptions, serving
from tests.servers.certificates import Authority
from tests.servers.echo import EchoNamespace, large_rows
from tests.servers.ports import free_port
from tests.servers.process import wait_until

PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
NGINX = os.environ.get("LANCE_NS_NGINX", "nginx")


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_every_option_of_the_page_exists():
    text = CliRunner().invoke(app, ["serve", "--help"], env={"COLUMNS": "300"}).output
    page = "\n".join(blocks("sh")[:1] + blocks("ini") + blocks("yaml") + blocks("dockerfile")[-1:])
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page))
    named -= set(re.findall(r"--[a-z-]+", "\n".join(re.findall(r"RUN .*|COPY .*", page))))
    assert {"--workers", "--tokens", "--policy"} <= named
    assert not {option for option in named if option not in text}


def test_the_manifest_uses_endpoints_of_the_server():
    deployment, service = yaml.safe_load_all(blocks("yaml")[0])
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    with serving(EchoNamespace()) as uri:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container[probe]["httpGet"]["path"]
            assert httpx.get(uri + path, headers={"host": "10.1.2.3"}).status_code == 200
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= 15 + 5


def needs_nginx(test):
    """Mark a test that needs nginx, which is not a Python package."""
    return pytest.mark.slow(pytest.mark.needs(NGINX)(test))


@pytest.fixture
def proxied(tmp_path):
    """Run a server behind nginx with the page's configuration; yield a client and the namespace."""
    authority = Authority(tmp_path)
    issued = authority.issue("proxy", "localhost")
    namespace, port = EchoNamespace(), free_port()
    options = ServerOptions(access=Access(allow_hosts=["lance.example.com"]))
    with serving(namespace, options) as uri:
        text = blocks("nginx")[0]
        text = text.replace("127.0.0.1:2333", uri.removeprefix("http://"))
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        text = text.replace("/etc/nginx/cert.pem", str(issued.cert))
        text = text.replace("/etc/nginx/key.pem", str(issued.key))
        places = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        config = tmp_path / "nginx.conf"
        config.write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
            f"events {{}}\nhttp {{ access_log off; {places}\n{text} }}\n"
        )
        process = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(config)])
        trust = ssl.create_default_context(cafile=str(authority.file))
        try:
            with httpx.Client(
                base_url=f"https://localhost:{port}",
                headers={"host": "lance.example.com"},
                verify=trust,
                timeout=300,
            ) as client:
                deadline = time.monotonic() + 300
                while True:
                    with contextlib.suppress(httpx.ConnectError):
                        client.get("/healthz")
                        break
                    assert time.monotonic() < deadline and process.poll() is None
                    time.sleep(0.05)
                yield client, namespace
        finally:
            process.terminate()
            process.wait(timeout=120)


@needs_nginx
def test_nginx_forwards_paths_and_streams_bodies(proxied):
    client, namespace = proxied
    client.post("/v1/table/a%2Fb%24c/describe?delimiter=.", json={})
    assert list(namespace.last().id) == ["a/b$c"]

    batch = pa.record_batch({"a": list(range(50_000))})
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, batch.schema) as writer:
        for _ in range(8):
            writer.write_batch(batch)
    data, seen = buffer.getvalue(), []

    def parts():
        half = len(data) // 2
        yield data[:half]
        wait_until(lambda: namespace.rows, 300)
        seen.append(namespace.rows)
        yield data[half:]

    answer = client.post(
        "/v1/table/t/create", content=parts(), headers={"content-type": STREAM_TYPE}
    )
    assert answer.status_code == 200, answer.text
    assert 0 < seen[0] < namespace.rows == 400_000

    namespace.reader = large_rows(64)
    with client.stream("POST", "/v1/table/t/query", json={"k": 1, "vector": {}}) as answer:
        assert sum(len(part) for part in answer.iter_raw()) > 64 << 20
    with client.stream("POST", "/v1/table/gone/exists", json={}) as answer:
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")


@needs_nginx
def test_the_host_check_works_behind_nginx(proxied):
    client, _ = proxied
    answer = client.post("/v1/table/t/describe", json={}, headers={"host": "evil.example"})
    assert answer.status_code == 403
