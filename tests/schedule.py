"""Which tests stay together where a run has several processes.

A metastore, an Iceberg server or a Spark session takes seconds and hundreds of megabytes, and some
tests empty the one they use. The tests on one server therefore go to one process, which starts it,
is alone on it and stops it; a file's tests go to one process, for what they make once. Long tests
that share nothing go where there is room, and so do those that restart a server of their own.

It goes by node ids, since the process that hands out the tests knows no more.
"""

from __future__ import annotations

import re
from typing import Any

from xdist.scheduler import LoadScopeScheduling

__all__ = ["Schedule", "scope_of"]

RELEASE = re.compile(r"(?:\bhive[23]-on-|/test_spark\.py::\w+\[)(\d\.\d)\b")
ON_OLDEST = frozenset({"test_adapter", "test_behaviour", "test_pool", "test_records", "test_traps"})
"""Files in tests/hive whose tests are on the oldest release where their ids name none."""
SPREAD = ("tests/behaviour/", "tests/hive/test_restarts.py", "tests/server/attacks/test_freezes.py")


def scope_of(node: str) -> str:
    """Return what the tests that one process runs one after the other have in common."""
    file = node.partition("::")[0]
    _, _, inner = file.partition("/")
    folder, _, name = inner.partition("/")
    if (release := RELEASE.search(node)) is not None:
        return f"hive {release[1]}"
    if folder == "hive" and name.removesuffix(".py") in ON_OLDEST:
        return "hive 2.3"
    if folder == "behaviour" and node.endswith(("[hive2]", "[hive3]")):
        return "hive 3.1"
    if folder == "iceberg" and name != "test_behaviour.py":
        return "iceberg"
    return node if file.startswith(SPREAD) else file


class Schedule(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
    """Hands out tests by `scope_of`, the scopes with most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scheduler(config: Any, log: Any) -> Schedule | None:
    """Return the schedule for ``--dist loadscope``; None leaves other ways to xdist."""
    return Schedule(config, log) if config.getvalue("dist") == "loadscope" else None
