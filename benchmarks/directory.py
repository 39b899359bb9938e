"""Compares a directory whose manifest lists many tables with pylance's own namespace.

Each has its own directory with the same manifest, which is written in one commit. The benchmark
measures creating a namespace, declaring and describing a table, a page of 100 names and the whole
listing, alternating between few and many tables, since the speed of a machine varies over time;
medians are compared. Ours must be at least as fast. Describing a table and a page may take at most
1.3 times as long with the most tables as with the fewest.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance.namespace
import lance_namespace as official

from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.directory.manifest import NAMESPACE, TABLE, Manifest, Row

GROWTH_BOUND = 1.3
BESIDE_PYLANCE_BOUND = 1.0
PAGE = 100
BLOCK = 8
MANY = 200
"""Calls per block for operations with a bound, which take a tenth of a millisecond."""
BOUNDED = ("describe a table", f"a page of {PAGE}")


def make(root: Path, tables: int) -> None:
    """Write a manifest with many tables in one namespace."""
    root.mkdir()
    with DirectoryNamespace.from_properties({"root": str(root), "manifest": "true"}) as namespace:
        manifest: Manifest = namespace._manifest
        rows = [Row(id="n", type=NAMESPACE)]
        for number in range(tables):
            identifier = f"n$t{number:07}"
            location = f"{secrets.token_hex(4)}_{identifier}"
            rows.append(Row(id=identifier, type=TABLE, location=location, properties={"k": "v"}))
        manifest.create(rows)


def calls(
    root: Path, peer: Path, tables: int
) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return each operation as a call on our namespace and a call on pylance's."""
    ours = DirectoryNamespace.from_properties({"root": str(root), "manifest": "true"})
    theirs = lance.namespace.DirectoryNamespace(root=str(peer))
    turns = iter(range(10**9))
    middle = ["n", f"t{tables // 2:07}"]

    def new() -> list[str]:
        return ["n", f"new{next(turns)}"]

    return {
        "create a namespace": (
            lambda: ours.create_namespace({"id": new()}),
            lambda: theirs.create_namespace(official.CreateNamespaceRequest(id=new())),
        ),
        "declare a table": (
            lambda: ours.declare_table({"id": new()}),
            lambda: theirs.declare_table(official.DeclareTableRequest(id=new())),
        ),
        "describe a table": (
            lambda: ours.describe_table({"id": middle}),
            lambda: theirs.describe_table(official.DescribeTableRequest(id=middle)),
        ),
        f"a page of {PAGE}": (
            lambda: ours.list_tables({"id": ["n"], "limit": PAGE}),
            lambda: theirs.list_tables(official.ListTablesRequest(id=["n"], limit=PAGE)),
        ),
        "all names": (
            lambda: ours.list_tables({"id": ["n"]}),
            lambda: theirs.list_tables(official.ListTablesRequest(id=["n"])),
        ),
    }  # fmt: skip


def milliseconds(call: Callable[[], Any], calls: int) -> float:
    """Return the median duration of several calls, after an untimed one."""
    call()
    times = []
    for _ in range(calls):
        started = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def measure(
    each: dict[int, tuple[Callable[[], Any], Callable[[], Any]]], rounds: int, calls: int
) -> dict[int, tuple[float, float, float]]:
    """Time an operation for all numbers of tables alternately, on ours and pylance's.

    Args:
        each: number of tables -> the two calls; the first entry has the fewest.
        rounds: number of rounds.
        calls: number of our calls in a block, whose median counts.

    Returns:
        number of tables -> median of ours, of pylance's, and of the ratio of ours to that with the
        fewest tables in the same round.
    """
    ours: dict[int, list[float]] = {tables: [] for tables in each}
    theirs: dict[int, list[float]] = {tables: [] for tables in each}
    for _ in range(rounds):
        for tables, (mine, other) in each.items():
            ours[tables].append(milliseconds(mine, calls))
            theirs[tables].append(milliseconds(other, BLOCK))
    fewest = next(iter(each))
    return {
        tables: (
            statistics.median(ours[tables]),
            statistics.median(theirs[tables]),
            statistics.median(a / b for a, b in zip(ours[tables], ours[fewest], strict=True)),
        )
        for tables in each
    }


def main() -> None:
    """Run the benchmark, print a row per operation and size, and fail if a bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, dict[int, tuple[Callable[[], Any], Callable[[], Any]]]] = {}
        for tables in sorted(arguments.tables):
            ours, theirs = Path(folder, f"ours{tables}"), Path(folder, f"theirs{tables}")
            make(ours, tables)
            make(theirs, tables)
            for operation, both in calls(ours, theirs, tables).items():
                found.setdefault(operation, {})[tables] = both
        for operation, each in found.items():
            bounded = operation in BOUNDED
            many = MANY if bounded else BLOCK
            for tables, (mine, other, growth) in measure(each, arguments.rounds, many).items():
                ratio = mine / other
                print(
                    f"{operation:<18}  {tables:>7,} tables  ours {mine:8.3f} ms  pylance "
                    f"{other:8.3f} ms  ratio {ratio:5.2f}  growth {growth:5.2f}",
                    flush=True,
                )
                if ratio > BESIDE_PYLANCE_BOUND:
                    faults.append(f"{operation} at {tables:,}: {ratio:.2f} times pylance")
                if bounded and growth > GROWTH_BOUND:
                    faults.append(f"{operation} grows {growth:.2f} times to {tables:,}")
    for fault in faults:
        print(f"over the bound: {fault}", file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
