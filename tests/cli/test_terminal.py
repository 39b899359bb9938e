"""A session of the command line on terminals of several widths, with and without colors.

``LANCE_NS_SHOW=1 pytest -s tests/cli/test_terminal.py`` prints the session for inspection.
"""

from __future__ import annotations

import fcntl
import io
import multiprocessing
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Mapping
from multiprocessing.connection import wait
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import lance_namespace_kit
from lance_namespace_impls import connect
from lance_namespace_impls.cli import output

pytestmark = pytest.mark.xdist_group("spread")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]")
LONG = "a_table_with_a_name_that_is_longer_than_a_narrow_terminal_is_wide"
WORDS = "departure carrier minutes terminal delayed cancelled"
LOADED = ["lance", "lance_namespace_impls.cli.app", "lance_namespace_impls.directory", "rich.table"]
SESSION = (
    ("ls",),
    ("describe", "flights", "--details"),
    ("head", "flights"),
    ("schema", "flights"),
    ("stats", "flights"),
    ("versions", "flights"),
    ("sql", "SELECT carrier, avg(delay) AS mean FROM flights GROUP BY 1 ORDER BY 1"),
    ("operations", "--supported"),
    ("backends",),
    ("ls", "--help"),
    ("head", "gone"),
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("terminal") / "lake"
    rows = pa.table(
        {
            "carrier": ["AA", "UA", "AA"],
            "delay": [1.5, None, 12.25],
            "note": [WORDS, "", "züge 列車 🚆"],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array([0.5] * 12, pa.float32()), 4),
        }
    )
    with connect("dir", {"path": str(path)}) as namespace:
        namespace.create_table({"id": ["flights"]}, rows)
        namespace.create_table({"id": [LONG]}, rows)
    return path


def run_on(terminal: str, arguments: tuple[str, ...], env: dict[str, str]) -> None:
    """Run the command in this process, with a terminal as its streams."""
    os.environ.clear()
    os.environ.update(env)
    file = os.open(terminal, os.O_RDWR)
    for stream in range(3):
        os.dup2(file, stream)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, "rww"[n], closefd=False) for n in range(3))
    sys.argv = ["lance-ns", *arguments]
    lance_namespace_kit.main()


def on_terminal(arguments: tuple[str, ...], columns: int, env: Mapping[str, str]) -> str:
    """Run the command on a separate terminal; return its output, including stderr.

    Its process is a fork of one that has loaded the modules, which takes longer than the command.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *LOADED])
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    plain = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    environment = {**plain, "TERM": "xterm", **env}
    process = context.Process(target=run_on, args=(os.ttyname(slave), arguments, environment))
    process.start()
    shown = b""
    while master in wait([master, process.sentinel]):  # until the process ends
        shown += os.read(master, 1 << 16)
    process.join()
    os.close(master)
    os.close(slave)
    return shown.decode()


SESSIONS = [(50, True), (80, False)]
OTHERS = [(50, False), (80, True), (200, True), (200, False)]


@pytest.mark.parametrize(
    ("columns", "colour"),
    [*SESSIONS, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_a_session(lake: Path, columns: int, colour: bool) -> None:
    env = {"LANCE_NS_IMPL": "dir", "LANCE_NS_PROPERTIES": f"path={lake}"}
    env |= {} if colour else {"NO_COLOR": "1"}
    coloured = False
    for arguments in SESSION:
        shown = on_terminal(arguments, columns, env)
        if os.environ.get("LANCE_NS_SHOW"):
            print(f"\n$ lance-ns {' '.join(arguments)}   ({columns} columns)\n{shown}")
        coloured |= bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", shown))
        assert not STEERING.search(shown), arguments
        assert "Traceback" not in shown
        lines = COLOUR.sub("", shown).splitlines()
        if arguments[0] in ("head", "schema", "versions", "sql", "operations", "backends"):
            assert all(len(line) <= columns for line in lines if ":" not in line), arguments
        if arguments == ("ls",):
            assert any(LONG in line for line in lines), "a name is never cut"
        if arguments == ("head", "flights"):
            for name in ("carrier", "delay", "note", "vector", "minutes", "12.25"):
                assert any(name in line for line in lines), "no column is left out"
        if arguments[0] in ("operations", "backends", "schema"):
            assert "…" not in shown, "no word is cut"
    assert coloured is colour


class Screen(io.StringIO):
    """A stream that reports that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_block_does_not_break_words(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(output, "sys", SimpleNamespace(stdout=screen))
    monkeypatch.setenv("COLUMNS", "40")
    place = f"s3://bucket/{'one-two-' * 12}three"
    row = ["t", f"the table is at {place} since then", "x"]
    output.Output(as_json=False).table(["table", "where it is", "more"], [row])
    lines = COLOUR.sub("", screen.getvalue()).splitlines()
    gap = " " * len("where it is  ")
    assert lines[1:4] == ["where it is  the table is at", f"{gap}{place}", f"{gap}since then"]
