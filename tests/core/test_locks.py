"""Machine-wide locks: one holder among all threads and processes; a dead holder releases them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls.core import locks
from lance_namespace_impls.core.locks import machine_lock, object_lock

HOLDER = """
import sys
from lance_namespace_impls.core.locks import object_lock
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


COUNTING = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from lance_namespace_impls.core.locks import machine_lock

counter = Path(sys.argv[1])

def count(_):
    with machine_lock("key"):
        counter.write_text(str(int(counter.read_text()) + 1))

with ThreadPoolExecutor(4) as threads:
    list(threads.map(count, range(400)))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a separate directory for temporary files, in subprocesses too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that holds the lock of one object and has released that of another."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_waiting_for_another_process_times_out(
    holder: subprocess.Popen[bytes],
) -> None:
    with (
        pytest.raises(
            ConcurrentModificationError,
            match=r"ns\$t is still being changed by .* after 0\.05 s; try",
        ),
        object_lock("a server", ("ns", "t"), 0.05),
    ):
        pytest.fail("two have the lock")
    with object_lock("a server", ("ns", "u"), 0.05), object_lock("another", ("ns", "T"), 0.05):
        pass
    with object_lock("a server", ("ns", "v"), 0.05):  # the holder has released it
        assert holder.poll() is None


def test_the_lock_of_a_killed_process_is_free(holder: subprocess.Popen[bytes]) -> None:
    holder.kill()
    holder.wait()
    with object_lock("a server", ("ns", "t"), 60):
        pass


def test_a_lock_waits_for_another_process(holder: subprocess.Popen[bytes]) -> None:
    timer = threading.Timer(0.2, holder.kill)
    timer.start()
    with object_lock("a server", ("ns", "t"), 60):
        assert holder.wait() is not None
    timer.join()


def test_waiting_for_another_thread_times_out() -> None:
    def take() -> None:
        with machine_lock("key", 0.05):
            pytest.fail("two have the lock")

    with ThreadPoolExecutor(1) as thread, machine_lock("key"), pytest.raises(TimeoutError):
        thread.submit(take).result()


def test_a_released_lock_leaves_no_file(folder: Path) -> None:
    with machine_lock("key"):
        (place,) = folder.glob("lance-namespace-locks-*")
        (file,) = place.iterdir()
        assert stat.S_IMODE(place.stat().st_mode) == 0o700, "others could keep us waiting"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not list(place.iterdir())


def test_only_one_thread_or_process_holds_the_lock(folder: Path) -> None:
    """Each holder deletes the file when it releases the lock, while others wait for it."""
    counter = folder / "counter"
    counter.write_text("0")
    workers = [subprocess.Popen([sys.executable, "-c", COUNTING, str(counter)]) for _ in range(3)]
    assert [worker.wait(300) for worker in workers] == [0, 0, 0]
    assert counter.read_text() == "1200"


def test_a_directory_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = os.getuid()
    fake = SimpleNamespace(**vars(os) | {"getuid": lambda: user + 1})
    monkeypatch.setattr(locks, "os", fake)
    with (
        pytest.warns(RuntimeWarning, match="the folder does not belong to this user"),
        machine_lock("key"),
    ):
        pass


@pytest.mark.parametrize("fault", ["missing", "link", "file"])
def test_an_unusable_lock_directory_causes_a_warning_each_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    lost = folder / "temporary"
    monkeypatch.setattr(tempfile, "tempdir", str(lost))
    file = lost / f"lance-namespace-locks-{os.getuid()}"
    if fault != "missing":
        lost.mkdir()
        if fault == "link":
            file.symlink_to(folder)
        else:
            file.touch()
    for _ in range(2):
        with (
            pytest.warns(RuntimeWarning, match=r"locks cannot be stored in .*Set TMPDIR"),
            machine_lock("key"),
        ):
            pass
    if fault != "missing":
        file.unlink()
    lost.mkdir(exist_ok=True)
    with warnings.catch_warnings(), machine_lock("key"):
        warnings.simplefilter("error")
        assert len(list(file.iterdir())) == 1


def test_a_forked_process_does_not_wait_for_its_parents_threads(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120)
