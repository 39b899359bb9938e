"""Writes the table of the documentation where the run is asked to."""

from __future__ import annotations

import os

import pytest

from .outcomes import OUTCOMES


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if os.environ.get("LANCE_NS_WRITE_CLIENTS") and OUTCOMES.found:
        OUTCOMES.write()
