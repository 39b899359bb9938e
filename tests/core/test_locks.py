"""A lock of the machine: one holder among threads and processes, and none once that one is dead."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls.core import locks
from lance_namespace_impls.core.locks import machine_lock, object_lock
from tests.open_files import open_files

HOLDER = """
import sys
from lance_namespace_impls.core.locks import object_lock
with object_lock("a server", ("ns", "V")):
    print("ready", flush=True)
sys.stdin.readline()
with object_lock("a server", ("ns", "T")):
    with object_lock("a server", ("ns", "V")):
        pass
    print("held", flush=True)
    sys.stdin.read()
"""


FORKED = """
import os, threading
from lance_namespace_impls.core.locks import machine_lock

held, over = threading.Event(), threading.Event()

def hold():
    with machine_lock("key"):
        held.set()
        over.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    with machine_lock("key", 60):
        os._exit(0)
over.set()
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that had a lock, and holds that of one object once temporary files were deleted."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        (file,) = folder.glob("lance-ns-locks-*")
        file.unlink()
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_another_process_is_waited_for_no_longer_than_asked(
    holder: subprocess.Popen[bytes],
) -> None:
    with (
        pytest.raises(
            ConcurrentModificationError, match=r"ns\$t: other processes on .* after 0\.05 s; try"
        ),
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


def test_what_another_process_has_released_is_free(holder: subprocess.Popen[bytes]) -> None:
    with object_lock("a server", ("ns", "v"), 0.05):
        assert holder.poll() is None


def test_another_process_is_waited_for(
    holder: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            holder.kill()
            holder.wait()

    fake = SimpleNamespace(**vars(time) | {"sleep": wait})
    monkeypatch.setattr(locks, "time", fake)
    with object_lock("a server", ("ns", "t"), 60):
        assert holder.poll() is not None
    assert len(waits) == 3
    assert 0 < max(waits) < 1


def test_another_thread_is_waited_for_no_longer_than_asked() -> None:
    def take() -> None:
        with machine_lock("key", 0.05):
            pytest.fail("two have the lock")

    with ThreadPoolExecutor(1) as thread, machine_lock("key"), pytest.raises(TimeoutError):
        thread.submit(take).result()


def test_the_file_of_locks_that_are_taken_is_never_old(folder: Path) -> None:
    with machine_lock("key"):
        (file,) = folder.glob("lance-ns-locks-*")
    os.utime(file, (0, 0))
    with machine_lock("key"):
        pass
    assert file.stat().st_mtime > 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, "others could keep us waiting"


@pytest.mark.skipif(sys.platform != "linux", reason="the open files are read from /proc")
@pytest.mark.parametrize("fault", ["pipe", "owner"])
def test_a_file_of_somebody_else_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    user = os.getuid()
    if fault == "pipe":
        os.mkfifo(folder / f"lance-ns-locks-{user}")
    else:
        fake = SimpleNamespace(**vars(os) | {"getuid": lambda: user + 1})
        monkeypatch.setattr(locks, "os", fake)
    with (
        pytest.warns(RuntimeWarning, match="the file does not belong to this user"),
        machine_lock("key"),
    ):
        pass
    assert not open_files(folder)


@pytest.mark.parametrize("fault", ["missing", "link", "directory"])
def test_a_folder_that_cannot_hold_locks_is_warned_about_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    lost = folder / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(lost))
    file = lost / f"lance-ns-locks-{os.getuid()}"
    if fault != "missing":
        lost.mkdir()
        if fault == "link":
            file.symlink_to(folder / "elsewhere")
        else:
            file.mkdir()
    for _ in range(2):
        with (
            pytest.warns(RuntimeWarning, match=r"locks cannot be stored in .*; set TMPDIR"),
            machine_lock("key"),
        ):
            pass
    if fault != "missing":
        file.unlink() if fault == "link" else file.rmdir()
    lost.mkdir(exist_ok=True)
    with warnings.catch_warnings(), machine_lock("key"):
        warnings.simplefilter("error")
        assert file.is_file()


def test_a_forked_process_waits_for_no_thread_that_it_has_not(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120)
