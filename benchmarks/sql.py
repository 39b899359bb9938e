"""Compares calls on a database catalog with many tables to those with few.

Prints the median of DescribeTable and of a page of ListTables in a namespace of 1,000, 10,000 and
100,000 tables, on SQLite and PostgreSQL, measured alternately. Fails if a larger namespace takes
longer than the bound allows, relative to the smallest.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sqlalchemy import insert

from lance_namespace_impls.sql import SqlConfig, SqlNamespace, initialize
from lance_namespace_impls.sql.database import Database
from lance_namespace_impls.sql.rows import find
from lance_namespace_impls.sql.schema import objects
from tests.servers.postgresql import shared

BOUND = 1.3
PAGE = 100


def fill(properties: dict[str, str], name: str, count: int) -> None:
    """Insert tables into a new namespace directly, without the interface."""
    with SqlNamespace.from_properties(properties) as catalog:
        catalog.create_namespace({"id": [name]})
    database = Database(SqlConfig.from_properties(properties))
    root = properties["root"]
    with database.writing() as connection:
        row = find(connection, (name,))
        assert row is not None
        rows = [
            {
                "parent_id": row.id,
                "name": f"t{number:06}",
                "kind": "t",
                "location": f"{root}/{name}/t{number:06}",
                "managed": False,
                "properties": '{"owner": "ana"}',
            }
            for number in range(count)
        ]
        for start in range(0, count, 10_000):
            connection.execute(insert(objects), rows[start : start + 10_000])
        connection.exec_driver_sql("analyze")
    database.close()


def microseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def measure(
    catalog: SqlNamespace, sizes: dict[str, int], rounds: int, calls: int
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the median time of each call in each namespace, and its ratio to the smallest."""
    chance = random.Random(1)

    def describe(name: str) -> object:
        return catalog.describe_table({"id": [name, f"t{chance.randrange(sizes[name]):06}"]})

    def page(name: str) -> object:
        start = f"t{chance.randrange(sizes[name] - 2 * PAGE):06}"
        found = catalog.list_tables({"id": [name], "limit": PAGE, "page_token": start})
        assert len(found.tables) == PAGE
        return found

    out = {}
    first = next(iter(sizes))
    for title, call in (("DescribeTable", describe), (f"ListTables, {PAGE} a page", page)):
        for name in sizes:
            for _ in range(calls):
                call(name)
        times: dict[str, list[float]] = {name: [] for name in sizes}
        for _ in range(rounds):
            timings: dict[str, list[float]] = {name: [] for name in sizes}
            for _ in range(calls):
                for name in sizes:
                    timings[name].append(microseconds(lambda call=call, name=name: call(name)))
            for name in sizes:
                times[name].append(median(timings[name]))
        for name in sizes:
            ratios = [a / b for a, b in zip(times[name], times[first], strict=True)]
            out[title, name] = median(times[name]), median(ratios)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7, help="default: 7")
    parser.add_argument("--calls", type=int, default=100, help="calls per round (default: 100)")
    options = parser.parse_args()
    sizes = {"n1000": 1_000, "n10000": 10_000, "n100000": 100_000}
    failed = False
    print(f"{'database':11} {'call':24} {'tables':>8} {'us':>8} {'ratio':>7} {'bound':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for database, uri in (
            ("sqlite", f"{folder}/catalog.db"),
            ("postgresql", shared().new_database()),
        ):
            properties = {"uri": uri, "root": f"{folder}/tables"}
            initialize(properties)
            for name, count in sizes.items():
                fill(properties, name, count)
            with SqlNamespace.from_properties(properties) as catalog:
                found = measure(catalog, sizes, options.rounds, options.calls)
            for (title, name), (elapsed, ratio) in found.items():
                over = ratio > BOUND
                failed |= over
                print(
                    f"{database:11} {title:24} {sizes[name]:8,} {elapsed:8.0f} {ratio:7.3f} "
                    f"{BOUND:6.2f}{' over' * over}",
                    flush=True,
                )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
