"""SIGTERM and SIGINT at any time during a command: it ends and leaves nothing behind."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from lance_namespace_impls import connect
from tests.servers.process import wait_until

MAIN = "from lance_namespace_impls.cli import main; main()"
SECONDS = 600
SIGNALS = (signal.SIGTERM, signal.SIGINT)
MARK = "LANCE_TEST_MARK"


def is_stopped_by(status: int, number: int) -> bool:
    """Return whether an exit status reports a signal, which Python or the kernel handled."""
    return status in (128 + number, -number)


@contextmanager
def command(
    folder: Path, *arguments: str, code: str = MAIN, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LANCE_NS_", "COV_"))}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={
            **kept,
            "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
            "XDG_CONFIG_HOME": str(folder / "config"),
            **(environment or {}),
        },
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


# A module that sends a signal to its own process when the server creates its application.
STOPPING = """
import os, signal
from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.server import run

def stop():
    for pid in {os.getpid(), *([os.getppid()] if "WORKER" in os.environ else [])}:
        os.kill(pid, int(os.environ["NUMBER"]))

create_app = run.create_app

def stopping(*arguments):
    stop()
    return create_app(*arguments)

run.create_app = stopping

class WhileServing(DirectoryNamespace):
    pass
"""
WHILE_LANCE_LOADS = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "lance":
            os.kill(os.getpid(), int(os.environ["NUMBER"]))
        return None

sys.meta_path.insert(0, Finder())
from lance_namespace_impls.cli import main; main()
"""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_while_the_server_starts_ends_it(
    tmp_path: Path, number: int, workers: int
) -> None:
    (tmp_path / "stopping.py").write_text(STOPPING)
    arguments = ["serve", "--impl", "stopping:WhileServing", "-p", f"path={tmp_path / 'lake'}"]
    environment = {"NUMBER": str(int(number))} | ({"WORKER": "1"} if workers > 1 else {})
    (tmp_path / "lake").mkdir()
    more = ["--port", "0", *(["--workers", str(workers)] if workers > 1 else [])]
    with command(tmp_path, *arguments, *more, environment=environment) as process:
        _, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, error
    assert error == ""  # no worker was killed, and none reports that it was interrupted


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_server_loads_lance_ends_it(tmp_path: Path, number: int) -> None:
    arguments = ["serve", "--impl", "dir", "-p", f"path={tmp_path / 'lake'}", "--port", "0"]
    environment = {"NUMBER": str(int(number))}
    with command(tmp_path, *arguments, code=WHILE_LANCE_LOADS, environment=environment) as process:
        _, error = process.communicate(timeout=SECONDS)
    assert process.returncode == 0 or is_stopped_by(process.returncode, number), error
    assert "Traceback" not in error


SLOW = """
import os, signal, time
from lance_namespace_impls.directory import DirectoryNamespace

class Slow(DirectoryNamespace):
    def list_namespaces(self, request):
        try:
            print("listing", flush=True)
            time.sleep(600)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)  # does not interrupt the rollback
            os.kill(os.getpid(), signal.SIGINT)
            print("rolled back", flush=True)

class Translates(Slow):
    def list_namespaces(self, request):
        try:
            super().list_namespaces(request)
        except BaseException as error:
            raise SystemError("initialization failed") from error
"""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("name", ["Slow", "Translates"])
def test_a_command_rolls_back_and_reports_the_signal(
    tmp_path: Path, number: int, name: str
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    with command(tmp_path, "ls", "--impl", f"slow:{name}", "-p", f"path={tmp_path}") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listing\n"
        process.send_signal(number)
        out, error = process.communicate(timeout=SECONDS)
    assert out == "rolled back\n"
    said = "terminated" if number == signal.SIGTERM else "interrupted"
    assert error == f"error: {said}\n"
    assert process.returncode == 128 + number


# Code that runs when a process ends: in a non-daemon thread, in an exit function, and in an object
# that only the finalization of the interpreter deletes.
ENDING = """
import atexit, threading, time
from lance_namespace_impls.directory import DirectoryNamespace

class Kept:
    def __del__(self):
        print("finalized", flush=True)

def work():
    threading.main_thread().join()
    print("thread")

class Slow(DirectoryNamespace):
    def list_namespaces(self, request):
        atexit.register(print, "exit function")
        threading.Thread(target=work).start()
        atexit.kept = Kept()
        print("listing", flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stopped_command_does_not_finalize_the_interpreter(tmp_path: Path, number: int) -> None:
    (tmp_path / "ending.py").write_text(ENDING)
    with command(tmp_path, "ls", "--impl", "ending:Slow", "-p", f"path={tmp_path}") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listing\n"
        process.send_signal(number)
        out, error = process.communicate(timeout=SECONDS)
    assert out == "thread\nexit function\n", error
    assert process.returncode == 128 + number


# A call that does not return to Python, on the main thread and on another thread.
STUCK = """
import ctypes, signal, threading, time
from lance_namespace_impls.cli import signals
from lance_namespace_impls.directory import DirectoryNamespace
signals.STOP_SECONDS = signals.EXIT_SECONDS = 0.5

def sleep():
    print("stuck", flush=True)
    until = time.monotonic() + 600
    while time.monotonic() < until:
        ctypes.CDLL(None).sleep(600)

class MainThread(DirectoryNamespace):
    def list_namespaces(self, request):
        signal.signal(signal.SIGTERM, lambda *_: sleep())  # native code looks at no signals
        sleep()

class OtherThread(DirectoryNamespace):
    def list_namespaces(self, request):
        threading.Thread(target=sleep).start()
        time.sleep(600)
"""


@pytest.mark.parametrize("name", ["MainThread", "OtherThread"])
def test_an_unresponsive_command_is_terminated(tmp_path: Path, name: str) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    with command(tmp_path, "ls", "--impl", f"stuck:{name}", "-p", f"path={tmp_path}") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGTERM


QUERY_WITHOUT_END = """
import ctypes
from lance_namespace_impls.cli import signals
from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.server import run
signals.EXIT_SECONDS = 0.5
run.STOP_SECONDS = 0

class Stuck(DirectoryNamespace):
    def count_table_rows(self, request):
        print("stuck", flush=True)
        while True:
            ctypes.CDLL(None).sleep(600)
"""


def test_an_endless_query_does_not_delay_the_end_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(QUERY_WITHOUT_END)
    with connect("dir", {"path": str(tmp_path / "lake")}) as namespace:
        namespace.create_table({"id": ["t"]}, pa.table({"a": [1]}))
    arguments = ["serve", "--impl", "stuck:Stuck", "-p", f"path={tmp_path / 'lake'}", "--json"]
    with command(tmp_path, *arguments, "--port", "0", "--no-request-log") as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        asks = (
            "import httpx, sys\n"
            "httpx.post(sys.argv[1] + '/v1/table/t/count_rows', json={}, timeout=None)"
        )
        with subprocess.Popen(
            [sys.executable, "-c", asks, json.loads(text)["url"]], stderr=subprocess.DEVNULL
        ) as client:
            assert process.stdout.readline() == "stuck\n"
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)
            client.wait(SECONDS)
    assert process.returncode == 0


def marked(mark: str) -> set[int]:
    """Return the processes that have inherited a mark in their environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                    found.add(int(folder.name))
            except OSError:
                continue
    return found


def runs(mark: str, program: str) -> bool:
    """Return whether the command line of a process with a mark contains a program."""
    for process in marked(mark):
        with suppress(OSError):
            if program in Path("/proc", str(process), "cmdline").read_text():
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", ["spark-submit", "org.apache.spark.deploy.SparkSubmit", "pyspark.daemon"]
)
def test_no_process_of_spark_survives_a_killed_import(tmp_path: Path, program: str) -> None:
    rows = pa.table({"n": range(2_000_000), "text": ["some text"] * 2_000_000})
    pyarrow.csv.write_csv(rows, tmp_path / "rows.csv")
    (tmp_path / "tmp").mkdir()
    arguments = ["import", "new", "rows.csv", "--spark", "--cores", "2", "--impl", "dir"]
    mark = f"killed-{program}-{os.getpid()}"
    environment = {MARK: mark, "TMPDIR": str(tmp_path / "tmp")}
    whole = [*arguments, "-p", f"path={tmp_path / 'lake'}"]
    with command(tmp_path, *whole, environment=environment) as process:
        wait_until(lambda: runs(mark, program) or process.poll() is not None, SECONDS)
        assert process.poll() is None
        process.kill()
        process.wait(SECONDS)
        wait_until(lambda: not marked(mark), step=0.1)


MOMENTS = 14
"""The number of times that each command is stopped."""
SWEPT = {
    "serve": ["serve", "--port", "0"],
    "serve with workers": ["serve", "--port", "0", "--workers", "2"],
    "import": ["import", "new", "rows.csv", "--no-spark"],
    "import with Spark": ["import", "new", "rows.csv", "--spark", "--cores", "2"],
    "create": ["create", "new", "--data", "rows.csv"],
    "export": ["export", "t", "rows.parquet"],
    "inventory": ["inventory"],
    "maintain": ["maintain", "--index", "n=BTREE"],
    "sync": ["sync", "--copy-data", "--to-impl", "dir", "-P", "path=copy"],
    "sql": ["sql", "SELECT count(*) FROM t a JOIN t b ON a.n % 9973 = b.n % 9973"],
    "conformance": ["conformance", "--impl", "dir", "--max-seconds", "20"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEPT)
def test_signals_at_random_moments(tmp_path: Path, name: str) -> None:
    chance = random.Random(name)
    lake, temporary, state = tmp_path / "lake", tmp_path / "tmp", tmp_path / "state"
    rows = pa.table({"n": range(2_000_000), "text": ["some text"] * 2_000_000})
    pyarrow.csv.write_csv(rows, tmp_path / "rows.csv")
    with connect("dir", {"path": str(lake)}) as namespace:
        namespace.create_table({"id": ["t"]}, rows)
    arguments = [*SWEPT[name], *(["-p", f"path={lake}"] if name == "conformance" else [])]
    if name != "conformance":
        arguments += ["--impl", "dir", "-p", f"path={lake}"]
    environment = {"TMPDIR": str(temporary), "XDG_STATE_HOME": str(state)}
    whole: float | None = None
    for moment in range(MOMENTS):
        temporary.mkdir(exist_ok=True)
        mark = f"{name}-{moment}-{os.getpid()}"
        number = SIGNALS[moment % 2]
        started = time.monotonic()
        with command(tmp_path, *arguments, environment={**environment, MARK: mark}) as process:
            if whole is None and "serve" not in name:  # the first run measures the duration
                process.communicate(timeout=SECONDS)
                whole = time.monotonic() - started
                assert process.returncode in (0, 1, 3), name
            else:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(chance.uniform(0, 1.05 * (whole or 6.0)))
                process.send_signal(number)
                out, error = process.communicate(timeout=120)
                status = process.returncode
                stopped = is_stopped_by(status, number)
                assert stopped or status in (0, 3) or (status == 1 and number == signal.SIGINT), (
                    f"{name}, moment {moment}: {status}\n{out}\n{error}"
                )
        deadline = time.monotonic() + 60
        while left := marked(mark):
            assert time.monotonic() < deadline, f"{name}, moment {moment}: {left} still run"
            time.sleep(0.1)
        # Lock files shared by all processes of a user remain, and a JVM removes its files later.
        kept = re.compile(r"hsperfdata|lance-namespace-locks-\d+")
        files = [path for path in temporary.rglob("*") if not kept.match(path.name)]
        assert not files, f"{name}, moment {moment}: {files}"
        with connect("dir", {"path": str(lake)}) as namespace:
            tables = set(namespace.list_tables({"id": []}).tables)
            assert tables <= {"t", "new"}, f"{name}, moment {moment}: {tables}"
            if "new" in tables:  # finished before the signal, and therefore complete
                assert namespace.count_table_rows({"id": ["new"]}).count == len(rows)
                namespace.drop_table({"id": ["new"]})
            if name == "conformance":
                assert namespace.list_namespaces({"id": []}).namespaces == []
        (tmp_path / "rows.parquet").unlink(missing_ok=True)
        assert not list(tmp_path.glob(".*")), f"{name}, moment {moment}"
