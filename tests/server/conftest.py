"""Fixtures: a server with an echo namespace, which records its requests."""

from __future__ import annotations

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.core import file_stamps
from lance_namespace_impls.server import Limits, ServerOptions, serving
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client


@pytest.fixture
def exact_clock(monkeypatch):
    """Treat file timestamps as exact, so that datasets stay open between changes."""
    monkeypatch.setattr(file_stamps, "RECENT_NANOSECONDS", 0)


@pytest.fixture(scope="module")
def echo():
    return EchoNamespace()


@pytest.fixture(scope="module")
def uri(echo):
    with serving(echo, ServerOptions(limits=Limits(json_bytes=1 << 16))) as address:
        yield address


@pytest.fixture(scope="module")
def http(uri):
    with http_client(uri) as client:
        yield client


@pytest.fixture
def code_of(http):
    """Return a function that sends a request and returns the HTTP status and the protocol code."""

    def ask(method, path, **more):
        response = http.request(method, path, **more)
        return response.status_code, response.json().get("code")

    return ask


@pytest.fixture(scope="module")
def uri_and_client(uri):
    with connect("rest", {"uri": uri}) as namespace:
        yield namespace
