"""Compares `inventory` of 20,000 tables with that of 1,000: time per table, and memory.

    python benchmarks/inventory.py

Fails if a table takes more than 1.2 times as long, or the process more than 1.3 times the memory,
with the larger number. Each size runs in a separate process; its startup is not included.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lance
import pyarrow as pa

FEW, MANY = 1_000, 20_000
MOST_TIME, MOST_MEMORY = 1.2, 1.3

MEASURE = """
import json, resource, sys, time
from lance_namespace_impls import connect
from lance_namespace_impls.maintenance import Selection, inventory
lake = connect("dir", {"path": sys.argv[1]})
assert len(inventory(lake, Selection(patterns=["t00000"]))) == 1  # what a first lookup loads
started = time.perf_counter()
rows = inventory(lake)
seconds = time.perf_counter() - started
assert all(row.rows == 3 for row in rows)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"tables": len(rows), "seconds": seconds, "mib": peak}))
"""


def fill(folder: Path, tables: int) -> None:
    first = folder / "t00000.lance"
    lance.write_dataset(pa.table({"a": [1, 2, 3]}), str(first))
    for number in range(1, tables):
        shutil.copytree(first, folder / f"t{number:05}.lance")


def measure(folder: Path) -> dict[str, float]:
    best: dict[str, float] = {}
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(folder)], check=True, capture_output=True, text=True
        )
        found = json.loads(done.stdout)
        if not best or found["seconds"] < best["seconds"]:
            best = found
    print(f"{best['tables']:>6} tables: {best['seconds']:.2f} s, {best['mib']:.0f} MiB")
    return best


def main() -> None:
    with tempfile.TemporaryDirectory() as root:
        found = []
        for tables in (FEW, MANY):
            folder = Path(root, str(tables))
            folder.mkdir()
            started = time.perf_counter()
            fill(folder, tables)
            print(f"{tables:>6} tables made in {time.perf_counter() - started:.1f} s")
            found.append(measure(folder))
    few, many = found
    seconds = (many["seconds"] / many["tables"]) / (few["seconds"] / few["tables"])
    memory = many["mib"] / few["mib"]
    print(f"time a table {seconds:.2f} (at most {MOST_TIME}), memory {memory:.2f} ({MOST_MEMORY})")
    sys.exit(seconds > MOST_TIME or memory > MOST_MEMORY)


if __name__ == "__main__":
    main()
