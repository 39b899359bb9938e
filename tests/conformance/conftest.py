"""What the tests of the kit share."""

from __future__ import annotations

import pytest

from .trace import Trace, record


@pytest.fixture(scope="session")
def recording() -> Trace:
    """What every check asks of a correct target, and what it is answered."""
    return record("mixed")
