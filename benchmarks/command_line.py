"""Measures the time that ``lance-ns`` takes to start, and to complete a name in the shell.

Fresh processes run alternately: the help of ``lance-ns`` and of a bare Typer application with three
commands; completion of a table's name by ``lance-ns``, with cached names, as after the first press
of the tab key, and completion of a command's name by ``pyiceberg``, which does not complete tables.
The medians of the rounds are compared. Exit status 1 if the help takes more than 1.5 times as long
as the bare application's, or completion more than 300 ms or longer than pyiceberg's.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import pyarrow as pa

from lance_namespace_impls import connect

BOUND = 1.5
COMPLETION_MS = 300
BARE = """
import typer

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def ls(id: str) -> None:
    '''List.'''


@app.command()
def head(id: str, rows: int = 10) -> None:
    '''Show rows.'''


@app.command()
def drop(id: str, yes: bool = False) -> None:
    '''Drop.'''


app()
"""


def seconds(command: list[str], environment: dict[str, str], wanted: str) -> float:
    """Return the duration of a process; its output must contain the wanted text."""
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - begin
    if wanted not in done.stdout:
        raise RuntimeError(f"{command} printed {done.stdout!r}\n{done.stderr}")
    return elapsed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        lake = str(Path(folder) / "lake")
        with connect("dir", {"path": lake}) as namespace:
            for name in ("flights", "flags", "weather"):
                namespace.table(name).create(pa.table({"id": [1]}))
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("LANCE_NS_")}
        plain.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every process compiles again
        plain |= {"HOME": folder, "PYTHONPYCACHEPREFIX": str(Path(folder) / "compiled")}
        ours = {"LANCE_NS_IMPL": "dir", "LANCE_NS_PROPERTIES": f"path={lake}"}
        ours |= {"_LANCE_NS_COMPLETE": "complete_bash", "COMP_WORDS": "lance-ns head fl"}
        theirs = {"_PYICEBERG_COMPLETE": "bash_complete", "COMP_WORDS": "pyiceberg des"}
        ways = {
            "bare Typer --help": ([sys.executable, str(bare), "--help"], plain, "List."),
            "lance-ns --help": ([str(scripts / "lance-ns"), "--help"], plain, "Commands:"),
            "lance-ns head fl<Tab>": (
                [str(scripts / "lance-ns")],
                plain | ours | {"COMP_CWORD": "2"},
                "flights",
            ),
            "pyiceberg des<Tab>": (
                [str(scripts / "pyiceberg")],
                plain | theirs | {"COMP_CWORD": "1"},
                "describe",
            ),
        }
        timings: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(options.rounds + 1):
            for name, way in ways.items():
                found = seconds(*way)
                if number:  # the first round compiles modules and fills the cache of names
                    timings[name].append(found)
    times = {name: median(values) * 1000 for name, values in timings.items()}
    for name, value in times.items():
        print(f"{name:22} {value:6.0f} ms")
    bare_ms, help_ms, ours_ms, theirs_ms = times.values()
    print(f"ratio of the help {help_ms / bare_ms:.2f} (bound {BOUND})")
    print(f"completion {ours_ms:.0f} ms (bound {COMPLETION_MS}), pyiceberg's {theirs_ms:.0f} ms")
    return int(help_ms / bare_ms > BOUND or ours_ms > min(COMPLETION_MS, theirs_ms))


if __name__ == "__main__":
    sys.exit(main())
