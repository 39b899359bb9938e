"""Scheduling of parallel runs (``--dist loadgroup``): tests that share a process, and their order.

Tests with the same ``@pytest.mark.xdist_group`` run in one process. A metastore, an Iceberg server
or a Spark session takes seconds to start and uses hundreds of megabytes of memory, and some tests
delete everything on their server. Each group therefore starts its own server, once. The ungrouped
tests of a file run in one process, because they share module fixtures. Long tests that share
nothing are in the group `SPREAD`: each runs in any free process.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling

__all__ = ["SPREAD", "Schedule", "on_server", "rank"]

SPREAD = "spread"
SERVERS = {"hive2": "hive 3.1", "hive3": "hive 3.1", "iceberg": "iceberg", "nessie": "iceberg"}
"""The group of each backend whose tests share a server."""
LONGEST = (
    "iceberg", "spark one", "spark two", "hive 3.1", "hive 4.2", "hive 2.3",
    "tests/docs/test_python_snippets.py::test_the_snippets_of_a_page_run[docs/spark.md]",
    "tests/clients/test_lancedb_remote.py", "tests/polaris/test_extension.py",
    "tests/hive/test_concurrent_changes.py", "tests/server/test_workers.py",
    "conformance recording", "tests/glue/test_behaviour.py", "tests/conformance/", "tests/docs/test_",
    "tests/directory/test_store_failures.py",
    "tests/spark/test_", "tests/directory/test_s3.py",
    "tests/tables/test_killed.py", "tests/behaviour/test_behaviour.py",
    "tests/tables/test_request_fields.py", "tests/directory/test_manifest_races.py",
    "tests/cli/test_terminal.py", "tests/clients/", "tests/tables/test_contents.py",
    "tests/catalog/test_fresh_places.py", "tests/server/", "tests/glue/", "tests/cli/",
)  # fmt: skip
"""Groups and prefixes of node ids that run longest, the longest first."""


def on_server(backend: str, *marks: pytest.MarkDecorator) -> Any:
    """Return a test parameter for a backend, in the group of its server if it shares one."""
    shared = [pytest.mark.xdist_group(SERVERS[backend])] if backend in SERVERS else []
    return pytest.param(backend, marks=[*marks, *shared])


def rank(item: pytest.Item) -> int:
    """Return the position of a test in the order in which a parallel run starts tests."""
    groups = {mark.args[0] for mark in item.iter_markers("xdist_group")} - {SPREAD}
    name = groups.pop() if groups else item.nodeid
    return next((n for n, begin in enumerate(LONGEST) if name.startswith(begin)), len(LONGEST))


class Schedule(LoadGroupScheduling):  # type: ignore[misc, unused-ignore]
    """xdist's scheduler by group, which runs the ungrouped tests of a file in one process.

    xdist joins several groups of a test with ``_``; a shared server has precedence over `SPREAD`.
    """

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        if group == nodeid:
            return nodeid.partition("::")[0]
        return nodeid if group == SPREAD else group.removesuffix(f"_{SPREAD}")
