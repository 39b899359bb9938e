"""What several tests of the ground floor need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.web import Answer, Asked, WebServer


@pytest.fixture
def web() -> Iterator[tuple[WebServer, list[Answer]]]:
    """A server and the answers that it gives first; then it gives empty objects."""
    script: list[Answer] = []

    def answer(asked: Asked) -> Answer:
        return script.pop(0) if script else Answer(body={})

    with WebServer(answer) as server:
        yield server, script
