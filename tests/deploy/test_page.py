"""docs/deploy.md: its commands, files and values exist, and its nginx setup works."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import ssl
import subprocess
import time

import httpx
import jsonschema
import pyarrow as pa
import pytest
import yaml

from lance_namespace_client.operations import Action
from lance_namespace_client.wire import STREAM_TYPE
from lance_namespace_impls.server import (
    Access,
    Caller,
    PolicyFile,
    ServerOptions,
    serving,
)
from tests.servers.certificates import Authority
from tests.servers.echo import EchoNamespace, large_rows
from tests.servers.ports import free_port
from tests.servers.process import wait_until

from .commands import DEPLOY, ROOT, parsed

PAGE = ROOT / "docs" / "deploy.md"
NGINX = os.environ.get("LANCE_NS_NGINX", "nginx")


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_every_command_of_the_page_exists():
    text = "\n".join(blocks("sh")).replace("\\\n", " ")
    commands = re.findall(r"(?:^| )lance-ns ((?:serve|token|init) [^>\n]*)", text, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        parsed(shlex.split(command))


def test_every_file_of_the_page_exists():
    named = set(re.findall(r"\bdeploy/[\w./-]*\w", PAGE.read_text()))
    assert {"deploy/Dockerfile", "deploy/compose", "deploy/helm/lance-ns"} <= named
    assert not {path for path in named if not (ROOT / path).exists()}


def test_the_values_of_the_page_fit_the_chart(tmp_path):
    chart = DEPLOY / "helm" / "lance-ns"
    (text,) = blocks("yaml")
    values = yaml.safe_load(text)
    jsonschema.validate(
        yaml.safe_load((chart / "values.yaml").read_text()) | values,
        json.loads((chart / "values.schema.json").read_text()),
    )
    policy = tmp_path / "policy.toml"
    policy.write_text(values["policy"])
    analyst = Caller("ana", groups=frozenset({"analysts"}))
    assert PolicyFile(policy).allows(analyst, Action.READ, ("db", "t"))


@pytest.mark.slow
@pytest.mark.needs("systemd-analyze")
def test_the_page_names_the_score_of_the_unit():
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager"]
    unit = DEPLOY / "systemd" / "lance-ns.service"
    shown = subprocess.run([*command, str(unit)], capture_output=True, text=True, check=False)
    score = re.search(r"exposure level for lance-ns.service: ([\d.]+)", shown.stdout)
    assert score and f"rates the sandbox {score[1]} " in " ".join(PAGE.read_text().split())


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
