"""Fixtures shared by the tests of the conformance kit."""

from __future__ import annotations

import pytest

from .trace import Trace, record


@pytest.fixture(scope="session")
def recording() -> Trace:
    """All calls of every check on a correct target, with their answers."""
    return record("mixed")


@pytest.fixture(scope="session")
def managed_recording() -> Trace:
    """The same on a catalog that manages table versions."""
    return record("managed")
