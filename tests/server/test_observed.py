"""Observability for operators: health, metrics, the request log, and traces."""

from __future__ import annotations

import json
import logging
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.server import (
    Limits,
    ServerOptions,
    TokenFile,
    new_token,
    serving,
)
from lance_namespace_impls.server.observability import health
from lance_namespace_impls.server.observability.observer import REQUESTS
from tests.servers.echo import EchoNamespace, large_rows
from tests.servers.http_client import http_client
from tests.servers.process import wait_until

SECRET = "s3cr3t-t0ken-of-ana"


def figures(client, **kwargs):
    answer = client.get("/metrics", **kwargs)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@pytest.fixture
def lines():
    """Return a list that collects the parsed lines of the request log."""
    found = []

    class Keep(logging.Handler):
        def emit(self, record):
            found.append(json.loads(record.getMessage()))

    logger = logging.getLogger(REQUESTS)
    handler = Keep()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_requests_are_counted_by_operation_and_code():
    with serving(EchoNamespace()) as uri, http_client(uri, timeout=300) as client:
        for _ in range(3):
            client.post("/v1/table/t/describe", json={})
        client.post("/v1/table/gone/exists", json={})
        client.get("/nowhere")
        client.get("/v1/table/t/exists")

        def counts():
            found = figures(client)
            return {k[1:]: v for k, v in found.items() if k[0] == "lance_ns_requests_total"}

        expected = {
            ("DescribeTable", "ok"): 3,
            ("4", "TableExists"): 1,
            ("0", "unknown"): 1,
            ("13", "unknown"): 1,
        }
        wait_until(lambda: counts() == expected)
        found = figures(client)
        assert found["lance_ns_request_seconds_count", "DescribeTable"] == 3
        assert found["lance_ns_received_bytes_total", "DescribeTable"] == 3 * len("{}")
        assert found["lance_ns_sent_bytes_total", "DescribeTable"] > 100
        assert found["lance_ns_pool_places", "queries"] == Limits().queries


def test_running_queries_are_counted():
    namespace = EchoNamespace()
    namespace.reader = large_rows(64)
    with serving(namespace) as uri, http_client(uri, timeout=300) as client:
        with client.stream("POST", "/v1/table/t/query", json={"k": 1, "vector": {}}) as answer:
            parts = answer.iter_raw(1000)
            next(parts)
            found = figures(client)
            assert found["lance_ns_open_queries",] == 1
            assert found["lance_ns_pool_calls", "queries", "running"] == 1
        # The timeout is shorter than `reader_seconds`, which ends a query anyway.
        wait_until(lambda: figures(client)["lance_ns_open_queries",] == 0, seconds=50)
        wait_until(lambda: figures(client)["lance_ns_pool_calls", "queries", "running"] == 0)
        assert figures(client)["lance_ns_requests_total", "QueryTable", "cut"] == 1


def test_http_calls_to_the_catalog_are_counted():
    with (
        serving(EchoNamespace()) as behind,
        connect("rest", {"uri": behind}) as namespace,
        serving(namespace) as uri,
        http_client(uri, timeout=300) as client,
    ):
        client.post("/v1/table/t/describe", json={})
        client.post("/v1/table/gone/exists", json={})
        found = figures(client)
    assert found["lance_ns_upstream_calls_total", "200", "POST", "rest"] == 1
    assert found["lance_ns_upstream_calls_total", "404", "POST", "rest"] == 1
    assert found["lance_ns_upstream_seconds_count", "POST", "rest"] == 2


def test_the_request_log_has_callers_and_operations_but_no_secrets(lines, tmp_path):
    made = new_token("ana")
    file = tmp_path / "tokens.toml"
    file.write_text(made.entry)
    options = ServerOptions(callers=[TokenFile(file)])
    bearer = {"authorization": f"Bearer {made.token}", "x-request-id": "r-1"}
    with serving(EchoNamespace(), options) as uri, http_client(uri, timeout=300) as client:
        client.post("/v1/table/a.b$t/describe?delimiter=.", json={}, headers=bearer)
        client.post("/DescribeTable", json={"id": ["x", "y"]}, headers=bearer)
        client.post("/v1/table/a$t/describe", json={}, headers={"x-api-key": SECRET})
        client.post("/v1/table/broken/exists", json={}, headers=bearer)
        client.post(f"/v1/table/t/query?token={SECRET}", content=b"{", headers=bearer)
        wait_until(lambda: len(lines) == 5)
    shown = [(row["principal"], row["operation"], row["id"], row["code"]) for row in lines]
    assert shown == [
        ("ana", "DescribeTable", ["a", "b$t"], None),
        ("ana", "DescribeTable", ["x", "y"], None),
        (None, "DescribeTable", ["a", "t"], 16),
        ("ana", "TableExists", ["broken"], 18),
        ("ana", "QueryTable", ["t"], 13),
    ]
    assert lines[0]["request_id"] == "r-1"
    assert lines[0]["status"] == 200 and lines[0]["result"] == "ok"
    assert {row["result"] for row in lines[2:]} == {"error"}
    assert {row["address"] for row in lines} == {"127.0.0.1"}
    assert {row["request_id"] for row in lines[:2]} == {"r-1"}
    assert lines[3]["status"] == 500 and lines[4]["received_bytes"] == 1
    assert abs(lines[0]["time"] - time.time()) < 3600
    assert lines[0]["ms"] > 0 and lines[0]["sent_bytes"] > 0 and lines[0]["received_bytes"] == 2
    text = json.dumps(lines)
    assert SECRET not in text and made.token not in text


class Down(EchoNamespace):
    def __init__(self):
        super().__init__()
        self.down = False

    def list_namespaces(self, request):
        if self.down:
            raise ServiceUnavailableError("no route to secret-host:9083")
        return super().list_namespaces(request)


def test_readiness_depends_on_the_catalog_and_hides_details(monkeypatch):
    namespace = Down()
    with serving(namespace) as uri, http_client(uri, timeout=300) as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        namespace.down = True
        asked = len(namespace.requests)
        assert client.get("/readyz").status_code == 200
        assert len(namespace.requests) == asked, "an answer is kept for a moment"
        monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert "secret-host" not in answer.text
        assert client.get("/healthz").status_code == 200
        namespace.down = False
        wait_until(lambda: client.get("/readyz").status_code == 200)


def test_a_catalog_that_hangs_is_not_ready(monkeypatch):
    namespace = EchoNamespace()
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(namespace, "list_tables", lambda request: namespace.released.wait(300))
    with serving(namespace) as uri, http_client(uri, timeout=300) as client:
        assert client.get("/readyz").status_code == 503
        assert client.get("/readyz").status_code == 503
        namespace.released.set()
        wait_until(lambda: client.get("/readyz").status_code == 200)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnsupportedError, 200),
        (NamespaceNotFoundError, 200),
        (InvalidInputError, 200),
        (PermissionDeniedError, 503),
        (InternalError, 503),
        (RuntimeError, 503),
        (SystemExit, 503),
    ],
)
def test_a_catalog_that_rejects_a_listing_is_ready(error, status, echo, http, monkeypatch, caplog):
    def fail(request):
        asked.append(request)
        raise error("no such listing")

    asked = []
    monkeypatch.setattr(health, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(echo, "list_tables", fail)
    answer = http.get("/readyz")
    assert answer.status_code == status
    assert answer.headers.get("retry-after") == (None if status == 200 else "5")
    word = "ready" if status == 200 else "the catalog does not respond"
    assert answer.json() == {"status": word}
    assert asked == [{"id": [], "limit": 1}]
    assert ("the catalog failed: no such listing" in caplog.text) is (status == 503)


@pytest.mark.parametrize("impl", ["dir", "memory"])
def test_our_catalogs_are_ready(impl, tmp_path):
    properties = {"path": str(tmp_path)} if impl == "dir" else {}
    with (
        connect(impl, properties) as namespace,
        serving(namespace) as uri,
        http_client(uri, timeout=300) as client,
    ):
        assert client.get("/readyz").status_code == 200


def test_metrics_require_authentication(tmp_path):
    made = new_token("prometheus")
    file = tmp_path / "tokens.toml"
    file.write_text(made.entry)
    sources = [TokenFile(file)]
    with (
        serving(EchoNamespace(), ServerOptions(callers=sources)) as uri,
        http_client(uri, timeout=300) as client,
    ):
        refused = client.get("/metrics")
        assert (refused.status_code, refused.json()["code"]) == (401, 16)
        assert refused.headers["www-authenticate"] == "Bearer"
        assert figures(client, headers={"authorization": f"Bearer {made.token}"})
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
    options = ServerOptions(callers=sources, open_metrics=True)
    with serving(EchoNamespace(), options) as uri, http_client(uri, timeout=300) as client:
        assert figures(client)
        foreign = client.get("/metrics", headers={"origin": "https://evil.example"})
        assert foreign.status_code == 403


class Panicking(EchoNamespace):
    """A namespace that raises no `Exception`, like a panic in Rust code or sys.exit()."""

    def describe_table(self, request):
        kind = (
            SystemExit if request.id == ["exit"] else type("PanicException", (BaseException,), {})
        )
        raise kind("deep inside")


@pytest.mark.parametrize("name", ["panic", "exit"])
def test_a_base_exception_is_code_18_and_the_server_continues(name, caplog):
    with serving(Panicking()) as uri, http_client(uri, timeout=300) as client:
        answer = client.post(f"/v1/table/{name}/describe", json={})
        assert (answer.status_code, answer.json()["code"]) == (500, 18)
        assert "deep inside" not in answer.text
        assert client.post("/v1/table/t/exists", json={}).status_code == 200
    assert "deep inside" in caplog.text


def test_a_caller_source_that_fails_is_code_18():
    class Broken:
        waits = False

        def find(self, credentials):
            raise KeyError("deep inside")

    options = ServerOptions(callers=[Broken()])
    with serving(EchoNamespace(), options) as uri, http_client(uri, timeout=300) as client:
        answer = client.post("/v1/table/t/describe", json={}, headers={"x-api-key": "k"})
        assert (answer.status_code, answer.json()["code"]) == (500, 18)
        assert client.get("/metrics", headers={"x-api-key": "k"}).status_code == 500


def test_traces_include_the_call_of_the_catalog():
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(exporter))
    behind = EchoNamespace()
    incoming = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with (
        serving(behind) as address,
        connect("rest", {"uri": address}) as namespace,
        serving(namespace) as uri,
        http_client(uri, timeout=300) as client,
    ):
        client.post("/v1/table/t/describe", json={}, headers={"traceparent": incoming})
        wait_until(lambda: len(exporter.get_finished_spans()) == 5)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    kinds = {name: span.kind for name, span in spans.items()}
    assert kinds["rest POST"] is trace.SpanKind.CLIENT
    assert kinds["namespace.DescribeTable"] is trace.SpanKind.INTERNAL
    assert kinds["DescribeTable"] is trace.SpanKind.SERVER
    assert dict(spans["rest POST"].attributes) == {
        "rpc.system": "rest", "rpc.method": "POST", "lance_namespace.result": "200",
    }  # fmt: skip
    request = dict(spans["DescribeTable"].attributes)
    assert request.pop("lance_namespace.request_id")
    assert request == {"rpc.method": "DescribeTable", "http.response.status_code": 200}
    assert {f"{span.context.trace_id:032x}" for span in spans.values()} == {incoming[3:35]}
    calls = [each for each in exporter.get_finished_spans() if each.name == "rest POST"]
    assert len(calls) == 1
    by_id = {span.context.span_id: span for span in exporter.get_finished_spans()}
    above, at = [], calls[0]
    while at.parent is not None and at.parent.span_id in by_id:
        at = by_id[at.parent.span_id]
        above.append(at.name)
    assert above == ["namespace.DescribeTable", "DescribeTable"]
    sent = behind.last().context["header.traceparent"]
    assert sent.split("-")[2] == f"{calls[0].context.span_id:016x}"
    exporter.clear()
    with serving(EchoNamespace()) as uri, http_client(uri, timeout=300) as client:
        for name in ("gone", "broken"):
            client.post(f"/v1/table/{name}/exists", json={})
        wait_until(lambda: len(exporter.get_finished_spans()) == 4)
    ended = [span for span in exporter.get_finished_spans() if span.name == "TableExists"]
    assert [span.attributes["lance_namespace.code"] for span in ended] == [4, 18]
    assert [span.status.status_code.name for span in ended] == ["UNSET", "ERROR"]
