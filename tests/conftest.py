"""What all tests share."""

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

# The same examples each time; HYPOTHESIS_PROFILE=search looks further than a test run should.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

for variable in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
    os.environ.setdefault(variable, " ".join(SHORT_LIVED))
# Each process that imports NumPy, as all with a table do, has a thread a core that turns idly at first:
# 0.3 s of processor, more than the rest of a short command.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

IN_MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Bytes that the temporary files of a whole run may take."""


def pytest_configure(config: pytest.Config) -> None:
    """Heed Ctrl-C, and put temporary files in memory where there is room: a disk is often waited for.

    The processes of a run have it from the first, which takes away what pytest would keep of the last
    runs.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So it is in the background, and for all that is started there.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if MARK not in os.environ:  # the process that starts all others
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
    """Put all temporary files in one folder, and take it away at the end.

    A process that is killed, as many are here, leaves its own behind. The folder's name is short: the
    path of a socket has 107 bytes at most.
    """
    folder = tempfile.mkdtemp(prefix="lns-")
    os.chmod(folder, 0o755)  # a server that runs as another user has its files below
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    # multiprocessing removes a folder of its own in there when the process ends (priority -100).
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
    """Distribute tests by group with ``--dist loadgroup``; None leaves other ways to xdist."""
    return Schedule(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Leave all that is collected out of the collection of garbage: it stays to the end of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest tests of a parallel run first; reject names that differ from process to process."""
    if config.getoption("loadgroup", False):
        items.sort(key=rank)
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: give its parameters ids of their own")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test out whose server or program is not there; fail it where they are required."""
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
