"""A directory with a manifest of many tables: ours against pylance's own namespace.

Both have a directory of their own with the same manifest, which is written in one go. Measured are
making a namespace, declaring and describing a table, a page of 100 names and the whole listing, in
turns; the medians are compared. Ours must be at least as fast, and describing a table and a page may
take 1.3 times as long at most with the most tables as with the fewest.
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


def make(root: Path, tables: int) -> None:
    """Write a manifest with that many tables in one namespace."""
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
    """Return each operation as a call on ours and one on pylance's."""
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


def medians(one: Callable[[], Any], other: Callable[[], Any], rounds: int) -> list[float]:
    """Time two calls, a block of each in turns; return the medians in milliseconds."""
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, times in zip((one, other), took, strict=True):
            call()
            for _ in range(BLOCK):
                started = time.perf_counter()
                call()
                times.append(1000 * (time.perf_counter() - started))
    return [statistics.median(times) for times in took]


def main() -> None:
    """Measure, print a row an operation and size, and fail over a bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    faults: list[str] = []
    first: dict[str, float] = {}
    for tables in arguments.tables:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder, "ours"), tables)
            make(Path(folder, "theirs"), tables)
            found = calls(Path(folder, "ours"), Path(folder, "theirs"), tables)
            for operation, (ours, theirs) in found.items():
                mine, other = medians(ours, theirs, arguments.rounds)
                ratio, growth = mine / other, mine / first.setdefault(operation, mine)
                print(
                    f"{tables:>7,} tables  {operation:<18}  ours {mine:8.3f} ms  pylance "
                    f"{other:8.3f} ms  ratio {ratio:5.2f}  growth {growth:5.2f}"
                )
                if ratio > BESIDE_PYLANCE_BOUND:
                    faults.append(f"{operation} at {tables:,}: {ratio:.2f} times pylance")
                bounded = operation in ("describe a table", f"a page of {PAGE}")
                if bounded and tables == arguments.tables[-1] and growth > GROWTH_BOUND:
                    faults.append(f"{operation} grows {growth:.2f} times to {tables:,}")
    for fault in faults:
        print(f"over the bound: {fault}", file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
