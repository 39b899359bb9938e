"""Measures the startup cost, imports and a first listing, relative to the official package.

Each sample is a fresh interpreter that times itself, so its own startup is not included. The
samples of all cases alternate, and medians are compared. The reference is `import lance_namespace`
of the PyPI package that pylance installs. Exit status 1 if a case exceeds its bound.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

import lance
import pyarrow as pa

TABLES = 5


class Case(NamedTuple):
    title: str
    code: str
    bound: float | None = None
    """Maximum fraction of the first case's time."""


CASES = (
    Case("import lance_namespace", "import lance_namespace"),
    Case("import lance_namespace_client", "import lance_namespace_client", 0.10),
    Case(
        "... and a model written to a dict",
        "import lance_namespace_client as client\n"
        "assert client.DescribeTableRequest(id=['flights'], version=3).to_dict()",
        0.15,
    ),
    Case(
        f"connect('dir', ...) and a listing of {TABLES} tables",
        "from lance_namespace_impls import connect\n"
        "with connect('dir', {'path': sys.argv[1]}) as namespace:\n"
        "    assert len(namespace.list_tables({'id': []}).tables) == int(sys.argv[2])",
        0.5,
    ),
)


def sample(case: Case, folder: Path) -> float:
    """Return the seconds that a case's code takes in a fresh interpreter."""
    code = (
        "import sys, time\nstart = time.perf_counter()\n"
        f"{case.code}\nprint(time.perf_counter() - start)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(TABLES)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return float(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=11, help="samples per case (default: 11)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for number in range(TABLES):
            lance.write_dataset(pa.table({"id": [number]}), folder / f"table{number}.lance")
        for case in CASES:  # fills the bytecode and file caches
            sample(case, folder)
        samples = [[sample(case, folder) for case in CASES] for _ in range(rounds)]
    medians = [median(column) for column in zip(*samples, strict=True)]
    print(f"lance-namespace {version('lance-namespace')}, medians of {rounds} runs, interleaved\n")
    print(f"{'case':52} {'ms':>8} {'part':>7} {'bound':>7}")
    failed = False
    for case, seconds in zip(CASES, medians, strict=True):
        part = seconds / medians[0]
        over = case.bound is not None and part > case.bound
        failed |= over
        bound = "" if case.bound is None else f"{case.bound:7.2f}"
        print(f"{case.title:52} {seconds * 1000:8.1f} {part:7.3f} {bound}{' over' * over}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
