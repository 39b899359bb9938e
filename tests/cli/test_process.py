"""lance-ns as a separate process: terminals, pipes, signals, missing packages and the server."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from lance_namespace_impls.cli.failures import Status

MAIN = "from lance_namespace_impls.cli import main; main()"
SECRET = "s3cr3t-value"
SECONDS = 300


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LANCE_NS_", "COV_"))}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "LANCE_NS_IMPL": "dir",
        "LANCE_NS_PROPERTIES": f"'path={tmp_path / 'lake'}'",
        "TERM": "xterm-256color",
        "NO_COLOR": "",
    }


def command(*args: str, code: str = MAIN) -> list[str]:
    return [sys.executable, "-c", code, *args]


def run(
    environment: dict[str, str], *args: str, code: str = MAIN, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*args, code=code),
        env={**environment, **more},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def make_tables(tmp_path: Path, *names: str) -> None:
    for name in names:
        (tmp_path / "lake" / f"{name}.lance").mkdir(parents=True)


class Terminal:
    """A process whose streams are a terminal."""

    def __init__(self, environment: dict[str, str], args: Sequence[str], columns: int) -> None:
        self.text = ""
        leader, follower = pty.openpty()
        self._leader = leader
        self.process = subprocess.Popen(
            command(*args),
            env={**environment, "COLUMNS": str(columns)},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)

    def read_until(self, wanted: str) -> None:
        deadline = time.monotonic() + SECONDS
        while wanted not in self.text:
            assert time.monotonic() < deadline, self.text
            if not self._read():
                break
        assert wanted in self.text

    def write(self, text: str) -> None:
        os.write(self._leader, text.encode())

    def wait(self) -> int:
        while self._read():
            pass
        os.close(self._leader)
        return self.process.wait(SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._leader], [], [], SECONDS)
        assert ready, self.text
        with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
            data = os.read(self._leader, 65536)
            self.text += data.decode()
            return bool(data)
        return False

    @property
    def plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text).replace("\r\n", "\n")


def on_terminal(environment: dict[str, str], *args: str, columns: int = 100) -> Terminal:
    return Terminal(environment, args, columns)


# --- starting


def test_help_loads_no_heavy_modules(environment: dict[str, str]) -> None:
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: json.dump(list(sys.modules), sys.stderr))\n" + MAIN
    )
    found = run(environment, "--help", code=code)
    assert found.returncode == Status.OK
    loaded = {name.partition(".")[0] for name in json.loads(found.stderr)}
    assert "typer" in loaded
    heavy = {"lance", "pyarrow", "pyspark", "starlette", "uvicorn", "httpx", "numpy", "rich"}
    assert not loaded & heavy


def test_a_listing_does_not_load_lance(environment: dict[str, str], tmp_path: Path) -> None:
    make_tables(tmp_path, "t")
    code = "import atexit, sys\natexit.register(lambda: print('lance' in sys.modules))\n" + MAIN
    assert run(environment, "ls", "-t", code=code).stdout == "t\nFalse\n"


@pytest.mark.parametrize(
    ("package", "args", "extra"),
    [
        ("typer", ["ls"], "cli"),
        ("starlette", ["serve"], "server"),
        ("uvicorn", ["serve"], "server"),
        ("pyspark", ["import", "t", __file__, "--format", "csv", "--spark"], "spark"),
    ],
)
def test_a_missing_package_reports_what_to_install(
    environment: dict[str, str], package: str, args: list[str], extra: str
) -> None:
    found = run(environment, *args, code=f"import sys; sys.modules[{package!r}] = None; {MAIN}")
    assert found.returncode == Status.NOT_DONE
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("error: lance-ns ")
    assert f"needs {package}: pip install 'lance-namespace-kit[{extra}]'" in found.stderr


def test_rich_is_required_only_on_a_terminal(environment: dict[str, str], tmp_path: Path) -> None:
    make_tables(tmp_path, "t")
    code = f"import sys; sys.modules['rich'] = None; {MAIN}"
    assert run(environment, "ls", "-t", code=code).stdout == "t\n"


# --- terminals


def test_drop_prompts_on_a_terminal(environment: dict[str, str], tmp_path: Path) -> None:
    make_tables(tmp_path, "t")
    terminal = on_terminal(environment, "drop", "t")
    place = tmp_path / "lake" / "t.lance"
    terminal.read_until("[y/N] ")
    assert f"Drop table t and delete its data at {place}?" in terminal.plain
    assert place.exists()
    terminal.write("Y\n")
    assert terminal.wait() == Status.OK
    assert not place.exists()


def test_ctrl_c_at_the_question_changes_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    make_tables(tmp_path, "t")
    terminal = on_terminal(environment, "drop", "t")
    terminal.read_until("[y/N] ")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.wait() == Status.INTERRUPTED
    assert "Traceback" not in terminal.text
    assert (tmp_path / "lake" / "t.lance").exists()


def test_create_shows_progress_on_a_terminal(environment: dict[str, str], tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("n\n" + "\n".join(map(str, range(1000))) + "\n")
    terminal = on_terminal(environment, "create", "t", "--data", str(data))
    assert terminal.wait() == Status.OK
    assert "create t" in terminal.plain
    assert "rows read  1,000" in terminal.plain


# --- pipes and signals


@pytest.mark.parametrize("args", [["ls"], ["ls", "--json"]])
def test_a_closed_pipe_ends_the_command_quietly(
    environment: dict[str, str], tmp_path: Path, args: list[str]
) -> None:
    make_tables(tmp_path, *(f"table_{number:05}_{'x' * 100}" for number in range(2000)))
    with subprocess.Popen(
        command(*args), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(SECONDS) == Status.BROKEN_PIPE
    assert errors == b""


def test_names_that_cannot_be_encoded_are_escaped(
    environment: dict[str, str], tmp_path: Path
) -> None:
    make_tables(tmp_path, "größe")
    assert run(environment, "ls", "-t", PYTHONIOENCODING="ascii").stdout == "gr\\xf6\\xdfe\n"
    found = run(environment, "ls", "--json", PYTHONIOENCODING="ascii").stdout
    assert json.loads(found)["tables"] == ["größe"]


def test_warnings_are_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    make_tables(tmp_path, "t")
    warn = (
        "import warnings\n"
        "from lance_namespace_impls.directory import DirectoryNamespace\n"
        "class Warns(DirectoryNamespace):\n"
        "    def list_namespaces(self, request):\n"
        "        warnings.warn('table x cannot\\nbe read')\n"
        "        return super().list_namespaces(request)\n"
    )
    (tmp_path / "warns.py").write_text(warn)
    options = ("--impl", "warns:Warns", "-p", f"path={tmp_path / 'lake'}")
    found = run(environment, "ls", "-t", *options)
    assert found.stdout == "t\n"
    assert found.stderr == ""
    assert run(environment, "ls", *options).stderr == "warning: table x cannot be read\n"


# --- serve


@contextlib.contextmanager
def served(
    environment: dict[str, str], *args: str
) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Start a server on a free port; yield the process, its address and its first output line."""
    process = subprocess.Popen(
        command("serve", "--port", "0", *args),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://[^\s\"]+", said)
        assert address is not None, said
        yield process, address.group(), said
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS)


def test_serve_until_it_is_interrupted(environment: dict[str, str], tmp_path: Path) -> None:
    make_tables(tmp_path, "t")
    with served(environment, "-p", f"storage.secret_key={SECRET}") as (process, url, said):
        assert said.startswith(f"Serving dir path={tmp_path / 'lake'} storage.secret_key=*** on ")
        assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
        listing = run(environment, "ls", "-t", "--impl", "rest", "-p", f"uri={url}")
        assert listing.stdout == "t\n"
        described = httpx.post(f"{url}/v1/table/t/describe", json={}).text
        assert SECRET not in described
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == Status.OK
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
    assert {json.loads(line)["operation"] for line in lines} == {"ListTables", "DescribeTable"}
