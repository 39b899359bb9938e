"""A catalog for clients; on request, the run updates the tables in the documentation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .backends import BACKENDS, Home
from .outcomes import OUTCOMES


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """Open a namespace on the backend that `on_backends` selects."""
    with BACKENDS[request.param](tmp_path) as home:
        yield home


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if os.environ.get("LANCE_NS_WRITE_CLIENTS") and OUTCOMES.found:
        OUTCOMES.write()
