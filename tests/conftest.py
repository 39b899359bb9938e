"""Configuration and fixtures of the whole test suite."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.schedule import Schedule, rank
from tests.servers import real
from tests.servers.guardian import MARK, end_with_parent, start_guardian
from tests.servers.jvm import SHORT_LIVED

# "fixed" generates the same examples in each run; "search" runs many more than a test run should.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

for variable in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(variable, " ".join(SHORT_LIVED))
# OpenBLAS starts one thread per core in each process that imports NumPy, and these threads spin at
# first. That costs 0.3 s of CPU time, more than the rest of a short command.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

IN_MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Upper bound of the size of a run's temporary files, in bytes."""


def pytest_configure(config: pytest.Config) -> None:
    """Handle Ctrl-C, and keep temporary files in memory if there is enough space.

    Tests often wait for a slow disk. The first process of a run creates the folder and deletes it
    at the end, so pytest does not keep files of earlier runs. The other processes use the same
    folder.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Processes that a shell starts in the background ignore SIGINT, as do their children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if MARK not in os.environ:  # this is the process that starts all others
        if "NOX_CURRENT_SESSION" in os.environ:
            end_with_parent()
        start_guardian()
    if "TMPDIR" in os.environ or not IN_MEMORY.is_dir():
        return
    usage = os.statvfs(IN_MEMORY)
    if usage.f_bavail * usage.f_frsize >= ROOM and not usage.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)
        kept = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="lns-")
        config.add_cleanup(lambda: shutil.rmtree(kept, ignore_errors=True))


@pytest.fixture(scope="session", autouse=True)
def temporary_files() -> Iterator[None]:
    """Put all temporary files in one folder, and delete it at the end.

    Many tests kill a process, which then does not delete its temporary files. The folder's name is
    short because the path of a socket can have at most 107 bytes.
    """
    folder = tempfile.mkdtemp(prefix="lns-")
    os.chmod(folder, 0o755)  # the files of servers that run as another user are in it
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    # multiprocessing deletes its own folder in this one when the process ends (priority -100).
    Finalize(None, shutil.rmtree, (folder, True), exitpriority=-101)
    yield
    for entry in Path(folder).iterdir():
        if not entry.name.startswith("pymp-"):
            shutil.rmtree(entry, ignore_errors=True)
    tempfile.tempdir = None
    if before is None:
        del os.environ["TMPDIR"]
    else:
        os.environ["TMPDIR"] = before


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return our scheduler for ``--dist loadgroup``; None selects the default of other modes."""
    return Schedule(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Exclude collected tests from garbage collection, because they exist until the run ends."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests of a parallel run, longest first; reject ids that differ between processes."""
    if config.getoption("loadgroup", False):
        items.sort(key=rank)
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: give its parameters ids of their own")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose server or program is missing, or fail it if servers are required."""
    if missing := next(_missing(item), None):
        if os.environ.get("LANCE_NS_REQUIRE_SERVERS"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)


def _missing(item: pytest.Item) -> Iterator[str]:
    for marker in item.iter_markers("real"):
        for name in marker.args:
            if not real.is_there(name):
                yield f"there is no {name} server; tests/servers/real.py says where from"
    for marker in item.iter_markers("needs"):
        if not any(map(shutil.which, marker.args)):
            yield f"{' or '.join(marker.args)} is not installed"
