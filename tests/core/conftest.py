"""Fixtures that several tests of the core package share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.web import Answer, Asked, WebServer


@pytest.fixture
def web() -> Iterator[tuple[WebServer, list[Answer]]]:
    """Start a web server that returns the scripted answers first, and then empty objects."""
    script: list[Answer] = []

    def answer(asked: Asked) -> Answer:
        return script.pop(0) if script else Answer(body={})

    with WebServer(answer) as server:
        yield server, script
