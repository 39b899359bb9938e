"""What all tests share."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

from tests.servers import real

# The same examples each time; HYPOTHESIS_PROFILE=search looks further than a test run should.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests on one server together where a run has several processes."""
    from tests.schedule import scheduler

    return scheduler(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name differs from process to process: several share a run."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: give its parameters ids of their own")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test out whose server is not there; fail it where servers are required."""
    for marker in item.iter_markers("real"):
        for name in marker.args:
            if not real.is_there(name):
                missing = f"there is no {name} server; tests/servers/real.py says where from"
                if os.environ.get("LANCE_NS_REQUIRE_SERVERS"):
                    pytest.fail(missing, pytrace=False)
                pytest.skip(missing)
