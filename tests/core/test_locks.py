"""A lock of the machine: one holder among threads and processes, and none once that one is dead."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls.core.locks import machine_lock, object_lock

HOLDER = """
import sys
from lance_namespace_impls.core.locks import object_lock
with object_lock("a server", ("ns", "T")):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the lock of one object."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_another_process_is_waited_for_no_longer_than_asked(
    holder: subprocess.Popen[bytes],
) -> None:
    with (
        pytest.raises(ConcurrentModificationError, match=r"ns\$t: others on this machine"),
        object_lock("a server", ("ns", "t"), 0.05),
    ):
        pytest.fail("two have the lock")
    with object_lock("a server", ("ns", "u"), 0.05), object_lock("another", ("ns", "T"), 0.05):
        pass
    assert holder.poll() is None


def test_the_lock_of_a_killed_process_is_free(holder: subprocess.Popen[bytes]) -> None:
    holder.kill()
    holder.wait()
    with object_lock("a server", ("ns", "t"), 60):
        pass


def test_another_thread_is_waited_for_no_longer_than_asked() -> None:
    def take() -> None:
        with machine_lock("key", 0.05):
            pytest.fail("two have the lock")

    with ThreadPoolExecutor(1) as thread, machine_lock("key"), pytest.raises(TimeoutError):
        thread.submit(take).result()
