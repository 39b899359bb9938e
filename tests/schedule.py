"""Which tests stay together where a run has several processes, and which go first.

A metastore, an Iceberg server or a Spark session takes seconds and hundreds of megabytes, and some
tests empty the one they use. The tests on one server therefore go to one process, which starts it,
is alone on it and stops it; a file's tests go to one process, for what they make once. Long tests
that share nothing go where there is room, and so do those that restart a server of their own.

What takes longest goes first, so that the end of a run does not wait for one process.

It goes by node ids, since the process that hands out the tests knows no more.
"""

from __future__ import annotations

import re
from typing import Any

from xdist.scheduler import LoadScopeScheduling

__all__ = ["LONGEST", "Schedule", "in_order", "scope_of"]

RELEASE = re.compile(r"(?:\bhive[23]-on-|/test_spark\.py::\w+\[)(\d\.\d)\b")
ON_OLDEST = frozenset({"test_adapter", "test_behaviour", "test_pool", "test_records", "test_traps"})
"""Files in tests/hive whose tests are on the oldest release where their ids name none."""
ON_SHARED = {"hive2": "hive 3.1", "hive3": "hive 3.1", "iceberg": "iceberg", "nessie": "iceberg"}
"""Which server a test is on whose id begins with the name of a backend, in the files of `ANY_CATALOG`."""
ANY_CATALOG = (
    "tests/behaviour/", "tests/catalog/test_fresh_places.py", "tests/tables/test_killed.py",
    "tests/tables/races/",
)  # fmt: skip
IN_SPARK = {
    name: f"spark {session}"
    for session, names in {
        "one": (
            "datasource",
            "saving",
            "session",
            "first_appends",
            "managed",
            "import",
            "in_process",
            "streams",
        ),
        "two": (
            "queries",
            "changes",
            "read_table",
            "int96",
            "inventory",
            "maintain",
            "types",
            "backfill",
            "update",
        ),
    }.items()
    for name in names
}
"""Which of two sessions the tests of a file in tests/spark run in, where they need one."""
RECORDED = ("tests/conformance/test_mechanical.py", "tests/conformance/test_refused_answers.py")
"""Files whose tests go by one recording of all that the conformance kit asks, which takes half a minute."""
SPREAD = (
    "tests/behaviour/", "tests/cli/test_terminal.py", "tests/conformance/test_correct.py",
    "tests/docs/test_python_snippets.py", "tests/hive/test_restarts.py",
    "tests/server/attacks/test_freezes.py",
)  # fmt: skip
LONGEST = (
    "iceberg", "spark one", "spark two", "hive 3.1", "hive 4.2", "hive 2.3",
    "tests/docs/test_python_snippets.py::test_the_snippets_of_a_page_run[docs/spark.md]",
    "tests/clients/test_lancedb_remote.py", "tests/polaris/test_extension.py",
    "tests/hive/test_concurrent_changes.py", "tests/server/test_workers.py",
    "conformance recording", "tests/glue/test_behaviour.py", "tests/conformance/", "tests/docs/test_",
    "tests/directory/test_store_failures.py",
    "tests/spark/test_", "tests/directory/test_s3.py", "tests/tables/test_readme.py",
    "tests/tables/test_killed.py", "tests/behaviour/test_behaviour.py",
    "tests/tables/test_request_fields.py", "tests/directory/test_manifest_races.py",
    "tests/cli/test_terminal.py", "tests/clients/", "tests/tables/test_contents.py",
    "tests/catalog/test_fresh_places.py", "tests/server/", "tests/glue/", "tests/cli/",
)  # fmt: skip
"""What those begin with that take longest, the longest first; all others follow by how many tests they
have.
"""


def scope_of(node: str) -> str:
    """Return what the tests that one process runs one after the other have in common."""
    file = node.partition("::")[0]
    _, _, inner = file.partition("/")
    folder, _, name = inner.partition("/")
    if (release := RELEASE.search(node)) is not None:
        return f"hive {release[1]}"
    if folder == "hive" and name.removesuffix(".py") in ON_OLDEST:
        return "hive 2.3"
    backend = re.split(r"[]-]", node.partition("[")[2])[0]
    if file.startswith(ANY_CATALOG) and backend in ON_SHARED:
        return ON_SHARED[backend]
    if folder == "iceberg" and name != "test_behaviour.py":
        return "iceberg"
    if folder == "spark":
        of_file = name.rpartition("/")[2].removesuffix(".py").removeprefix("test_")
        return IN_SPARK.get(of_file, file)
    if file in RECORDED:
        return "conformance recording"
    return node if file.startswith(SPREAD) else file


def in_order(scopes: dict[str, Any]) -> list[str]:
    """Return the scopes in the order in which they are handed out."""

    def place(scope: str) -> tuple[int, int, str]:
        rank = next((n for n, begin in enumerate(LONGEST) if scope.startswith(begin)), len(LONGEST))
        return rank, -len(scopes[scope]), scope

    return sorted(scopes, key=place)


class Schedule(LoadScopeScheduling):  # type: ignore[misc, unused-ignore]
    """Hands out tests by `scope_of`, what takes longest first."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        if not self._ordered:
            for scope in in_order(self.workqueue):
                self.workqueue.move_to_end(scope)
            self._ordered = True
        super()._assign_work_unit(node)

    _ordered = False


def scheduler(config: Any, log: Any) -> Schedule | None:
    """Return the schedule for ``--dist loadscope``; None leaves other ways to xdist."""
    return Schedule(config, log) if config.getvalue("dist") == "loadscope" else None
