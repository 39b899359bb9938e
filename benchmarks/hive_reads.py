"""Compares ListTables and DescribeTable on a Hive Metastore with the bare Thrift calls.

    python -m benchmarks.hive_reads 2.3 3.1 4.0 --tables 10000 --lance 1000

For each release, the benchmark creates a database with that many tables, about a tenth of them
Lance tables. Both variants run alternately in one process on persistent connections; the result is
the ratio of their durations. Calls are counted when they are sent. The limits are 3 calls and 1.3
times the duration of the bare call.

Derby plans a query at its first use, depending on the sizes of the tables, and caches the plan. So
the metastore is restarted after the tables are created. Which filter is the fastest still depends
on the release, so the listing is compared with three bare calls that return the same names here: by
type in any case and kind, by type only (every Lance table is external), and by type in lower case
and kind.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from pymetastore.hive_metastore.ttypes import GetTableRequest

from lance_namespace_impls import connect
from lance_namespace_impls.hive.client import EXTERNAL_FILTER, LANCE_FILTER, USUAL_CASE_FILTER
from lance_namespace_impls.hive.records import new_table
from tests.servers.hive import RELEASES, Metastore


def fill(metastore: Metastore, database: str, tables: int, lance: int, folder: Path) -> list[str]:
    """Create the tables, several concurrently, and return the names of the Lance tables."""
    step = tables // lance
    names = [f"t{n:06d}" for n in range(tables)]

    def make(part: list[int]) -> None:
        client = metastore.connect()
        for n in part:
            table = new_table(None, database, names[n], f"{folder}/{names[n]}", {}, None)
            if n % step:
                del table.parameters["table_type"]
            client.create_table(table)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, [list(range(start, tables, 4)) for start in range(4)]))
    return names[::step]


def in_turn(first: Callable[[], Any], second: Callable[[], Any], times: int) -> tuple[float, float]:
    """Time two functions alternately; return the median seconds of each."""
    timings: tuple[list[float], list[float]] = ([], [])
    for _ in range(times):
        for way, seconds in zip((first, second), timings, strict=True):
            start = time.perf_counter()
            way()
            seconds.append(time.perf_counter() - start)
    return statistics.median(timings[0]), statistics.median(timings[1])


def measure(release: str, tables: int, lance: int, folder: Path) -> dict[str, Any]:
    with Metastore(RELEASES[release], folder) as metastore:
        impl = "hive3" if metastore.release.has_catalogs else "hive2"
        above = ["hive"] if impl == "hive3" else []
        database = "@hive#many" if above else "many"
        with connect(impl, {"uri": metastore.uri, "root": str(folder / "lake")}) as namespace:
            namespace.create_namespace({"id": [*above, "many"]})
            start = time.perf_counter()
            wanted = fill(metastore, "many", tables, lance, folder / "data")
            filled = time.perf_counter() - start
            metastore.stop()
            metastore.start()

            external = EXTERNAL_FILTER[bool(above)]
            filters = {
                "type_and_kind": f"{LANCE_FILTER} and {external}",
                "type_alone": LANCE_FILTER,
                "lower_case_and_kind": f"{USUAL_CASE_FILTER} and {external}",
            }
            bare = metastore.connect()

            def list_bare(wanted_filter: str) -> list[str]:
                return list(bare.get_table_names_by_filter(database, wanted_filter, -1))

            def list_ours() -> Any:
                return namespace.list_tables({"id": [*above, "many"]}).tables

            assert list_ours() == wanted
            for each in filters.values():
                assert sorted(list_bare(each)) == wanted
            for _ in range(10):  # the metastore gets faster during its first calls
                list_ours()
                for each in filters.values():
                    list_bare(each)
            (connection,) = namespace._metastore._pool._idle  # type: ignore[attr-defined]
            calls = 0
            flush = connection._transport.flush

            def counted() -> None:
                nonlocal calls
                calls += 1
                flush()

            connection._transport.flush = counted
            rounds = 15
            listed = {
                name: in_turn(list_ours, partial(list_bare, each), rounds)
                for name, each in filters.items()
            }
            list_calls = calls / rounds / len(filters)
            request = GetTableRequest("many", wanted[0], catName="hive" if above else None)
            identifier = [*above, "many", wanted[0]]
            for _ in range(300):
                bare.get_table_req(request)
            calls = 0
            rounds = 1000
            described, described_bare = in_turn(
                lambda: namespace.describe_table({"id": identifier}),
                lambda: bare.get_table_req(request),
                rounds,
            )
            return {
                "release": metastore.release.version,
                "impl": impl,
                "tables": tables,
                "lance": lance,
                "fill_s": round(filled, 1),
                "list_calls": list_calls,
                "list": {
                    name: {
                        "ms": round(ours * 1e3, 2),
                        "bare_ms": round(theirs * 1e3, 2),
                        "ratio": round(ours / theirs, 3),
                    }
                    for name, (ours, theirs) in listed.items()
                },
                "describe_p50_ms": round(described * 1e3, 3),
                "describe_bare_p50_ms": round(described_bare * 1e3, 3),
                "describe_ratio": round(described / described_bare, 3),
                "describe_calls": calls / rounds,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="*", default=list(RELEASES))
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--lance", type=int, default=1_000)
    chosen = parser.parse_args()
    for release in chosen.releases:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(release, chosen.tables, chosen.lance, Path(folder))))


if __name__ == "__main__":
    main()
