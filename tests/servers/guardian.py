"""Terminates every process that a test run leaves behind, regardless of how the run ends.

A separate process reads a pipe that only the run has open for writing. When the run ends, the
process terminates all processes that have inherited the run's mark in their environment: servers,
commands, Java, Spark's workers, and their children.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

__all__ = ["MARK", "end_with_parent", "marked", "start_guardian"]

MARK = "LANCE_NS_TEST_RUN"
PATIENCE_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1


def start_guardian() -> None:
    """Guard all processes that this process starts from now on; do nothing without ``/proc``."""
    if not Path("/proc/self/environ").exists():
        return
    mark = os.environ[MARK] = uuid.uuid4().hex
    reader, _writer = os.pipe()  # the writing end closes when this process ends
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    subprocess.Popen(
        [sys.executable, __file__, mark],
        stdin=reader,
        stdout=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # signals to the run's process group do not reach it
    )
    os.close(reader)


def end_with_parent() -> None:
    """Send SIGTERM to this process when its parent ends, such as nox when it is killed."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it has ended already
            os.kill(os.getpid(), signal.SIGTERM)


def marked(mark: str) -> set[int]:
    """Return the processes that have a mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(int(folder.name))
            except OSError:
                continue  # the process has ended, or belongs to another user
    return found


def _end(mark: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    number = signal.SIGTERM
    while left := marked(mark):
        for process in left:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                continue
        number = signal.SIGKILL if time.monotonic() > deadline else number
        time.sleep(0.1)


if __name__ == "__main__":
    while os.read(0, 1):
        pass
    _end(sys.argv[1])
