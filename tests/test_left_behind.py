"""A killed test run leaves no process behind, and temporary files are in the run's own folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.servers.guardian import MARK

# Starts a server as the tests do, prints its process id, and waits to be killed.
STARTS = """
import subprocess, sys, time
from tests.servers.process import bound_to_us
command = [*bound_to_us(), sys.executable, "-c", "import time; time.sleep(600)"]
server = subprocess.Popen(command)
# While one program takes another's place, there is no command line at all.
while not (line := open(f"/proc/{server.pid}/cmdline", "rb").read()) or b"setpriv" in line:
    time.sleep(0.01)
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.needs("setpriv")
def test_a_server_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        try:
            os.kill(server, 0)
        finally:
            parent.kill()
    deadline = time.monotonic() + 300
    while Path(f"/proc/{server}").exists() and not _has_ended(server):
        if time.monotonic() > deadline:
            os.kill(server, signal.SIGKILL)
            pytest.fail("the server outlives the process that started it")
        time.sleep(0.05)


# A test module with one test. The test starts a process that ignores SIGTERM, and waits.
HANGS = """
import subprocess, sys, time
IGNORES = (
    "import signal, sys, time\\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n"
    "print('started', flush=True)\\n"
    "time.sleep(600)"
)

def test_hangs():
    child = subprocess.Popen(
        [sys.executable, "-c", IGNORES], stdout=subprocess.PIPE, start_new_session=True
    )
    child.stdout.readline()
    with open("started", "w") as file:
        file.write(str(child.pid))
    time.sleep(600)
"""
# Starts a command as nox starts that of a session.
LIKE_NOX = """
import os, subprocess, sys
subprocess.run(sys.argv[1:], env={**os.environ, "NOX_CURRENT_SESSION": "tests"})
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", ["the run", "nox"])
@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "1")])
def test_no_process_outlives_a_killed_run(
    tmp_path: Path, how: str, workers: tuple[str, ...]
) -> None:
    (tmp_path / "test_hangs.py").write_text(HANGS)
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_configure\n")
    command = [
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)),
        *("-c", "/dev/null", "-s", *workers, str(tmp_path)),
    ]
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    environment |= {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    if how == "nox":
        command = [sys.executable, "-c", LIKE_NOX, *command]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL
    ) as parent:
        started = tmp_path / "started"
        while not (started.exists() and started.read_text()):
            assert parent.poll() is None, "the run ended"
            time.sleep(0.05)
        child = int(started.read_text())
        assert Path(f"/proc/{child}").exists()
        parent.kill()
    deadline = time.monotonic() + 300
    while Path(f"/proc/{child}").exists() and not _has_ended(child):
        assert time.monotonic() < deadline, "the process outlives the run that started it"
        time.sleep(0.05)


def _has_ended(process: int) -> bool:
    """Return whether a process has ended; it may still be a zombie."""
    try:
        return ") Z " in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return True


def test_temporary_files_are_in_a_folder_of_the_run() -> None:
    folder = Path(tempfile.gettempdir())
    assert folder.name.startswith("lns-")
    assert os.environ["TMPDIR"] == str(folder)
    code = "import tempfile; print(tempfile.mkdtemp())"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Path(made.stdout.strip()).is_relative_to(folder)
